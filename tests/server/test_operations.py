"""Metrics and logs."""

from __future__ import annotations

import json
import logging
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from monitoring import asked_series, told_series
from prometheus_client.parser import text_string_to_metric_families
from running_service import TOKEN, NewService, Service

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.server.logs import configure_logging, formatter_for, request_id
from hybrid_scheduler.store import Store, StoreError

ROOT = Path(__file__).resolve().parents[2]


def test_a_store_of_another_version_is_an_error_at_the_start(new_service: NewService) -> None:
    async def opener() -> Store:
        raise StoreError("the store needs an upgrade; run 'hms db upgrade'")

    with pytest.raises(StoreError, match="hms db upgrade"):
        new_service(opener)


def test_metrics_are_what_prometheus_reads(service: Service) -> None:
    service.client.get("/api/status")
    service.client.get("/api/nothing")
    service.client.request("BREW", "/api/status")
    with service.client.websocket_connect("/ws"):
        service.emit({"type": "log", "message": "hello"})
        answer = service.client.get("/api/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["hms_http_request_seconds_count", "/api/status", "200", "GET"] == 1
    assert samples["hms_http_request_seconds_count", "404", "GET", "other"] == 1
    assert samples["hms_http_request_seconds_count", "/api/status", "405", "other"] == 1
    assert samples["hms_http_request_seconds_bucket", "+Inf", "/api/status", "200", "GET"] == 1
    assert samples["hms_state", "running"] == 1
    assert samples["hms_state", "paused"] == 0
    assert samples["hms_run_tasks",] == 7
    assert samples["hms_scheduler_tasks_total", "greedy"] == 7
    assert samples["hms_scheduler_decisions_total", "greedy"] == 8
    assert samples["hms_scheduler_gap_ratio", "greedy"] == 0.25
    assert samples["hms_scheduler_utilization_ratio", "cpu_0", "greedy"] == 0.5
    assert samples["hms_scheduler_unfinished", "oracle"] == 1
    assert samples["hms_store_waiting_tasks",] == 0
    assert samples["hms_feed_clients",] == 1
    assert samples["hms_feed_frames_total",] == 1
    assert samples["hms_feed_dropped_total",] == 0
    assert samples["hms_model_version", "rl_agent"] == 0
    assert samples["hms_model_updates_total", "rl_agent"] == 3
    assert samples["hms_model_refits_total", "rl_agent"] == 1
    assert samples["hms_model_refit_checks_total", "rl_agent"] == 2
    assert samples["hms_model_drift_alarms_total", "rl_agent"] == 1
    assert ("hms_model_updates_total", "greedy") not in samples
    edges = {edge: samples["hms_scheduler_response_seconds_bucket", edge, "greedy"] for edge in ("0.1", "1.0", "+Inf")}
    assert edges == {"0.1": 1, "1.0": 3, "+Inf": 6}
    assert samples["hms_scheduler_response_seconds_count", "greedy"] == 6
    assert samples["hms_scheduler_response_seconds_sum", "greedy"] == 12
    assert samples["hms_connections_refused_total", "no_room"] == 0
    assert samples["hms_dependency_up", "engine"] == 1


def test_energy_that_no_machine_told_is_no_sample(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    status = service.engine.status()
    told, untold = status["totals"][:2]
    monkeypatch.setattr(
        service.engine, "status", lambda: {**status, "totals": [told, {**untold, "energy_joules": None}]}
    )
    text = service.client.get("/api/metrics").text
    assert f'hms_scheduler_energy_joules_total{{scheduler="{told["name"]}"}} 90.0' in text
    assert f'hms_scheduler_energy_joules_total{{scheduler="{untold["name"]}"}}' not in text
    assert f'hms_scheduler_cost_dollars_total{{scheduler="{untold["name"]}"}} 0.5' in text
    answer = service.client.get("/api/status").json()
    assert [totals["energy_joules"] for totals in answer["totals"]] == [90.0, None]


def test_metrics_hold_every_series_that_grafana_and_the_alerts_ask_for(service: Service) -> None:
    service.client.get("/api/status")
    assert asked_series() - told_series(service.client.get("/api/metrics").text) == set()


def test_the_documentation_lists_every_series_and_no_other(service: Service) -> None:
    text = (ROOT / "docs" / "service.md").read_text("utf-8")
    listed = set(re.findall(r"`(hms_\w+)`", text.partition("## Metrics")[2].partition("\n## ")[0]))
    told = service.client.get("/api/metrics").text
    types = dict(re.findall(r"^# TYPE (hms_\w+) (\w+)$", told, re.MULTILINE))
    assert listed == {name for name in types if not name.endswith("_created")}


# --- logs


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in root.handlers:
        if handler not in handlers:
            handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("uvicorn.access").disabled = False


SECRETS: dict[str, Any] = {
    "api_token": TOKEN,
    "database_url": "postgresql+asyncpg://me:p%40ss-word@db/x",
    "redis_url": "redis://:redis-secret@cache/0",
}


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_ever_logged(form: Literal["text", "json"]) -> None:
    formatter = formatter_for(ServiceSettings(_env_file=None, log_format=form, **SECRETS))
    try:
        raise RuntimeError(f"connecting to {SECRETS['database_url']} failed; p@ss-word")
    except RuntimeError:
        record = logging.LogRecord(
            "x", 20, "f", 1, "GET /ws?token=%s&a=1 redis-secret", ("other-token",), sys.exc_info()
        )
    line = formatter.format(record)
    for secret in (TOKEN, "p%40ss-word", "p@ss-word", "redis-secret", "other-token"):
        assert secret not in line
    assert "a=1" in line
    assert "connecting to" in line


@pytest.mark.parametrize("token", ['"', "\\", "a", ",", "{", "}", ":", "null", "message", "0", "**", "n"])
def test_whatever_the_token_is_every_line_is_json(token: str, new_service: NewService, restored_logging: None) -> None:
    settings = {"api_token": token, "log_file": "logs/app.log", "log_format": "json", "log_level": "DEBUG"}
    service = new_service(**settings)
    configure_logging(service.settings)
    service.client.get(f"/api/{token}", headers={"X-Request-ID": "call-1"})
    logging.getLogger("x").warning("%s\r\n\ud800 %s", token * 3, {"token": token}, extra={"fact": token, "number": 7})
    try:
        raise RuntimeError(token)
    except RuntimeError:
        logging.getLogger("x").exception("it failed")
    documents = [json.loads(line) for line in Path("logs/app.log").read_text().splitlines()]
    called = next(each for each in documents if each["logger"].endswith("requests"))
    assert (called["level"], called["status"]) == ("info", 404)
    warning, failed = (each for each in documents if each["logger"] == "x")
    assert warning["number"] == 7
    for text in (warning["message"], warning["fact"], failed["traceback"]):
        assert token == "**" or token not in text.replace("***", "")


def test_the_log_is_its_owners(tmp_path: Path, restored_logging: None) -> None:
    file = tmp_path / "new" / "logs" / "app.log"
    configure_logging(ServiceSettings(_env_file=None, log_file=str(file)))
    assert [stat.S_IMODE(each.stat().st_mode) for each in (file, file.parent, file.parent.parent)] == [
        0o600,
        0o700,
        0o700,
    ]


def test_a_token_in_a_call_is_not_in_the_log_file(new_service: NewService, restored_logging: None) -> None:
    settings = {"api_token": TOKEN, "log_file": "logs/app.log", "log_format": "json", "log_level": "DEBUG"}
    service = new_service(**settings)
    configure_logging(service.settings)
    with service.client.websocket_connect(f"/ws?token={TOKEN}"):
        pass
    service.client.post("/api/pause", headers={"Authorization": f"Bearer {TOKEN}", "X-Request-ID": "call-1"})
    service.client.post(f"/api/pause?token={TOKEN}", headers={"X-Request-ID": "call-2"})
    lines = [json.loads(line) for line in Path("logs/app.log").read_text().splitlines()]
    assert TOKEN not in Path("logs/app.log").read_text()
    found = {each.get("request_id"): each for each in lines if each["logger"].endswith("requests")}
    assert (found["call-1"]["message"], found["call-1"]["status"]) == ("POST /api/pause", 200)
    assert found["call-2"]["status"] == 401
    assert found["call-1"]["milliseconds"] >= 0


def test_production_logs_json_and_terminals_get_text() -> None:
    record = logging.LogRecord("hybrid_scheduler.server.app", 30, "f", 1, "a\nb", None, None)
    record.status = 200
    reset = request_id.set("r1")
    try:
        document = json.loads(formatter_for(ServiceSettings(_env_file=None, environment="production")).format(record))
        text = formatter_for(ServiceSettings(_env_file=None)).format(record)
    finally:
        request_id.reset(reset)
    assert document["level"] == "warning"
    assert document["message"] == "a\nb"
    assert (document["request_id"], document["status"]) == ("r1", 200)
    assert "\n" not in text  # nobody can write lines of their own into the log
    assert text.endswith("WARNING server.app  a\\nb  request_id=r1  status=200")


def test_the_log_file_rotates(tmp_path: Path, restored_logging: None) -> None:
    configure_logging(ServiceSettings(_env_file=None, log_file=str(tmp_path / "logs" / "app.log")), file_bytes=2000)
    for number in range(600):
        logging.getLogger("x").warning("line %d", number)
    files = sorted(each.name for each in (tmp_path / "logs").iterdir())
    assert files == ["app.log", *(f"app.log.{i}" for i in range(1, 6))]
    assert "line 599" in (tmp_path / "logs" / "app.log").read_text()


def test_a_log_file_that_cannot_be_written_is_said_so(tmp_path: Path, restored_logging: None) -> None:
    with pytest.raises(InvalidInputError, match="LOG_FILE"):
        configure_logging(ServiceSettings(_env_file=None, log_file=str(tmp_path)))
