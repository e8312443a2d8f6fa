"""`config.sample.yaml`: every key there is, with its default and a word on it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid_scheduler.cli.train import DEFAULT_TASKS
from hybrid_scheduler.config import Config, load_config
from hybrid_scheduler.config.sections import ClusterSection, DeviceSection, DisturbanceSection
from hybrid_scheduler.live.plan import LOAD, Plan
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.model.objective import BALANCED, Objective
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.scenario import ScenarioOptions
from hybrid_scheduler.scenario.scenario import DEFAULT_LOAD
from hybrid_scheduler.schedulers.registry import scheduler_class, scheduler_names

SAMPLE = Path(__file__).resolve().parents[1] / "config.sample.yaml"
TEXT = SAMPLE.read_text("utf-8")
SETTING = re.compile(r"^\s*#?\s*(- )?\{?\w+:(?! *$)")
OWN = sorted(name for name in scheduler_names() if scheduler_class(name).__module__.startswith("hybrid_scheduler."))


@pytest.fixture(scope="module")
def whole() -> Any:
    """The sample with everything in it: what is commented out, too."""
    return yaml.safe_load(re.sub(r"^( *)#(?=\S|  )", r"\1", TEXT, flags=re.MULTILINE))


def test_as_it_is_it_changes_nothing() -> None:
    sample, empty = load_config(SAMPLE, {}), Config()
    assert sample.simulation == empty.simulation
    assert sample.physics == empty.physics
    assert ScenarioOptions().scenario(sample) == ScenarioOptions().scenario(empty)
    training = {"default_tasks": DEFAULT_TASKS}
    assert ScenarioOptions().scenario(sample, **training) == ScenarioOptions().scenario(empty, **training)
    assert Plan.of(LiveStart(sample)).rate == Plan.of(LiveStart(empty)).rate
    for name in OWN:
        assert sample.scheduler(name, 42).parameters() == empty.scheduler(name, 42).parameters()


def test_every_key_is_in_it(whole: Any) -> None:
    assert whole.keys() == Config.model_fields.keys()
    for name in ("simulation", "workload", "physics"):
        assert whole[name].keys() == Config.model_fields[name].annotation.model_fields.keys(), name  # type: ignore[union-attr]
    assert whole["cluster"].keys() == ClusterSection.model_fields.keys()
    devices = whole["cluster"]["devices"]
    assert {key for device in devices for key in device} == DeviceSection.model_fields.keys()
    assert whole["cluster"]["disturbances"][0].keys() == DisturbanceSection.model_fields.keys()


def test_values_are_the_defaults(whole: Any) -> None:
    for name in ("simulation", "workload", "physics"):
        section = getattr(Config(), name)
        for key, value in whole[name].items():
            default = getattr(section, key)
            assert default is None or value == default, f"{name}.{key}"
    assert whole["workload"]["load"] == DEFAULT_LOAD
    assert Objective.of(whole["simulation"]["weights"]) == BALANCED
    assert f"hms train takes {DEFAULT_TASKS}" in TEXT
    assert f"the live race takes {LOAD}" in TEXT
    listed = ClusterSection.model_validate({"devices": whole["cluster"]["devices"]})
    assert listed.build(0) == ClusterSpec.default(whole["simulation"]["num_gpus"])


@pytest.mark.parametrize("name", [name for name in OWN if inspect.signature(scheduler_class(name)).parameters])
def test_every_parameter_of_a_scheduler_is_in_it(name: str, whole: Any) -> None:
    accepted = inspect.signature(scheduler_class(name)).parameters
    said = whole["schedulers"][name]
    assert said.keys() == accepted.keys()
    for key, parameter in accepted.items():
        value = tuple(said[key]) if isinstance(said[key], list) else said[key]
        assert parameter.default is None or value == parameter.default, key


def test_everything_in_it_can_be_used(whole: Any, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    del whole["workload"]["load"]  # the rate stands for it
    for parameters in whole["schedulers"].values():
        parameters.pop("energy_weight", None)  # the weights stand for it
    file.write_text(yaml.safe_dump(whole), encoding="utf-8")
    assert load_config(file, {}).workload.rate is not None


def test_every_setting_is_explained() -> None:
    settings = [line for line in TEXT.splitlines() if SETTING.match(line) and not line.startswith("# ")]
    assert len(settings) > 60
    for line in settings:
        assert len(line) <= 120, line
        assert re.search(r"\S\s+# \S", line), f"{line!r} is not explained"
