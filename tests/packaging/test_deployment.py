"""The files for containers, service managers and releases: valid, and in step with the code. They are not run here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from hybrid_scheduler.cli import app
from hybrid_scheduler.config.files import VARIABLES
from hybrid_scheduler.config.service import ServiceSettings

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
SETTINGS = {*(name.upper() for name in ServiceSettings.model_fields), *VARIABLES}
NOT_OURS = {"PATH", "HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "OMP_NUM_THREADS"} | {
    f"PYTHON{name}" for name in ("DONTWRITEBYTECODE", "UNBUFFERED")
}
"""Variables of Python, Numba and the system that the files may set."""


def _tool(*arguments: str) -> None:
    done = subprocess.run([str(TOOLS / arguments[0]), *arguments[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def unit() -> RawConfigParser:
    parser = RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(ROOT / "deploy" / "hms.service", "utf-8")
    return parser


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")


def test_dockerfile_has_nothing_to_complain_about() -> None:
    _tool("hadolint", "Dockerfile")


def test_compose_file_fits_its_schema() -> None:
    _tool("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")


def test_workflows_fit_their_schema() -> None:
    files = sorted(str(file) for file in (ROOT / ".github" / "workflows").glob("*.yml"))
    assert len(files) == 2
    _tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)


def test_image_runs_as_nobody_special_and_pins_torch(dockerfile: str) -> None:
    last = dockerfile.split("\nFROM ")[-1]
    user = re.findall(r"^USER (\S+)", last, re.MULTILINE)
    assert user
    assert user[-1] not in ("0", "root")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (torch,) = (each for each in extras["dev"] if each.startswith("torch="))
    for file in ("Dockerfile", ".github/workflows/ci.yml", ".github/workflows/release.yml"):
        assert torch in (ROOT / file).read_text("utf-8"), f"{file} does not install {torch}"


def test_image_copies_what_is_there(dockerfile: str) -> None:
    for line in re.findall(r"^COPY (?!--from)(.+)$", dockerfile, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src", "dashboard"} == set(allowed)


def test_variables_are_settings(compose: dict[str, Any], unit: RawConfigParser, dockerfile: str) -> None:
    in_image = re.findall(
        r"(?:^ENV|(?<=\s))\s*([A-Z_]+)=", "\n".join(re.findall(r"^ENV .+$", dockerfile, re.MULTILINE))
    )
    in_unit = [each.split("=")[0] for each in unit["Service"]["Environment"].split()]
    in_compose = compose["services"]["app"]["environment"]
    for name in (*in_image, *in_unit, *in_compose):
        assert name in SETTINGS | NOT_OURS or name.startswith("PIP_"), f"{name} is no setting of the service"


def test_secrets_are_asked_for(compose: dict[str, Any]) -> None:
    example = (ROOT / "deploy" / "env.example").read_text("utf-8")
    required = set(re.findall(r"\$\{(\w+):\?", (ROOT / "compose.yaml").read_text("utf-8")))
    assert required == set(re.findall(r"^(\w+)=$", example, re.MULTILINE))
    assert "API_TOKEN" in required, "in production the service refuses to listen to others without it"
    assert compose["services"]["app"]["environment"]["ENVIRONMENT"] == "production"
    for name, service in compose["services"].items():
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), f"{name} is open to the network"


def test_mounted_files_are_there(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (ROOT / source).exists() if source.startswith(".") else source in compose["volumes"], volume


def test_commands_exist(unit: RawConfigParser, dockerfile: str) -> None:
    serve = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    known = {option for parameter in serve.params for option in parameter.opts}
    (command,) = re.findall(r'^CMD \["hms", "serve", (.+)\]$', dockerfile, re.MULTILINE)
    words = [*json.loads(f"[{command}]"), *unit["Service"]["ExecStart"].split()[2:]]
    options = {word for word in words if word.startswith("--")}
    assert options
    assert options <= known
    assert unit["Service"]["ExecStart"].split()[1] == "serve"
