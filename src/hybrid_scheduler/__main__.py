"""`python -m hybrid_scheduler` is `hms`."""

import sys

from hybrid_scheduler.cli import main

if __name__ == "__main__":
    sys.exit(main())
