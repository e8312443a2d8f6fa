"""The reference of `config.yaml` and of the environment, from their pydantic models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from documentation.tables import code, documented, first_line, table
from hybrid_scheduler.config.files import VARIABLES
from hybrid_scheduler.config.sections import Config, DeviceSection, DisturbanceSection, SimulationSection
from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.physics.device import Device
from hybrid_scheduler.physics.settings import Physics

SAMPLE = Path(__file__).resolve().parents[2] / "config.sample.yaml"
INTRODUCTION = """# Settings

The command line beats the environment (and `.env`), which beats the file, which beats the default: for every command.

## config.yaml

`config.yaml` in the working folder, or the file named by `--config`. A key nobody knows is an error that names the
nearest known one.
"""
MEANINGS = {
    "num_gpus": "GPUs of the default node",
    "retrain_interval": "tasks between two refreshes of `hybrid_ml`",
    "seed": "same seed, same tasks, same results",
    "speed": "simulated seconds per second of the live race",
    "weights": "what the learners care for, a mapping or text like `time=0.6,energy=0.2,money=0.2`, scaled to sum 1; "
    "`time=0.5,energy=0.5` when nobody says",
    "preset": "kind of workload, see [presets](presets.md)",
    "num_tasks": "tasks of a race",
    "size_range": "maps the preset's sizes onto this range",
    "intensity_range": "the same for compute intensity",
    "memory_range": "the same for memory, in MB",
    "load": "arrival rate as a share of the node's capacity; 0.6 when neither it nor `rate` is given",
    "rate": "arrival rate in tasks per second",
    "devices": "the devices, when they are unlike; see below",
    "disturbances": "devices that slow down, fail and come back; see below",
    "network_bandwidth": "MB/s between two nodes, for data that one task hands to another",
    "speedup": "how a GPU gains from a task's intensity, see [physics](../concepts/physics.md)",
    "cost": "price list: per busy second, or per kWh",
}
"""Of the keys that no docstring explains."""


def settings_page() -> str:
    """The page."""
    return "\n".join([INTRODUCTION, *_file(), *_environment()])


def _file() -> Iterator[str]:
    meanings = {**documented(Physics, "Attributes"), **MEANINGS}
    for name, field in Config.model_fields.items():
        section: Any = field.annotation
        yield f"### {name}\n"
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield first_line(section) + "\n"
            yield _keys(section, meanings)
        else:
            yield "Parameters of each scheduler by its name; [schedulers](schedulers.md) lists them.\n"
    yield "### An entry of cluster.devices\n"
    yield first_line(DeviceSection) + "\n"
    yield _keys(DeviceSection, documented(Device, "Attributes"))
    yield "### An entry of cluster.disturbances\n"
    yield first_line(DisturbanceSection) + "\n"
    seconds = {"time": "simulated seconds", "device": "name of a device", "speed": "factor on its normal speed"}
    yield _keys(DisturbanceSection, seconds)
    yield "### The whole file\n"
    yield "`config.sample.yaml` of the repository:\n"
    yield f"```yaml\n{SAMPLE.read_text('utf-8')}```\n"


def _environment() -> Iterator[str]:
    yield "## Environment variables\n"
    yield (
        "Read from the environment, or from a file `.env` in the working folder. Those of the race count for every "
        "command and beat the keys of `simulation` with the same name:\n"
    )
    race = [
        (code(name), _kind(field.annotation), _default(field), MEANINGS[name.lower()])
        for name in VARIABLES
        for field in (SimulationSection.model_fields[name.lower()],)
    ]
    yield table(("variable", "type", "default", "meaning"), race)
    yield "\nThose of the service are read by `hms serve`, `hms db` and whatever keeps something in the store:\n"
    meanings = documented(ServiceSettings, "Attributes")
    rows = [
        (code(name.upper()), _kind(field.annotation), _default(field), meanings[name])
        for name, field in ServiceSettings.model_fields.items()
    ]
    yield table(("variable", "type", "default", "meaning"), rows)


def _keys(section: type[BaseModel], meanings: dict[str, str]) -> str:
    rows = [
        (code(name), _kind(field.annotation), _default(field), meanings[name])
        for name, field in section.model_fields.items()
    ]
    return table(("key", "type", "default", "meaning"), rows)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value == () or isinstance(value, SecretStr | BaseModel):
        return ""
    return code(value)


def _kind(annotation: Any) -> str:
    """A type in plain words."""
    inner = get_args(annotation)
    if get_origin(annotation) is Literal:
        return " or ".join(code(each) for each in inner)
    if get_origin(annotation) is tuple:
        return "list" if Ellipsis in inner else "list of two numbers"
    if inner:
        return _kind(next(each for each in inner if each is not NoneType))
    return {int: "whole number", float: "number", str: "text", SecretStr: "text, kept secret"}.get(
        annotation, "mapping"
    )
