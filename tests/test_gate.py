"""The gate itself: neither a skip nor a failed check may pass unseen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

CASES = {
    "test_skips.py": "import pytest\n\ndef test_skips():\n    pytest.skip('no such device')\n",
    "test_module_skips.py": "import pytest\n\npytest.skip('no such library', allow_module_level=True)\n",
    "test_fails_as_expected.py": "import pytest\n\n@pytest.mark.xfail\ndef test_one():\n    assert False\n",
    "test_passes.py": "def test_passes():\n    pass\n",
    "test_is_slow.py": "import pytest\n\n@pytest.mark.slow\ndef test_is_slow():\n    pass\n",
    "test_needs_data.py": "def test_needs_data(shared_data):\n    pass\n",
}


OURS = ("CI", "HMS_FAILED_CHECKS", "HMS_REFERENCE_DATA", "HMS_TESTED")
pytestmark = pytest.mark.slow  # each starts pytest anew


def closing_line(folder: Path, **environment: str) -> tuple[int, str, str]:
    """Exit status, whole output and last line of pytest on the cases, under our conftest."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    for name, source in CASES.items():
        (folder / name).write_text(source)
    inherited = {k: v for k, v in os.environ.items() if k not in OURS}
    options = ["-o", "markers=slow", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), str(folder)],
        cwd=folder,
        env=inherited | environment | {"PYTHONPATH": str(ROOT / "tests")},  # where our conftest finds its fixtures
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout, run.stdout.splitlines()[-1]


def test_a_skip_is_a_skip_at_home(tmp_path: Path) -> None:
    status, _, last = closing_line(tmp_path)
    assert status == 0
    assert "2 passed, 3 skipped, 1 xfailed" in last


def test_a_skip_is_a_failure_in_ci(tmp_path: Path) -> None:
    status, output, last = closing_line(tmp_path, CI="true")
    assert status == 1
    assert "1 failed, 2 passed, 1 xfailed, 2 errors" in last
    assert "no such device" in output
    assert "no such library" in output


def test_only_the_data_may_be_absent_in_ci(tmp_path: Path) -> None:
    """On a public runner, which cannot have it, and says so."""
    status, output, last = closing_line(tmp_path, CI="true", HMS_REFERENCE_DATA="absent")
    assert status == 1
    assert "1 failed, 2 passed, 1 skipped, 1 xfailed, 1 error" in last
    assert "no such device" in output


def test_a_failed_check_fails_the_run(tmp_path: Path) -> None:
    status, output, last = closing_line(tmp_path, HMS_FAILED_CHECKS="mypy")
    assert status == 1
    assert "mypy" in output
    assert "2 passed" in last


def test_what_ran_with_coverage_does_not_run_again(tmp_path: Path) -> None:
    status, _, last = closing_line(tmp_path, HMS_TESTED="test_passes.py test_is_slow.py test_ski")
    assert status == 0
    assert "1 passed, 3 skipped, 1 deselected, 1 xfailed" in last


@pytest.mark.parametrize("script", ["hms", "run_tests.sh", ".ci/run", "scripts/environment.sh"])
def test_shell_scripts_parse(script: str) -> None:
    subprocess.run(["bash", "-n", str(ROOT / script)], check=True)
