"""What every learner must do with its files; part of the checks of a scheduler."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.testing.nodes import SITUATIONS
from hybrid_scheduler.training.pretrained import idle_view


def check_model_files(factory: Callable[[], Scheduler]) -> None:
    """Its objective is arguments of its own; a learner reads what it wrote and refuses anything else."""
    scheduler = factory()
    unknown = set(scheduler.objective) - set(scheduler.parameters())
    assert not unknown, f"objective names {sorted(unknown)}, but these are no arguments of the constructor"
    if not isinstance(scheduler, Learner):
        return
    suffix = scheduler.model_suffix
    assert len(suffix) > 1, f"model_suffix is {suffix!r}, but it must be a dot and an ending"
    assert suffix == Path(f"model{suffix}").suffix, f"model_suffix is {suffix!r}, but it must be a dot and an ending"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        _assert_refused(factory, path, "a missing file")
        path.write_bytes(b"no model")
        _assert_refused(factory, path, "a file of something else")
        _check_own_file(scheduler, factory, Path(folder) / f"own{suffix}")
    for node, situation in SITUATIONS.items():
        packaged = _made(factory).packaged_model(idle_view(situation.world))
        if packaged is not None:
            learner = _made(factory)
            assert packaged.is_file(), f"on node {node!r}, the packaged model {packaged} is not a file"
            assert packaged.name.endswith(suffix), f"the packaged model {packaged.name} does not end in {suffix}"
            learner.load_model(packaged)
            learner.check_devices(len(situation.world.cluster.devices))
            situation.race().run(learner)


def _check_own_file(learner: Learner, factory: Callable[[], Scheduler], path: Path) -> None:
    SITUATIONS["default"].race().run(learner)
    try:
        learner.save_model(path)
    except InvalidInputError:
        assert not path.exists(), "save_model refused, but left a file"  # it has learned nothing yet
        return
    assert [file.name for file in path.parent.iterdir() if file.name.startswith("own")] == [path.name], (
        "save_model must write the file it is told and leave no other"
    )
    other = _made(factory)
    other.load_model(path)
    SITUATIONS["default"].race().run(other)


def _assert_refused(factory: Callable[[], Scheduler], path: Path, what: str) -> None:
    try:
        _made(factory).load_model(path)
    except InvalidInputError:
        return
    except Exception as error:
        raise AssertionError(f"load_model raises {error!r} for {what}; raise an InvalidInputError") from error
    raise AssertionError(f"load_model takes {what} for a model; raise an InvalidInputError")


def _made(factory: Callable[[], Scheduler]) -> Learner:
    learner = factory()
    assert isinstance(learner, Learner)
    return learner
