"""Seconds per device in few bytes: most queues are empty, and an empty one takes a bit."""

from __future__ import annotations

import struct
from collections.abc import Sequence

COUNT = struct.Struct("<H")
MOST = 2**16 - 1


def pack_seconds(seconds: Sequence[float]) -> bytes:
    """How many there are, a bit for each that is not 0 (the first is the lowest), and those that are not, exactly."""
    bits, kept = 0, []
    for i, value in enumerate(seconds):
        if value != 0.0:
            bits |= 1 << i
            kept.append(value)
    count = len(seconds)
    return COUNT.pack(count) + bits.to_bytes((count + 7) // 8, "little") + struct.pack(f"<{len(kept)}d", *kept)


def unpack_seconds(packed: bytes) -> tuple[float, ...]:
    """What `pack_seconds` packed."""
    (count,) = COUNT.unpack_from(packed)
    first = COUNT.size + (count + 7) // 8
    bits = int.from_bytes(packed[COUNT.size : first], "little")
    kept = iter(struct.unpack(f"<{(len(packed) - first) // 8}d", packed[first:]))
    return tuple(next(kept) if bits >> i & 1 else 0.0 for i in range(count))
