"""Which node a command means: command line, environment, file, in this order."""

from __future__ import annotations

from pathlib import Path

from hybrid_scheduler.config import Config, load_cluster
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.cost import CostModel, FormulaCost, Speedup, TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.workloads import TableFile


def choose_cluster(config: Config, gpus: int | None, file: Path | None, table: TableFile | None = None) -> ClusterSpec:
    """The devices.

    Args:
        config: What file and environment say.
        gpus: `--gpus`.
        file: `--cluster`.
        table: Names the devices by its columns when nobody else describes them.
    """
    if gpus is not None and file is not None:
        raise InvalidInputError("--gpus and --cluster both describe the node; leave one out")
    if file is not None:
        return load_cluster(file)
    if table is not None and gpus is None and config.cluster.devices is None:
        devices = tuple(Device(name, "gpu" if name.startswith("gpu") else "cpu") for name in table.device_names)
        return ClusterSpec(devices, tuple(each.build() for each in config.cluster.disturbances))
    return config.cluster_spec(gpus)


def choose_cost(config: Config, speedup: Speedup | None, table: TableFile | None = None) -> CostModel:
    """How long tasks take: by the formula with `--speedup`, or as the table says."""
    if table is None:
        return FormulaCost(config.physics.speedup if speedup is None else speedup)
    if speedup is not None:
        raise InvalidInputError(
            f"--speedup {speedup} is for times by formula, but --table gives the times; leave one out"
        )
    return TableCost(table.seconds, tuple(table.tasks.task_id.tolist()), table.device_names)
