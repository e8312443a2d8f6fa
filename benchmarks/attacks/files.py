"""Files nobody vouches for, given to the real `hms`: one line, exit code 2, little memory, no code from them."""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.device import FIGURES
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.training.pretrained import load_pretrained

COMPARE = ("compare", "--schedulers", "mct", "--tasks", "20")
MOST_ADDRESSES = 8 << 30
"""Bytes of addresses a child may ask for: a bomb that goes off ends the child, not the machine."""
MORE_MEMORY = 100_000
"""Kilobytes that a refused file may cost beyond one that does not exist."""
BOMB_MEGABYTES = 3300
FLIPS = 150

YAML: dict[str, bytes] = {
    "a date as a seed": b"simulation: {seed: 2001-99-99}",
    "!!int abc": b"simulation: {seed: !!int abc}",
    "!!float abc": b"simulation: {speed: !!float abc}",
    "!!timestamp x": b"simulation: {seed: !!timestamp x}",
    "5000 digits": b"simulation: {seed: " + b"9" * 5000 + b"}",
    "100 000 brackets": b"[" * 100_000,
    "an alias bomb": b"a: &a [x, x, x, x, x, x, x, x, x]\n"
    + b"".join(b"%c: &%c [%s]\n" % (n + 1, n + 1, b", ".join([b"*%c" % n] * 9)) for n in range(97, 106)),
    "an alias of itself": b"a: &a [*a]",
    "bytes": bytes(range(256)),
    "UTF-16 cut in half": "physics: {noise: 9}".encode("utf-16")[:-1] + b"\xd8",
    "a key twice": b"physics: {}\nphysics: {}\n",
    "code": b"simulation: !!python/object/apply:os.system [echo]",
}
CLUSTERS: dict[str, bytes] = {
    "speed 1e-320": b"devices: [{name: a, kind: cpu, speed: 1.0e-320}]",
    "latency 1e308": b"devices: [{name: a, kind: cpu, latency: 1.0e+308}]",
    "2000 devices": b"devices:\n" + b"".join(b"- {name: d%d, kind: cpu}\n" % n for n in range(2000)),
    "a name of two lines": b'devices: [{name: "a\\nb", kind: cpu}]',
}


class Answer:
    """What a run of `hms` left behind."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "hybrid_scheduler", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES)),
        )
        assert process.stdout is not None
        assert process.stderr is not None
        self.out, self.err = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        self.code, self.kilobytes = os.waitstatus_to_exitcode(status), used.ru_maxrss
        process.returncode = self.code  # it has been waited for

    def check_refusal(self, what: str) -> None:
        """One line on standard error, exit code 2."""
        assert (self.code, self.out) == (2, ""), f"{what}: exit code {self.code}, said {self.err[-500:]!r}"
        assert self.err.count("\n") == 1, f"{what}: said {self.err[-500:]!r}"
        assert "Traceback" not in self.err, f"{what}: a traceback"
        assert len(self.err) < 1000, f"{what}: {len(self.err)} characters"


def check_yaml(folder: Path) -> str:
    """Configurations and nodes that once ended in tracebacks, or would."""
    for option, cases in (("--config", YAML), ("--cluster", YAML | CLUSTERS)):
        for what, data in cases.items():
            (folder / "bad.yaml").write_bytes(data)
            Answer(folder, *COMPARE, option, "bad.yaml").check_refusal(f"{option} with {what}")
    Answer(folder, *COMPARE, "--config", ".").check_refusal("a folder")
    return f"{2 * len(YAML) + len(CLUSTERS) + 1} files refused in one line each"


def check_huge_yaml(folder: Path) -> str:
    """A configuration of a gigabyte is not read."""
    absent = Answer(folder, *COMPARE, "--config", "absent.yaml")
    with (folder / "huge.yaml").open("wb") as file:
        file.truncate(10**9)
    huge = Answer(folder, *COMPARE, "--config", "huge.yaml")
    huge.check_refusal("a gigabyte")
    assert huge.kilobytes < absent.kilobytes + MORE_MEMORY, f"{huge.kilobytes} kB"
    return f"{huge.kilobytes / 1000:.0f} MB of memory, {absent.kilobytes / 1000:.0f} MB for a file that is absent"


def check_ends_of_the_ranges(folder: Path) -> str:
    """Devices at both ends of every range race, and every figure is a number."""
    for end in ("low", "high"):
        figures = {name: getattr(legal, end) for name, legal in FIGURES.items()}
        devices = [{"name": f"{kind}_0", "kind": kind, **figures, "node": 0} for kind in ("cpu", "gpu")]
        (folder / "node.yaml").write_text(json.dumps({"devices": devices}))
        options = ("--schedulers", "mct,oracle,greedy", "--tasks", "500", "--noise", "10", "--rate", "1", "--json", "-")
        answer = Answer(folder, "compare", "--cluster", "node.yaml", *options)
        assert answer.code == 0, answer.err
        found = list(_numbers(json.loads(answer.out)["schedulers"]))
        assert all(map(math.isfinite, found)), "a figure is no number"
    return f"{len(found)} figures at each end"


def check_model_bomb(folder: Path) -> str:
    """A forest of a few megabytes that would unfold to gigabytes is refused before it is unpacked."""
    path = folder / "bomb.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        archive.open("header.npy", "w", force_zip64=True) as entry,
    ):
        shape = (BOMB_MEGABYTES * 125_000,)
        np.lib.format.write_array_header_1_0(entry, {"descr": "<f8", "fortran_order": False, "shape": shape})
        for _ in range(BOMB_MEGABYTES):
            entry.write(bytes(1_000_000))
    race = ("compare", "--schedulers", "hybrid_ml", "--tasks", "20", "--model")
    absent, bomb = Answer(folder, *race, "absent.npz"), Answer(folder, *race, "bomb.npz")
    bomb.check_refusal("the bomb")
    assert f"unfolds to {BOMB_MEGABYTES} MB" in bomb.err, bomb.err
    assert bomb.kilobytes < absent.kilobytes + MORE_MEMORY, f"{bomb.kilobytes} kB"
    size = path.stat().st_size / 1e6
    return f"{size:.1f} MB would unfold to {BOMB_MEGABYTES} MB; refused with {bomb.kilobytes / 1000:.0f} MB of memory"


def check_flipped_bytes(folder: Path) -> str:
    """A saved model with a flipped byte is refused, wherever it is."""
    random = np.random.default_rng(1)
    for name in ("hybrid_ml", "rl_agent"):
        learner, again = create_scheduler(name), create_scheduler(name)
        assert isinstance(learner, Learner)
        assert isinstance(again, Learner)
        assert load_pretrained(learner, World())
        path = folder / f"{name}{learner.model_suffix}"
        learner.save_model(path)
        again.load_model(path)
        whole = path.read_bytes()
        for place in random.choice(len(whole), FLIPS, replace=False):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << random.integers(8)]) + whole[place + 1 :])
            try:
                again.load_model(path)
            except InvalidInputError:
                continue
            raise AssertionError(f"{path.name} loads with a flipped bit in byte {place}")
        Answer(folder, "compare", "--schedulers", name, "--tasks", "20", "--model", path.name).check_refusal(name)
    return f"{2 * FLIPS} flips refused"


def check_pickle(folder: Path) -> str:
    """A predictor is not unpickled before it has been checked."""
    joblib.dump(_Burglar(folder / "trace"), folder / "m.pkl")
    try:
        RandomForestPredictor.load(folder / "m.pkl")
    except InvalidInputError as error:
        assert not (folder / "trace").exists(), "its code was run"
        return f"refused: {str(error).partition(': ')[2][:60]}"
    raise AssertionError("a foreign pickle was loaded")


class _Burglar:
    """Makes a file when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return Path.touch, (self.trace,)


def _numbers(found: object) -> Iterator[float]:
    if isinstance(found, dict):
        for value in found.values():
            yield from _numbers(value)
    elif isinstance(found, int | float):
        yield float(found)
