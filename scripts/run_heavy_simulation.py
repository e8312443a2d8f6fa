"""The experiment `heavy`: the same as `hms experiment heavy`, whose options it takes."""

from __future__ import annotations

import sys

from hybrid_scheduler.cli import main

if __name__ == "__main__":  # the seeds' own processes import this file again
    sys.exit(main(["experiment", "heavy", *sys.argv[1:]]))
