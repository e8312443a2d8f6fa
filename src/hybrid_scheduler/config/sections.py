"""The sections of `config.yaml`: every key with its type, its rule and its default."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError, UnknownNameError
from hybrid_scheduler.model.objective import Objective, overridden
from hybrid_scheduler.model.ranges import LOADS, SPEEDS
from hybrid_scheduler.physics.calibrated import AT_WORK, PAUSES
from hybrid_scheduler.physics.cost import CostModel, FormulaCost, Speedup
from hybrid_scheduler.physics.device import (
    MOST_GPUS,
    NETWORK_MB_PER_SECOND,
    PCIE_MB_PER_SECOND,
    ClusterSpec,
    Device,
    DeviceKind,
    Disturbance,
)
from hybrid_scheduler.physics.settings import STRETCHES, MemoryPolicy, Physics, Pricing, SplitModel
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_class
from hybrid_scheduler.workloads.presets import find_workload
from hybrid_scheduler.workloads.synthesis import FEATURE_LIMITS, MOST_TASKS, RATE_LIMITS

LARGEST_SEED = 2**63 - 1
LARGEST_INTERVAL = 10**7

Rate = Annotated[float, Field(ge=RATE_LIMITS[0], le=RATE_LIMITS[1])]
FeatureRange = tuple[float, float]


class Section(BaseModel):
    """A mapping in the file: no key beyond those declared, no key that takes yes or no."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, data: object) -> object:
        """A key with nothing under it means the defaults."""
        return {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else data

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_yes_and_no(cls, value: object) -> object:
        # YAML reads `on` and `no` as truth values, which pydantic would take for 1 and 0.
        if isinstance(value, bool):
            raise ValueError("a yes/no value has no meaning here; put text in quotes")
        return value


class SimulationSection(Section):
    """The run. `retrain_interval` and `weights` take effect with the learners, `speed` with the live service."""

    num_gpus: Annotated[int, Field(ge=0, le=MOST_GPUS)] = 4
    retrain_interval: Annotated[int, Field(ge=1, le=LARGEST_INTERVAL)] = 50
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 42
    speed: Annotated[float, Field(ge=SPEEDS.low, le=SPEEDS.high)] = 1.0
    weights: Objective | None = None

    @field_validator("weights", mode="before")
    @classmethod
    def _objective(cls, value: Any) -> Objective | None:
        return None if value is None else Objective.of(value)


class WorkloadSection(Section):
    """The tasks. Ranges are for `preset`; None keeps the preset's own."""

    preset: str = "mixed"
    num_tasks: Annotated[int, Field(ge=1, le=MOST_TASKS)] = 1000
    size_range: FeatureRange | None = None
    intensity_range: FeatureRange | None = None
    memory_range: FeatureRange | None = None
    load: Annotated[float | None, Field(ge=LOADS.low, le=LOADS.high)] = None
    rate: Rate | None = None

    @field_validator("preset")
    @classmethod
    def _known(cls, name: str) -> str:
        find_workload(name)
        return name

    @field_validator("size_range", "intensity_range", "memory_range")
    @classmethod
    def _ordered(cls, value: FeatureRange | None, info: ValidationInfo) -> FeatureRange | None:
        low, high = FEATURE_LIMITS[str(info.field_name).removesuffix("_range")]
        if value is not None and not low <= value[0] <= value[1] <= high:
            raise ValueError(f"it must be the lowest and the highest value, within {low:g} to {high:g}")
        return value

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.load is not None and self.rate is not None:
            raise ValueError("load and rate are both given; the load determines the rate, leave one out")
        return self


class DeviceSection(Section):
    """One device; figures that are left out are the default device's of its kind."""

    name: Annotated[str, Field(min_length=1)]
    kind: DeviceKind
    speed: float = 1.0
    memory_mb: float | None = None
    bandwidth: float = PCIE_MB_PER_SECOND
    latency: float = 0.0
    watts: float | None = None
    idle_watts: float = 0.0
    dollars_per_second: float | None = None
    node: int = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.build()
        return self

    def build(self) -> Device:
        """The device."""
        # In `Device` "not a number" stands for the default of the kind.
        figures: dict[str, Any] = {key: math.nan if v is None else v for key, v in self.model_dump().items()}
        return Device(**figures)


class DisturbanceSection(Section):
    """From `time` on the device runs at `speed` times its normal speed; 0: it has failed, 1: it is back."""

    time: float
    device: str
    speed: float

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.build()
        return self

    def build(self) -> Disturbance:
        """The disturbance."""
        return Disturbance(self.time, self.device, self.speed)


class ClusterSection(Section):
    """The devices where they are unlike, and what happens to them; without `devices` it is the default node."""

    devices: Annotated[tuple[DeviceSection, ...] | None, Field(min_length=1)] = None
    disturbances: tuple[DisturbanceSection, ...] = ()
    network_bandwidth: float = NETWORK_MB_PER_SECOND

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.devices is not None:
            self.build(0)
        return self

    def build(self, num_gpus: int, *, num_cpus: int = 1, own_devices: bool = True) -> ClusterSpec:
        """The cluster; the default node of so many GPUs and CPUs when it names no devices or they are not wanted."""
        devices = ClusterSpec.default(num_gpus, num_cpus=num_cpus).devices
        if self.devices is not None and own_devices:
            devices = tuple(device.build() for device in self.devices)
        return self.with_devices(devices)

    def with_devices(self, devices: tuple[Device, ...]) -> ClusterSpec:
        """A cluster of these devices, with what happens to them and the network between them."""
        disturbances = tuple(disturbance.build() for disturbance in self.disturbances)
        return ClusterSpec(devices, disturbances, self.network_bandwidth)


class MeasuredPhysics(Section):
    """What `hms calibrate` measures of a machine's physics; None: what the configuration says."""

    coexecution_penalty: Annotated[float | None, Field(ge=STRETCHES.low, le=STRETCHES.high)] = None
    noise: Annotated[float | None, Field(ge=STRETCHES.low, le=STRETCHES.high)] = None


class ClusterFile(ClusterSection):
    """A file of its own. `hms calibrate` writes it, with the machine's physics and a table of times beside the file.

    `others_busy` is the share of the time in which the other devices are taken to be busy, where that was measured.
    `at_work` says by device how many times as long as measured tasks run there in a stream, `pause` how many seconds
    lie between two of them.
    """

    calibration: str | None = None
    others_busy: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    at_work: dict[str, Annotated[float, Field(ge=AT_WORK.low, le=AT_WORK.high)]] = {}
    pause: dict[str, Annotated[float, Field(ge=PAUSES.low, le=PAUSES.high)]] = {}
    physics: MeasuredPhysics = MeasuredPhysics()


class PhysicsSection(Section):
    """How the node behaves. `cost` is the price list; the cost model is the formula with this `speedup`."""

    speedup: Speedup = "linear"
    split: SplitModel = "concurrent"
    coexecution_penalty: float = 0.05
    cost: Pricing = "cloud"
    memory_policy: MemoryPolicy = "fallback"
    noise: float = 0.0

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.build()
        return self

    def build(self, cost: CostModel | None = None) -> Physics:
        """The physics, with another cost model if one is given."""
        return Physics(
            cost=cost or FormulaCost(self.speedup),
            split=self.split,
            coexecution_penalty=self.coexecution_penalty,
            memory_policy=self.memory_policy,
            noise=self.noise,
            pricing=self.cost,
        )


class Config(Section):
    """Everything a command takes from the file and the environment."""

    simulation: SimulationSection = SimulationSection()
    workload: WorkloadSection = WorkloadSection()
    cluster: ClusterSection = ClusterSection()
    physics: PhysicsSection = PhysicsSection()
    schedulers: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)

    @field_validator("schedulers", mode="before")
    @classmethod
    def _fill(cls, value: object) -> object:
        return {key: entry or {} for key, entry in value.items()} if isinstance(value, dict) else value

    @field_validator("schedulers")
    @classmethod
    def _check_parameters(cls, value: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        for name, parameters in value.items():
            _scheduler(name, 0, parameters)
        return value

    def cluster_spec(self, num_gpus: int | None = None, num_cpus: int | None = None) -> ClusterSpec:
        """The node: the default one of so many devices if the caller says so, else what the configuration describes."""
        return self.cluster.build(
            self.simulation.num_gpus if num_gpus is None else num_gpus,
            num_cpus=1 if num_cpus is None else num_cpus,
            own_devices=num_gpus is None and num_cpus is None,
        )

    def parameters(self, name: str) -> dict[str, Any]:
        """What file and environment say about a scheduler's parameters."""
        parameters = dict(self.schedulers.get(name, {}))
        said = "retrain_interval" in self.simulation.model_fields_set
        if said and "retrain_interval" in inspect.signature(scheduler_class(name)).parameters:
            parameters.setdefault("retrain_interval", self.simulation.retrain_interval)
        weights = self.simulation.weights
        return parameters if weights is None else overridden(objective_arguments(name, weights), parameters)

    def scheduler(self, name: str, seed: int, *, objective: Objective | None = None) -> Scheduler:
        """A registered scheduler with the parameters configured for it.

        Args:
            name: Its name.
            seed: For those that have one.
            objective: What those care for that can be told; beats the configuration.

        Raises:
            InvalidInputError: There is no such scheduler, or it does not take these parameters.
        """
        parameters = self.parameters(name)
        if objective is not None:
            parameters = overridden(parameters, objective_arguments(name, objective))
        return _scheduler(name, seed, parameters)


def objective_arguments(name: str, objective: Objective) -> dict[str, Any]:
    """The argument that tells a scheduler what counts; none for one that cannot be told.

    Raises:
        InvalidInputError: Money counts, but the scheduler knows of time and energy alone.
    """
    told = scheduler_class(name).objective
    if "energy_weight" in told and objective.money == 0.0:
        return {"energy_weight": objective.energy}
    if "weights" in told:
        return {"weights": objective.to_json()}
    if "energy_weight" in told:
        raise InvalidInputError(
            f"money counts {objective.money:g}, but scheduler {name!r} weighs time and energy alone; leave money or "
            "the scheduler out"
        )
    return {}


def _scheduler(name: str, seed: int, parameters: Mapping[str, Any]) -> Scheduler:
    accepted = inspect.signature(scheduler_class(name)).parameters
    for key, value in parameters.items():
        if key not in accepted:
            raise UnknownNameError(f"parameter of scheduler {name!r}:", key, accepted)
        if rule := _broken_rule(key, accepted[key].default, value):
            raise InvalidInputError(f"scheduler {name!r}: {key} is {value!r}, but it must be {rule}")
    try:
        return create_scheduler(name, **{"seed": seed, **parameters})
    except HybridSchedulerError:
        raise
    except Exception as error:  # its class may be anybody's
        raise InvalidInputError(f"scheduler {name!r} cannot be made from {dict(parameters)!r}: {error}") from error


def _broken_rule(key: str, default: object, value: object) -> str | None:
    """What a parameter must be, as far as its name and default tell; None when it is."""
    if key == "seed" and not (type(value) is int and 0 <= value <= LARGEST_SEED):
        return f"a whole number from 0 to {LARGEST_SEED}"
    if isinstance(default, bool) and not isinstance(value, bool):
        return "true or false"
    return "a number" if _is_number(default) and not (_is_number(value) and math.isfinite(value)) else None


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
