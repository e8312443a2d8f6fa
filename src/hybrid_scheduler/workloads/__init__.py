"""Workloads: synthetic ones from a seed, traces and tables of times from files."""

from hybrid_scheduler.workloads.csv_table import read_table
from hybrid_scheduler.workloads.csv_trace import read_csv, write_csv
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from hybrid_scheduler.workloads.graphs.registry import GRAPH_PRESETS, find_graph
from hybrid_scheduler.workloads.kernel_preset import KernelPreset, find_kernels
from hybrid_scheduler.workloads.presets import PRESETS, Preset, drifting, find_preset
from hybrid_scheduler.workloads.recorded import TableFile, TraceFile

__all__ = [
    "GRAPH_PRESETS",
    "PRESETS",
    "KernelPreset",
    "Preset",
    "TableFile",
    "TraceFile",
    "WorkloadGenerator",
    "drifting",
    "find_graph",
    "find_kernels",
    "find_preset",
    "read_csv",
    "read_table",
    "write_csv",
]
