"""Checks the report of devices, for people and as JSON: with no card, with names of a configuration, and with mistakes."""

import json
import os
import subprocess

IS_LIVE = False
HAS_USUAL_OPTIONS = False

CONFIGURATION = """
pcm.null { type null hint { show on description "Silence" } }
pcm.studio { type null hint { show on description "The studio
by the window" } }
pcm.default { type null hint { show on description "What there is" } }
pcm.hidden { type null hint { show off } }
defaults.namehint.extended on
defaults.namehint.basic on
defaults.namehint.showall off
"""


def check(example):
    def run(*arguments, status=None, configuration):
        result = subprocess.run(
            [example.path, *arguments], capture_output=True, text=True, timeout=60,
            env={**os.environ, "ALSA_CONFIG_PATH": str(configuration)})
        text = result.stdout + result.stderr
        assert status is None or result.returncode == status, f"devices {arguments}: {result.returncode}, {text}"
        return text

    example.run("--help", says="Exit codes")
    for mistake in (["--louder"], ["hw:0"], ["--device"], ["--list", "--doctor"]):
        example.run(*mistake, status=2, says="see devices --help")

    own = example.folder / "asound.conf"
    own.write_text(CONFIGURATION)
    has_card = os.path.exists("/proc/asound/card0")
    text = run("--list", status=0, configuration=own)
    assert "  studio: The studio, by the window (plays and records)\n" in text, text
    assert "  default: the device that programs use by default (What there is) (plays and records)\n" in text, text
    assert "plays: 8000, 11025," in text and "channels: 1 to" in text, text
    assert "hidden" not in text and "null:" not in text and "Needed for good sound" not in text, text
    assert has_card or "There is no sound card." in text, text

    report = json.loads(run("--json", configuration=own))
    names = {device["name"]: device for device in report["devices"]}
    assert {"studio", "default"} <= set(names) and names["default"]["isDefault"], names
    assert [answer["direction"] for answer in names["default"]["abilities"]] == ["plays", "records"]
    assert 48_000 in names["default"]["abilities"][0]["rates"]
    assert isinstance(report["midi"], list)
    assert report["pipeWire"]["devices"] or report["pipeWire"].get("problem", "").startswith("No PipeWire daemon answers"), report
    assert "PipeWire" in text, text
    # Every check says how it stands and, where it is not well, what to do.
    checks = {check["subject"]: check for check in report["checks"]}
    assert {"card", "access to /dev/snd", "real-time priority", "locked memory", "sound servers"} <= set(checks), checks
    for check in report["checks"]:
        assert check["verdict"] in ("good", "note", "advice", "problem") and check["finding"].endswith("."), check
        assert check["verdict"] in ("good", "note") or check["remedy"], check
    assert (checks["card"]["verdict"] == "good") == has_card, checks["card"]
    assert "devices" not in json.loads(run("--doctor", "--json", configuration=own))
    assert set(json.loads(run("--list", "--json", configuration=own))) == {"devices", "pipeWire", "midi", "choice"}

    # One device; one that is not there; a configuration that is not there, which is said.
    text = run("--device", "studio", status=0, configuration=own)
    assert text.startswith("plays: 8000") and "\nrecords: 8000" in text, text
    text = run("--device", "nonsense", status=1, configuration=own)
    assert 'There is no sound device "nonsense"' in text, text
    answers = json.loads(run("--device", "nonsense", "--json", status=1, configuration=own))
    assert all("nonsense" in answer["problem"] for answer in answers), answers
    text = run("--doctor", status=1, configuration=example.folder / "missing.conf")
    assert "missing.conf, which is not there" in text and "unset ALSA_CONFIG_PATH" in text, text
    assert (run("--list", configuration=example.folder / "missing.conf").count("There is no sound card.") == 1) != has_card
