"""One colour per scheduler, the same in every plot, report and dashboard."""

from __future__ import annotations

import colorsys
import zlib

FIXED = {
    "hybrid_ml": "#22d3ee",
    "rl_agent": "#a855f7",
    "oracle": "#eab308",
    "lower_bound": "#94a3b8",
    "greedy": "#22c55e",
    "round_robin": "#f97316",
    "random": "#b08968",
    "mct": "#ec4899",
    "static_forest": "#2563eb",
    "cpu_only": "#64748b",
    "gpu_only": "#dc2626",
    "fcfs": "#0f766e",
    "sjf": "#84cc16",
    "hybrid_queue": "#fb7185",
}
"""The built-in ones: the forest cyan, the agent purple, the oracle gold."""
OKABE_ITO = {
    "hybrid_ml": "#56b4e9",
    "rl_agent": "#cc79a7",
    "oracle": "#e69f00",
    "lower_bound": "#999999",
    "greedy": "#009e73",
    "round_robin": "#d55e00",
    "random": "#f0e442",
    "mct": "#0072b2",
    "static_forest": "#000000",
    "cpu_only": "#555555",
    "gpu_only": "#7a3600",
    "fcfs": "#3d7a6f",
    "sjf": "#aadd77",
    "hybrid_queue": "#882255",
}
"""The colours of Okabe and Ito ("Color universal design", 2008), which people of every colour vision tell apart.

They are eight; the rest differs from them by lightness, which everybody sees.
"""
SAFE_ORDER = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#000000")
GOLDEN = 0.6180339887498949
"""Multiples of the golden ratio, modulo 1, are spread evenly however many there are."""


def colour_of(name: str) -> str:
    """The colour of a scheduler as `#rrggbb`: fixed for the built-in ones, for others always the same by their name."""
    if name in FIXED:
        return FIXED[name]
    code = zlib.crc32(name.encode())
    hue = code * GOLDEN % 1.0
    lightness, saturation = 0.42 + 0.16 * (code >> 8 & 1), 0.55 + 0.25 * (code >> 9 & 1)
    red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(hue, lightness, saturation))
    return f"#{red:02x}{green:02x}{blue:02x}"


def colour_blind_safe(name: str) -> str:
    """The colour of a scheduler from the palette of Okabe and Ito.

    Other people's schedulers may share one of the eight; plots tell those apart by their line styles.
    """
    return OKABE_ITO.get(name) or SAFE_ORDER[zlib.crc32(name.encode()) % len(SAFE_ORDER)]
