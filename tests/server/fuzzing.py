"""Every operation of a running service, with good and bad input, against every check that schemathesis knows.

`python tests/server/fuzzing.py http://127.0.0.1:8000 --examples 60` tries more than a thousand cases on any service. A
run counts only if every operation answered with a 2xx at least once: what is refused throughout has not been tried.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson
from prometheus_client.parser import text_string_to_metric_families

TIMEOUT = 3600.0


class Fuzzed(NamedTuple):
    """What came of it; `untried` are operations that never answered with a 2xx, `output` is for people."""

    clean: bool
    cases: int
    untried: tuple[str, ...]
    output: str


def fuzz(
    address: str, *, examples: int, seed: int = 1, token: str | None = None, without: Sequence[str] = ()
) -> Fuzzed:
    """Fuzz the service at an address with up to so many random cases per operation, besides the systematic ones.

    Args:
        address: Of the service.
        examples: Random cases per operation, and of the stateful phase.
        seed: Of the random cases.
        token: Of the service, if it has one.
        without: Paths that are left out.
    """
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/api/openapi.json", "--checks", "all"]
    command += ["--max-examples", str(examples), "--seed", str(seed), "--no-color"]
    for path in without:
        command += ["--exclude-path", path]
    if token is not None:
        command += ["--header", f"Authorization: Bearer {token}"]
    hooks = {
        "SCHEMATHESIS_HOOKS": "fuzz_hooks",
        "PYTHONPATH": str(Path(__file__).parent),
        "FUZZED_ADDRESS": address,
    }
    before = answered(address)
    # In a folder of its own, where it may leave what it finds.
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(
            command, cwd=folder, env=os.environ | hooks, capture_output=True, text=True, timeout=TIMEOUT
        )
    output = ended.stdout + ended.stderr
    found = re.search(r"([\d,]+) generated", output)
    after = answered(address)
    untried = tuple(
        sorted(
            operation
            for operation in operations(address)
            if operation.split()[1] not in without and after.get(operation, 0.0) <= before.get(operation, 0.0)
        )
    )
    return Fuzzed(ended.returncode == 0, int(found[1].replace(",", "")) if found else 0, untried, output)


def operations(address: str) -> list[str]:
    """Every operation, as `METHOD /path`."""
    with urllib.request.urlopen(f"{address}/api/openapi.json") as answer:
        paths = orjson.loads(answer.read())["paths"]
    return [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]


def answered(address: str) -> dict[str, float]:
    """How often each operation answered with a 2xx so far, by the service's own metrics."""
    with urllib.request.urlopen(f"{address}/api/metrics") as answer:
        text = answer.read().decode()
    counts: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "hms_http_request_seconds_count" and sample.labels["status"].startswith("2"):
                operation = f"{sample.labels['method']} {sample.labels['route']}"
                counts[operation] = counts.get(operation, 0.0) + sample.value
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--examples", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--token")
    parser.add_argument("--without", action="append", default=[], metavar="PATH")
    options = parser.parse_args()
    result = fuzz(
        options.address, examples=options.examples, seed=options.seed, token=options.token, without=options.without
    )
    sys.stdout.write(result.output)
    for operation in result.untried:
        sys.stdout.write(f"never answered with a 2xx: {operation}\n")
    sys.exit(0 if result.clean and not result.untried else 1)
