"""Wheel and sdist: complete, without ballast, and usable where only they are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from hybrid_scheduler import __version__
from hybrid_scheduler.schedulers.registry import scheduler_names

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "hybrid_scheduler"
DATA = (
    "py.typed",
    "reports/templates/report.html",
    "reports/templates/report.typ",
    "server/plain/index.html",
    "store/migrations/env.py",
    "store/migrations/versions/first_tables.py",
    "learning/models/hybrid_ml.npz",
    "learning/models/node.json",
    "learning/models/rl_agent.pth",
    "workloads/capacity.json",
)
"""What the package needs besides its modules, and two migrations, which nothing imports."""
DASHBOARD = PACKAGE / "server" / "static"
IN_SDIST = {"src", "dashboard", "docs", "tests", "scripts", "examples", "notebooks", "deploy", "benchmarks"}
"""Folders of the source distribution; whatever else stands in a checkout stays there."""
BALLAST = ("__pycache__", "node_modules", ".venv", ".nbi", ".nbc", ".db", ".wheels")


def _run(*command: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def _build(source: Path, folder: Path, *targets: str, **environment: str) -> None:
    wanted = [word for target in targets for word in ("--target", target)]
    _run(sys.executable, "-m", "hatchling", "build", "--directory", str(folder), *wanted, cwd=source, **environment)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both, built from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    _build(ROOT, folder, "sdist", "wheel")
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    (found,) = built.glob("*.tar.gz")
    return found


def _modules() -> set[str]:
    return {f"hybrid_scheduler/{file.relative_to(PACKAGE).as_posix()}" for file in PACKAGE.rglob("*.py")}


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_is_complete(wheel: Path) -> None:
    names = _names(wheel)
    assert _modules() - names == set()
    assert {f"hybrid_scheduler/{name}" for name in DATA} - names == set()
    assert [name for name in names if any(part in name for part in BALLAST)] == []
    assert {name.split("/")[0] for name in names} == {
        "hybrid_scheduler",
        f"hybrid_ml_scheduler-{__version__}.dist-info",
    }


def test_wheel_has_the_dashboard_when_it_is_built(wheel: Path) -> None:
    there = {
        f"hybrid_scheduler/server/static/{file.relative_to(DASHBOARD).as_posix()}"
        for file in DASHBOARD.rglob("*")
        if file.is_file()
    }
    assert there - _names(wheel) == set(), "pyproject.toml must name the built dashboard among hatch's artifacts"
    pages = {name for name in there if name.endswith(".html")}
    assert pages in (set(), {f"hybrid_scheduler/server/static/{name}.html" for name in ("index", "docs")})


def test_building_makes_a_dashboard_that_is_absent(tmp_path: Path) -> None:
    """With an `npm` that only says what it was asked: the real build takes a minute, and the gate begins with it."""
    source, tools = tmp_path / "source", tmp_path / "tools"
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, _made(source) / name)
    (_made(source / "src" / "hybrid_scheduler") / "__init__.py").touch()
    (_made(source / "dashboard") / "package.json").write_text("{}")
    npm = _made(tools) / "npm"
    npm.write_text(
        '#!/bin/sh\nfolder=../src/hybrid_scheduler/server/static\nmkdir -p $folder && echo "$@" >>$folder/index.html\n'
    )
    npm.chmod(0o755)
    where = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    for _ in range(2):  # the second one finds it built
        _build(source, tmp_path / "dist", "wheel", **where)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        asked = archive.read("hybrid_scheduler/server/static/index.html").decode()
    assert asked.splitlines() == ["ci --no-audit --no-fund", "run build"]


def test_a_plain_installation_has_every_part_but_the_heavy_ones() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    parts = {need for extra in ("learning", "server", "report") for need in extras[extra]}
    assert parts <= set(project["dependencies"])
    assert not set(extras["bounds"] + extras["xgboost"] + extras["ray"]) & set(project["dependencies"])


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_sdist_has_the_sources_and_no_ballast(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = [name.split("/", 1)[1] for name in archive.getnames() if "/" in name]
    folders = {name.split("/")[0] for name in names if "/" in name}
    assert {"src", "tests", "docs"} <= folders
    assert {folder for folder in folders if not folder.startswith((".ci", ".github"))} <= IN_SDIST
    assert [name for name in names if any(part in name.split("/") for part in BALLAST)] == []
    assert {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO"} <= set(names)


def test_wheel_from_the_sdist_is_the_same(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = (each for each in tmp_path.iterdir() if each.is_dir())
    _build(source, tmp_path / "again", "wheel")
    (again,) = (tmp_path / "again").glob("*.whl")
    assert _names(again) == _names(wheel)


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_installed_into_an_empty_environment_works(kind: str, built: Path, tmp_path: Path) -> None:
    """Nothing but this package is installed there; its dependencies are looked up in the environment of the tests."""
    (package,) = built.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    home = tmp_path / "empty"
    venv.create(home, symlinks=True)
    python = str(home / "bin" / "python")
    own = _run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    assert list(Path(own).iterdir()) == []
    Path(own, "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    # An editable installation of the checkout there is found later than what is installed here.
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--no-compile", "--ignore-installed")
    _run(sys.executable, "-m", "pip", "--python", python, "install", *options, str(package), cwd=tmp_path)
    where = _run(python, "-c", "import hybrid_scheduler as h; print(h.__file__)", cwd=tmp_path)
    assert where.startswith(own)
    hms = str(home / "bin" / "hms")
    assert _run(hms, "--version", cwd=tmp_path).strip() == f"hms {__version__}"
    listed = json.loads(_run(hms, "schedulers", "--json", "-", cwd=tmp_path))
    assert list(listed["schedulers"]) == scheduler_names()
    assert "tasks.csv" in _run(hms, "generate", "--tasks", "5", "--rate", "1", "--out", "tasks.csv", cwd=tmp_path)
    assert len((tmp_path / "tasks.csv").read_text().splitlines()) == 6
    assert "made SQLite" in _run(hms, "db", "create", cwd=tmp_path)
