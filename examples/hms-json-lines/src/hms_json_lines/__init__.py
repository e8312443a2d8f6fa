"""Jobs as JSON lines: `{"submit": 3.5, "seconds": 12.0}`, one per line."""

import json
from pathlib import Path

import numpy as np

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.workloads.opening import opened
from hybrid_scheduler.workloads.readers.assumptions import trace_of_jobs
from hybrid_scheduler.workloads.readers.base import Reader
from hybrid_scheduler.workloads.recorded import TraceFile


class JsonLinesReader(Reader):
    """When each job was submitted, and how long it ran on a CPU."""

    title = "Jobs as JSON lines"

    def recognises(self, head: bytes, name: str) -> bool:
        """The first line is an object that says both."""
        first = head.split(b"\n", 1)[0]
        return first.startswith(b"{") and b'"submit"' in first and b'"seconds"' in first

    def read(self, path: Path, seed: int) -> TraceFile:
        """See `Reader.read`."""
        submit, seconds = [], []
        with opened(path) as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    job = json.loads(line)
                    submit.append(float(job["submit"]))
                    seconds.append(float(job["seconds"]))
                except (ValueError, KeyError, TypeError) as error:
                    rule = 'must be an object like {"submit": 3.5, "seconds": 12.0}'
                    raise InvalidInputError(f"{path}, line {number}: the line {rule}") from error
        return trace_of_jobs(path, np.array(seconds), seed, arrival=np.array(submit))
