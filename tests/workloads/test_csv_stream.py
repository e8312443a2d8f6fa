"""Large traces piece by piece: the same tasks as read at once, and the same errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.workloads import WorkloadGenerator, csv_stream, read_csv, write_csv
from hybrid_scheduler.workloads.chunks import TaskChunk, chunk_of
from hybrid_scheduler.workloads.csv_stream import stream_csv

MINIMAL = "size,compute_intensity,memory_required\n1000,0.5,10\n2000,0.5,20\n"


def assert_same(chunks: list[TaskChunk], whole: TaskChunk) -> None:
    for name, values in whole.figures.items():
        assert np.concatenate([chunk.figures[name] for chunk in chunks]).tolist() == values.tolist(), name
    for name in ("child", "parent"):
        assert np.concatenate([getattr(chunk, name) for chunk in chunks]).tolist() == getattr(whole, name).tolist()
    assert {chunk.derived for chunk in chunks} == {whole.derived}


@pytest.mark.parametrize("plain", [True, False], ids=["Arrow", "exact"])
def test_pieces_are_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: bool) -> None:
    path = tmp_path / "t.csv"
    write_csv(path, WorkloadGenerator(1).generate("mixed", 3000, dependency_prob=0.4))
    monkeypatch.setattr(csv_stream, "BLOCK_BYTES", 20_000)
    if not plain:
        monkeypatch.setattr(csv_stream, "find_spec", lambda name: None)
    chunks = list(stream_csv(path))
    assert len(chunks) > 1
    assert_same(chunks, chunk_of(read_csv(path)))
    assert sum(chunk.kinds["synthetic"] for chunk in chunks) == 3000


def test_the_exact_reader_goes_on_where_something_is_not_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blank before a number in scientific words, a quoted line break: legal, though not for Arrow as it is asked."""
    path = tmp_path / "t.csv"
    write_csv(path, WorkloadGenerator(1).generate("mixed", 2000, dependency_prob=0.4))
    lines = path.read_text().splitlines(keepends=True)
    lines[1500] = lines[1500].replace("synthetic", '"two\nlines"').replace("[]", "[ ]")
    path.write_text("".join(lines) + "\n\n")
    monkeypatch.setattr(csv_stream, "BLOCK_BYTES", 20_000)
    chunks = list(stream_csv(path))
    assert_same(chunks, chunk_of(read_csv(path)))
    assert sum(chunk.kinds.get("two\nlines", 0) for chunk in chunks) == 1


@pytest.mark.parametrize(
    "content",
    [
        MINIMAL + "-1,0.5,10\n",
        MINIMAL + "1,0.5\n",
        MINIMAL + "x,0.5,10\n",
        MINIMAL + "\n1,0.5,10\n",
        MINIMAL + ",0.5,10\n",
        MINIMAL + "nan,0.5,10\n",
        MINIMAL.replace("size", "sise"),
        MINIMAL.replace("compute_intensity", "size"),
        MINIMAL.splitlines()[0] + "\n",
        "",
        "size,compute_intensity,memory_required,dependencies\n1,0.5,10,[x]\n",
        "size,compute_intensity,memory_required,task_size\n1,0.5,10,2\n",
    ],
)
def test_errors_are_those_of_the_exact_reader(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(InvalidInputError) as exact:
        read_csv(path)
    with pytest.raises(InvalidInputError) as streamed:
        list(stream_csv(path))
    assert str(streamed.value) == str(exact.value)
