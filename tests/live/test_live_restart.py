"""How a live race ends and how the next one goes on from it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from databases import NewDatabase
from live_service import LIGHT, LiveService, NewLive, is_alive, until

LEARNERS = ("hybrid_ml", "rl_agent", "oracle")


def test_sigterm_stores_what_has_finished(live: LiveService) -> None:
    live.start()
    live.change(flat_out=True)
    live.wait_for_tasks(300)
    accepted = live.submit().json()["task"]["task_id"]
    engine = live.engine_id
    assert engine is not None
    finished = live.status()["tasks_processed"]
    assert live.end() < 20
    assert not is_alive(engine), "it is left behind"
    tasks = live.check_whole()
    assert len(tasks) >= finished
    assert accepted in tasks
    assert sorted(tasks) == list(range(len(tasks)))
    assert live.rows("SELECT status, tasks FROM runs") == [("finished", len(tasks))]
    assert live.rows("SELECT owner FROM engine_lease") == [(None,)]
    assert "Traceback" not in live.log()


def test_sigterm_at_once_and_to_the_whole_group_is_no_accident(new_sqlite: NewDatabase, new_live: NewLive) -> None:
    live = new_live("live", new_sqlite()).start(running=False)
    assert live.end() < 20
    live.start()
    live.wait_for_tasks(1)
    os.killpg(live.process_id, signal.SIGTERM)
    live.end()
    live.check_whole()
    assert {status for (status,) in live.rows("SELECT status FROM runs")} == {"finished"}
    assert "Traceback" not in live.log()


def test_learners_go_on_from_where_they_were(database_url: str, new_live: NewLive) -> None:
    names = LEARNERS
    live = new_live("live", database_url, "--schedulers", ",".join(names), "--load", "0.3").start()
    models = {each["scheduler_name"]: each for each in live.status()["models"]}
    assert {name: model["origin"] for name, model in models.items()} == dict.fromkeys(LEARNERS[:2], "packaged")
    assert all(model["version"] is None for model in models.values())
    live.change(flat_out=True)
    live.wait_for_tasks(150)
    updates = {each["scheduler_name"]: each["updates"] for each in live.status()["models"]}
    live.change(energy_weight=0.8)  # they are rebuilt with tasks under way
    live.wait_for_tasks(live.status()["store"]["stored_tasks"] + 100)
    live.end()
    live.check_whole(names)
    versions = dict(live.rows("SELECT scheduler_name, MAX(id) FROM model_versions GROUP BY scheduler_name"))
    assert set(versions) == set(LEARNERS[:2])

    live.start()
    again = {each["scheduler_name"]: each for each in live.status()["models"]}
    assert {name: (model["origin"], model["version"]) for name, model in again.items()} == {
        name: ("saved", number) for name, number in versions.items()
    }
    assert again["rl_agent"]["updates"] > updates["rl_agent"]
    live.control("stop")

    paths = dict(live.rows("SELECT id, path FROM model_versions ORDER BY id DESC"))
    kept = {number: Path(path) for number, path in paths.items() if Path(path).is_file()}
    newest = {path.parent.name: (number, path) for number, path in sorted(kept.items())}
    number, path = newest["rl_agent"]
    path.write_bytes(path.read_bytes()[:1000])
    for other in kept.values():
        if other.parent.name == "hybrid_ml":
            other.write_bytes(b"no model")
    live.control("start")
    live.wait_for("running")
    found = {each["scheduler_name"]: each for each in live.status()["models"]}
    assert found["rl_agent"]["origin"] == "saved"
    assert found["rl_agent"]["version"] < number, "the one before it is taken"
    assert found["hybrid_ml"]["origin"] == "packaged"
    assert f"version {number} of rl_agent cannot be used" in live.log()
    assert "of hybrid_ml cannot be used" in live.log()


def test_the_same_seed_gives_the_same_history_on_both_databases(
    new_sqlite: NewDatabase, new_postgres: NewDatabase, new_live: NewLive
) -> None:
    names = ("greedy", "hybrid_ml", "oracle")
    options = ("--schedulers", ",".join(names), "--seed", "7", "--load", "0.6", "--speed", "3")
    found = []
    for number, url in enumerate((new_sqlite(), new_postgres())):
        live = new_live(f"live_{number}", url, *options).start()
        if number:
            live.change(speed=40.0)  # how the clock went must not matter
            live.wait_for_tasks(30)
        live.change(flat_out=True)
        live.wait_for_tasks(400)
        live.end()
        found.append(
            live.rows(
                "SELECT task_id, scheduler_name, gpu_fraction, gpu_id, actual_time, wait_time, finish_time, "
                "energy_consumption, execution_cost FROM scheduler_results WHERE task_id < 400 "
                "ORDER BY task_id, scheduler_name"
            )
        )
    assert len(found[0]) == 400 * len(names)
    assert found[0] == found[1]


def test_a_run_of_an_earlier_process_is_closed_and_its_tasks_are_raced(
    new_sqlite: NewDatabase, new_live: NewLive
) -> None:
    live = new_live("live", new_sqlite()).start()
    live.control("pause")
    parent = live.submit(size=2000.0).json()["task"]["task_id"]
    child = live.submit(dependencies=[parent]).json()["task"]["task_id"]
    os.killpg(live.process_id, signal.SIGKILL)
    live.kill()
    assert {parent, child}.isdisjoint(live.stored())
    live.start()
    until(lambda: {parent, child} <= set(live.stored()), "what was accepted")
    grandchild = live.submit(dependencies=[child]).json()["task"]["task_id"]
    assert grandchild > child
    live.end()
    assert {parent, child, grandchild} <= set(live.check_whole())
    finish = {
        (task, name): (finish, time)
        for task, name, finish, time in live.rows(
            "SELECT task_id, scheduler_name, finish_time, actual_time FROM scheduler_results"
        )
    }
    for name in LIGHT:
        ended, took = finish[child, name]
        assert ended - took >= finish[parent, name][0] - 1e-6, "it waited for the task it depends on"
    assert live.rows("SELECT status FROM runs ORDER BY id") == [("interrupted",), ("finished",)]
