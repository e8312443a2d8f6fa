"""Every operation of a running service, with good and bad input, against every check that schemathesis knows.

`python tests/server/fuzzing.py http://127.0.0.1:8000 --examples 60` tries more than a thousand cases on any service.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

TIMEOUT = 1800.0


class Fuzzed(NamedTuple):
    """What came of it; `output` is for people."""

    clean: bool
    cases: int
    output: str


def fuzz(address: str, *, examples: int, seed: int = 1, token: str | None = None) -> Fuzzed:
    """Fuzz the service at an address with up to so many random cases per operation, besides the systematic ones."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/api/openapi.json", "--checks", "all"]
    command += ["--max-examples", str(examples), "--seed", str(seed), "--no-color"]
    if token is not None:
        command += ["--header", f"Authorization: Bearer {token}"]
    # In a folder of its own, where it may leave what it finds.
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
    output = ended.stdout + ended.stderr
    found = re.search(r"([\d,]+) generated", output)
    return Fuzzed(ended.returncode == 0, int(found[1].replace(",", "")) if found else 0, output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--examples", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--token")
    options = parser.parse_args()
    result = fuzz(options.address, examples=options.examples, seed=options.seed, token=options.token)
    sys.stdout.write(result.output)
    sys.exit(0 if result.clean else 1)
