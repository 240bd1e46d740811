"""Programs for files: sox, ffmpeg, ecasound. Their echoes have no feedback: seven taps stand for it, down to -56 dB."""

import os

from peer import Peer


def taps(score):
    wet = [score["mix"] * score["feedback"] ** k for k in range(7)]
    times = [1000 * score["delay"] / 48000 * (k + 1) for k in range(7)]
    return wet, times


def quality(score):
    import math
    alpha = score["b0"] / (1 - score["b0"])
    return math.sin(2 * math.pi * 1000 / 48000) / (2 * alpha)


class Sox(Peer):
    name = "sox"
    packages = ["sox"]
    needs = ["sox"]
    workloads = {"W1": None, "W1-44": None}

    def prepare(self, workload, size, folder, score):
        self.score = score

    def command(self, workload, size, folder, seconds, output):
        s, (a, b, c) = self.score, self.score["files"]
        wet, times = taps(s)
        echo = " ".join(f"{t:.6g} {w:.6g}" for t, w in zip(times, wet))
        rate = "rate -h 48000" if workload == "W1-44" else ""
        first = f"|sox -D '{a}' -b 32 -e float -t wav - trim 0 {seconds} {rate} bandpass 1000 {quality(s):.6g}q"
        # The dry sound passes at 1 - mix.
        second = (f"|sox -D -m -v 1 '{b}' -v 1 '{c}' -b 32 -e float -t wav - trim 0 {seconds} {rate}"
                  f" echo {1 - s['mix']:.6g} 1 {echo}")
        return ["sox", "-D", "-m", "-v", "1", "-t", "wav", first, "-v", "1", "-t", "wav", second, "-b", "16", output,
                "trim", "0", str(seconds)]


class FFmpeg(Peer):
    name = "ffmpeg"
    packages = ["ffmpeg"]
    needs = ["ffmpeg"]
    workloads = {"W1": None, "W1-44": None}
    note = "44.1 kHz: sinc"

    def prepare(self, workload, size, folder, score):
        self.score = score

    def command(self, workload, size, folder, seconds, output):
        s = self.score
        wet, times = taps(s)
        rate = "aresample=48000," if workload == "W1-44" else ""
        flt = "aformat=sample_fmts=fltp"
        graph = (f"[0]{rate}{flt},bandpass=f=1000:t=q:w={quality(s):.6g}[a];[1]{rate}{flt}[b];[2]{rate}{flt}[c];"
                 f"[b][c]amix=inputs=2:normalize=0,aecho={1 - s['mix']:.6g}:1:{'|'.join(f'{t:.6g}' for t in times)}:"
                 f"{'|'.join(f'{w:.6g}' for w in wet)}[d];[a][d]amix=inputs=2:normalize=0")
        inputs = [word for file in s["files"] for word in ("-i", file)]
        return ["ffmpeg", "-nostdin", "-y", "-loglevel", "error", "-threads", "1", "-filter_complex_threads", "1",
                *inputs, "-filter_complex", graph, "-t", str(seconds), "-ar", "48000", "-c:a", "pcm_s16le", output]


class Ecasound(Peer):
    name = "ecasound"
    packages = ["ecasound"]
    needs = ["ecasound"]
    workloads = {"W1": None}
    note = "its own band-pass and echo"

    def prepare(self, workload, size, folder, score):
        self.score = score

    def command(self, workload, size, folder, seconds, output):
        a, b, c = self.score["files"]
        return ["ecasound", "-q", "-b:64", "-f:s16_le,2,48000", "-a:1", "-i", a, "-efb:1000,700", "-a:2", "-i", b,
                "-etd:250,0,7,50,40", "-a:3", "-i", c, "-etd:250,0,7,50,40", "-a:all", "-o", output,
                f"-t:{seconds}"]
