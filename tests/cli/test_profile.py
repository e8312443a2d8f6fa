"""`hms profile`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_answer import Hms

QUICK = ("profile", "--device", "cpu", "--sizes", "16,48")
OUT = Path("data/profiles/hardware_profile.json")


def _notes(err: str) -> bool:
    """Nothing but notes: whether the machine is busy is not ours to say."""
    return all(line.startswith("note: ") for line in err.splitlines())


def test_the_table_and_the_file(hms: Hms) -> None:
    answer = hms(*QUICK)
    assert answer.code == 0
    assert _notes(answer.err)
    assert "only the CPU was asked for" in answer.err
    rows = [line.split() for line in answer.out.splitlines() if line.split()[:1] in (["16"], ["48"])]
    assert [row[2:] for row in rows] == [["-", "-", "-", "0.0%"]] * 2
    assert all(float(row[1]) > 0 for row in rows)
    assert "MB/s" in answer.out
    assert "tasks stay on the CPU" in answer.out
    assert answer.out.endswith(f"wrote {OUT}\n")
    document = json.loads(OUT.read_text())
    assert (document["accelerator"], document["cpu_gpu_ratio"], document["gpu_fraction"]) == (None, None, 0)
    assert document["seed"] == 42


def test_standard_output_holds_the_document_alone(hms: Hms) -> None:
    answer = hms(*QUICK, "--json", "-", "--out", "here.json", "--seed", 7)
    assert answer.code == 0
    assert _notes(answer.err)
    assert answer.document == json.loads(Path("here.json").read_text())
    assert [each["size"] for each in answer.document["sizes"]] == [16, 48]
    assert answer.document["seed"] == 7


def test_an_accelerator_in_the_table(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    from hybrid_scheduler.hardware import HardwareProfile, SizeProfile, Timing, Transfer

    def seconds(median: float) -> Timing:
        return Timing(median, median, median, 3)

    times = (seconds(0.008), seconds(0.002), seconds(0.016), seconds(0.01), seconds(0.004))
    transfer = Transfer("host_to_device", "pinned", 128.0, seconds(0.064), seconds(5e-6))
    found = HardwareProfile(
        {"cpu": "abacus", "threads": 2}, {"name": "loom"}, None, 1.0, None, (SizeProfile(64, *times),), (transfer,)
    )
    monkeypatch.setattr("hybrid_scheduler.hardware.HardwareProfiler.profile_range", lambda *_: found)
    monkeypatch.setattr("hybrid_scheduler.hardware.HardwareProfiler.save_profile", lambda *_: None)
    answer = hms(*QUICK)
    assert (answer.code, answer.err) == (0, "")
    row = next(line.split() for line in answer.out.splitlines() if line.split()[:1] == ["64"])
    assert row == ["64", "8.000", "2.000", "16.000", "4.00", "80.0%"]
    assert "host to device (pinned)  2,000 MB/s, latency 5.0 µs" in answer.out
    assert "loom is 4 times faster than abacus (2 threads), 2 times slower with transfers" in answer.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sizes", "0"], "size 0 must be a whole number from 1 to 16384"),
        (["--sizes", "20000"], "size 20000"),
        (["--sizes", "64,big"], "'big' must be a whole number"),
        (["--sizes", "64,"], "'' must be"),
        (["--sizes", "2.5"], "'2.5'"),
        (["--sizes", ""], "no size"),
        (["--sizes", "64,64"], "size 64 is given twice"),
        (["--device", "gpu"], "'gpu' is not one of"),
        (["--seed", "-1"], "'-1'"),
        (["--out", "."], "irectory"),
        (["--json", "no/such/file.json"], "no/such"),
        (["--config", "none.yaml"], "none.yaml"),
    ],
)
def test_bad_input(hms: Hms, options: list[str], says: str) -> None:
    answer = hms("profile", "--device", "cpu", *options)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("hms profile: ")
    assert answer.err.count("\n") == 1
    assert says in answer.err
    assert not OUT.exists()
