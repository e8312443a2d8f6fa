"""Hooks for schemathesis: half of the calls about something named by an id ask for something that is there.

Random ids hardly ever name a task, a run, a file or a job, so the code behind them would never be reached.
"""

from __future__ import annotations

import json
import os
import random
import time
import urllib.error
import urllib.request
from typing import Any

import schemathesis

ADDRESS = os.environ.get("FUZZED_ADDRESS", "")
_KEPT: dict[str, tuple[float, list[dict[str, str]]]] = {}
_RANDOM = random.Random(1)


@schemathesis.hook
def before_call(context: Any, case: Any, **_: Any) -> None:
    """Replace ids that were drawn as good ones by something that is there, every other time.

    Ids that follow from an earlier answer stay: what is checked then is what became of that very thing.
    """
    good = case.meta is not None and case.meta.generation.mode.is_positive
    linked = bool(case._override.path_parameters)
    if not good or linked or not case.path_parameters or _RANDOM.random() < 0.5:
        return
    known = _known(case.operation.path)
    if known:
        case.path_parameters = _RANDOM.choice(known)


def _known(path: str) -> list[dict[str, str]]:
    asked, found = _KEPT.get(path, (0.0, []))
    if time.monotonic() - asked > 0.3:
        found = [{name: str(value) for name, value in each.items()} for each in _find(path)]
        _KEPT[path] = time.monotonic(), found
    return found


def _find(path: str) -> list[dict[str, Any]]:
    if "{task_id}" in path:
        return [{"task_id": each["task_id"]} for each in _get("/api/history/comparative?limit=5").get("items", [])]
    if "{job_id}" in path:
        return [{"job_id": job["id"]} for job in _get("/api/experiments").get("jobs", [])]
    if path.startswith("/api/schedulers/"):
        return [{"name": racer["name"]} for racer in _get("/api/status").get("schedulers", [])]
    runs = [run["id"] for run in _get("/api/runs?kind=experiment&limit=5").get("items", [])]
    runs = runs or [run["id"] for run in _get("/api/runs?limit=5").get("items", [])]
    if "{name}" not in path:
        return [{"run_id": run} for run in runs]
    return [{"run_id": run, "name": file["name"]} for run in runs for file in _get(f"/api/runs/{run}/files")]


def _get(path: str) -> Any:
    try:
        with urllib.request.urlopen(ADDRESS + path, timeout=5.0) as answer:
            return json.load(answer)
    except (urllib.error.URLError, TimeoutError):
        return {}
