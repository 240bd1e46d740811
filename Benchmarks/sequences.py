"""The sequencer beside scsynth and FluidSynth's player: where notes begin, and what an event takes.

scripts/bench --sequences runs this. All play the same 200 onsets, at ticks of 1/480 beat and 128 beats a minute: a tick is 46.875
frames. The error of an onset is the distance of the first frame that sounds from the exact place.
"""

import os
import shutil
import socket
import statistics
import struct
import subprocess
import time

import numpy

from peer import Failure, timed, wav
from supercollider import AUDIO, CONTROL, Definition, bundle, message

RATE, TICK, BEAT = 48000, 46.875, 480
FONT = "/usr/share/sounds/sf2/TimGM6mb.sf2"


def onsets(sound, places, floor=1e-4):
    """For each place the first frame near it that sounds."""
    found = []
    for place in places:
        first = max(0, int(place) - 300)
        loud = numpy.nonzero(numpy.abs(sound[first:int(place) + 2000]) > floor)[0]
        found.append(first + int(loud[0]) if len(loud) else None)
    return found


def tell_errors(name, found, places, constant=0):
    if None in found:
        return print(f"  {name:44}{found.count(None)} onsets are missing")
    errors = [abs(frame - constant - place) for frame, place in zip(found, places)]
    print(f"  {name:44}{statistics.median(errors):10.2f}{max(errors):10.2f}")


def variable(number):
    data = [number & 127]
    while number > 127:
        number >>= 7
        data.append(number & 127 | 128)
    return bytes(reversed(data))


def midi(path, tracks, tempo=468750):
    """Writes a MIDI file: for each track events as (tick, bytes), in their order."""
    chunks = [bytes([0, 0xff, 0x51, 3]) + struct.pack(">I", tempo)[1:] + b"\0\xff\x2f\0"]
    for track in tracks:
        data, last = [], 0
        for tick, event in track:
            data.append(variable(tick - last) + event)
            last = tick
        chunks.append(b"".join(data) + variable(1) + b"\xff\x2f\0")
    with open(path, "wb") as file:
        file.write(b"MThd" + struct.pack(">IHHH", 6, 1, len(chunks), BEAT))
        for chunk in chunks:
            file.write(b"MTrk" + struct.pack(">I", len(chunk)) + chunk)


def scsynth(folder, name, bundles, cycle=64):
    path, output = os.path.join(folder, name + ".osc"), os.path.join(folder, name + ".wav")
    with open(path, "wb") as file:
        file.write(b"".join(bundles))
    command = ["scsynth", "-N", path, "_", output, str(RATE), "WAV", "float", "-o", "1", "-i", "0", "-z", str(cycle), "-D", "0"]
    return timed(command, cwd=folder)[0], output


def fluidsynth(folder, name):
    output = os.path.join(folder, name + ".wav")
    command = ["fluidsynth", "-ni", "-q", "-C0", "-R0", "-r", str(RATE), "-T", "wav", "-O", "float", "-g", "1", "-F", output, FONT,
               os.path.join(folder, name + ".mid")]
    return timed(command, cwd=folder)[0], output


def edge(out):
    """A level that lasts for 10 ms, from the frame on which it begins."""
    play = Definition("play")
    play.unit("Line", CONTROL, [0, 0, 0.01, 2])
    play.unit(out, AUDIO, [0, play.unit("DC", AUDIO, [0.5])[0]], 0)
    return play.data()


def live(folder, places):
    """scsynth with JACK's clock of no device: bundles are sent ahead with their times, and it records what it plays."""
    name, port = f"bench{os.getpid()}", 57000 + os.getpid() % 1000
    environment = {**os.environ, "JACK_NO_AUDIO_RESERVATION": "1", "JACK_DEFAULT_SERVER": name, "SC_JACK_DEFAULT_OUTPUTS": ""}
    output = os.path.join(folder, "live.wav")
    with open(os.path.join(folder, "live.log"), "wb") as log:
        clock = subprocess.Popen(["jackd", "-r", "-n", name, "-d", "dummy", "-r", str(RATE), "-p", "256"], env=environment,
                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        server = None
        try:
            time.sleep(1.5)
            server = subprocess.Popen(["scsynth", "-u", str(port), "-o", "1", "-i", "0", "-D", "0", "-R", "0"], env=environment, cwd=folder,
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            time.sleep(2)
            link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            link.connect(("127.0.0.1", port))
            link.settimeout(5)

            def ask(one, answer):
                link.send(one)
                while answer not in (reply := link.recv(4096)):
                    if b"/fail" in reply:
                        raise Failure(f"scsynth: {reply!r}")

            disk = Definition("disk")
            disk.unit("DiskOut", AUDIO, [7, disk.unit("In", AUDIO, [0])[0]])
            ask(message("/d_recv", edge("OffsetOut")), b"/done")
            ask(message("/d_recv", disk.data()), b"/done")
            ask(message("/b_alloc", 7, 65536, 1), b"/done")
            ask(message("/b_write", 7, output, "wav", "float", 0, 0, 1), b"/done")
            link.send(message("/s_new", "disk", 999, 1, 0))
            time.sleep(0.3)
            begin = time.time() + 0.5
            for number, place in enumerate(places):
                at = begin + place / RATE
                # Each half a second ahead.
                time.sleep(max(0, at - 0.5 - time.time()))
                link.send(bundle(at + 2_208_988_800, message("/s_new", "play", 1000 + number, 0, 0))[4:])
            time.sleep(1.2)
            link.send(message("/n_free", 999))
            ask(message("/b_close", 7), b"/done")
            link.send(message("/quit"))
            server.wait(5)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failure(f"scsynth with jackd: {error}; see {log.name}") from None
        finally:
            for child in (server, clock):
                if child and child.poll() is None:
                    child.terminate()
                    child.wait()
    sound = wav(output)[:, 0]
    loud = numpy.abs(sound) > 1e-4
    return numpy.nonzero(loud[1:] & ~loud[:-1])[0] + 1


def tell_live(folder, places):
    if not shutil.which("jackd"):
        return print("  scsynth live: needs jackd2")
    found = live(folder, places)
    if len(found) != len(places):
        return print(f"  scsynth live: {len(found)} onsets of {len(places)}")
    # When the recording began nobody knows: the best that one constant makes of it.
    constant = statistics.median(frame - place for frame, place in zip(found, places))
    tell_errors("scsynth, live, sent 0.5 s ahead, OffsetOut", [int(frame) for frame in found], places, constant)


def errors(folder, ask):
    ticks = [int(fields[0]) for fields in ask("onsets", "--folder", folder)]
    places = [tick * TICK for tick in ticks]
    print(f"  {'onsets, errors in frames':44}{'median':>10}{'highest':>10}")
    tell_errors("RenderStack", onsets(numpy.fromfile(os.path.join(folder, "RenderStack.f32"), "<f4"), places), places)
    if shutil.which("scsynth"):
        for out in ("OffsetOut", "Out"):
            bundles = [bundle(0, message("/d_recv", edge(out)))]
            bundles += [bundle(place / RATE, message("/s_new", "play", 1000 + number, 1, 0)) for number, place in enumerate(places)]
            bundles.append(bundle(places[-1] / RATE + 1, message("/c_set", 0, 0)))
            _, output = scsynth(folder, out, bundles)
            tell_errors(f"scsynth, a score, {out}", onsets(wav(output)[:, 0], places), places)
        tell_live(folder, places[:40])
    else:
        print("  scsynth: not installed")
    if shutil.which("fluidsynth") and os.path.exists(FONT):
        # The side stick: short, and its attack is the same each time, so that a constant is what it takes to be heard.
        track = [(0, b"\xb9\x07\x7f")]
        for tick in ticks:
            track += [(tick, b"\x99\x25\x7f"), (tick + 60, b"\x89\x25\x40")]
        midi(os.path.join(folder, "onsets.mid"), [track])
        _, output = fluidsynth(folder, "onsets")
        found = onsets(wav(output)[:, 0], places, 1e-3)
        constant = min((frame - place for frame, place in zip(found, places) if frame is not None), default=0)
        tell_errors("FluidSynth's player, less its least delay", found, places, constant)
    else:
        print("  fluidsynth: not installed, or without timgm6mb-soundfont")


def costs(folder, rounds, ask):
    for fields in ask("sequences", "--rounds", rounds):
        if fields[0] == "idle":
            print(f"  {float(fields[2]):10.3f} ns a cycle of 128 frames for an idle track, of {int(fields[1]):,}")
        else:
            count, note, whole, second = (float(field) for field in fields[1:])
            print(f"  {note:10.0f} ns for a note, its end included; 1,000 tracks with {int(count):,} notes in 64 s:"
                  f" {whole / 1e9:.2f} s in all, {second / 1e6:.1f} ms for a second of sound")
    # A million events that make no sound, and none: what is left is the event.
    if shutil.which("scsynth"):
        times = []
        for count in (0, 1_000_000):
            bundles = [bundle(number * 64 / count, message("/c_set", number % 100, 1.0)) for number in range(count)]
            times.append(statistics.median(
                scsynth(folder, "events", bundles + [bundle(64, message("/c_set", 0, 0))], 128)[0] for _ in range(rounds)))
        print(f"  {(times[1] - times[0]) * 1e3:10.0f} ns for an event of scsynth (a control that is set, in a bundle of a score)")
    if shutil.which("fluidsynth") and os.path.exists(FONT):
        times = []
        for count in (1, 10_000):
            # It takes 128 tracks at most.
            tracks = [[(number * 6 + track % 6, bytes([0xb0 | track % 9, 119, number % 128])) for number in range(count)]
                      for track in range(100)]
            tracks[0].append((60_060, b"\xb0\x77\0"))
            midi(os.path.join(folder, "events.mid"), tracks)
            times.append(statistics.median(fluidsynth(folder, "events")[0] for _ in range(rounds)))
        print(f"  {(times[1] - times[0]) * 1e9 / 999_900:10.0f} ns for an event of FluidSynth's player (a controller that nothing hears; 100 tracks, as it takes 128 at most)")


def table(folder, rounds, ask):
    try:
        errors(folder, ask)
        costs(folder, rounds, ask)
    except Failure as failure:
        print(f"  {failure}")
