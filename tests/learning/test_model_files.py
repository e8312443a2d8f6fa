"""Model files: written whole and for their owner alone; damage, bombs and code in them are refused."""

from __future__ import annotations

import io
import math
import os
import pickle
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.dummy import DummyRegressor

from hybrid_scheduler.learning.agent_file import read_agent, write_agent
from hybrid_scheduler.learning.agent_layout import CPUS, EXCESS, HIDDEN, SECOND
from hybrid_scheduler.learning.forest.file import read_archive, write_archive
from hybrid_scheduler.learning.model_file import CHECKSUM, FREE_BYTES, replacing
from hybrid_scheduler.learning.packaged import FOLDER, fits_node
from hybrid_scheduler.learning.predictor_file import read_predictor, write_predictor
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.schedulers.static_forest import StaticForest
from hybrid_scheduler.training.pretrained import load_pretrained

PREDICTOR = {
    "model": "Predictor",
    "feature_names": ("a",),
    "target": "b",
    "seed": 0,
    "estimator": DummyRegressor().fit([[0.0]], [1.0]),
}
KINDS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "m.npz": (lambda path: write_archive(path, {"seed": 3}, {"a": np.arange(60.0)}), read_archive),
    "m.pth": (lambda path: write_agent(path, {"a": torch.arange(60.0)}), read_agent),
    "m.pkl": (lambda path: write_predictor(path, PREDICTOR), lambda path: read_predictor(path, "Predictor")),
}
MODELS = {"rl_agent": "rl_agent.pth", "hybrid_ml": "hybrid_ml.npz"}
every_kind = pytest.mark.parametrize("name", KINDS)


@every_kind
def test_for_the_owner_alone(tmp_path: Path, name: str) -> None:
    write, read = KINDS[name]
    path = tmp_path / "some" / "folders" / name
    write(path)
    read(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)} == {0o700}
    path.chmod(0o644)
    path.with_name(name + ".unfinished").write_bytes(b"left by a crash, for all to read")
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == [name]


def test_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "m.pth"
    path.write_bytes(b"before")

    def fill_the_disk() -> None:
        with replacing(path) as file:
            file.write(b"half of it")
            raise OSError(28, os.strerror(28))

    with pytest.raises(InvalidInputError, match="No space left"):
        fill_the_disk()
    with pytest.raises(KeyboardInterrupt), replacing(path):
        raise KeyboardInterrupt
    assert path.read_bytes() == b"before"
    assert [file.name for file in tmp_path.iterdir()] == ["m.pth"]
    with pytest.raises(InvalidInputError, match="cannot be written"), replacing(path / "below" / "m.pth"):
        pass


@every_kind
def test_every_flipped_byte_is_noticed(tmp_path: Path, name: str) -> None:
    write, read = KINDS[name]
    path = tmp_path / name
    write(path)
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 400)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        with pytest.raises(InvalidInputError):
            read(path)
    for end in (0, 1, 20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(InvalidInputError):
            read(path)


@pytest.mark.parametrize("name", ["hybrid_ml", "static_forest", "rl_agent"])
def test_packaged_models_load(name: str) -> None:
    learner = create_scheduler(name)
    assert isinstance(learner, Learner)
    assert load_pretrained(learner, World())
    assert load_pretrained(learner, World(ClusterSpec.default(3))) == (name == "rl_agent"), "it is for any node"


def test_packaged_forests_are_for_the_default_node() -> None:
    assert fits_node(ClusterSpec.default().public_table())
    for other in (ClusterSpec.default(5), ClusterSpec.default(4, memory_per_gpu=4000.0)):
        assert not fits_node(other.public_table())


def entry_middles(path: Path) -> list[int]:
    """Where the middle bytes of the five largest entries of an archive stand: between entries there is padding."""
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        largest = sorted(archive.infolist(), key=lambda entry: -entry.compress_size)[:5]
    starts = [entry.header_offset for entry in largest]
    before = [30 + sum(struct.unpack("<HH", whole[start + 26 : start + 30])) for start in starts]
    return [s + b + e.compress_size // 2 for s, b, e in zip(starts, before, largest, strict=True)]


@pytest.mark.parametrize(("name", "read"), [("hybrid_ml", read_archive), ("rl_agent", read_agent)])
def test_files_without_a_checksum(tmp_path: Path, name: str, read: Callable[[Path], object]) -> None:
    """Those of earlier versions load, and damage to their entries is noticed by the entries' own checksums."""
    path = tmp_path / MODELS[name]
    whole = (FOLDER / MODELS[name]).read_bytes()
    if CHECKSUM in whole:
        whole = whole[: whole.rindex(CHECKSUM) - 2] + b"\0\0"
    path.write_bytes(whole)
    read(path)
    for place in entry_middles(path):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        with pytest.raises(InvalidInputError, match=r"damaged|readable"):
            read(path)


@contextmanager
def little_memory() -> Iterator[None]:
    """Fails when more than a few megabytes were needed at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def zipped(path: Path, entries: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def test_an_archive_that_unfolds_without_end_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    zipped(path, {"header.npy": npy(np.zeros(2)), "a.npy": npy(np.zeros(FREE_BYTES // 4))})
    assert path.stat().st_size < FREE_BYTES / 300
    with (
        little_memory(),
        pytest.raises(InvalidInputError, match=r"it unfolds to 134 MB, but at most 67 MB are credible"),
    ):
        read_archive(path)


def test_an_array_that_claims_more_than_it_holds(tmp_path: Path) -> None:
    path, lie = tmp_path / "liar.npz", io.BytesIO()
    np.lib.format.write_array_header_1_0(lie, {"descr": "<f8", "fortran_order": False, "shape": (10**9,)})
    zipped(path, {"header.npy": lie.getvalue() + bytes(800)})
    with (
        little_memory(),
        pytest.raises(InvalidInputError, match=r"header\.npy holds something else than its \(1000000000,\) numbers"),
    ):
        read_archive(path)


class Burglar:
    """Makes a file when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return Path.touch, (self.trace,)


def test_no_code_from_archives(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    stream = io.BytesIO()
    np.save(stream, np.array([Burglar(trace)], dtype=object), allow_pickle=True)
    zipped(tmp_path / "m.npz", {"header.npy": stream.getvalue()})
    with pytest.raises(InvalidInputError, match="something else"):
        read_archive(tmp_path / "m.npz")
    torch.save({"format": "x", "a": Burglar(trace)}, tmp_path / "m.pth")
    with pytest.raises(InvalidInputError, match="no part of an agent"):
        read_agent(tmp_path / "m.pth")
    assert not trace.exists()


class Zeros:
    """A billion bytes in a few."""

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return bytearray, (10**9,)


def test_an_agent_that_unfolds_without_end(tmp_path: Path) -> None:
    path = tmp_path / "m.pth"
    zipped(path, {"m/data.pkl": pickle.dumps({"a": Zeros()}, protocol=2), "m/version": b"3"})
    with little_memory(), pytest.raises(InvalidInputError, match="bytearray, which is no part of an agent"):
        read_agent(path)


def test_deep_headers(tmp_path: Path) -> None:
    text = np.frombuffer(b"[" * 100_000, dtype=np.uint8)
    zipped(tmp_path / "m.npz", {"header.npy": npy(text)})
    with pytest.raises(InvalidInputError, match="recursion"):
        read_archive(tmp_path / "m.npz")


def changed(path: Path, target: Path, **arrays: Any) -> Path:
    header, found = read_archive(path)
    write_archive(target, header, {**found, **arrays})
    return target


def test_a_forest_that_does_not_fit_together(tmp_path: Path) -> None:
    """The compiled loop checks nothing: what could lead it astray is refused, or not taken from the file."""
    packaged, target = FOLDER / MODELS["hybrid_ml"], tmp_path / "m.npz"
    _, arrays = read_archive(packaged)
    good, learner = create_scheduler("static_forest"), create_scheduler("static_forest")
    assert isinstance(good, StaticForest)
    assert isinstance(learner, StaticForest)
    good.load_model(packaged)
    learner.load_model(changed(packaged, target, depths=np.zeros_like(arrays["depths"])))
    assert good.model is not None
    assert learner.model is not None
    x = np.ones((3, 5))
    assert np.array_equal(learner.model.predict(x), good.model.predict(x)), "depths are worked out, not believed"
    for wrong in (
        {"groups": arrays["groups"] + 1000},
        {"groups": arrays["groups"] - 1},
        {"nodes": arrays["nodes"][::-1].copy()},
        {"links": arrays["links"] + (1 << 20)},
        {"values": arrays["values"][:-1]},
        {"leaves": np.zeros_like(arrays["leaves"])},
    ):
        with pytest.raises(InvalidInputError, match="damaged or incomplete"):
            learner.load_model(changed(packaged, target, **wrong))


def test_an_agent_that_does_not_fit_together(tmp_path: Path) -> None:
    path = tmp_path / "m.pth"
    for key, value in (("cpus", 10**9), ("gpus", 99), ("hidden", 10**9), ("hidden", 8), ("fractions", [0.5] * 99)):
        contents = read_agent(FOLDER / MODELS["rl_agent"])
        contents["sizes"][key] = value
        write_agent(path, contents)
        with pytest.raises(InvalidInputError, match="damaged or incomplete"):
            create_scheduler("rl_agent").load_model(path)  # type: ignore[attr-defined]
    for place, figure in ((CPUS, 30.0), (HIDDEN, 1e6), (SECOND, 0.0), (SECOND, math.nan), (EXCESS, -1.0)):
        contents = read_agent(FOLDER / MODELS["rl_agent"])
        contents["agent"]["header"][place] = figure
        write_agent(path, contents)
        with pytest.raises(InvalidInputError, match="damaged or incomplete"):
            create_scheduler("rl_agent").load_model(path)  # type: ignore[attr-defined]
