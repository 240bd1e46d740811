"""Each part of the siren is in its place, to the sample."""

import math

from listening import RATE

TOLERANCE = 1e-6


def sound(frame):
    """The siren that is pressed after one second and let go after four: its second round ends at 5.5 s."""
    time = frame / RATE - 1
    if 0 <= time < 0.5:
        turns, level = 300 * time + 500 * time * time, min(1, time / 0.05)
    elif 0.5 <= time < 4.5:
        time = (time - 0.5) % 2
        turns, level = 800 * time + 250 / math.pi * (1 - math.cos(math.pi * time)), 1
    elif 4.5 <= time < 5.5:
        time -= 4.5
        turns, level = 800 * time - 300 * time * time, 1 - time
    else:
        return 0
    return 0.3 * level * math.sin(2 * math.pi * turns)


def check(example):
    left, right = example.offline(8)
    assert left == right
    worst = max(range(len(left)), key=lambda frame: abs(left[frame] - sound(frame)))
    assert abs(left[worst] - sound(worst)) < TOLERANCE, f"frame {worst}: {left[worst]}, not {sound(worst)}"
    # Ten seconds ahead: the same, later.
    later = example.offline(15, "--at", 10)[0]
    assert not any(later[:10 * RATE]) and later[10 * RATE:] == left[RATE:6 * RATE], "scheduled ten seconds ahead"
    # A key sounds it, too.
    example.run("--output", "clock", "--seconds", 3, "--at", 60, "--save", "key.wav", stdin=" ")
    assert any((example.folder / "key.wav").read_bytes()[-4_000:]), "space was pressed, and nothing is heard"
    example.run("a.wav", status=2, says="it takes 3")
