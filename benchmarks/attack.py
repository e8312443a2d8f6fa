"""What the service must withstand: every attack that once hurt it, as a check, against a real `hms serve` on loopback.

    python benchmarks/attack.py [--only PART] [--list]

Exits non-zero when a check fails. Each check has a service of its own in a temporary folder; all of them together take
less than ten minutes. Checks that need root (a small file system) say so and count as failed without it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / part) for part in (".", "live")]
from attacks import checks  # noqa: E402  (needs the tests' modules)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run the checks whose name holds this")
    parser.add_argument("--list", action="store_true", help="name the checks")
    options = parser.parse_args()
    wanted = {name: check for name, check in checks().items() if options.only in name}
    if options.list:
        print("\n".join(f"{name}: {(check.__doc__ or '').splitlines()[0]}" for name, check in wanted.items()))
        return 0
    failed, began = [], time.monotonic()
    for name, check in wanted.items():
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="hms-attack-") as folder:
            try:
                said = check(Path(folder))
            except Exception as error:  # noqa: BLE001  (one failed check must not hide the others)
                traceback.print_exc()
                said = f"{type(error).__name__}: {error}".partition("\n")[0]
                failed.append(name)
        verdict = "FAILED" if name in failed else "ok"
        print(f"{verdict:6} {name:32} {time.monotonic() - started:6.1f} s  {said}", flush=True)
    print(f"{len(wanted) - len(failed)} of {len(wanted)} checks passed in {time.monotonic() - began:.0f} s")
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
