"""Reading configuration files and the environment, with errors of one line that say where."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from dotenv import dotenv_values
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hybrid_scheduler.config.sections import LARGEST_INTERVAL, ClusterFile, Config, Section
from hybrid_scheduler.config.yaml_reader import LONGEST_NUMBER, read_yaml, shortened
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.objective import ARGUMENTS, Objective
from hybrid_scheduler.physics.device import MOST_GPUS, ClusterSpec

DEFAULT_FILE = Path("config.yaml")
UNKNOWN_KEY = "extra_forbidden"
WHOLE = {"NUM_GPUS": (0, MOST_GPUS), "RETRAIN_INTERVAL": (1, LARGEST_INTERVAL)}
"""Least and greatest value of the environment variables that are whole numbers."""
WEIGHTS = "WEIGHTS"
VARIABLES = (*WHOLE, WEIGHTS)
"""The environment variables of the race; they are keys of `simulation`."""

PLAIN_RULES = {
    **dict.fromkeys(("model_type", "dict_type", "mapping_type"), "it must be a mapping of keys to values"),
    "tuple_type": "it must be a list",
    "too_short": "it must not be empty",
}
"""Rules that pydantic words for people who read Python."""

SectionT = TypeVar("SectionT", bound=Section)


def load_config(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Config:
    """Read a configuration file and the environment.

    Args:
        path: The file, which must exist; None: `config.yaml` in the working folder, if there.
        environment: The variables; unless given, those of the process, then those of `.env` in the working folder.
            `VARIABLES` are read.

    Raises:
        InvalidInputError: Something is wrong; the message says where.
    """
    config = Config()
    if path is not None or DEFAULT_FILE.exists():
        path = path or DEFAULT_FILE
        config = _validated(Config, path, _read(path))
    return _with_environment(config, _environment() if environment is None else environment)


def load_cluster(path: Path) -> ClusterSpec:
    """The devices of `load_cluster_section`."""
    return load_cluster_section(path).build(0)


def load_cluster_section(path: Path) -> ClusterFile:
    """Read the content of a `cluster:` section, with or without that heading, from a file of its own.

    Its `calibration` is the path as seen from here.

    Raises:
        InvalidInputError: Something is wrong; the message says where.
    """
    data = _read(path)
    if set(data) == {"cluster"}:
        data = data["cluster"]
    section = _validated(ClusterFile, path, data)
    if section.devices is None:
        raise InvalidInputError(f"{path}: the key 'devices' is missing; list at least one device under it")
    if section.calibration is None:
        return section
    return section.model_copy(update={"calibration": str(path.parent / section.calibration)})


def _environment() -> dict[str, str]:
    """The variables of the process and, behind them, those of `.env`."""
    try:
        beside = dotenv_values(".env", encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(".env: the file is no text in UTF-8; save it in that encoding") from error
    known = {name.upper(): value for name, value in beside.items() if value and name.upper() in VARIABLES}
    return known | {name: value for name, value in os.environ.items() if value.strip()}


def _with_environment(config: Config, environment: Mapping[str, str]) -> Config:
    """The environment beats the file."""
    texts = {name: environment.get(name, "").strip() for name in VARIABLES}
    told: dict[str, object] = {
        name: _objective(text) if name == WEIGHTS else _whole(name, text, *WHOLE[name])
        for name, text in texts.items()
        if text
    }
    changes: dict[str, Section | Mapping[str, Mapping[str, Any]]] = {}
    if told:
        values = {name.lower(): value for name, value in told.items()}
        changes["simulation"] = config.simulation.model_copy(update=values)
    if "NUM_GPUS" in told:
        # A number of GPUs and a list of devices are two ways to say the same thing.
        changes["cluster"] = config.cluster.model_copy(update={"devices": None})
    beaten = {
        *(("retrain_interval",) if "RETRAIN_INTERVAL" in told else ()),
        *(ARGUMENTS if WEIGHTS in told else ()),
    }
    if beaten:
        changes["schedulers"] = {
            name: {key: value for key, value in parameters.items() if key not in beaten}
            for name, parameters in config.schedulers.items()
        }
    return config.model_copy(update=changes)


def _whole(name: str, text: str, low: int, high: int) -> int:
    if not (text.isdecimal() and len(text) <= LONGEST_NUMBER and low <= int(text) <= high):
        raise InvalidInputError(
            f"environment variable {name} is {_shown(text)}, but it must be a whole number from {low} to {high}"
        )
    return int(text)


def _objective(text: str) -> Objective:
    try:
        return Objective.of(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"environment variable {WEIGHTS}: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    data = read_yaml(path)
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidInputError(f"{path}: the file holds {_shown(data)}, but it must be a mapping of keys to values")
    return data


def _validated(section: type[SectionT], path: Path, data: object) -> SectionT:
    try:
        return section.model_validate(data)
    except ValidationError as error:
        details = error.errors()
        # A misspelt key is missed under its right name too: the misspelling is the cause.
        cause = next((detail for detail in details if detail["type"] == UNKNOWN_KEY), details[0])
        raise InvalidInputError(f"{path}{_explained(section, cause)}") from error


def _explained(section: type[Section], detail: ErrorDetails) -> str:
    """Key, value and rule of the first thing pydantic found wrong."""
    kind, value, location = detail["type"], _shown(detail["input"]), detail["loc"]
    if kind == UNKNOWN_KEY:
        return f"{_dotted(location[:-1])}: {_unknown_key(section, location)}"
    if kind == "missing":
        what = f"the key {location[-1]!r} is missing" if isinstance(location[-1], str) else f"{value} is too short"
        return f"{_dotted(location[:-1])}: {what}"
    where = _dotted(location)
    if kind == "value_error":
        reason = str(detail["ctx"]["error"])
        # The rooms' own messages name the value; a whole section is not worth repeating.
        named = isinstance(detail["ctx"]["error"], InvalidInputError) or isinstance(detail["input"], dict)
        return f"{where}: {reason}" if named else f"{where}: the value is {value}, but {reason}"
    rule = PLAIN_RULES.get(kind) or detail["msg"].replace("Input should be", "it must be")
    return f"{where}: the value is {value}, but {rule[0].lower()}{rule[1:]}"


def _unknown_key(section: type[Section], location: tuple[int | str, ...]) -> str:
    """The message about a key nobody knows; when nothing at its place comes near, one from another section may."""
    *path, key = location
    for step in path:
        if isinstance(step, str):
            section = _section_of(section.model_fields[step].annotation)
    problem = UnknownNameError("key", str(key), section.model_fields)
    if problem.nearest is None:
        elsewhere = {
            inner: f"{outer}.{inner}"
            for outer, field in Config.model_fields.items()
            if outer != "schedulers"
            for inner in _section_of(field.annotation).model_fields
        }
        near = difflib.get_close_matches(str(key), elsewhere, n=1, cutoff=0.6)
        if near:
            return f"unknown key {key!r}: did you mean {elsewhere[near[0]]!r}?"
    return str(problem)


def _section_of(annotation: Any) -> type[Section]:
    """The section in an annotation like ``tuple[DeviceSection, ...] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next(_section_of(inner) for inner in get_args(annotation) if inner not in (type(None), ...))


def _dotted(location: tuple[int | str, ...]) -> str:
    """``, cluster.devices[1].speed``, or nothing for the file as a whole."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return f", {text.removeprefix('.')}" if text else ""


def _shown(value: object) -> str:
    return shortened(repr(value), 60)
