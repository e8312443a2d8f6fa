"""How much history is kept is a setting."""

from __future__ import annotations

import pytest

from hybrid_scheduler.config.service import ServiceSettings, load_service_settings
from hybrid_scheduler.model.errors import InvalidInputError


def test_by_default_a_gigabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RETENTION_DAYS", "RETENTION_TASKS", "RETENTION_MB"):
        monkeypatch.delenv(name, raising=False)
    settings = ServiceSettings(_env_file=None)
    assert (settings.retention_days, settings.retention_tasks, settings.retention_mb) == (0.0, 0, 1024)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("RETENTION_MB", "15", r"is '15', but: it must be 0 \(no limit\) or at least 16"),
        ("RETENTION_MB", "-1", "greater than or equal to 0"),
        ("RETENTION_TASKS", "many", "valid integer"),
        ("RETENTION_DAYS", "nan", "it must be"),
        ("RETENTION_DAYS", "1e9", "less than or equal to 100000"),
    ],
)
def test_limits_that_mean_nothing(name: str, value: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInputError, match=f"environment variable {name} .*{rule}"):
        load_service_settings()


def test_no_limit_and_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (0, 16):
        monkeypatch.setenv("RETENTION_MB", str(value))
        assert load_service_settings().retention_mb == value
