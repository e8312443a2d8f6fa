"""Memory that nobody needs: by the kernel's word, within a container's limit, none where nobody says."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_scheduler.hardware.nodes.spare_memory import spare_bytes

KIB = 1024


@pytest.mark.parametrize(
    ("available", "limit", "used", "spare"),
    [
        (700, None, None, 200 * KIB),
        (500, None, None, 0),
        (100, None, None, 0),
        (700, "max", "1000", 200 * KIB),
        (700, str(400 * KIB), str(100 * KIB), 100 * KIB),
        (700, str(400 * KIB), str(350 * KIB), 0),
        (700, str(4000 * KIB), str(100 * KIB), 200 * KIB),
    ],
)
def test_what_is_available_beyond_half(
    tmp_path: Path, available: int, limit: str | None, used: str | None, spare: float
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal: 1000 kB\nMemFree: 5 kB\nMemAvailable: {available} kB\n")
    if limit is not None and used is not None:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text(f"{used}\n")
    assert spare_bytes(meminfo, tmp_path) == spare


@pytest.mark.parametrize(
    "text", [None, "", "MemTotal: 1000 kB\n", "MemTotal: much\nMemAvailable: 5 kB\n", "no colon\n"]
)
def test_none_where_the_system_does_not_say(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "meminfo").write_text(text)
    assert spare_bytes(tmp_path / "meminfo", tmp_path) == 0.0
