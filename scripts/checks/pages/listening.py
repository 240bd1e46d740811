"""An example as a user runs it, and what to know about the sound that it makes."""

import array
import fcntl
import math
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import zlib

import numpy

RATE = 48_000


class Example:
    """A built program, in a folder for its files."""

    def __init__(self, path, folder, watchdog):
        self.path, self.folder, self.watchdog = pathlib.Path(path), pathlib.Path(folder), watchdog

    def run(self, *arguments, status=0, says="", stdin="", env={}):
        """Runs it, and returns what it prints."""
        result = subprocess.run(
            [self.path, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=self.folder,
            input=stdin, env=os.environ | env)
        text = result.stdout + result.stderr
        assert result.returncode == status, f"{self.path.name} {arguments}: status {result.returncode}, {text}"
        assert says in text, f"{self.path.name} {arguments}: «{says}» is not in «{text}»"
        assert " faults" not in text, f"{self.path.name} {arguments}: {text}"
        return text

    def offline(self, seconds, *arguments):
        """The channels of so many seconds."""
        self.run("--output", "file:offline.wav", "--seconds", seconds, *arguments, says=f"{round(seconds * RATE)} frames")
        return read(self.folder / "offline.wav")

    def words(self):
        """Checks the messages of every example: its help, and its answers to impossible options."""
        if "--output alsa" in self.run("--help"):
            # Whatever card there is, it is hidden.
            hidden = {"ALSA_CONFIG_PATH": "/dev/null"}
            self.run("--output=alsa", "--seconds=1", status=1, says="no sound device", env=hidden)
        self.run("--help", says="--seconds N")
        self.run("--louder", status=2, says="there is no option --louder")
        self.run("--seconds", status=2, says="--seconds needs a value")
        self.run("--seconds", "never", status=2, says="must be a number above 0")
        self.run("--seconds=never", status=2, says="must be a number above 0")
        self.run("--output", "moon", status=2, says="file:PATH")
        self.run("--output", "file:missing/out.wav", "--seconds", 1, status=1, says="missing")

    def cut(self, *arguments, times=1, size=100_000):
        """Starts it so that it writes cut.wav, sends Ctrl-C once that has a size, and returns what it printed on both streams."""
        path = self.folder / "cut.wav"
        while True:
            process, pause = self.begin_and_cut(path, arguments, times, size)
            out, err = process.communicate(timeout=60)
            # The program takes two requests within a quarter of a second for one. A busy machine may keep the second one waiting.
            if pause < 0.2:
                break
        assert process.returncode == 0 and "Ended early" in out, f"status {process.returncode}: {out}{err}"
        return out, err

    def begin_and_cut(self, path, arguments, times, size):
        """Starts it, sends the signals, and returns it with the time between the first and the last of them."""
        path.unlink(missing_ok=True)
        process = subprocess.Popen(
            [self.path, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            # A program in the background would go on ignoring SIGINT, as its shell does.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        # A busy machine may begin late: until there is sound, a quarter of a second of it, and a second more.
        for _ in range(600):
            if process.poll() is not None or path.exists() and path.stat().st_size >= size:
                break
            time.sleep(0.1)
        time.sleep(1)
        begin = time.monotonic()
        for count in range(times):
            time.sleep(0.001 if count else 0)
            process.send_signal(signal.SIGINT)
        return process, time.monotonic() - begin

    def ends_on_ctrl_c(self, *arguments):
        """Stops it while it plays."""
        # Twice, as one gets it who is in a terminal and below a program that passes signals on: it is asked once.
        out, err = self.cut("--output", "clock", "--seconds", "60", "--save", "cut.wav", *arguments, times=2)
        assert " faults" not in out, out
        assert len(read(self.folder / "cut.wav")[0]) > 4_000
        assert "\r" not in err, "meters are drawn although there is no screen"

    def fits_its_terminal(self, *arguments):
        """The line that it draws while it plays is cut to the width of the terminal, also when that changes."""
        typist = Typist(self.path, "--output=clock", "--seconds=60", *arguments, cwd=self.folder, columns=50)
        for columns in (50, 20):
            typist.resize(columns)
            # What was on its way when the width changed.
            typist.read(0.5)
            typist.text = b""
            typist.waits_for_text("\r.*\r.*\r")
            lines = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", typist.text.decode(errors="ignore")).split("\r")[1:-1]
            assert lines and max(map(len, lines)) == columns - 1, f"{columns} columns: {lines}"
        typist.type("\x03")
        while typist.process.poll() is None:
            typist.read(0.1)
        os.close(typist.keyboard)

    def file_is_whole_after_ctrl_c(self, *arguments, **options):
        """Stops it while it writes a file that would take hours."""
        self.cut("--output", "file:cut.wav", "--seconds", "900000", *arguments, **options)
        with open(self.folder / "cut.wav", "rb") as file:
            assert struct.unpack("<I", file.read(8)[4:])[0] == (self.folder / "cut.wav").stat().st_size - 8
        (self.folder / "cut.wav").unlink()

    def never_blocks(self, *arguments):
        """Nothing on the audio thread blocks or may block."""
        watched = subprocess.run(
            [self.watchdog, "--fail-on", "may-block", "--", self.path, "--output", "clock", "--seconds", "2", "--save",
             "watched.wav", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL)
        assert watched.returncode == 0, watched.stdout + watched.stderr


def read(path, channels=2):
    """The channels of a float WAV, read without any help."""
    data = path.read_bytes()
    assert data[:4] == b"RIFF" and data[8:12] == b"WAVE"
    assert struct.unpack("<I", data[4:8])[0] == len(data) - 8, "the RIFF size is not the file's"
    position, layout = 12, None
    while position < len(data):
        name, size = data[position:position + 4], struct.unpack("<I", data[position + 4:position + 8])[0]
        body = data[position + 8:position + 8 + size]
        if name == b"fmt ":
            layout = struct.unpack("<HHIIHH", body[:16])
        if name == b"data":
            samples = array.array("f", body)
        position += 8 + size + size % 2
    assert layout[0] == 3 and layout[1] == channels and layout[2] == RATE and layout[5] == 32, layout
    return tuple(samples[channel::channels] for channel in range(channels))


def write(path, samples):
    """A mono WAV of floats."""
    body = array.array("f", samples).tobytes()
    layout = struct.pack("<HHIIHH", 3, 1, RATE, 4 * RATE, 4, 32)
    path.write_bytes(
        b"RIFF" + struct.pack("<I", 36 + len(body)) + b"WAVEfmt " + struct.pack("<I", 16) + layout + b"data"
        + struct.pack("<I", len(body)) + body)


def level(samples, frequency):
    """The amplitude at a frequency, in dB of full scale, through a Hann window."""
    n = len(samples)
    frames = numpy.arange(n)
    window = 1 - numpy.cos(2 * math.pi / n * frames)
    found = numpy.dot(numpy.asarray(samples, float) * window, numpy.exp(-2j * math.pi * frequency / RATE * frames))
    return 20 * math.log10(max(1e-12, 2 * abs(found) / n))


def same_frames(live, offline):
    """Checks that live and offline sound is the same from the first frame on, as far as both go."""
    same = min(len(live), len(offline))
    assert same > 24_000, f"{len(live)} and {len(offline)} frames in two seconds"
    assert live[:same] == offline[:same], "live and offline differ"


class Picture:
    """A PNG with a palette, read without any help."""

    def __init__(self, path):
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no PNG"
        position, chunks = 8, {}
        while position < len(data):
            size, = struct.unpack(">I", data[position:position + 4])
            name, body = data[position + 4:position + 8], data[position + 8:position + 8 + size]
            check, = struct.unpack(">I", data[position + 8 + size:position + 12 + size])
            assert zlib.crc32(name + body) == check, f"{path}: the check of {name}"
            chunks[name] = body
            position += 12 + size
        self.width, self.height, *layout = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
        assert layout == [8, 3, 0, 0, 0] and b"IEND" in chunks, layout
        lines = zlib.decompress(chunks[b"IDAT"])
        assert len(lines) == (self.width + 1) * self.height
        self.rows = [lines[row * (self.width + 1) + 1:(row + 1) * (self.width + 1)] for row in range(self.height)]
        assert max(map(max, self.rows)) < len(chunks[b"PLTE"]) // 3

    def column(self, x):
        return [row[x] for row in self.rows]


class Typist:
    """Types and reads at a terminal of 24 lines, in which a program runs."""

    def __init__(self, path, *arguments, cwd, columns=80):
        self.keyboard, other = pty.openpty()
        self.resize(columns)
        self.before = termios.tcgetattr(self.keyboard)
        self.text = b""

        def prepare():
            os.setsid()
            fcntl.ioctl(other, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        self.process = subprocess.Popen(
            [path, *arguments], stdin=other, stdout=other, stderr=other, cwd=cwd, preexec_fn=prepare)
        os.close(other)

    def resize(self, columns):
        fcntl.ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def type(self, keys):
        os.write(self.keyboard, keys.encode())

    def read(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and select.select([self.keyboard], [], [], 0.1)[0] or self.process.poll() is None \
                and time.monotonic() < end:
            if select.select([self.keyboard], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.keyboard, 65_536)
                except OSError:  # the program has closed its side
                    return

    def read_rest(self):
        """Reads all that the program, which has ended, has written: however long the machine keeps the typist waiting."""
        while select.select([self.keyboard], [], [], 0.3)[0]:
            try:
                self.text += os.read(self.keyboard, 65_536)
            except OSError:
                return

    def waits_for(self, condition, what, seconds=20):
        """Looks at the screen until it shows something."""
        end = time.monotonic() + seconds
        while not condition(self.screen()):
            assert time.monotonic() < end, f"{what} is not on the screen:\n" + "\n".join(self.screen())
            self.read(0.1)

    def waits_for_text(self, pattern, seconds=20):
        """Looks for something in all that the program has written."""
        end = time.monotonic() + seconds
        while not re.search(pattern.encode(), self.text, re.S):
            assert time.monotonic() < end, f"{pattern} is not in {self.text}"
            self.read(0.1)

    def screen(self):
        """Returns the page as it shows: all that was drawn since the program turned to it, with cursor movements followed."""
        lines, row, column = [""] * 24, 0, 0
        text = self.text.decode(errors="ignore").split("\x1b[?1049h", 1)[-1]
        for part in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|[^\x1b]", text):
            if part == "\x1b[H":
                row, column = 0, 0
            elif part == "\x1b[K":
                lines[row] = lines[row][:column]
            elif part == "\x1b[J":
                lines[row:] = [lines[row][:column]] + [""] * (23 - row)
            elif part == "\r":
                column = 0
            elif part == "\n":
                row = min(23, row + 1)
            elif len(part) == 1:
                lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + 1:]
                column += 1
                assert column <= 80, f"a line is too long: {lines[row]}"
        return lines

    def ends(self, status):
        """Waits for the end: then the terminal is as it was."""
        end = time.monotonic() + 30
        while self.process.poll() is None:
            assert time.monotonic() < end, "it does not end"
            self.read(0.1)
        self.read_rest()
        assert self.process.returncode == status, f"status {self.process.returncode}"
        assert self.text.count(b"\x1b[?1049h") == self.text.count(b"\x1b[?1049l") > 0, "another page is left open"
        assert self.text.rfind(b"\x1b[?25h") > self.text.rfind(b"\x1b[?25l"), "the cursor is hidden"
        assert termios.tcgetattr(self.keyboard) == self.before, "the keyboard is left in another mode"
        os.close(self.keyboard)
        return self.text.decode(errors="ignore")
