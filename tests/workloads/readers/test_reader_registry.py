"""Readers by name and by content: what is recognised, what is registered wrongly, and the contract of every reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from sample_files import FORMATS, OWN, TEXTS, put, sample

from hybrid_scheduler import scenario
from hybrid_scheduler.model import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.registered import registered
from hybrid_scheduler.testing import READER_CHECKS
from hybrid_scheduler.workloads.readers import assumptions
from hybrid_scheduler.workloads.readers.base import Reader
from hybrid_scheduler.workloads.readers.registry import GROUP, create_reader, read_workload, reader_names, recognise
from hybrid_scheduler.workloads.recorded import RecordedFile


def test_built_in_names() -> None:
    assert set(reader_names()) >= set(FORMATS)
    assert reader_names() == sorted(reader_names())


@pytest.mark.parametrize("format", FORMATS)
def test_recognised_by_content_alone(tmp_path: Path, format: str) -> None:
    path = sample(tmp_path, format)
    anonymous = path.rename(path.with_name("anything"))
    assert recognise(anonymous) == format


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: check.__name__)
def test_contract(tmp_path: Path, format: str, check: Callable[[Reader, Path], None]) -> None:
    check(create_reader(format), sample(tmp_path, format))


def test_every_rule_of_a_reader_is_explained() -> None:
    folders = Path(assumptions.__file__).parent, Path(scenario.__file__).parent
    files = [file for folder in folders for file in folder.glob("*.py")]
    used = {rule for file in files for rule in re.findall(r'Assumption\(\s*"(\w+)"', file.read_text())}
    assert used | {"derived"} == set(assumptions.RULES)


def test_what_nobody_recognises_is_read_as_own_csv(tmp_path: Path) -> None:
    path = put(tmp_path, "places.csv", "sn,town\n1,Bern\n")
    assert recognise(path) == "csv"
    with pytest.raises(
        InvalidInputError, match=r"places\.csv, line 1: the required column 'size' is missing; found: 'sn'"
    ):
        read_workload(path, 1)


@pytest.mark.parametrize(
    ("format", "column", "message"),
    [
        ("philly", "duration", "line 1: the required column 'duration' is missing; .*is 'Xduration' meant?"),
        (
            "alibaba",
            "scheduled_time",
            "line 1: the required column 'scheduled_time' is missing; .* 'Xscheduled_time' meant",
        ),
        ("starpu", "mean_us", "line 1: the required column 'mean_us' is missing; .* 'Xmean_us' meant"),
        ("gavel", "steps_per_s", "line 1: the required column 'steps_per_s' is missing; .* 'Xsteps_per_s' meant"),
    ],
)
def test_a_wrong_column_is_told_without_naming_the_format(
    tmp_path: Path, format: str, column: str, message: str
) -> None:
    name, text = TEXTS[format]
    with pytest.raises(InvalidInputError, match=message):
        read_workload(put(tmp_path, name, text.replace(column, f"X{column}", 1)), 1)


def test_a_format_can_be_forced(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", OWN)
    assert read_workload(path, 1)[0] == "csv"
    with pytest.raises(InvalidInputError, match=r"a\.csv, line 1: the required column 'timestamp' is missing"):
        read_workload(path, 1, "philly")
    with pytest.raises(UnknownNameError, match="unknown format 'phily': did you mean 'philly'"):
        read_workload(path, 1, "phily")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="nowhere: there is no such file"):
        recognise(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match="this is a directory"):
        recognise(tmp_path)


class Anything(Reader):
    """Takes every file for its own."""

    title = "anything"

    def recognises(self, head: bytes, name: str) -> bool:
        return True

    def read(self, path: Path, seed: int) -> RecordedFile:
        raise AssertionError("not read here")


def test_several_that_recognise_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(registered(GROUP), "zebra", EntryPoint("zebra", f"{__name__}:Anything", GROUP))
    with pytest.raises(InvalidInputError, match=r"this could be csv or zebra; say which, e\.g\. --format csv"):
        recognise(put(tmp_path, "a.csv", OWN))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_module_anywhere:Thing", r"format 'mine' \(no_such_module_anywhere:Thing\) cannot be loaded: No mod"),
        ("json:JSONDecoder", r"format 'mine' \(json:JSONDecoder\) is not a subclass of Reader"),
    ],
)
def test_wrong_registrations(monkeypatch: pytest.MonkeyPatch, target: str, message: str) -> None:
    monkeypatch.setitem(registered(GROUP), "mine", EntryPoint("mine", target, GROUP))
    with pytest.raises(InvalidInputError, match=message):
        create_reader("mine")
