"""Write the API's description for the dashboard's types; `npm --prefix dashboard run types` makes them from it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "dashboard" / "openapi.json"

sys.path.insert(0, str(ROOT / "scripts"))

from documentation.api import openapi_document  # noqa: E402


def current() -> str:
    """What the file should hold."""
    return json.dumps(openapi_document(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(FILE.read_text(encoding="utf-8") != current())
    FILE.write_text(current(), encoding="utf-8")
    print(f"wrote {FILE.relative_to(ROOT)}")
