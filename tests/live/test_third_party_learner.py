"""The live service and a learner it has never heard of: saved now and then, and continued after a restart."""

from __future__ import annotations

from pathlib import Path

from databases import NewDatabase
from example_packages import install
from live_service import NewLive, until


def test_saved_and_continued(new_sqlite: NewDatabase, new_live: NewLive, tmp_path: Path) -> None:
    site = install("hms-bandit", tmp_path / "site")["PYTHONPATH"]
    options = ("--schedulers", "bandit,oracle", "--load", "0.3")
    live = new_live("live", new_sqlite(), *options, PYTHONPATH=site, SAVE_INTERVAL="0.5").start()
    (model,) = live.status()["models"]
    assert (model["scheduler_name"], model["origin"], model["version"]) == ("bandit", "packaged", None)
    started = model["updates"]
    live.change(flat_out=True)
    live.wait_for_tasks(200)
    until(lambda: live.status()["models"][0]["version"], "a save while it races")
    updates = live.status()["models"][0]["updates"]
    assert updates > started
    live.change(energy_weight=0.8)
    live.wait_for_tasks(live.status()["store"]["stored_tasks"] + 100)
    live.end()
    files = sorted((tmp_path / "live" / "models" / "live" / "bandit").iterdir())
    assert {file.suffix for file in files} == {".bandit"}
    assert "Traceback" not in live.log()

    live.start()
    (again,) = live.status()["models"]
    assert again["origin"] == "saved"
    assert again["version"] is not None
    assert again["updates"] >= updates
