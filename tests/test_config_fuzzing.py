"""Files nobody vouches for: whatever stands in them, they load or are refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_scheduler.config import load_cluster, load_config
from hybrid_scheduler.config.sections import Config, DeviceSection, DisturbanceSection, Section
from hybrid_scheduler.config.service import load_service_settings
from hybrid_scheduler.config.yaml_reader import LONGEST_MESSAGE, MOST_BYTES
from hybrid_scheduler.model.errors import InvalidInputError

EXAMPLES = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

GOOD = """
simulation: {num_gpus: 4, retrain_interval: 50, seed: 42, speed: 1.0}
workload: {preset: mixed, num_tasks: 1000, size_range: [100, 5000], load: 0.6}
cluster:
  devices:
    - &one {name: cpu_0, kind: cpu, speed: 1.0, watts: 30}
    - {<<: *one, name: gpu_0, kind: gpu, memory_mb: 8000}
  disturbances: [{time: 3, device: gpu_0, speed: 0}]
physics: {speedup: linear, noise: 0.0}
schedulers: {random: {seed: 3}, hybrid_ml: {window: 50, drift: true}, greedy: }
"""

NASTY = (
    r"""
2001-99-99|!!int abc|!!float abc|!!timestamp x|!!int ''|!!bool x|!!binary x|!!set {a}|!!python/name:os.system
.nan|-.inf|1e400|1.0e+400|-0.0|5e-324|1e308|1_000|0x|0xffffffffffffffffffffffff|0o7|1:2:3|99999999999999999999|-1
true|no|null|~|''|[]|{}|[[]]|{a: {a: a}}|"\e[31m\0\n"|"\u2028"|ü|*one|&x y|? a|: a|- a|a: b: c|%|@|`|!|#|<<|=
""".strip()
    .replace("\n", "|")
    .split("|")
)

BAD: dict[str, tuple[str, list[str]]] = {
    "date as a seed": ("simulation: {seed: 2001-99-99}", ["simulation.seed", "'2001-99-99'", "integer"]),
    "no int": ("simulation:\n  seed: !!int abc", ["line 2", "'abc'", "'int'"]),
    "no float": ("simulation:\n  speed: !!float abc", ["line 2", "'abc'", "'float'"]),
    "tag of another world": ("a: 1\nb: !!timestamp x", ["line 2", "'timestamp'"]),
    "endless number": ("simulation:\n  seed: " + "9" * 5000, ["line 2", "5000 characters", "at most 100"]),
    "endless text": ("workload: {preset: " + "x" * 5000 + "}", ["line 1", "5000 characters", "at most 1000"]),
    "brackets": ("[" * 100_000, ["line 1", "deeper than 20"]),
    "indentation": ("\n".join(" " * i + "a:" for i in range(200)), ["line 20", "deeper than 20"]),
    "alias bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        ["line 6", "more than 100000"],
    ),
    "alias of itself": ("a: &a [*a]", ["line 1", "alias 'a'"]),
    "merge of itself": ("a: &a {<<: *a}", ["line 1", "alias 'a'"]),
    "key twice": ("physics:\n  noise: 1\n  split: serial\n  noise: 2", ["line 4", "'noise'", "in lines 2 and 4"]),
    "key that is a number": ("1: 2", ["line 1", "'1'", "quotes"]),
    "key that is a list": ("? [a]\n: b", ["line 1", "text"]),
    "two documents": ("a: 1\n---\nb: 2", ["line 2", "another document"]),
    "control character": ("a:\n  \x07", ["line 2", "U+0007"]),
    "device of no name": ("cluster: {devices: [{name: '', kind: cpu}]}", ["cluster.devices[0].name", "''"]),
    "device with a bell": ('cluster: {devices: [{name: "\\a", kind: cpu}]}', ["cluster.devices[0]", "printable"]),
    "speed": (
        "cluster: {devices: [{name: a, kind: cpu, speed: 1.0e-320}]}",
        ["devices[0]", "speed is 1e-320", "1e-06"],
    ),
    "latency": ("cluster: {devices: [{name: a, kind: cpu, latency: 1e308}]}", ["latency is 1e+308", "to 1e+06"]),
    "yes for a seed": ("schedulers: {random: {seed: yes}}", ["schedulers", "'random'", "seed is True", "whole number"]),
    "seed below zero": ("schedulers: {random: {seed: -1}}", ["seed is -1", "from 0"]),
    "word for a switch": ("schedulers: {hybrid_ml: {drift: maybe}}", ["drift is 'maybe'", "true or false"]),
    "no number": ("schedulers: {hybrid_ml: {energy_weight: .nan}}", ["energy_weight is nan", "a number"]),
    "something else for fractions": ("schedulers: {rl_agent: {fractions: {a: b}}}", ["'rl_agent'", "cannot be made"]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def refused(path: Path, read: Callable[[Path], object] = load_config) -> str | None:
    """The message, which is one line that begins with the file; None when it loads."""
    try:
        read(path)
    except InvalidInputError as error:
        message = str(error)
        assert message.startswith(str(path))
        assert "\n" not in message
        assert len(message) < len(str(path)) + 2 * LONGEST_MESSAGE + 1000
        return message
    return None


@pytest.mark.parametrize(("text", "parts"), BAD.values(), ids=BAD)
def test_bad_files(path: Path, text: str, parts: list[str]) -> None:
    path.write_text(text)
    message = refused(path)
    assert message is not None
    for part in parts:
        assert part in message
    assert refused(path, load_cluster) is not None


def test_a_file_of_a_gigabyte_is_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10**9)
    message = refused(path)
    assert message is not None
    assert f"more than {MOST_BYTES} bytes" in message


def test_encodings(path: Path) -> None:
    text = "simulation: {seed: 7}\n"
    for good in (text.encode("utf-8-sig"), text.encode("utf-16"), b"\xfe\xff" + text.encode("utf-16-be")):
        path.write_bytes(good)
        assert load_config(path, {}).simulation.seed == 7
    for bad in (text.encode("utf-16-le"), text.encode("utf-32"), text.encode() + b"\xff", bytes(range(256))):
        path.write_bytes(bad)
        message = refused(path)
        assert message is not None
        assert "line " in message


def test_anchors_and_merges_are_welcome(path: Path) -> None:
    path.write_text(GOOD)
    _, gpu = load_config(path, {}).cluster_spec().devices
    assert (gpu.name, gpu.watts, gpu.memory_mb) == ("gpu_0", 30.0, 8000.0)
    path.write_text("a: &a {x: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b}\n")
    message = refused(path)
    assert message is not None
    assert "unknown key 'a'" in message, "what a merge brings is no key that occurs twice"


def test_environment_of_many_digits() -> None:
    with pytest.raises(InvalidInputError, match=r"NUM_GPUS is '9+\.\.\."):
        load_config(None, {"NUM_GPUS": "9" * 5000})


def test_an_env_file_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_bytes(bytes(range(256)))
    with pytest.raises(InvalidInputError, match=r"^\.env: the file is no text in UTF-8"):
        load_service_settings()


@EXAMPLES
@given(text=st.one_of(st.text(), st.text("aA01 \n:-{}[],&*!|>'\"%@`?#<.~\t"), st.binary(max_size=200)))
def test_any_text(path: Path, text: str | bytes) -> None:
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    for read in (load_config, load_cluster):
        refused(path, read)


@EXAMPLES
@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(GOOD)), st.integers(0, 12), st.sampled_from([*NASTY, "\n", " ", ""])),
        min_size=1,
        max_size=4,
    )
)
def test_a_good_file_with_changes(path: Path, changes: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for place, length, instead in changes:
        text = text[:place] + instead + text[place + length :]
    path.write_text(text)
    for read in (load_config, load_cluster):
        refused(path, read)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["cpu", "gpu_0", "mixed"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def mapping(section: type[Section]) -> st.SearchStrategy[dict[str, Any]]:
    """Values of any kind under the section's own keys."""
    return st.dictionaries(st.sampled_from(sorted(section.model_fields)), VALUES, max_size=5)


DEVICES = st.lists(mapping(DeviceSection).map(lambda found: {"name": "a", "kind": "cpu", **found}), max_size=3)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        **{name: mapping(Config.model_fields[name].annotation) for name in ("simulation", "workload", "physics")},  # type: ignore[arg-type]
        "cluster": st.fixed_dictionaries(
            {}, optional={"devices": DEVICES, "disturbances": st.lists(mapping(DisturbanceSection), max_size=2)}
        ),
        "schedulers": st.dictionaries(
            st.sampled_from(["random", "hybrid_ml", "rl_agent", "mct", "me"]),
            st.dictionaries(
                st.sampled_from(["seed", "window", "fractions", "energy_weight", "drift"]), VALUES, max_size=3
            ),
            max_size=3,
        ),
    },
)


@EXAMPLES
@given(document=DOCUMENTS)
def test_any_values_under_the_right_keys(path: Path, document: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    refused(path)
    path.write_text(yaml.safe_dump(document.get("cluster")), encoding="utf-8")
    refused(path, load_cluster)
