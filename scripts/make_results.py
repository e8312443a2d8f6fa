"""Write RESULTS.md from finished experiments: `python scripts/make_results.py [--results DIR ...]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hybrid_scheduler.model.errors import HybridSchedulerError
from hybrid_scheduler.reports.evidence import gather
from hybrid_scheduler.reports.results_page import results_page, train_forests

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = Path("data/results")


def main() -> int:
    """Gather, train, write; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, nargs="+", metavar="DIR", help=f"folders of runs; default {DEFAULT}")
    parser.add_argument("--out", type=Path, default=ROOT / "RESULTS.md", metavar="FILE", help="default RESULTS.md")
    parser.add_argument(
        "--forest-tasks", type=int, default=2000, metavar="N", help="tasks of each forest; default 2000"
    )
    parser.add_argument("--forest-seeds", type=int, default=5, metavar="K", help="how many forests; default 5")
    asked = parser.parse_args()
    try:
        evidence = gather(asked.results or ([DEFAULT] if DEFAULT.is_dir() else []))
        forest = train_forests(asked.forest_tasks, range(1, asked.forest_seeds + 1))
        asked.out.write_text(results_page(evidence, forest, asked.forest_tasks), encoding="utf-8")
    except (HybridSchedulerError, OSError) as error:
        print(f"make_results: {error}", file=sys.stderr)
        return 2
    print(f"wrote {asked.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
