"""The questions of the FAQ: answered briefly, with a link or a command, and every figure is the code's."""

from __future__ import annotations

import inspect
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from page_figures import missing, prose, unexplained

from hybrid_scheduler.cli.pipeline import pipeline
from hybrid_scheduler.cli.serve import serve
from hybrid_scheduler.config.sections import PhysicsSection, SimulationSection
from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.experiments.heavy import LOAD, Heavy
from hybrid_scheduler.hardware.sizes import DEFAULT_SIZES
from hybrid_scheduler.learning.agent_layout import Layout
from hybrid_scheduler.learning.dqn.agent import YOUNG
from hybrid_scheduler.learning.dqn.network import BATCH, CAPACITY, FOLLOW
from hybrid_scheduler.learning.drift import THRESHOLD
from hybrid_scheduler.learning.features import FEATURES
from hybrid_scheduler.live import plan
from hybrid_scheduler.live.lessons import MOST_LABELS
from hybrid_scheduler.physics.cost import MAX_SPEEDUP, gpu_speedup
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.optimum import STEPS
from hybrid_scheduler.physics.settings import DOLLARS_PER_KWH
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario.scenario import DEFAULT_LOAD
from hybrid_scheduler.scenario.sources import DEFAULT_PARENTS
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
from hybrid_scheduler.training.any_node import RACES, TASKS
from hybrid_scheduler.workloads.capacity import capacity
from hybrid_scheduler.workloads.shapes import MixedShapes

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "faq.md").read_text("utf-8")
ANSWERS = {
    question: answer.split("\n## ")[0].strip()
    for question, answer in (part.split("\n", 1) for part in PAGE.split("\n### ")[1:])
}
MOST_SENTENCES = 4
PHASE = re.compile(r'say\(f?"\d/')
"""How the pipeline announces one."""
CPU, GPU = Device("cpu", "cpu"), Device("gpu", "gpu")


def _found(pattern: str) -> float:
    """A figure of RESULTS.md, which is made from stored runs."""
    match = re.search(pattern, (ROOT / "RESULTS.md").read_text("utf-8"))
    assert match is not None, f"RESULTS.md says nothing like {pattern!r} any more"
    return float(match[1])


def _facts() -> dict[str, list[str]]:
    """What the code says, in the words of the answer to each question."""
    python = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    agent, forest, physics, service = DQNScheduler(), HybridML(), PhysicsSection(), ServiceSettings(_env_file=None)
    node = ClusterSpec.default(SimulationSection().num_gpus)
    gpus = sum(device.kind == "gpu" for device in node.devices)
    layout = Layout(1, gpus, len(agent.fractions), agent.hidden)
    linear, amdahl = (float(gpu_speedup(np.array(0.8), model)) for model in ("linear", "amdahl"))
    size, service_options = MixedShapes().ranges.size, inspect.signature(serve).parameters
    return {
        "Which Python, and which systems?": [f"Python {python.removeprefix('>=')} or later"],
        "Where does 4 × come from, and what is Amdahl's law?": [
            f"at most {MAX_SPEEDUP:g} times",
            f"1 + {MAX_SPEEDUP - 1:g} · I times",
            f"I = 0.8 gives {amdahl:g} times and not {linear:g}",
        ],
        "What does a GPU cost more, and in which unit is money?": [
            f"${GPU.dollars_per_second:.4f} for a GPU second and ${CPU.dollars_per_second:.5f} for a CPU second",
            f"{GPU.dollars_per_second / CPU.dollars_per_second:g} times as much",
            f"{MAX_SPEEDUP:g} times as fast",
            f"${DOLLARS_PER_KWH:g} per kWh",
        ],
        "Where do the 16 GB/s come from, and what about latency?": [
            f"{GPU.bandwidth:g} MB/s",
            f"`latency` of a device, {GPU.latency:g} unless set",
        ],
        "What happens when a task does not fit in memory?": [
            f"{GPU.memory_mb:g} MB by default",
            f"(`{physics.memory_policy}`, the default)",
        ],
        "What does splitting a task mean?": [f"take {physics.coexecution_penalty:.0%} longer".replace("%", " %")],
        "How many GPUs are there, and how do I change that?": [f"{gpus}, beside {len(node.devices) - gpus} CPU."],
        "How is energy computed?": [
            f"{GPU.watts:g} W for a GPU, {CPU.watts:g} W for a CPU, and {GPU.idle_watts:g} W while idle"
        ],
        "What is arrival rate against load?": [
            f"`--load`, {DEFAULT_LOAD:g} by default, {plan.LOAD:g} for the live race",
            f"{capacity('mixed', World()):.1f} tasks per second",
        ],
        "Can tasks depend on each other?": [f"{DEFAULT_PARENTS} parents at most"],
        "Is the workload random, and is it repeatable?": [f"({SimulationSection().seed} by default)"],
        "Which distributions are there, and why a long tail?": [f"from {size[0]:g} to {size[1]:g}"],
        "What is the heavy run, and why 10 000 tasks?": [
            f"{Heavy().tasks} `mixed` tasks at {LOAD:.0%} load".replace("%", " %"),
            f"over {Heavy.default_seeds} seeds",
        ],
        "When is greedy good, and when does it fail?": [
            f"overloaded from a load of {_found(r'overloaded: greedy from ([0-9.]+) on'):g} on"
        ],
        "What is the oracle, why is it slow, and may it be used in production?": [
            f"steps of {1 / STEPS:.0%}".replace("%", " %"),
            f"{STEPS + 1} shares",
        ],
        "Can the oracle be beaten?": [f"on {Heavy().tasks} tasks at {LOAD:.0%} load".replace("%", " %")],
        "What are its features?": [f"{FEATURES} figures of the task"],
        "What is trained offline, what online, how often, and on what?": [
            f"every {forest.retrain_interval} tasks",
            f"the latest {forest.window} rows",
        ],
        "Does the live race use what was collected before?": [f"{MOST_LABELS:,} labels".replace(",", " ")],
        "What are R² and MAE of?": [f"where R² is {_found(r'test R² ([0-9.]+)'):.2f}"],
        "What is drift?": [f"{round(math.exp(THRESHOLD), -4):,.0f} tasks".replace(",", " ")],
        "What are state, actions and reward, and why is the reward negative?": [
            "a share of {:.0f}, {:.0f} or {:.0f} %".format(*(100 * share for share in agent.fractions))
        ],
        "What are ε-greedy, replay, target network, double and dueling?": [
            f"{CAPACITY} remembered outcomes, {BATCH} at a time",
            f"{FOLLOW:g} of the difference with every step",
        ],
        "How big is the network, and why?": [
            f"{agent.hidden} units, {sum(math.prod(shape) for shape in layout.value_shapes)} weights"
        ],
        "How long until it is warm, does it do worse at first, and can it be pretrained?": [
            f"has seen {RACES * TASKS} tasks on {RACES} nodes",
            f"in full after {YOUNG} gradient steps",
        ],
        "What does the energy weight do at 0 and at 1?": [f"{agent.energy_weight:g} is the default"],
        "Does it learn that a big transfer can eat a speedup?": [
            f"{_found('rl_agent ([0-9.]+) [^ ]+ [^ ]+ × optimal'):.2f} times the"
        ],
        "How do I start and stop it, and how do I deploy it?": [f"on port {service_options['port'].default}"],
        "How do I debug, and where are the logs?": [f"`{service.log_file}`", f"`LOG_LEVEL` `{service.log_level}`"],
        "How does the page get its data, and how often?": [f"{service.update_hz:g} messages a second"],
        "What does the pipeline do, phase by phase?": [f"{len(PHASE.findall(inspect.getsource(pipeline)))} phases"],
        "What does the profiler measure, on a Mac too?": ["({}, {}, {} and {} rows by default)".format(*DEFAULT_SIZES)],
        "How do I protect the service?": [f"on {service_options['host'].default} only"],
        "What happens to my data after a crash, and how long is it kept?": [f"{service.retention_mb} MB at most"],
    }


KNOWN = {
    "answers 32 requests together",
    "from 0 to 1",
    "part 1 − I cannot",
    "PCI Express 3.0 slot with 16 lanes",
    "M/M/1 and M/D/1",
    "Below a load of 1",
    "with exponent 1.5",
    "(30 % around 0.2, the rest around 0.8)",
    "(1 is perfect, 0 no better than the mean)",
    "At 0 the learners",
    "at 1 for energy",
    "At 1 they put",
}
"""Numbers that are no figures of ours: examples, names, the ends of a range, the definition of a preset."""


@pytest.fixture(scope="module")
def facts() -> dict[str, list[str]]:
    return _facts()


def test_every_group_of_questions_is_there() -> None:
    groups = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert groups == ["First contact", "The model", "Workloads", "Rules", "The forest", "The agent", "Running it"]
    assert len(ANSWERS) >= 74, "a question was dropped"


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_is_short_and_leads_on(question: str) -> None:
    answer = ANSWERS[question]
    assert question.endswith("?")
    sentences = re.split(r"(?<=[.?!])\s+(?=[A-Z`\[])", prose(answer))
    assert 1 <= len(sentences) <= MOST_SENTENCES, sentences
    shows = ("](", "`hms ", "`./", "`LICENSE`")
    assert any(each in answer for each in shows), "no page or command shows it"


def test_every_figure_is_the_codes(facts: dict[str, list[str]]) -> None:
    assert facts.keys() <= ANSWERS.keys()
    wrong = {question: missing(ANSWERS[question], said) for question, said in facts.items()}
    assert {question: said for question, said in wrong.items() if said} == {}


def test_no_figure_is_left_unchecked(facts: dict[str, list[str]]) -> None:
    left = {question: unexplained(answer, [*facts.get(question, ()), *KNOWN]) for question, answer in ANSWERS.items()}
    assert {question: phrases for question, phrases in left.items() if phrases} == {}
    for phrase in KNOWN:
        assert phrase in prose(PAGE), f"nobody says {phrase!r} any more"
