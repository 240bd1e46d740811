"""MDA's plug-ins, of Debian's mda-lv2: they are listed, described, tried, played and drawn, and mistakes are answered."""

from listening import RATE, Picture, read, write

# A verb and a plug-in come before the options.
IS_LIVE = HAS_USUAL_OPTIONS = False


def check(example):
    folder = example.folder
    example.run("--help", says="--set SYMBOL=VALUE")
    example.run("play", "MDA Delay", "--louder", "1", status=2, says="there is no option --louder")
    example.ends_on_ctrl_c("play", "MDA Delay")
    example.never_blocks("play", "MDA Delay")
    example.run("list", "mda delay", says="http://drobilla.net/plugins/mda/Delay")
    example.run("search", "no plug-in has this", status=1, says="None of")
    text = example.run("describe", "MDA Delay", says="2 in, 2 out")
    assert 'feedback: "Feedback" = 0.7, 0.0…1.0' in text, text
    # One sample comes out again, later: through an echo without the sound itself.
    write(folder / "click.wav", [0.5] + [0.0] * (RATE - 1))
    example.run("play", "MDA Delay", "--input", "click.wav", "--set", "fx_mix=1", "--set", "feedback=0", "--output", "file:echo.wav",
                says="echo.wav")
    for samples in read(folder / "echo.wav"):
        peak = max(range(len(samples)), key=lambda i: abs(samples[i]))
        assert peak > 0.01 * RATE and abs(samples[peak]) > 0.05, f"the echo is {samples[peak]} at frame {peak}"
    example.run("play", "MDA JX10", "--seconds", 2, "--output", "file:synth.wav", says="plays")
    assert max(map(abs, read(folder / "synth.wav")[0])) > 0.01
    example.run("draw", "MDA Delay", "--set", "fx_mix=0", "--picture", "delay.png", says="delay.png")
    assert Picture(folder / "delay.png").height == 420
    example.run("play", "MDA Delay", "--set", "feedback=2", status=1, says="is 0.0 to 1.0")
    example.run("play", "MDA Delay", "--set", "nonsense", status=2, says="SYMBOL=NUMBER")
    example.run("play", "Nothing of this name", status=1, says="has the URI or the name")
    example.run("play", "MDA Delay", "--preset", "x", status=1, says="has no preset")
    example.run("play", "MDA Delay", "--input", "missing.wav", status=1, says="missing.wav")
    example.run("sing", status=2, says="list, search, describe")
