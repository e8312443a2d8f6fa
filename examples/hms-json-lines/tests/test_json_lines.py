"""What a package with a reader should test: the contract, and what is special about its own format."""

import pytest
from hms_json_lines import JsonLinesReader

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.testing import READER_CHECKS
from hybrid_scheduler.workloads.readers.registry import read_workload

JOBS = '{"submit": 3.5, "seconds": 12.0}\n{"submit": 1.5, "seconds": 4.0}\n'


@pytest.fixture
def jobs(tmp_path):
    path = tmp_path / "jobs.jsonl"
    path.write_text(JOBS)
    return path


@pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: check.__name__)
def test_contract(check, jobs):
    check(JsonLinesReader(), jobs)


def test_recognised_and_read(jobs):
    name, file = read_workload(jobs, seed=1)
    assert name == "json_lines"
    assert file.tasks.arrival_time.tolist() == [0.0, 2.0]
    assert file.tasks.duration_estimate.tolist() == [4.0, 12.0]


def test_a_wrong_line_is_named(jobs):
    jobs.write_text(JOBS + '{"submit": 1}\n')
    with pytest.raises(InvalidInputError, match=r"jobs\.jsonl, line 3"):
        JsonLinesReader().read(jobs, 1)
