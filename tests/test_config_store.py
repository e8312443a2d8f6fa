"""The store's door without an event loop: what real nodes measured, kept between runs."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest

from hybrid_scheduler.config.store import keep_times, known_times, store_room, store_url
from hybrid_scheduler.hardware.nodes.measured_times import Measured, MeasuredTimes
from hybrid_scheduler.model.errors import MissingExtraError
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.store import StoreError

HARDWARE = ("a core", "a core", "a GPU")
TASK = Task(task_id=0, size=300.0, compute_intensity=0.5, memory_required=1.0, kind="resize")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path}/new/store.db"


def test_what_one_run_measured_the_next_one_knows(url: str) -> None:
    times = MeasuredTimes(HARDWARE, known_times(HARDWARE, url))
    times.learn(TASK, 0, 2.0)
    times.learn(TASK, 2, 0.25)
    keep_times(times.rows(), url)
    known = known_times(HARDWARE, url)
    assert sorted(known, key=repr) == sorted(times.rows(), key=repr)
    assert [row.hardware for row in known] == ["a GPU", "a core"]
    assert MeasuredTimes(HARDWARE, known).of(TASK).tolist() == times.of(TASK).tolist()
    assert known_times(["another GPU"], url) == []


def test_the_later_measurement_stands(url: str) -> None:
    row = Measured("resize", "a core", 33, 1, 0.5)
    keep_times([row], url)
    keep_times(iter([Measured("resize", "a core", 33, 2, 0.25)]), url)
    assert known_times(["a core"], url) == [Measured("resize", "a core", 33, 2, 0.25)]


def test_inside_a_running_loop_and_from_a_thread(url: str) -> None:
    row = Measured("resize", "a core", 33, 1, 0.5)

    async def notebook() -> list[Measured]:
        keep_times([row], url)
        return known_times(["a core"], url)

    assert asyncio.run(notebook()) == [row]
    found: list[Measured] = []
    thread = threading.Thread(target=lambda: found.extend(known_times(["a core"], url)))
    thread.start()
    thread.join()
    assert found == [row]


def test_the_settings_say_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", f"sqlite+aiosqlite:///{tmp_path}/mine.db")
    keep_times([Measured("resize", "a core", 33, 1, 0.5)])
    assert store_url().endswith("mine.db")
    assert (tmp_path / "mine.db").is_file()
    assert len(known_times(["a core"])) == 1


def test_a_store_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, but a text that is longer than the header of one " * 20)
    with pytest.raises(StoreError, match=r"text\.db"):
        known_times(["a core"], f"sqlite+aiosqlite:///{tmp_path}/text.db")


def test_without_its_libraries_the_store_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import hybrid_scheduler

    for name in [name for name in sys.modules if name.startswith("hybrid_scheduler.store")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(hybrid_scheduler, "store")
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingExtraError, match=r"the store needs sqlalchemy; .*\[server\]"):
        store_room()
