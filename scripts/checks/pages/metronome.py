"""Checks the places of the ticks, to the sample: at the start, behind a change of the tempo, after a day, and with JACK's transport
and servers that come and go."""

import signal
import time

from listening import RATE, read, write
from session import Session, ended


def onsets(samples):
    """The frames in which a tick begins, each with its first sample: they begin at their loudest, out of silence."""
    before = [0.0] * 100
    found = []
    for frame, sample in enumerate(samples):
        if abs(sample) > 0.1 and not any(before):
            found.append((frame, sample))
        before = before[1:] + [sample]
    return found


def nearest(beat, tempo):
    return int(beat * 60 / tempo * RATE + 0.5)


def check(example):
    # Three in a bar: the first has the accent.
    ticks = onsets(example.offline(4, "--tempo", 123.4, "--beats", 3)[0])
    assert [frame for frame, _ in ticks] == [nearest(beat, 123.4) for beat in range(9)], ticks
    assert [round(first, 6) for _, first in ticks] == [0.8, 0.4, 0.4] * 3, ticks
    # Two bars, and on at another tempo.
    ticks = [frame for frame, _ in onsets(example.offline(8, "--tempo", 97, "--then", 143, "--bars", 2)[0])]
    turn = nearest(8, 97)
    expected = [nearest(beat, 97) for beat in range(8)] + [turn + nearest(beat, 143) for beat in range(20)]
    assert ticks == [frame for frame in expected if frame < 8 * RATE], ticks
    # A day later each is still in the frame that is nearest to its time.
    day = 24 * 3_600
    ticks = [frame for frame, _ in onsets(example.offline(10, "--skip", day, "--tempo", 123.4)[0])]
    first = int(day * 123.4 / 60)
    expected = [nearest(beat, 123.4) - day * RATE for beat in range(first, first + 25)]
    assert ticks == [frame for frame in expected if 0 <= frame < 10 * RATE], (ticks, expected)
    example.fits_its_terminal()
    share_voices(example)
    follow(example)
    lead(example)
    survive(example)
    # Keys are read live: two of them make it 122 beats per minute, one after the other.
    text = example.run("--output", "clock", "--seconds", 3, stdin="++")
    assert "121.0 beats per minute from" in text and "122.0 beats per minute from" in text, text
    example.run("--tempo", 1, status=2, says="from 10 to 600")
    example.run("one.wav", "two.wav", status=1, says="one.wav")
    example.run("--skip", 1, status=2, says="--skip needs --output file:PATH")
    # A day is longer than this check waits: nothing has been written yet.
    example.file_is_whole_after_ctrl_c("--skip", "900000", size=0)


def share_voices(example):
    """32 at once and no more: the level of ten seconds that do not change counts them."""
    write(example.folder / "level.wav", [1 / 64] * (10 * RATE))
    write(example.folder / "silence.wav", [0.0] * 10)
    sound = example.offline(5, "--tempo", 600, "--beats", 16, "level.wav", "silence.wav")[0]
    for beat in range(50):
        # Between two beats; a stolen one fades out in 5 ms.
        found = 64 * sound[4_800 * beat + 2_400]
        # The accent takes a voice, too, for its ten frames.
        assert abs(found - min(beat + 1, 32)) <= (1e-4 if beat < 32 else 1), f"{found} voices after {beat + 1} beats"
    assert 64 * max(sound) < 33.01
    text = example.run("--output", "file:offline.wav", "--seconds", 5, "--tempo", 600, "level.wav", "silence.wav")
    assert "voices stolen" in text, text


def beats_in(cycles, count, tempo):
    """Returns the places of the transport's beats in the sound: (sample, beat)."""
    found = []
    for first, rolls, frame in cycles:
        beat = int(max(0, frame - 1) * tempo / 60 / RATE)
        while rolls and nearest(beat, tempo) < frame + 256:
            if nearest(beat, tempo) >= frame and first + nearest(beat, tempo) - frame < count:
                found.append((first + nearest(beat, tempo) - frame, beat))
            beat += 1
    return found


def on_the_beats(heard, cycles, tempo, metre):
    """Every tick is on its beat's frame, and the first of a bar has the accent."""
    expected = beats_in(cycles, len(heard), tempo)
    assert len(expected) > 4, cycles[:40]
    found = onsets(heard)
    # It may have been in the middle of a tick when hearing began: what counts begins behind the first silence.
    silence = next(end for end in range(100, len(heard)) if not any(heard[end - 100 : end]))
    found, expected = ([tick for tick in ticks if tick[0] >= silence] for ticks in (found, expected))
    assert [frame for frame, _ in found] == [frame for frame, _ in expected], (found, expected)
    accents = [round(first, 6) for _, first in found]
    assert accents == [0.4 if beat % metre else 0.8 for _, beat in expected], (accents, expected)


def follow(example):
    with Session() as session:
        process = session.begin(example, "--follow", "--tempo", 90, "--beats", 3, is_watched=True)
        port = "metronome:out_1"
        # Nothing rolls, nothing ticks.
        heard, _ = session.hear(RATE, hear=port, freewheel=True)
        assert not any(heard)
        # No other program leads: its own tempo from frame 0 of the piece on, here from the middle of it.
        heard, cycles = session.hear(4 * RATE, hear=port, freewheel=True, roll=100_003)
        on_the_beats(heard, cycles, 90, 3)
        # Another program leads, in whole ticks.
        heard, cycles = session.hear(6 * RATE, hear=port, freewheel=True, roll=7, tempo=123.4, metre=4)
        on_the_beats(heard, cycles, 123.4, 4)
        ended(process)
    example.run("--follow", "--output", "clock", "--seconds", 1, status=2, says="need a JACK server")


def lead(example):
    """It leads; and when the server was killed and another one has started, it leads that."""
    with Session() as session:
        process = session.begin(example, "--lead", "--tempo", 97, "--beats", 5)
        heard, cycles = session.hear(6 * RATE, hear="metronome:out_1", freewheel=True)
        on_the_beats(heard, cycles, 97, 5)
        session.end(signal.SIGKILL)
        time.sleep(1)
        session.start()
        session.wait_for("metronome:out_1")
        heard, cycles = session.hear(6 * RATE, hear="metronome:out_1", freewheel=True)
        on_the_beats(heard, cycles, 97, 5)
        assert "is back" in ended(process)


def survive(example):
    """The server is killed and another one starts: it goes on, and each tick is where it would have been."""
    take = example.folder / "take.wav"
    with Session() as session:
        process = session.begin(example, "--tempo", 173, "--save", "take.wav")
        time.sleep(2)
        session.end(signal.SIGKILL)
        time.sleep(2)
        before = take.stat().st_size
        session.start()
        session.wait_for("metronome:out_1")
        # However busy the machine is: until there are two seconds more.
        for _ in range(300):
            time.sleep(0.1)
            if take.stat().st_size > before + 2 * 8 * RATE:
                break
        text = ended(process)
        assert "is back" in text, text
    sound = read(take)[0]
    assert 4 * 2 * len(sound) > before + 8 * RATE, "nothing after the server came back"
    ticks = [frame for frame, _ in onsets(sound)]
    expected = [nearest(beat, 173) for beat in range(10_000)]
    assert ticks == [frame for frame in expected if frame < len(sound)], ticks
