"""What is stored comes back: whole, in order, and until it is cleared."""

from __future__ import annotations

import asyncio
import csv
import json
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from hybrid_scheduler.store import Batch, Cleared, MeasuredRow, ResultRow, Retention, SubmittedTask, TrainingRow
from hybrid_scheduler.store.documents import to_json
from hybrid_scheduler.testing.store.samples import SCHEDULERS, OpenStore, begin, refused, sample, stored_numbers


async def check_empty(opened: OpenStore) -> None:
    """A new store answers, and holds nothing."""
    async with await opened() as store:
        await store.ping()
        for rows in (await store.comparative(10), await store.training(), await store.runs(), await store.submitted()):
            assert rows == [], f"a new store holds {rows}"
        assert await store.run(1) is None, "a new store has a run 1"
        counts = await store.counts()
        assert tuple(counts) == (0, 0, 0, 0, None, None), f"a new store counts {counts}"
        assert set((await store.exact_counts()).values()) == {0}, "a new store counts rows"
        await store.write(Batch((), ()))
        await store.clear()


async def check_round_trip(opened: OpenStore) -> None:
    """What is read is what was written, to the last bit, also by somebody who opens the store later."""
    document = {"preset": "gemischt ✓", "rates": [0.1, None, 1e-300], "nested": {"on": True}}
    batch_numbers = range(6)
    began = datetime.now(UTC)
    async with await opened() as store:
        run = await store.begin_run(
            "experiment", seed=2**63 - 1, configuration=document, schedulers=SCHEDULERS, name="Läufe", reserve=10
        )
        batch = sample(run, batch_numbers)
        assert await store.write(batch) == len(batch.tasks), "write miscounts its tasks"
        await store.end_run(run.id, "finished", {"greedy": {"makespan": 1 / 3}})
    async with await opened() as store:
        for task, results in await store.comparative(100):
            assert task in batch.tasks, f"{task} was not written"
            expected = tuple(row for row in batch.results if row.task_id == task.task_id)
            assert results == expected, f"written {expected}, read {results}"
        assert (await store.training()) == list(reversed(batch.training)), "labels changed"
        kept = await store.run(run.id)
        assert kept is not None, "the run is gone"
        assert (kept.kind, kept.name, kept.seed) == ("experiment", "Läufe", 2**63 - 1), f"the run changed: {kept}"
        assert (kept.configuration, kept.schedulers) == (document, SCHEDULERS), f"the run changed: {kept}"
        assert (kept.status, kept.summary) == ("finished", {"greedy": {"makespan": 1 / 3}}), f"{kept} has not ended"
        assert kept.tasks == len(batch.tasks), f"the run counts {kept.tasks} tasks"
        assert kept.ended is not None, f"{kept} has no end"
        assert began <= kept.started <= kept.ended <= datetime.now(UTC), f"the times of {kept} are wrong"
        assert (await store.counts()).tasks == len(batch.tasks), "the store miscounts its tasks"


async def check_paging(opened: OpenStore) -> None:
    """Pages are newest first, without gaps or repeats; one scheduler's pages hold its results alone."""
    async with await opened() as store:
        run = await begin(store)
        await store.write(sample(run, range(20)))
        await store.write(sample(run, [20, 21, 22], ["greedy"]))
        await store.write(sample(run, range(23, 25)))
        ids = [run.first_task_id + number for number in reversed(range(25))]
        assert await _pages(lambda before: store.comparative(7, before), lambda row: row.task.task_id) == ids
        assert await _pages(lambda before: store.training(7, before), lambda row: row.task_id) == ids
        only = await store.comparative(5, before=ids[0] + 1, scheduler=SCHEDULERS[1])
        assert [row.task.task_id for row in only] == ids[:2] + ids[5:8], f"tasks of one scheduler: {only}"
        assert all([result.scheduler_name for result in row.results] == [SCHEDULERS[1]] for row in only), f"{only}"
        assert await store.comparative(5, scheduler="nobody") == []
        more = [(await begin(store, 0, kind)).id for kind in ("compare", "live", "compare")]
        assert await _pages(lambda before: store.runs(1, before), lambda row: row.id) == [*reversed(more), run.id]
        assert [row.id for row in await store.runs(5, kind="compare")] == [more[2], more[0]]


async def _pages(page: Callable[[int | None], Awaitable[Sequence[Any]]], key: Callable[[Any], int]) -> list[int]:
    keys: list[int] = []
    while rows := await page(keys[-1] if keys else None):
        keys += [key(row) for row in rows]
        assert keys == sorted(set(keys), reverse=True), f"pages repeat rows or are not newest first: {keys}"
    return keys


async def check_submitted(opened: OpenStore) -> None:
    """An accepted task waits, through a restart, until its results are written."""
    async with await opened() as store:
        run = await begin(store)
        numbers = (3, 1, 2)
        waiting = [
            SubmittedTask(run.first_task_id + n, run.id, 1.5, 0.5, 8.0, (run.first_task_id,), datetime.now(UTC))
            for n in numbers
        ]
        await store.submit(waiting)
        await store.submit(waiting[:1])
        await store.submit([])
    async with await opened() as store:
        assert await store.submitted() == sorted(waiting), "accepted tasks are lost, changed or out of order"
        assert await store.comparative(10) == [], "a task without results shows in the history"
        assert await store.interrupt_live_runs() == [run.id], "the dead run was not found"
        assert [task.crashes for task in await store.submitted()] == [1, 1, 1], "a crash is not counted"
        later = await begin(store)
        assert later.first_task_id == run.first_task_id + 4, "the id of an accepted task is given again"
        await store.submit([waiting[1]._replace(run_id=later.id)])
        done = sample(run, [1])
        moved = done._replace(tasks=[done.tasks[0]._replace(run_id=later.id)])
        assert await store.write(moved) == 1, "an accepted task cannot be stored by a later run"
        await store.submit([waiting[1]._replace(run_id=later.id)])
        assert [task._replace(crashes=0) for task in await store.submitted()] == [waiting[2], waiting[0]], (
            "a finished task still waits"
        )
        await refused(lambda: store.submit([waiting[0]._replace(run_id=10**6)]), "a task of a run that does not exist")


async def check_clear(opened: OpenStore) -> None:
    """Clearing forgets the history, and neither running runs, what they have accepted, nor model versions."""
    async with await opened() as store:
        over, running = await begin(store), await begin(store)
        for run in (over, running):
            await store.write(sample(run, range(5)))
            await store.submit([SubmittedTask(run.first_task_id + 9, run.id, 1.0, 0.5, 1.0, (), datetime.now(UTC))])
        await store.end_run(over.id, "finished")
        await store.add_model_version("greedy", rows=3, path="models/greedy.npz")
        told: list[tuple[Cleared, int]] = []
        gone = await store.clear(lambda gone, total: told.append((gone, total)))
        assert gone == Cleared(10, 20, 10, 1), f"clearing miscounts what it forgets: {gone}"
        assert told[0] == (Cleared(0, 0, 0, 0), 10), f"clearing does not say at first how much it will be: {told}"
        assert await store.hourly_means() == [], "hourly means are still there"
        assert await store.comparative(10) == [], "tasks are still there"
        assert await store.training() == [], "labels are still there"
        assert [run.id for run in await store.runs()] == [running.id], "the wrong runs are left"
        assert [task.run_id for task in await store.submitted()] == [running.id], "the wrong tasks wait"
        assert len(await store.model_versions()) == 1, "model versions are gone"
        assert (await store.counts()).tasks == 0, "cleared tasks are counted"
        assert await store.write(sample(running, range(5, 8))) == 3, "a running run cannot go on after clearing"
        assert (await store.counts()).tasks == 3


async def check_clear_meanwhile(opened: OpenStore) -> None:
    """What is stored while the history is being cleared stays, and so does what was submitted to a running run."""
    async with await opened() as store, await opened() as other:
        run = await begin(store)
        await store.write(sample(run, range(300)))
        late: list[asyncio.Task[int]] = []

        def settled(gone: Cleared, total: int) -> None:
            # Once when it begins, once when everything is gone.
            if len(late) < 1 + (gone.tasks == total):
                first = 300 + 10 * len(late)
                late.append(asyncio.create_task(other.write(sample(run, range(first, first + 10)))))

        gone = await store.clear(settled)
        await asyncio.gather(*late)
        assert gone.tasks == 300, f"{gone.tasks} of 300 tasks were cleared"
        meanwhile = list(range(300, 300 + 10 * len(late)))
        assert await stored_numbers(store, run) == meanwhile, "what came meanwhile is gone"
        assert (await store.counts()).tasks == len(meanwhile), "the store miscounts its tasks"


async def check_prune(opened: OpenStore) -> None:
    """Pruning forgets the oldest tasks over all runs, by the time they were stored, and not more than it must."""
    async with await opened() as store:
        live, compare = await begin(store), await begin(store, kind="compare")
        await store.write(sample(compare, range(6)))  # stored first, though its ids are higher
        await store.write(sample(live, range(8)))
        await store.end_run(compare.id, "finished", {"greedy": {"makespan": 1.0}})
        submitted = SubmittedTask(live.first_task_id + 99, live.id, 1.0, 0.5, 1.0, (), datetime.now(UTC))
        await store.submit([submitted])
        means = await store.hourly_means()
        assert await store.prune(Retention()) == 0, "without limits something was pruned"
        assert await store.prune(Retention(tasks=14, days=1.0, megabytes=10_000)) == 0, "what is allowed was pruned"
        assert await store.prune(Retention(tasks=5), most=4) == 4, "a step forgets more or less than it may"
        while await store.prune(Retention(tasks=5)):
            pass
        assert await stored_numbers(store, compare) == [], "tasks that were stored first are still there"
        assert await stored_numbers(store, live) == [3, 4, 5, 6, 7], "not the oldest tasks were forgotten"
        assert [row.task_id - live.first_task_id for row in await store.training()] == [7, 6, 5, 4, 3], "other labels"
        assert (await store.counts()).tasks == 5, "the store miscounts its tasks"
        kept = await store.run(compare.id)
        assert kept is not None, "a run is gone with its tasks"
        assert (kept.tasks, kept.summary) == (0, {"greedy": {"makespan": 1.0}}), f"{kept}"
        assert await store.submitted() == [submitted], "a submitted task was pruned"
        assert await store.hourly_means() == means, "hourly means do not outlive their tasks"
        assert await store.write(sample(live, range(8, 10))) == 2, "a run cannot go on after pruning"


async def check_hourly_means(opened: OpenStore) -> None:
    """Live tasks are summed up by scheduler and hour, each once, whatever becomes of them."""
    async with await opened() as store:
        live, compare = await begin(store), await begin(store, kind="compare")
        batches = [sample(live, range(5)), sample(live, range(5, 9)), sample(live, [9], SCHEDULERS[:1])]
        for batch in [*batches, batches[0], sample(compare, range(3))]:
            await store.write(batch)
        results = [row for batch in batches for row in batch.results]
        best: dict[int, float] = {}
        for row in results:
            if not row.failed:
                best[row.task_id] = min(row.response_time, best.get(row.task_id, row.response_time))
        for name in SCHEDULERS:
            hours = await store.hourly_means(scheduler=name)
            its = [row for row in results if row.scheduler_name == name]
            good = [row for row in its if not row.failed]
            found = [sum(hour.tasks for hour in hours), sum(h.failed for h in hours), sum(h.wins for h in hours)]
            wins = sum(row.response_time == best[row.task_id] for row in good)
            assert found == [len(its), len(its) - len(good), wins], f"{name}: {found} tasks, failures and wins"
            for column, figure in _SUMMED.items():
                total, expected = sum(getattr(h, column) for h in hours), sum(getattr(row, figure) for row in good)
                assert abs(total - expected) <= 1e-9 * abs(expected), f"{name}: {column} is {total}, not {expected}"
        hours = await store.hourly_means()
        assert hours == sorted(hours), f"hours are out of order: {hours}"
        assert all((h.hour.minute, h.hour.second, h.hour.tzinfo) == (0, 0, UTC) for h in hours), f"{hours}"
        first, last = hours[0].hour, hours[-1].hour
        assert await store.hourly_means(until=first) == [], "an hour is given that begins too late"
        assert await store.hourly_means(since=last + timedelta(seconds=1)) == [], (
            "an hour is given that begins too early"
        )
        assert await store.hourly_means(first, last + timedelta(hours=1)) == hours


_SUMMED = {
    "sum_response": "response_time",
    "sum_wait": "wait_time",
    "sum_time": "actual_time",
    "sum_energy": "energy_consumption",
    "sum_cost": "execution_cost",
}


async def check_unknown_energy(opened: OpenStore) -> None:
    """Energy that a machine did not tell comes back as unknown, and is unknown in every sum it would be in."""
    async with await opened() as store:
        run = await begin(store)
        batch = sample(run, range(4))
        told, untold = SCHEDULERS
        results = [
            row._replace(energy_consumption=None)
            if row.scheduler_name == untold and row.task_id == run.first_task_id
            else row
            for row in batch.results
        ]
        await store.write(batch._replace(results=results))
        found = [row for entry in reversed(await store.comparative(10)) for row in entry.results]
        assert found == results, f"written {results}, read {found}"
        # More of the same, in the same hour or the next one: what is known later does not make up for it.
        await store.write(sample(run, range(4, 8)))
        (first, *_), last = await store.hourly_means(scheduler=untold), datetime.now(UTC) + timedelta(hours=1)
        sums = {
            "the hours": first.sum_energy,
            "the day": (await store.analysis.means(first.hour, last, 86_400, untold))[0].sum_energy,
            "the run": next(
                row.sum_energy for row in await store.analysis.run_means([run.id]) if row.scheduler_name == untold
            ),
        }
        assert set(sums.values()) == {None}, f"unknown energy is in a sum: {sums}"
        assert first.sum_response > 0.0, f"{first}"
        for row in await store.analysis.means(first.hour, last, 86_400, told):
            assert row.sum_energy is not None, f"the energy of {told} is known: {row}"
        for bad in (float("nan"), float("inf")):
            worse = sample(run, [9])
            worse = worse._replace(results=[row._replace(energy_consumption=bad) for row in worse.results])
            await refused(partial(store.write, worse), f"an energy of {bad}")


async def check_measured(opened: OpenStore) -> None:
    """What was measured comes back by hardware; of the same key the later stands; clearing forgets it."""
    first = [
        MeasuredRow("Größe 任务", "NVIDIA H200", -7, 3, -1 / 3),
        MeasuredRow("matmul", "NVIDIA H200", 40, 32, 0.1),
        MeasuredRow("matmul", "a core", 40, 1, 2.5),
    ]
    later = [first[1]._replace(measurements=5, log_seconds=-9.75), first[1]._replace(step=41)]
    async with await opened() as store:
        await store.keep_measured(first)
        await store.keep_measured(later)
        await store.keep_measured([])
    async with await opened() as store:
        found = await store.measured_times(["NVIDIA H200", "NVIDIA H200", "nobody's"])
        expected = sorted([first[0], *later])
        assert found == expected, f"kept {expected}, read {found}"
        assert await store.measured_times(["a core"]) == first[2:], "other hardware changed"
        assert await store.measured_times([]) == []
        while await store.prune(Retention(days=1e-9, tasks=1)):
            pass
        assert len(await store.measured_times(["NVIDIA H200"])) == 3, "pruning forgets what was measured"
        good = first[0]
        for bad in (
            good._replace(kind=""),
            good._replace(hardware="\0"),
            good._replace(step=2**31),
            good._replace(measurements=0),
            good._replace(log_seconds=float("nan")),
        ):
            await refused(partial(store.keep_measured, [good, bad]), f"{bad}")
        await store.clear()
        assert await store.measured_times(["NVIDIA H200", "a core"]) == [], "what was measured is still there"


async def check_model_versions(opened: OpenStore) -> None:
    """Versions are numbered, newest first; an unknown figure is None."""
    async with await opened() as store:
        first = await store.add_model_version("hybrid_ml", rows=50, r2=0.5, mae=float("nan"), path="a.npz")
        second = await store.add_model_version("rl_agent", rows=10**12, path="b.pth")
        assert second > first, f"version {second} follows {first}"
        versions = await store.model_versions()
        assert [version.id for version in versions] == [second, first], f"versions are not newest first: {versions}"
        assert (versions[1].r2, versions[1].mae, versions[1].rows) == (0.5, None, 50), f"{versions[1]}"
        assert [version.id for version in await store.model_versions(5, "hybrid_ml")] == [first]
        assert [version.id for version in await store.model_versions(5, before=second)] == [first]


async def check_export(opened: OpenStore) -> None:
    """Every table as CSV and Parquet, with all rows and columns; what is not a table or a kind of file is refused."""
    from pyarrow import parquet

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with await opened() as store:
            run = await begin(store)
            batch = sample(run, range(7))
            await store.write(batch)
            counts = await store.exact_counts()
            for table, count in counts.items():
                for ending in ("csv", "parquet"):
                    written = await store.export(table, folder / "new" / f"{table}.{ending}")
                    assert written == count, f"{written} of {count} rows of {table} were written as {ending}"
            for bad in (folder / "tasks.xls", folder / "tasks"):
                await refused(partial(store.export, "tasks", bad), f"the file {bad.name}")
            error = await refused(lambda: store.export("trainig_data", folder / "x.csv"), "a table that does not exist")
            assert "did you mean 'training_data'?" in str(error), f"the nearest table is not named: {error}"
        with (folder / "new" / "training_data.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))[1:]
        labels = [TrainingRow._make((int(row[0]), *map(float, row[1:6]), json.loads(row[6]))) for row in lines]
        assert labels == batch.training, "the CSV file holds other labels"
        results = parquet.read_table(folder / "new" / "scheduler_results.parquet").to_pylist()
        columns = [name for name in ResultRow._fields if name not in ("parts", "queue_seconds")]
        assert [tuple(row[name] for name in columns) for row in results] == [
            tuple(getattr(row, name) for name in columns) for row in batch.results
        ]
        queues = [None if row.queue_seconds is None else list(row.queue_seconds) for row in batch.results]
        assert [row["queue_seconds"] for row in results] == queues, "the Parquet file holds other queues"
        with (folder / "new" / "scheduler_results.csv").open(encoding="utf-8", newline="") as file:
            cells = [row["queue_seconds"] for row in csv.DictReader(file)]
        shown = ["" if queue is None else to_json(queue) for queue in queues]
        assert cells == shown, "the CSV file holds other queues"
        assert json.loads(results[0]["parts"])[1]["device"] == "Gerät-ü"
        assert sorted(path.name for path in folder.iterdir()) == ["new"], "files are left over"
