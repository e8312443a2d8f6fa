"""Whatever goes wrong has one shape and tells nothing it should not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from running_service import NewService, Service

from hybrid_scheduler.live.errors import EngineError
from hybrid_scheduler.server.security import SECURITY_HEADERS
from hybrid_scheduler.store import StoreError, StoreUnavailableError

JSON = {"Content-Type": "application/json"}


def _error(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert {key: answer.headers[key] for key in SECURITY_HEADERS} == SECURITY_HEADERS
    assert answer.headers["X-Request-ID"]
    (name,) = answer.json()
    error: dict[str, Any] = answer.json()[name]
    assert name == "error"
    assert set(error) == {"code", "message", "details"}
    assert error["code"] == code
    assert error["message"]
    return error


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"\xff\xfe",
        b"[" * 30_000,
        b'{"size": ' + b"9" * 5000 + b"}",
        b'{"size": NaN, "compute_intensity": 0.5, "memory_required": 1}',
        b'{"size": 1e999, "compute_intensity": 0.5, "memory_required": 1}',
        b'{"size": -Infinity, "compute_intensity": 0.5, "memory_required": 1}',
        b'{"size": true, "compute_intensity": 0.5, "memory_required": 1}',
        b'{"size": "1", "compute_intensity": 0.5, "memory_required": 1}',
        b'{"size": 1, "compute_intensity": 2, "memory_required": 1}',
        b'{"size": 1, "compute_intensity": 0.5, "memory_required": 1, "dependencies": [1e400]}',
        b'{"size": 1, "compute_intensity": 0.5, "memory_required": 1, "dependencies": [99999999999999999999999]}',
        b'{"size": 1, "compute_intensity": 0.5, "memory_required": 1, "dependencies": [-1]}',
        b'{"size": 1, "compute_intensity": 0.5, "memory_required": 1, "\\ud800": 1}',
        b'{"size": 1, "compute_intensity": 0.5}',
        b'"size"',
        b"null",
    ],
)
def test_a_body_that_is_no_task_is_422(service: Service, body: bytes) -> None:
    error = _error(service.client.post("/api/tasks", content=body, headers=JSON), 422, "invalid_input")
    assert error["details"]
    assert service.engine.commands == []


def test_every_wrong_field_is_named(service: Service) -> None:
    answer = service.client.post("/api/tasks", json={"size": -1, "compute_intensity": 7, "color": 1})
    error = _error(answer, 422, "invalid_input")
    fields = {each["field"]: each["message"] for each in error["details"]}
    assert set(fields) == {"size", "compute_intensity", "memory_required", "color"}
    assert fields["size"].startswith("it must be greater than")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
def test_a_body_of_another_type_is_415(service: Service, kind: str) -> None:
    for content in (b"size=1", b'{"size": 1}'):
        answer = service.client.post("/api/tasks", content=content, headers={"Content-Type": kind})
        error = _error(answer, 415, "unsupported_media_type")
        assert "application/json" in error["message"]
    assert service.engine.commands == []


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/vnd.task+json"])
def test_json_has_several_names(service: Service, kind: str) -> None:
    content = b'{"size": 900, "compute_intensity": 0.5, "memory_required": 1}'
    assert service.client.post("/api/tasks", content=content, headers={"Content-Type": kind}).status_code == 201


OUT_OF_BOUNDS = (
    "/api/history/comparative?limit=0",
    "/api/history/comparative?limit=1001",
    "/api/history/comparative?limit=ten",
    "/api/history/comparative?before=-1",
    f"/api/history/comparative?before={10**30}",
    f"/api/history/comparative?run_id={2**63}",
    "/api/history/comparative?scheduler=",
    "/api/history/comparative?scheduler=%00",
    f"/api/tasks/{10**30}",
    "/api/tasks/one",
    "/api/tasks/-1",
    f"/api/runs/{2**53}",
    "/api/runs?kind=other",
    "/api/models?limit=1e3",
)


def test_numbers_and_names_are_bounded(deployed: Service) -> None:
    for path in OUT_OF_BOUNDS:
        _error(deployed.client.get(path), 422, "invalid_input")


@pytest.mark.parametrize(("path", "allowed"), [("/api/status", "GET"), ("/api/tasks", "POST"), ("/", "GET")])
@pytest.mark.parametrize("method", ["PUT", "PROPFIND"])
def test_another_method_is_405_and_says_which(service: Service, method: str, path: str, allowed: str) -> None:
    answer = service.client.request(method, path)
    _error(answer, 405, "method_not_allowed")
    assert allowed in answer.headers["Allow"]


@pytest.mark.parametrize("path", ["/api/nothing", "/api", "/nothing", "/api/status/", "/assets/none.js", "/%00"])
def test_an_unknown_address_is_404(service: Service, path: str) -> None:
    _error(service.client.get(path), 404, "not_found")


def test_a_body_too_large_is_413_whether_or_not_it_says_so(new_service: NewService) -> None:
    service = new_service(max_body_bytes=1024)
    _error(service.client.post("/api/tasks", content=b"x" * 1025, headers=JSON), 413, "body_too_large")

    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 100

    _error(service.client.post("/api/tasks", content=chunks(), headers=JSON), 413, "body_too_large")
    lying = {**JSON, "Content-Length": "9" * 40}
    _error(service.client.post("/api/tasks", content=b"{}", headers=lying), 413, "body_too_large")
    assert service.engine.commands == []


def test_what_the_engine_refuses_keeps_its_code_and_status(service: Service) -> None:
    service.engine.state = "starting"
    _error(service.client.post("/api/pause"), 503, "engine_unavailable")

    async def refuse(name: str, **arguments: Any) -> dict[str, Any]:
        raise EngineError("task 5 is not finished; wait for it", code="unfinished_parent", status=409)

    service.engine.command = refuse  # type: ignore[method-assign]
    error = _error(service.client.post("/api/pause"), 409, "unfinished_parent")
    assert error["message"] == "task 5 is not finished; wait for it"


def test_a_store_that_does_not_answer_is_503_without_its_address(service: Service) -> None:
    async def refuse(*arguments: Any) -> None:
        raise StoreUnavailableError("the store db.internal:5432 does not answer")

    service.store_access.store.runs = refuse  # type: ignore[method-assign,assignment]
    answer = service.client.get("/api/runs")
    error = _error(answer, 503, "store_unavailable")
    assert "internal" not in error["message"]
    assert answer.headers["Retry-After"]


@pytest.mark.parametrize("kind", ["", "damaged", "missing_table", "locked", "full", "unreachable"])
def test_whatever_the_store_raises_is_503(service: Service, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(*arguments: Any) -> None:
        raise StoreError("the store /srv/secret.db refused: no idea", kind)

    service.store_access.store.runs = refuse  # type: ignore[method-assign,assignment]
    error = _error(service.client.get("/api/runs"), 503, "store_unavailable")
    assert "secret" not in error["message"]
    assert [each.exc_info for each in caplog.records if each.exc_info] == []
    assert "secret" in caplog.text


def test_a_mistake_of_ours_is_500_and_leaks_nothing(service: Service) -> None:
    def broken() -> None:
        raise RuntimeError("the password is hunter2")

    service.engine.status = broken  # type: ignore[method-assign,assignment]
    answer = service.client.get("/api/status")
    error = _error(answer, 500, "internal_error")
    assert "hunter2" not in answer.text
    assert answer.headers["X-Request-ID"] in error["message"]
    assert answer.headers["Cache-Control"] == "no-store"
