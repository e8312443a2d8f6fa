"""The description of the API: complete, true, and the same as the documentation."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from fuzzing import fuzz
from pydantic import SecretStr
from raced_history import make_tasks, store_race
from real_server import RealServer
from running_service import TOKEN, Service

from hybrid_scheduler.config.files import VARIABLES
from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.schemas import LogLine, Notification, SimulationUpdate
from hybrid_scheduler.store import open_store

DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs" / "service.md"
SPECIFIED = {
    "GET /",
    "POST /api/simulation/start",
    "POST /api/simulation/stop",
    "POST /api/simulation/pause",
    "POST /api/simulation/resume",
    "POST /api/pause",
    "POST /api/resume",
    "GET /api/simulation/status",
    "GET /api/status",
    "PATCH /api/simulation/settings",
    "POST /api/tasks",
    "GET /api/full_history",
    "GET /api/history/comparative",
    "DELETE /api/history",
    "GET /api/runs",
    "GET /api/schedulers",
    "GET /api/health",
    "GET /api/metrics",
    "GET /api/metrics/catalogue",
}


def _operations(service: Service) -> dict[str, dict[str, Any]]:
    paths = service.app.openapi()["paths"]
    return {f"{method.upper()} {path}": each for path, methods in paths.items() for method, each in methods.items()}


def test_every_endpoint_of_the_specification_is_there(service: Service) -> None:
    assert set(_operations(service)) >= SPECIFIED


def test_every_operation_is_described_with_its_errors(service: Service) -> None:
    for name, operation in _operations(service).items():
        assert operation["summary"], name
        assert operation["description"], name
        answers = operation["responses"]
        if name != "GET /api/health":
            assert "429" in answers, name
        if not name.startswith("GET"):
            assert {"401", "403", "413", "503"} <= set(answers), name
        for status, answer in answers.items():
            if status.startswith(("4", "5")) and name != "GET /api/health":
                schema = answer["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorAnswer"}, (name, status)
    names = [each["operationId"] for each in _operations(service).values()]
    assert len(set(names)) == len(names)


def test_live_messages_are_described_and_every_reference_leads_somewhere(service: Service) -> None:
    document = service.app.openapi()
    schemas = document["components"]["schemas"]
    for model in (SimulationUpdate, Notification, LogLine):
        assert model.__name__ in schemas
    references = set(re.findall(r'"#/components/schemas/(\w+)"', str(document).replace("'", '"')))
    assert references <= set(schemas)


@pytest.fixture(scope="module")
def documentation() -> str:
    return DOCUMENTATION.read_text(encoding="utf-8")


def test_every_setting_is_documented(documentation: str) -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \|", documentation, re.MULTILINE)
    assert sorted(rows) == sorted([*(name.upper() for name in ServiceSettings.model_fields), *VARIABLES])


def test_every_endpoint_is_documented(documentation: str, service: Service) -> None:
    rows = re.findall(r"^\| `((?:GET|POST|PATCH|DELETE) /[^`?]*)[^`]*` \|", documentation, re.MULTILINE)
    assert sorted(rows) == sorted([*_operations(service), "GET /ws", "GET /api/openapi.json"])


def test_every_live_message_is_documented(documentation: str) -> None:
    for model in (SimulationUpdate, Notification, LogLine):
        assert f"`{model.model_fields['type'].default}`" in documentation
    for name in SimulationUpdate.model_fields:
        assert f"`{name}`" in documentation, name


async def _history(url: str, folder: Path) -> None:
    """A race and a finished experiment, so that there is something to find."""
    (folder / "report.pdf").write_bytes(b"%PDF")
    async with await open_store(url) as store:
        await store_race(store, make_tasks(20))
        run = await store.begin_run(
            "experiment", name="mixed", seed=1, configuration={"folder": str(folder)}, schedulers=("greedy",)
        )
        await store.end_run(run.id, "finished", {"files": ["report.pdf"]})


def test_no_input_breaks_the_service(service_settings: dict[str, Any], tmp_path: Path) -> None:
    """All checks, with the token set so that those on authorisation have something to find."""
    asyncio.run(_history(service_settings["database_url"], tmp_path))
    with RealServer(ServiceSettings(**service_settings, api_token=SecretStr(TOKEN))) as server:
        server.service.engine.clears = False
        result = fuzz(server.address, examples=2, token=TOKEN)
    assert result.clean, result.output
    assert result.untried == (), "a fuzz run counts only if every operation answered with a 2xx"
    assert result.cases > 300
