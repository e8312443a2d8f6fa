"""Both databases pass the suite that anybody's store must pass; a broken store is found by each check."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from databases import NewDatabase
from sqlalchemy import update

from hybrid_scheduler.store import (
    Batch,
    Cleared,
    ComparedTask,
    Counts,
    MeasuredRow,
    ModelVersionRow,
    Retention,
    RunRow,
    Store,
    StoreUnavailableError,
    SubmittedTask,
    open_store,
    sums,
)
from hybrid_scheduler.store.clearing import Progress
from hybrid_scheduler.store.removing import remove_tasks
from hybrid_scheduler.store.tables import id_counter
from hybrid_scheduler.testing import store as suite
from hybrid_scheduler.testing.store import STORE_CHECKS, OpenStore, StoreCheck, check_store, history, mishaps, running


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_conforms(check: StoreCheck, database_url: str) -> None:
    asyncio.run(check(lambda: open_store(database_url)))


def test_every_check_gets_a_store_of_its_own(new_sqlite: NewDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def noting(check: StoreCheck) -> StoreCheck:
        async def note(opened: OpenStore) -> None:
            async with await opened() as one, await opened() as two:
                assert one.address == two.address
                ran.append(f"{check.__name__} in {Path(one.address).name}")

        return note

    def fresh() -> OpenStore:
        url = new_sqlite()
        return lambda: open_store(url)

    monkeypatch.setattr(suite, "STORE_CHECKS", tuple(map(noting, STORE_CHECKS)))
    check_store(fresh)
    assert ran == [f"{check.__name__} in store_{number}.db" for number, check in enumerate(STORE_CHECKS)]


class Miscounts(Store):
    async def counts(self) -> Counts:
        return (await super().counts())._replace(runs=1)


class Rounds(Store):
    async def write(self, batch: Batch) -> int:
        return await super().write(
            batch._replace(results=[row._replace(actual_time=round(row.actual_time, 1) + 1) for row in batch.results])
        )


class WritesOneByOne(Store):
    async def write(self, batch: Batch) -> int:
        for task in batch.tasks:
            await super().write(
                Batch(*([r for r in rows if r.task_id == task.task_id] for rows in ([task], *batch[1:])))  # type: ignore[arg-type]
            )
        return len(batch.tasks)


class StopsHalfWay(Store):
    async def write(self, batch: Batch) -> int:
        half = len(batch.tasks) // 2
        kept = {task.task_id for task in batch.tasks[:half]}
        first = Batch(batch.tasks[:half], [row for row in batch.results if row.task_id in kept])
        return await super().write(first) + await super().write(batch)


class CountsTwice(Store):
    async def write(self, batch: Batch) -> int:
        await super().write(batch)
        return len(batch.tasks)


class StartsOver(Store):
    async def clear(self, progress: Progress | None = None) -> Cleared:
        gone = await super().clear(progress)
        async with self._database.writing() as connection:
            await connection.execute(update(id_counter).values(next_task_id=0))
        return gone


class ReservesTooLittle(Store):
    async def begin_run(self, kind: str, *, reserve: int = 0, **facts: Any) -> RunRow:
        return await super().begin_run(kind, reserve=reserve // 2, **facts)


class LosesTasks(Store):
    async def write(self, batch: Batch) -> int:
        return 0 if batch.tasks[0].task_id % 7 == 3 else await super().write(batch)


class TakesAnyNumber(Store):
    async def run(self, run_id: int) -> RunRow | None:
        return None


class TakesAnyStatus(Store):
    async def end_run(self, run_id: int, status: str, summary: Mapping[str, Any] | None = None) -> None:
        pass


class RepeatsRows(Store):
    async def comparative(
        self, limit: int = 100, before: int | None = None, scheduler: str | None = None
    ) -> list[ComparedTask]:
        return await super().comparative(limit, None if before is None else before + 1, scheduler)


class ForgetsTheOrder(Store):
    async def submitted(self) -> list[SubmittedTask]:
        return list(reversed(await super().submitted()))


class NeverForgets(Store):
    async def clear(self, progress: Progress | None = None) -> Cleared:
        return Cleared(0, 0, 0, 0)


class ClearsTooMuch(Store):
    async def clear(self, progress: Progress | None = None) -> Cleared:
        gone = await super().clear(progress)
        await asyncio.sleep(0.5)
        await super().clear()
        return gone


class PrunesByNumber(Store):
    async def prune(self, limits: Retention, most: int = 1000) -> int:
        if not any(limits):
            return 0
        async with self._database.writing() as connection:
            ids = sorted(each.task.task_id for each in await self.comparative(100))
            beyond = min(len(ids) - limits.tasks, most)
            return (await remove_tasks(connection, ids[:beyond])).tasks if beyond > 0 else 0


class CountsHoursTwice(Store):
    async def write(self, batch: Batch) -> int:
        async with self._database.writing() as connection:
            await sums.add(connection, sums.summed(batch.results, datetime.now(UTC)))
        return await super().write(batch)


class TakesUnknownForNothing(Store):
    async def write(self, batch: Batch) -> int:
        results = [row._replace(energy_consumption=row.energy_consumption or 0.0) for row in batch.results]
        return await super().write(batch._replace(results=results))


class KeepsTheFirst(Store):
    async def keep_measured(self, rows: Sequence[MeasuredRow]) -> None:
        there = {row[:3] for row in await self.measured_times([row.hardware for row in rows])}
        await super().keep_measured([row for row in rows if row[:3] not in there])


class FindsNobodyDead(Store):
    async def interrupt_live_runs(self) -> list[int]:
        return []


class OldestFirst(Store):
    async def model_versions(
        self, limit: int = 100, scheduler: str | None = None, before: int | None = None
    ) -> list[ModelVersionRow]:
        return list(reversed(await super().model_versions(limit, scheduler, before)))


class LeasesToAnybody(Store):
    async def acquire_lease(self, owner: str, seconds: float) -> bool:
        return True


class WritesNoFile(Store):
    async def export(self, table: str, path: str | Path) -> int:
        return 0


class ClosesForAll(Store):
    closed = False

    async def close(self) -> None:
        ClosesForAll.closed = True
        await super().close()

    async def ping(self) -> None:
        if ClosesForAll.closed:
            raise StoreUnavailableError("closed")


BAD: list[tuple[Callable[[OpenStore], Awaitable[None]], type[Store], str]] = [
    (history.check_empty, Miscounts, "a new store counts"),
    (history.check_round_trip, Rounds, "written .*, read"),
    (history.check_paging, RepeatsRows, "pages repeat rows"),
    (history.check_submitted, ForgetsTheOrder, "lost, changed or out of order"),
    (history.check_clear, NeverForgets, "clearing miscounts what it forgets"),
    (history.check_clear_meanwhile, ClearsTooMuch, "what came meanwhile is gone"),
    (history.check_prune, PrunesByNumber, "tasks that were stored first are still there"),
    (history.check_hourly_means, CountsHoursTwice, "tasks, failures and wins"),
    (history.check_unknown_energy, TakesUnknownForNothing, "written .*, read"),
    (history.check_measured, KeepsTheFirst, "kept .*, read"),
    (history.check_model_versions, OldestFirst, "not newest first"),
    (history.check_export, WritesNoFile, "0 of 1 rows of runs"),
    (running.check_ids_grow, StartsOver, "ids .* again"),
    (running.check_concurrent_reserve, ReservesTooLittle, "overlap or have gaps"),
    (running.check_interrupted, FindsNobodyDead, "the dead run was not found"),
    (running.check_lease, LeasesToAnybody, "10 of 10 got the lease"),
    (running.check_closed, ClosesForAll, "closing one store has closed another"),
    (mishaps.check_atomic, WritesOneByOne, "the rest of the batch is stored"),
    (mishaps.check_cancelled, StopsHalfWay, "200 of 400 tasks are stored"),
    (mishaps.check_retry, CountsTwice, "a second attempt stores tasks again"),
    (mishaps.check_concurrent_writes, LosesTasks, "tasks are missing"),
    (mishaps.check_huge_ids, TakesAnyNumber, r"run id 2\^63 was accepted"),
    (mishaps.check_bad_texts, TakesAnyStatus, "an unknown status was accepted"),
]


@pytest.mark.parametrize(("check", "broken", "message"), BAD, ids=lambda value: getattr(value, "__name__", ""))
def test_broken_stores_are_found(
    check: Callable[[OpenStore], Any], broken: type[Store], message: str, new_sqlite: NewDatabase
) -> None:
    url = new_sqlite()

    async def opened() -> Store:
        return broken((await open_store(url))._database)

    with pytest.raises(AssertionError, match=message):
        asyncio.run(check(opened))


def test_every_check_has_a_broken_store() -> None:
    assert {check for check, _, _ in BAD} == set(STORE_CHECKS)
