"""Figures in README and documentation are the code's; a page may state no other.

The FAQ and the theory chapters have tests of their own, RESULTS.md is generated, and decision records are of their day.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from page_figures import missing, unexplained

from hybrid_scheduler.api.run import TRAIN_TASKS
from hybrid_scheduler.cli import BAD_INPUT, INTERRUPTED, stored_run
from hybrid_scheduler.cli.pipeline import CALIBRATED_SIZES
from hybrid_scheduler.cli.serve import UNSUPPORTED
from hybrid_scheduler.config.files import VARIABLES
from hybrid_scheduler.config.sections import PhysicsSection, SimulationSection
from hybrid_scheduler.config.service import SHORTEST_TOKEN, SMALLEST_STORE, ServiceSettings
from hybrid_scheduler.config.yaml_reader import DEEPEST
from hybrid_scheduler.executor.driver_thread import INTENSITY, MOST_BUNDLED
from hybrid_scheduler.executor.executor import MAX_PENDING
from hybrid_scheduler.experiments.reality import TOLERANCE, Reality
from hybrid_scheduler.hardware.calibration import OTHERS_BUSY
from hybrid_scheduler.hardware.nodes.kernel_work import KEPT_BYTES
from hybrid_scheduler.learning.drift import ARMED
from hybrid_scheduler.live import backlogs, command_queue, lessons, runner
from hybrid_scheduler.live.figures import GROUP
from hybrid_scheduler.live.learning_watch import FIGURES_SECONDS
from hybrid_scheduler.live.machine_race import ROUND_SECONDS, ROUND_TASKS
from hybrid_scheduler.live.plan import MACHINE_LOAD, NOMINAL_LOAD
from hybrid_scheduler.live.totals import RESPONSE_BOUNDS
from hybrid_scheduler.metrics.overloaded import SERVICE_TIMES
from hybrid_scheduler.model.objective import BALANCED
from hybrid_scheduler.model.ranges import SECONDS
from hybrid_scheduler.physics.calibrated import NOISE
from hybrid_scheduler.physics.cost import MAX_SPEEDUP
from hybrid_scheduler.physics.device import MOST_DEVICES, NETWORK_MB_PER_SECOND, Device
from hybrid_scheduler.physics.optimum import STEPS
from hybrid_scheduler.physics.response import WINDOW
from hybrid_scheduler.physics.settings import DOLLARS_PER_KWH
from hybrid_scheduler.scenario import at_work
from hybrid_scheduler.scenario.instances import LOAD
from hybrid_scheduler.scenario.real_race import LIMIT_SECONDS
from hybrid_scheduler.scenario.scenario import DEFAULT_LOAD
from hybrid_scheduler.schedulers.cp_sat import CpSat
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.hybrid_queue import HybridQueue
from hybrid_scheduler.schedulers.rl_agent import LOG_EVERY, DQNScheduler
from hybrid_scheduler.server import connections, experiment_jobs, feed, health_watch, http_protocol, logs
from hybrid_scheduler.server.routes.history import FULL_HISTORY
from hybrid_scheduler.server.serve import MOST_INCOMING
from hybrid_scheduler.server.timeouts import DEFAULT_TIMEOUTS
from hybrid_scheduler.store import connected, reserve
from hybrid_scheduler.store.learning import KEPT
from hybrid_scheduler.store.limits import DEFAULT_LIMITS
from hybrid_scheduler.training.any_node import RACES
from hybrid_scheduler.workloads.kernel_kinds import NOMINAL_BYTES, NOMINAL_FLOPS

ROOT = Path(__file__).resolve().parents[2]
OWN_TESTS = {"faq.md", "gallery.md", "queues-and-amdahl.md", "forests-and-q-learning.md"}
DOCUMENTS = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "adr")
PAGES = [ROOT / "README.md", *(page for page in DOCUMENTS if page.name not in OWN_TESTS)]
STATUS_CODES = re.compile(r"(?<![\d.])(?:20[0-2]|40[0-9]|41[35]|42[1-9]|431|50[03])(?!\d|\.\d)")
SEARCH = f"steps of {100 // STEPS} %"
CPU, GPU = Device("cpu", "cpu"), Device("gpu", "gpu")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHON = f"Python {PROJECT['requires-python'].removeprefix('>=')} or later"
TORCH = next(
    each.removeprefix("torch==") for each in PROJECT["optional-dependencies"]["dev"] if each.startswith("torch==")
)
LEAST_TORCH = next(each.removeprefix("torch>=") for each in PROJECT["dependencies"] if each.startswith("torch"))
KILOBYTE, MEGABYTE = 1024, 1 << 20


def _spaced(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ")


def _alert(figure: str) -> str:
    """The value above which an alert is raised."""
    match = re.search(rf"{figure} > (\d+)", (ROOT / "deploy/alerts.yml").read_text("utf-8"))
    assert match is not None
    return match[1]


def _balanced() -> str:
    """What the learners care for when nobody says."""
    return ",".join(f"{goal}={weight:g}" for goal, weight in BALANCED.to_json().items() if weight)


def _kept_learning() -> str:
    """How much of the learners' history is kept, in all and for every megabyte of the store."""
    (retrainings, each), (figures, every) = KEPT.values()
    return (
        f"The newest {_spaced(retrainings)} and {_spaced(figures)} are kept, at most {each:g} and {every:g} for every"
    )


def _facts() -> dict[str, list[str]]:
    """What the code says, in the words of each page."""
    forest, agent, service, physics = HybridML(), DQNScheduler(), ServiceSettings(_env_file=None), PhysicsSection()
    scrape = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text("utf-8"))["global"]["scrape_interval"]
    penalty, http, wait = f"{physics.coexecution_penalty:.0%}".replace("%", " %"), http_protocol, DEFAULT_TIMEOUTS
    held, queue = wait.ping + wait.pong + wait.grace, HybridQueue()
    return {
        "bounds.md": [f"windows of {WINDOW:,} tasks", f"{GROUP:,} at a time", f"up to {CpSat().most_tasks} tasks"],
        "README.md": [PYTHON],
        "learners.md": [
            f"every {forest.retrain_interval} tasks",
            f"the latest {forest.window} rows",
            "share of {:.0f}, {:.0f} or {:.0f} %".format(*(100 * share for share in agent.fractions)),
            f"`max_overtaken` times ({_spaced(queue.max_overtaken)})",
            f"trained on {RACES} random nodes",
            f"`{_balanced()}` by default",
            f"until {ARMED} are known",
        ],
        "oracle.md": [SEARCH, f"the {100 // STEPS} % grid"],
        "physics.md": [
            f"1 + {MAX_SPEEDUP - 1:g}·I, at most {MAX_SPEEDUP:g}",
            f"1 / ((1 − I) + I / {MAX_SPEEDUP:g})",
            f"{_spaced(GPU.bandwidth)} MB/s by default",
            f"({penalty})",
            f"GPU {GPU.watts:g} W, CPU {CPU.watts:g} W, idle power {GPU.idle_watts:g}",
            f"${GPU.dollars_per_second:.4f} per busy GPU second and ${CPU.dollars_per_second:.5f} per busy CPU second",
            f"${DOLLARS_PER_KWH:g} per kWh",
            f"1 / `network_bandwidth` ({NETWORK_MB_PER_SECOND:g} MB/s by default)",
        ],
        "queues.md": [f"above {SERVICE_TIMES:g} mean service times"],
        "earlier-documents.md": [
            SEARCH,
            f"${DOLLARS_PER_KWH:g} per kWh",
            f"a penalty of {penalty}",
            "one port, 8000",
        ],
        "deployment.md": [
            f"every {scrape.removesuffix('s')} seconds",
            f"PyTorch {TORCH}",
            f"waiting for {_alert('hms_store_lag_seconds')} s to be stored",
            f"{service.retention_mb} MB at most",
        ],
        "experiments.md": [
            f"last {stored_run.MOST_TASKS:,} tasks",
            f"at most {LOAD.high:g} of what a perfect assignment of the same tasks could do",
        ],
        "own-node.md": [f"at most {MOST_DEVICES} devices", f"deeper than {DEEPEST} levels"],
        "own-trace.md": [f"{SECONDS.low:g} to {SECONDS.high:.0e}".replace("+0", "").replace("e-09", "e-9")],
        "real-machine.md": [
            f"It is {OTHERS_BUSY:g}, for loads",
            f"above {NOISE:.0%} on a device".replace("%", " %"),
            f"from {LEAST_TORCH} on; tests run with {TORCH.rpartition('.')[0]}",
            f"of {NOMINAL_FLOPS / 1e9:g} Gflop/s and {NOMINAL_BYTES / 1e9:g} GB/s",
            f"at {len(CALIBRATED_SIZES)} sizes",
            f"within {ROUND_SECONDS:g} s, at most {ROUND_TASKS}",
            f"and is {NOMINAL_LOAD:g} by them unless you say otherwise; with one, {MACHINE_LOAD:g}",
            f"up to {KEPT_BYTES // 2**30} GiB of kernels' data",
            "(by default the bytes of the arguments, at least 1;",
            f"one decision for up to {MOST_BUNDLED} of a",
            f"are those bytes, its intensity counts as {INTENSITY:g}",
            f"while so many calls ({_spaced(MAX_PENDING)}) are unfinished",
            f"tasks of another seed ({TRAIN_TASKS})",
            f"({DEFAULT_LOAD:g}) of the twin's capacity",
            f"({LIMIT_SECONDS:g} s)",
            f"exit code {INTERRUPTED}",
            f"(up to {KEPT_BYTES // 2**30} GiB of it, and more",
            f"{len(at_work.STREAMS)} streams of up to {at_work.TASKS} kernels at a load of {DEFAULT_LOAD:g}",
            f"two placed by `{at_work.AT_ONCE}`, two by `{at_work.LATER}`",
            f"the mean of `draws` runs ({Reality.draws})",
            f"within {TOLERANCE:.0%} for each".replace("%", " %"),
        ],
        "tensorboard.md": [f"Every {LOG_EVERY} gradient steps"],
        "quick-start.md": [PYTHON],
        "troubleshooting.md": [f"exit code {BAD_INPUT}", f"from {LEAST_TORCH} on, stays"],
        "service.md": [
            f"exit code {UNSUPPORTED}",
            f"at least {SHORTEST_TOKEN} characters",
            f"rotated at {logs.FILE_BYTES / 1e6:g} MB",
            f"at least {SMALLEST_STORE}; 0 for no limit",
            f"the latest {FULL_HISTORY} training records",
            f"the latest {_spaced(lessons.MOST_LABELS)} labels in the store",
            f"the latest {_spaced(lessons.MOST_LABELS)} labels that have",
            f"the last {feed.KEPT_LINES} log lines",
            f"every {FIGURES_SECONDS:g} s at most",
            _kept_learning(),
            f"{1000 * RESPONSE_BOUNDS[0]:g} ms to {RESPONSE_BOUNDS[-1]:g} s",
            f"longer than {command_queue.CLEAR_SECONDS:g} s",
            f"the latest {experiment_jobs.MOST_JOBS} jobs",
            f"larger than {http.MOST_HEADER_BYTES // KILOBYTE} kB",
            SEARCH,
            f"over {MOST_INCOMING // KILOBYTE} KB",
            f"ping, every {wait.ping:g} s",
            f"reads nothing for {held:g} s",
            f"{service.retention_mb} MB hold",
            f"more than {DEFAULT_LIMITS.runs} runs",
            f"the newest {DEFAULT_LIMITS.versions} entries",
            f"of {reserve.SHARE:.0%} of its size, {reserve.LEAST // MEGABYTE} to {reserve.MOST // MEGABYTE} MB".replace(
                "%", " %"
            ),
            f"less than {reserve.LEFT_FREE // MEGABYTE} MB of the disk",
            f"the engine for less than {wait.outage:g} s",
            f"nobody has owned the race for {wait.outage:g} s",
            f"headers of {http.MOST_HEADER_BYTES // KILOBYTE} kB at most",
            f"{http.HEADER_SECONDS:g} s for the headers, {http.BODY_SECONDS:g} s for the body",
            f"{http.IDLE_SECONDS:g} s between two calls, {http.UNREAD_SECONDS:g} s to read",
            f"{connections.HEALTH_PLACES} places are kept",
            f"more than {_spaced(backlogs.MOST_UNFINISHED)} unfinished tasks",
            f"more than {backlogs.MOST_STUCK} that would take another hour",
            f"more than {_spaced(runner.MOST_WAITING)} unfinished tasks",
            f"under way within {wait.shutdown:g} s",
            f"An answer looks through {_spaced(connected.WINDOW)} tasks",
        ],
    }


KNOWN = {
    "README.md": [
        "Node.js 20",
        "at 30 % load",
        "(0 to 1)",
        "on 100 000 tasks and five devices",
        "118 times SimPy (73 times with dependencies)",
        "200 times as fast as the same rule in SimPy, and 9 times",
        "over seeds 1 to 5",
    ],
    "architecture.md": ["above 0 and at most 1", "one part of share 1", "scaled to sum 1"],
    "bounds.md": [
        "adding up to 1",
        "one machine of rate 1",
        "(Schrage 1968)",
        "(Goemans et al. 2002)",
        "at loads below 1",
        "reached / bound - 1",
    ],
    "learners.md": [
        "at least one is above 0",
        "the best score above 0 starts",
        "scaled to sum 1",
        "Weights of 0.5 and 0.5 thus mean",
    ],
    "oracle.md": ["from 0 to 100 %"],
    "physics.md": [
        "factor of mean 1",
        "1 / bandwidth of `e`",
        "0, since `memory_required` has that way",
        "1 / bandwidth of `d`",
        "Topcuoglu, Hariri and Wu, 2002",
    ],
    "queues.md": ["arrivals at 60 % of it", "near 1 the", "above 1 every", "long before 1", "M/M/1 and M/D/1"],
    "earlier-documents.md": ["shares of 0.5 and 0.3", "15 to 20 % better", "R² of 0.78 to 0.82"],
    "deployment.md": ["(0600, its folder 0700)"],
    "experiments.md": ["95 % interval", "folder of run 7"],
    "own-agent.md": ["0 is the CPU, 1 the GPU that would be done first, 2 the second", "Stable-Baselines3"],
    "own-node.md": ["A speed of 0.5 would"],
    "own-scheduler.md": ["gives 80 % to a GPU"],
    "own-trace.md": [
        "above 0",
        "0 to 1 |",
        "at least 0",
        "0, 1, 2, …",
        "all at 0",
        "CPU of speed 1,",
        "stretches them to 80 %",
        "12.5 MB [come from] task 4",
    ],
    "real-machine.md": [
        "`1 + others_busy · slowdown` times",
        "of about 0.6 to 0.8",
        "an H200 and 16 CPU cores",
        "3.5 to 12.1 % for seven kernels and 16.0 % for `axpy`",
        "(error 48 %; on the GPU 11 %)",
        "(23 %)",
        "by 54 % in the median, half of them by 12 to 126 %",
        "multiples of 8 without other prime factors than 2, 3 and 5",
        "calls each kernel of each size once",
        "τ at least 0.8",
    ],
    "tensorboard.md": ["near −1 by construction", "Stable-Baselines3"],
    "index.md": ["at 30 % load"],
    "quick-start.md": ["the same 500 tasks", "arrive at 60 %"],
    "service.md": [
        "on port 6379",
        "one /64 network for IPv6",
        "0 for no limit",
        "per /64 network for IPv6",
        "is 1 to 1000",
        "HTTP/1.1",
        "more than 1000 runs",
        "A year of six schedulers takes 4 MB",
        "on 127.0.0.1 unless",
        "(0600, folders 0700)",
        "ends after 10⁹ simulated seconds",
        "count from 0 with their process",
        "seconds since 1970",
        "says what its leader says, with `hms_owner` 0",
        "| 1 when the backlog grows",
        "| 1 for the state of the race",
        "| 1 where this process runs the engine",
        "| 1 where store, cache or engine are well",
    ],
}
"""Numbers that are no figures of ours: examples, names, the ends of a range; or measured, which benchmarks repeat."""


@pytest.fixture(scope="module")
def facts() -> dict[str, list[str]]:
    return _facts()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_is_the_codes(page: Path, facts: dict[str, list[str]]) -> None:
    text, said, known = page.read_text("utf-8"), facts.get(page.name, []), KNOWN.get(page.name, [])
    assert missing(text, said) == [], "the code says so, the page does not"
    assert missing(text, known) == [], "nobody says so any more"
    if page.name == "service.md":
        text = STATUS_CODES.sub("", re.sub(r"^\| `[A-Z_]+` \|.*$", "", text, flags=re.MULTILINE))
    assert unexplained(text, [*said, *known]) == []


def test_facts_are_of_pages_that_are_there(facts: dict[str, list[str]]) -> None:
    assert facts.keys() | KNOWN.keys() <= {page.name for page in PAGES}
    assert runner.LONGEST_RUN == 1e9
    assert health_watch.DEATHS == 3


def test_defaults_of_the_service_are_those_of_the_table() -> None:
    page = (ROOT / "docs" / "service.md").read_text("utf-8")
    table = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", page, re.MULTILINE))
    settings, race = ServiceSettings(_env_file=None), SimulationSection()
    for name, shown in table.items():
        value = getattr(race if name in VARIABLES else settings, name.lower())
        secret = value.get_secret_value() if hasattr(value, "get_secret_value") else value
        if name == "WEIGHTS":
            assert shown.strip("`") == _balanced()
        elif shown in ("none", "by environment"):
            assert secret in (None, "", ()), name
        else:
            said = f"{secret:g}" if isinstance(secret, float) else str(secret)
            assert shown.strip("`") == (said.lower() if isinstance(secret, bool) else said), name
