"""An experiment as a run in the store: begun, and ended whatever becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.cli.output import note
from hybrid_scheduler.config.store import store_room, store_url
from hybrid_scheduler.experiments.base import Experiment
from hybrid_scheduler.experiments.result import ExperimentResult
from hybrid_scheduler.model.errors import MissingExtraError

if TYPE_CHECKING:
    from hybrid_scheduler.store import RunRow


class KeptExperiment:
    """One experiment's run.

    Attributes:
        run_id: Its number; None when it is not kept.
        where: The run and the store in words; empty when it is not kept.
    """

    def __init__(self, run_id: int | None = None, where: str = "") -> None:
        self.run_id, self.where = run_id, where
        self._summary: dict[str, Any] | None = None

    def take(self, result: ExperimentResult, files: Sequence[Path]) -> None:
        """What came of it, for when the run ends."""
        self._summary = {**result.summary(), "files": [file.name for file in files]}

    def end(self, status: str) -> None:
        """End the run; a store that is gone by now is a note."""
        if self.run_id is None:
            return
        try:
            asyncio.run(_end(self.run_id, status, self._summary if status == "finished" else None))
        except store_room().StoreError as error:
            note(f"run {self.run_id} could not be ended in the store: {error}")


@contextmanager
def kept_experiment(
    experiment: Experiment, seeds: Sequence[int], folder: Path, *, wanted: bool
) -> Iterator[KeptExperiment]:
    """Keep what happens inside as a run: finished, failed or interrupted. Without a store it is not kept.

    Args:
        experiment: What is run.
        seeds: Its seeds; the run's own is the first.
        folder: Where its files go.
        wanted: False: it is not kept.
    """
    kept = _begun(experiment, seeds, folder) if wanted else KeptExperiment()
    try:
        yield kept
    except KeyboardInterrupt:
        kept.end("interrupted")
        raise
    except Exception:
        kept.end("failed")
        raise
    kept.end("finished")


def _begun(experiment: Experiment, seeds: Sequence[int], folder: Path) -> KeptExperiment:
    url = store_url()
    try:
        room = store_room()
    except MissingExtraError as error:
        note(f"the run is not stored: {error}")
        return KeptExperiment()
    try:
        return asyncio.run(_begin(url, experiment, seeds, folder))
    except room.StoreError as error:
        note(f"the run is not stored: {error}")
        return KeptExperiment()


async def _begin(url: str, experiment: Experiment, seeds: Sequence[int], folder: Path) -> KeptExperiment:
    async with await store_room().open_store(url) as store:
        run: RunRow = await store.begin_run(
            "experiment",
            name=experiment.name,
            seed=seeds[0],
            configuration={**experiment.configuration(), "seeds": list(seeds), "folder": str(folder.resolve())},
            schedulers=list(experiment.schedulers),
        )
        return KeptExperiment(run.id, f"run {run.id} in {store.address}")


async def _end(run_id: int, status: str, summary: dict[str, Any] | None) -> None:
    async with await store_room().open_store(store_url()) as store:
        await store.end_run(run_id, status, summary)
