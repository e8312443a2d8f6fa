"""What every test shares: the Hypothesis profile, the rule on skips, the data folder."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The gate must give the same answer twice; `--hypothesis-profile thorough` goes looking for new examples.
settings.register_profile(
    "gate",
    deadline=None,
    derandomize=True,
    max_examples=60,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("gate"), derandomize=False, max_examples=2000)
settings.load_profile("gate")

pytest_plugins = ("databases", "redis_server")
"""Fixtures of real databases and of a real Redis; nothing is started before a test asks for it."""

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared"
NO_DATA = "the data folder 'shared' does not stand beside the checkout"


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what goes to its background deaf to Ctrl-C, and so would be every program that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of reference data, `shared` beside the checkout; tests that need it are skipped without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip(NO_DATA)
    return SHARED_DATA


def _fail_if_skipped_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if NO_DATA in reason and os.environ.get("HMS_REFERENCE_DATA") == "absent":
            return  # a machine that says so cannot have it
        report.outcome = "failed"
        report.longrepr = f"{reason} (a skip is a failure when CI=true)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_skipped_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped_in_ci(report)
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `run_tests.sh` has run with coverage: the tests of these files and folders that are not slow."""
    places = os.environ.get("HMS_TESTED", "").split()
    starts = tuple(f"{place}{behind}" for place in places for behind in ("/", "::"))
    tested = [item for item in items if item.nodeid.startswith(starts) and not item.get_closest_marker("slow")]
    if tested:
        config.hook.pytest_deselected(items=tested)
        known = set(tested)
        items[:] = [item for item in items if item not in known]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if os.environ.get("HMS_FAILED_CHECKS") and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the checks that `run_tests.sh` saw fail, just above the closing line."""
    if failed := os.environ.get("HMS_FAILED_CHECKS"):
        terminalreporter.section("failed checks")
        terminalreporter.line(f"{failed} (see above the tests)", red=True)
