"""All phases of the pipeline, under the name users know: the same as `hms pipeline`."""

import sys

from hybrid_scheduler.cli import main

if __name__ == "__main__":
    sys.exit(main(["pipeline", *sys.argv[1:]]))
