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
    (tmp_path / "cgroup").write_text("0::/\n")
    assert spare_bytes(meminfo, tmp_path / "cgroup", tmp_path) == spare


@pytest.mark.parametrize(
    ("groups", "folder", "files"),
    [
        ("0::/system/job_7/step\n", "system/job_7", ("memory.max", "memory.current")),
        ("5:cpu:/x\n9:memory:/job_7\n", "memory/job_7", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
        ("9:memory:/of/the/host\n", "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
    ],
)
def test_the_limits_of_all_groups_above_count(tmp_path: Path, groups: str, folder: str, files: tuple[str, str]) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 1000 kB\nMemAvailable: 900 kB\n")
    (tmp_path / "cgroup").write_text(groups)
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for name, kib in zip(files, (300, 50), strict=True):
        (tmp_path / folder / name).write_text(f"{kib * KIB}\n")
    assert spare_bytes(tmp_path / "meminfo", tmp_path / "cgroup", tmp_path) == 100 * KIB


@pytest.mark.parametrize(
    "text", [None, "", "MemTotal: 1000 kB\n", "MemTotal: much\nMemAvailable: 5 kB\n", "no colon\n"]
)
def test_none_where_the_system_does_not_say(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "meminfo").write_text(text)
    assert spare_bytes(tmp_path / "meminfo", tmp_path / "nothing", tmp_path) == 0.0
