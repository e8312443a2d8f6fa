"""The store: runs, tasks and what every scheduler made of them, on SQLite or PostgreSQL."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store import (
    checks,
    clearing,
    disk,
    learning,
    lease,
    measured,
    reading,
    retention,
    runs,
    schema,
    sums,
    writing,
)
from hybrid_scheduler.store.analysis import Analysis
from hybrid_scheduler.store.clearing import Progress
from hybrid_scheduler.store.connect import Database
from hybrid_scheduler.store.errors import DAMAGED, StoreUnavailableError
from hybrid_scheduler.store.export import export_table
from hybrid_scheduler.store.failures import named_failures
from hybrid_scheduler.store.retention import Retention
from hybrid_scheduler.store.rows import (
    Batch,
    Cleared,
    ComparedTask,
    Counts,
    HourRow,
    LearningRow,
    MeasuredRow,
    ModelVersionRow,
    RetrainingRow,
    RunRow,
    SubmittedTask,
    TrainingRow,
)
from hybrid_scheduler.store.whole import whole

PING_SECONDS = 2.0
LONGEST_LEASE = 86_400.0
MOST_AT_ONCE = 1000
"""Tasks one step of pruning may forget."""

Clock = Callable[[], datetime]


class Store:
    """The store; `open_store` makes one.

    Ownership: the caller that opens a store closes it. Rows are copies and belong to the caller.

    Atomicity: every method but `clear` is one transaction, whole or not at all. Several processes may use one store;
    their writes take turns, readers see what was whole when they asked.

    Threads: a store belongs to the event loop it was opened in. There, any number of tasks may use it at once.

    Errors: `InvalidInputError` for a bad argument, before anything is changed; `StoreUnavailableError` when the
    database cannot be used just now, and its `kind` says why (`write`, `submit`, `end_run`, `clear`, `prune` and the
    lease may simply be called again: what was done already is not done twice); `StoreError` for everything else.

    Args:
        database: Where it is.
        clock: Tells the time, with time zone; by default that of this machine, and of the database for the lease.
    """

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self._database, self._clock = database, clock

    @property
    def address(self) -> str:
        """Where it is, without the password."""
        return self._database.address.shown

    @property
    def backend(self) -> str:
        """`SQLite` or `PostgreSQL`."""
        return self._database.address.backend

    @property
    def analysis(self) -> Analysis:
        """How it went over time and across runs."""
        return Analysis(self._database)

    async def close(self) -> None:
        """Close every connection; twice is fine."""
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def ping(self) -> None:
        """Ask the database something small of every table.

        Raises:
            StoreUnavailableError: It does not answer within two seconds, lacks a table, or is known to be damaged.
        """
        self._database.check_undamaged()
        with named_failures(self.address):
            async with asyncio.timeout(PING_SECONDS), self._database.reading() as connection:
                await reading.touch_every_table(connection)

    # Runs

    @whole
    async def begin_run(
        self,
        kind: str,
        *,
        seed: int,
        configuration: Mapping[str, Any],
        schedulers: Sequence[str],
        name: str = "",
        reserve: int = 0,
        started: datetime | None = None,
    ) -> RunRow:
        """Add a run that is running, and reserve `reserve` task ids for it alone, from `first_task_id` on.

        Args:
            kind: `live`, `compare` or `experiment`.
            seed: Seed of the run.
            configuration: What is run, as a JSON document.
            schedulers: Names of the schedulers in it.
            name: E.g. the experiment's.
            reserve: How many task ids.
            started: With time zone; now, unless given.
        """
        facts = {
            "kind": checks.check_choice("kind of run", kind, checks.KINDS),
            "name": checks.check_text("name", name, empty=True),
            "seed": checks.check_whole("seed", seed),
            "configuration": checks.check_document("configuration", configuration),
            "schedulers": [checks.check_text("scheduler", scheduler) for scheduler in schedulers],
            "started": checks.check_moment("started", started or self._now()),
        }
        checks.check_whole("reserve", reserve)
        async with self._database.writing() as connection:
            return await runs.begin(connection, facts, reserve, self._database.limits.runs)

    @whole
    async def end_run(self, run_id: int, status: str, summary: Mapping[str, Any] | None = None) -> None:
        """End a run: `finished`, `interrupted` or `failed`. One that has ended already stays as it is.

        Ids it reserved and did not use are free again when no run reserved any after it.
        """
        checks.check_choice("status", status, checks.ENDINGS)
        checks.check_whole("run_id", run_id)
        document = None if summary is None else checks.check_document("summary", summary)
        async with self._database.writing() as connection:
            await runs.end(connection, run_id, status, document)

    @whole
    async def interrupt_live_runs(self) -> list[int]:
        """End live runs whose process died; for the holder of the lease, before it begins its own.

        Submitted tasks that are still waiting count it (`crashes`); when no run had died, they count from 0 again.
        """
        async with self._database.writing() as connection:
            return await runs.interrupt_live(connection)

    async def run(self, run_id: int) -> RunRow | None:
        """One run; None when there is none of this number."""
        checks.check_whole("run_id", run_id)
        async with self._database.reading() as connection:
            return await reading.one_run(connection, run_id)

    async def runs(self, limit: int = 100, before: int | None = None, kind: str | None = None) -> list[RunRow]:
        """Runs with ids below `before`, newest first."""
        checks.check_page(limit, before)
        if kind is not None:
            checks.check_choice("kind of run", kind, checks.KINDS)
        async with self._database.reading() as connection:
            return await reading.run_list(connection, limit, before, kind)

    # Tasks and results

    @whole
    async def write(self, batch: Batch) -> int:
        """Store tasks with all their results and labels, and take them off the submitted ones.

        Tasks that are stored already are left as they are, so a batch whose answer got lost may be written again.
        Tasks of live runs count in the means of this hour.

        Returns:
            How many tasks were new.
        """
        await asyncio.to_thread(checks.check_batch, batch)
        async with self._database.writing() as connection:
            return await writing.write_batch(connection, batch, self._now())

    @whole
    async def submit(self, tasks: Sequence[SubmittedTask]) -> None:
        """Keep users' tasks until their results are written. Submitted again, one belongs to the later run."""
        for task in tasks:
            checks.check_submitted(task)
        async with self._database.writing() as connection:
            await writing.submit(connection, tasks)
        # The user will be told that these are safe, so check: a damaged file may take rows and not have them.
        async with self._database.reading() as connection:
            if lost := await writing.missing(connection, tasks):
                raise StoreUnavailableError(f"the store {self.address} lost task {lost[0]} as it took it", DAMAGED)

    async def submitted(self) -> list[SubmittedTask]:
        """The tasks that were accepted and have no results yet, oldest first."""
        async with self._database.reading() as connection:
            return await reading.submitted(connection)

    async def comparative(
        self, limit: int = 100, before: int | None = None, scheduler: str | None = None
    ) -> list[ComparedTask]:
        """Tasks with ids below `before` and the results of all their schedulers, newest first.

        Args:
            limit: Most tasks to give.
            before: The lowest id of the page before this one.
            scheduler: Only tasks that this scheduler has a result of, and only that result.
        """
        checks.check_page(limit, before, scheduler)
        async with self._database.reading() as connection:
            return await reading.compared_tasks(connection, limit, before, scheduler)

    async def training(self, limit: int = 1000, before: int | None = None) -> list[TrainingRow]:
        """The oracle's labels of tasks with ids below `before`, newest first."""
        checks.check_page(limit, before)
        async with self._database.reading() as connection:
            return await reading.labels(connection, limit, before)

    async def hourly_means(
        self, since: datetime | None = None, until: datetime | None = None, scheduler: str | None = None
    ) -> list[HourRow]:
        """What live tasks came to, by hour and scheduler, in order; also of tasks that were pruned long ago.

        Args:
            since: Hours that begin then or later.
            until: Hours that begin before then.
            scheduler: Only its hours.
        """
        for name, moment in (("since", since), ("until", until)):
            if moment is not None:
                checks.check_moment(name, moment)
        if scheduler is not None:
            checks.check_text("scheduler", scheduler)
        async with self._database.reading() as connection:
            return await sums.read(connection, since, until, scheduler)

    async def clear(self, progress: Progress | None = None) -> Cleared:
        """Forget the history: tasks, results, labels, means, what learners did, measured times, runs that are over.

        Tasks submitted to these go with them. Running runs stay, with what was submitted to them, and so do model
        versions. Ids go on where they were.
        SQLite forgets the oldest first, in short transactions, and gives the room back; what is stored meanwhile stays.

        Args:
            progress: Told what is gone so far and how many tasks it will be, first when it is settled which.
        """
        return await clearing.clear(self._database, progress)

    async def prune(self, limits: Retention, most: int = MOST_AT_ONCE) -> int:
        """Do a little to keep the history within its limits; hourly means and submitted tasks stay.

        One short transaction: forgets at most `most` of the oldest tasks beyond a limit, with results and labels, and
        some of what learners did, or gives some room back to the disk. Runs stay when their tasks are gone; begin very
        many, and the oldest go.

        Returns:
            How much was done; 0: there is nothing to do.
        """
        checks.check_whole("most", most, 1, MOST_AT_ONCE)
        return await retention.prune(self._database, limits, most, self._now())

    # Learners

    @whole
    async def add_model_version(
        self,
        scheduler_name: str,
        *,
        rows: int,
        path: str,
        r2: float | None = None,
        mae: float | None = None,
        created: datetime | None = None,
    ) -> int:
        """Note that a learner was saved; gives the number of the version. NaN stands for an unknown figure.

        The newest 1000 of each scheduler are kept.
        """
        facts = {
            "scheduler_name": checks.check_text("scheduler_name", scheduler_name),
            "rows": checks.check_whole("rows", rows),
            "path": checks.check_text("path", path),
            "r2": _known(r2),
            "mae": _known(mae),
            "created": checks.check_moment("created", created or self._now()),
        }
        async with self._database.writing() as connection:
            return await writing.add_version(connection, facts, self._database.limits.versions)

    async def model_versions(
        self, limit: int = 100, scheduler: str | None = None, before: int | None = None
    ) -> list[ModelVersionRow]:
        """Saved states of learners, of one or all, with ids below `before`, newest first."""
        checks.check_page(limit, before, scheduler)
        async with self._database.reading() as connection:
            return await reading.versions(connection, limit, scheduler, before)

    @whole
    async def note_learning(
        self, retrainings: Sequence[RetrainingRow] = (), figures: Sequence[LearningRow] = ()
    ) -> None:
        """Keep refreshes that changed a model, and learners' figures of a moment; their `id` is given here."""
        learning.check_learning(retrainings, figures)
        async with self._database.writing() as connection:
            await learning.add(connection, retrainings, figures)

    # What real nodes measured

    async def measured_times(self, hardware: Collection[str]) -> list[MeasuredRow]:
        """How long tasks took on these kinds of hardware, by kind, hardware and step."""
        for name in hardware:
            checks.check_text("hardware", name)
        async with self._database.reading() as connection:
            return await measured.read(connection, hardware)

    @whole
    async def keep_measured(self, rows: Sequence[MeasuredRow]) -> None:
        """Keep what was measured; of the same kind, hardware and step the later stands. Retention leaves it alone."""
        measured.check_measured(rows)
        async with self._database.writing() as connection:
            await measured.keep(connection, rows)

    # The lease of the live engine

    @whole
    async def acquire_lease(self, owner: str, seconds: float) -> bool:
        """Become (or stay) the process that runs the live engine, for so long; False: another one is."""
        _check_lease(owner, seconds)
        async with self._database.updating() as connection:
            return await lease.acquire(connection, owner, seconds, self._clock and self._clock())

    @whole
    async def renew_lease(self, owner: str, seconds: float) -> bool:
        """Extend the lease; False: it is lost, and the live engine must stop."""
        _check_lease(owner, seconds)
        async with self._database.updating() as connection:
            return await lease.renew(connection, owner, seconds, self._clock and self._clock())

    @whole
    async def release_lease(self, owner: str) -> bool:
        """Give the lease up, so that another process need not wait; False: it was not ours."""
        checks.check_text("owner", owner)
        async with self._database.updating() as connection:
            return await lease.release(connection, owner)

    # Facts about the store itself

    async def counts(self) -> Counts:
        """What is in the store; quick whatever the length of the history."""
        async with self._database.reading() as connection:
            return await reading.quick_counts(connection)

    async def exact_counts(self) -> dict[str, int]:
        """Rows of every table, counted one by one: seconds for a long history."""
        async with self._database.reading() as connection:
            return await reading.exact_counts(connection)

    async def size(self) -> int:
        """Bytes on disk, in all files of the store."""
        return await disk.size_on_disk(self._database)

    async def revision(self) -> str | None:
        """The revision of its schema."""
        return await schema.found_revision(self._database)

    async def export(self, table: str, path: str | Path) -> int:
        """Write a whole table to a CSV or Parquet file, by the file's ending; gives the number of rows."""
        return await export_table(self._database, table, Path(path))

    def _now(self) -> datetime:
        return datetime.now(UTC) if self._clock is None else self._clock()


def _known(figure: float | None) -> float | None:
    return None if figure is None or not math.isfinite(figure) else float(figure)


def _check_lease(owner: str, seconds: float) -> None:
    checks.check_text("owner", owner)
    if not 0 < checks.check_number("seconds", seconds) <= LONGEST_LEASE:
        raise InvalidInputError(f"the lease is for {seconds} seconds, but it must be for 0 to {LONGEST_LEASE:g}")
