"""The flow: three files of different rates and formats, a band-pass, a delay, a recording, a picture, a verdict."""

import subprocess

from listening import Picture, level, read, same_frames


def check(example):
    folder = example.folder
    example.run("--help", says="DRUMS BASS PIANO")
    example.run("one.wav", "two.wav", status=2, says="it takes 3")
    example.run("--seconds", 1, "one.wav", "two.wav", "three.wav", status=1, says="one.wav")
    flow = example.offline(2, "--save", "taken.wav")
    assert flow == read(folder / "taken.wav"), "the recording is not what was put out"
    # Live it is what it is offline.
    text = example.run("--seconds", 2, "--save", "live.wav", says="cycles")
    for live, offline in zip(read(folder / "live.wav"), flow):
        same_frames(live, offline)
    # At the end its picture, and how the watchdog is asked, or its verdict.
    assert "live.png: its waveform" in text and "For the watchdog's verdict: rtwatch --" in text, text
    picture = Picture(folder / "live.png")
    assert (picture.width, picture.height) == (960, 540) and (folder / "live.png").stat().st_size < 100_000
    assert len({colour for row in picture.rows for colour in row}) > 30, "the picture is nearly empty"
    watched = subprocess.run(
        [example.watchdog, "--", example.path, "--seconds=1"], cwd=folder, capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL)
    assert "The watchdog's verdict:" in watched.stdout and "Nothing found" in watched.stderr, watched
    assert (folder / "three-players.wav").exists(), "it records without being asked to"
    assert (folder / "three-players.png").exists(), "and draws that"
    # The bass is mono and its first note is 55 Hz: on both sides, behind the delay's dry part (0.7).
    for side in flow:
        assert -20 < level(side[:24_000], 55) < -8, f"the bass: {level(side[:24_000], 55)} dB"
    # It plays a user's own files in other formats, too: a tone of 1 kHz passes the band-pass as it is.
    subprocess.run(
        ["sox", "-n", "-r", "44100", "-b", "24", "tone.flac", "synth", "3", "sine", "1000", "vol", "-12dB"], cwd=folder,
        check=True)
    subprocess.run(["sox", "-n", "-r", "48000", "-c", "2", "nothing.wav", "trim", "0", "3"], cwd=folder, check=True)
    for side in example.offline(0.9, "tone.flac", "nothing.wav", "nothing.wav"):
        assert abs(level(side[4_800:], 1000) + 12) < 0.02, f"the tone: {level(side[4_800:], 1000)} dB"
