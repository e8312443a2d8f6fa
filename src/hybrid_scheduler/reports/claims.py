"""What is claimed, and how each claim is judged by the figures of a run. Nothing here is a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.experiments.order import AT_ONCE, BANDS, LOADS, NOISES, at_load, on_nodes, with_noise
from hybrid_scheduler.experiments.statistics import Estimate, estimate
from hybrid_scheduler.reports.evidence import Evidence
from hybrid_scheduler.reports.words import ends, listed, metric_words, unit_of, with_interval

HOLDS, IN_PART, FAILS, NOT_SHOWN = "holds", "holds in part", "does not hold", "not shown"
MORE, LESS, UNSETTLED = "more than claimed", "less than claimed", "not settled"
NO_RUN = "no run yet"
LEARNERS = ("rl_agent", "hybrid_ml", "hybrid_queue")
AGENT, QUEUE = ("rl_agent",), ("hybrid_queue",)
NAIVE = ("greedy", "cpu_only", "round_robin", "random")
DOUBTED = (("rl_agent", "hybrid_ml"), ("rl_agent", "mct"), ("hybrid_queue", "sjf"))
"""Pairs that a doubter asks for, flattering or not."""
DEFAULT, BUSY = tuple(map(at_load, LOADS)), tuple(map(at_load, LOADS[1:]))
NODES, NOISY = tuple(map(on_nodes, BANDS)), tuple(map(with_noise, NOISES[1:]))
"""Settings of the experiment `order`."""


@dataclass(frozen=True)
class Finding:
    """What the figures say: a state, and the figures."""

    state: str
    figures: str


@dataclass(frozen=True)
class Claim:
    """A claim.

    Attributes:
        words: What is claimed.
        experiment: The experiment whose run decides it.
        judge: Does so.
    """

    words: str
    experiment: str
    judge: Callable[[Evidence], Finding]


def within(figure: Estimate, low: float, high: float) -> str:
    """The state of a claim that a figure lies between two borders."""
    bottom = figure.mean if figure.low is None else figure.low
    top = figure.mean if figure.high is None else figure.high
    if low <= bottom and top <= high:
        return HOLDS
    if bottom > high:
        return MORE
    return LESS if top < low else UNSETTLED


def _verdicts(rows: Sequence[tuple[str, dict[str, Any]]]) -> Finding:
    """All verdicts must be "better" for a claim to hold; one "worse" and it does not."""
    words = []
    for where, row in rows:
        interval = "" if row["low"] is None else f" [{ends(row['low'], row['high'])}]"
        words.append(f"{where}{row['a']} less {row['b']} {row['difference']:+.4g}{interval}: {row['verdict']}")
    verdicts = [row["verdict"] for _, row in rows]
    if "worse" in verdicts:
        state = FAILS
    elif all(verdict == "better" for verdict in verdicts):
        state = HOLDS
    else:
        state = IN_PART if "better" in verdicts else NOT_SHOWN
    return Finding(state, "; ".join(words))


def _beats(a: Sequence[str], b: Sequence[str], metric: str, *points: float | str) -> Callable[[Evidence], Finding]:
    def judge(run: Evidence) -> Finding:
        rows = [
            (_where(run, point), dict(run.comparison(x, y, metric, point)))
            for point in points or (None,)
            for x in a
            for y in b
        ]
        finding = _verdicts(rows)
        unit = f", {unit_of(metric)}" if unit_of(metric) else ""
        late = [words for point in points or (None,) for y in b if (words := _overloaded(run, y, point))]
        automatic = f"; nearly automatic where a rival does not keep up:{''.join(dict.fromkeys(late))}" if late else ""
        return Finding(finding.state, f"{metric_words(metric)}{unit}: {finding.figures}{automatic}")

    return judge


def _where(run: Evidence, point: float | str | None) -> str:
    if point is None:
        return ""
    return f"{point} " if isinstance(point, str) else f"at {run.document['parameter']} {point:g} "


def _published_shift(run: Evidence) -> Finding:
    published = run.document["reference"]
    if run.document["configuration"]["cluster"]["physics"]["split"] != published["split"]:
        return Finding(NO_RUN, f"the published figures are for the {published['split']} split")
    border = published["total_time"]["rl_agent"] / published["total_time"]["optimal"]
    figure = run.figure("rl_agent", "times_optimal")
    top = figure.mean if figure.high is None else figure.high
    words = f"rl_agent {with_interval(figure)} × optimal; the earlier agent {border:.3g} ×"
    return Finding(HOLDS if top < border else NOT_SHOWN, words)


def _near_optimal(name: str, most: float) -> Callable[[Evidence], Finding]:
    def judge(run: Evidence) -> Finding:
        figure = run.figure(name, "times_optimal")
        state = within(figure, 0.0, most)
        return Finding(FAILS if state == MORE else state, f"{name} {with_interval(figure)} × optimal")

    return judge


def _breaking(run: Evidence) -> Finding:
    breaks = run.document["breaks_at"]
    naive = [name for name in NAIVE if breaks[name] is not None and breaks[name] < 1]
    learners = [name for name in LEARNERS if breaks[name] is None or breaks[name] >= 1]
    whole = len(naive) == len(NAIVE) and len(learners) == len(LEARNERS)
    words = "; ".join(
        f"{name} {'nowhere' if breaks[name] is None else f'from {breaks[name]:g} on'}" for name in (*NAIVE, *LEARNERS)
    )
    return Finding(HOLDS if whole else IN_PART if naive or learners else FAILS, f"overloaded: {words}")


def _falls(goal: str) -> Callable[[Evidence], Finding]:
    """Whether a goal's figure falls as its weight rises, along every ladder of the goal."""

    def judge(run: Evidence) -> Finding:
        if "ladders" not in run.document:
            return Finding(NO_RUN, "the run is of an earlier version, with two goals; run it again")
        holds, words = [], []
        for ladder in run.document["ladders"]:
            for name in LEARNERS if ladder["goal"] == goal else ():
                found, metric = ladder["learners"][name], ladder["metric"]
                low, high = (with_interval(run.figure(name, metric, ladder["points"][k])) for k in (0, -1))
                up, down = (
                    sum(step[end] is not None and sign * step[end] > 0 for step in found["steps"])
                    for end, sign in (("low", 1), ("high", -1))
                )
                holds.append(found["falls"])
                words.append(
                    f"against {ladder['against']}, {name} from {low} to {high} {unit_of(metric)}; of "
                    f"{len(found['steps'])} steps {down} are shown to lower it, {up or 'none'} to raise it"
                )
        return Finding(HOLDS if all(holds) else IN_PART if any(holds) else FAILS, "; ".join(words))

    return judge


def _part(whole: str, without: str) -> Callable[[Evidence], Finding]:
    def judge(run: Evidence) -> Finding:
        worlds = [point[run.document["parameter"]] for point in run.document["points"]]
        rows = [(f"{world}: ", dict(run.comparison(whole, without, "avg_response", world))) for world in worlds]
        finding = _verdicts(rows)
        # A part that pays in one world and harms in none is worth having.
        return Finding(HOLDS if finding.state == IN_PART else finding.state, f"mean response, s: {finding.figures}")

    return judge


def _better_by(a: str, b: str, metric: str, low: float, high: float) -> Callable[[Evidence], Finding]:
    def judge(run: Evidence) -> Finding:
        saved = estimate([1 - value for value in run.ratio(a, b, metric).values])
        interval = "" if saved.low is None or saved.high is None else f" [{saved.low:.1%}, {saved.high:.1%}]"
        words = f"{metric_words(metric)} {saved.mean:.1%}{interval} below {b}'s{_overloaded(run, b)}"
        return Finding(within(saved, low, high), words)

    return judge


def _times(over: str, under: str, metric: str, low: float, high: float) -> Callable[[Evidence], Finding]:
    def judge(run: Evidence) -> Finding:
        ratio = run.ratio(over, under, metric)
        words = f"{over}'s {metric_words(metric)} over {under}'s {with_interval(ratio)}{_overloaded(run, over)}"
        return Finding(within(ratio, low, high), words)

    return judge


def _overloaded(run: Evidence, name: str, point: float | str | None = None) -> str:
    """Names overloaded rivals, which explain a large advantage."""
    if "overloaded" not in run.point(point)["schedulers"][name]:  # every task met an idle node
        return ""
    values = run.figure(name, "overloaded", point).values
    often = sum(value > 0 for value in values)
    return f" ({name} is overloaded in {often} of {len(values)} seeds)" if often else ""


def _near_oracle(metric: str) -> Callable[[Evidence], Finding]:
    def judge(run: Evidence) -> Finding:
        ratio = run.ratio("rl_agent", "oracle", metric)
        state = within(ratio, 0.0, 1.05)  # below the oracle is within
        return Finding(
            FAILS if state == MORE else state,
            f"rl_agent's {metric_words(metric)} over the oracle's {with_interval(ratio)}",
        )

    return judge


def _price(run: Evidence) -> Finding:
    devices = run.document["configuration"]["cluster"]["devices"]
    cpu, gpu = (next(d["dollars_per_second"] for d in devices if d["kind"] == kind) for kind in ("cpu", "gpu"))
    bill = run.ratio("gpu_only", "cpu_only", "cost")
    words = (
        f"a GPU second costs {gpu / cpu:.3g} × a CPU second, which is a setting; the same tasks cost "
        f"{with_interval(bill)} × as much on GPUs alone as on the CPU alone"
    )
    return Finding(HOLDS if abs(gpu / cpu - 5) < 1e-9 else FAILS, words)


def _balance(run: Evidence) -> Finding:
    figure = run.figure("rl_agent", "load_balance")
    return Finding(within(figure, 0.90, 0.95), f"rl_agent {with_interval(figure)}")


def forest_finding(scores: Estimate, tasks: int) -> Finding:
    """The earlier claim on the forest, judged by a training of one's own."""
    words = f"test R² {with_interval(scores)} over {len(scores.values)} forests of {tasks} tasks each"
    return Finding(within(scores, 0.78, 0.82), words)


FOREST = "A forest predicts the optimal GPU fraction with a test R² of 0.78 to 0.82"
HEADLINES = (
    Claim(
        f"After the shift {listed(LEARNERS)} recover: less total time than static_forest and greedy",
        "shift",
        _beats(LEARNERS, ("static_forest", "greedy"), "total_time"),
    ),
    Claim("After the shift hybrid_queue is within 1.25 × the optimum", "shift", _near_optimal("hybrid_queue", 1.25)),
    Claim("After the shift rl_agent is nearer to the optimum than the earlier agent was", "shift", _published_shift),
    Claim(
        f"On many tasks at a high load {listed(LEARNERS)} answer sooner than the myopic oracle",
        "heavy",
        _beats(LEARNERS, ("oracle",), "avg_response"),
    ),
    Claim(
        f"At a moderate load {listed(LEARNERS)} answer sooner than greedy and round_robin",
        "mixed",
        _beats(LEARNERS, ("greedy", "round_robin"), "avg_response"),
    ),
    *(
        Claim(f"Many tasks at a high load: {a} answers sooner than {b}", "heavy", _beats((a,), (b,), "avg_response"))
        for a, b in DOUBTED
    ),
    Claim(
        "rl_agent answers sooner than the myopic oracle at 60 and 80 % load",
        "load",
        _beats(AGENT, ("oracle",), "avg_response", 0.6, 0.8),
    ),
    *(
        Claim(
            f"{a} answers sooner than {b} at 60 and 80 % load, learners trained alike",
            "load",
            _beats((a,), (b,), "avg_response", 0.6, 0.8),
        )
        for a, b in DOUBTED
    ),
    Claim(
        "Letting tasks wait beats deciding at once: sjf and hybrid_queue answer sooner than the oracle at 60 and 80 %",
        "order",
        _beats(("sjf", "hybrid_queue"), ("oracle",), "times_oracle", *BUSY),
    ),
    Claim(
        "hybrid_queue answers sooner than those who decide at once, on random nodes",
        "order",
        _beats(QUEUE, AT_ONCE, "times_oracle", *NODES),
    ),
    *(
        Claim(f"{a} answers sooner than {b} {where}", "order", _beats((a,), (b,), "times_oracle", *settings))
        for where, settings in (("on the default node", DEFAULT), ("on random nodes", NODES))
        for a, b in DOUBTED
    ),
    Claim(
        "hybrid_queue answers sooner than sjf, hybrid_ml and mct, however wrong the expected times",
        "order",
        _beats(QUEUE, ("sjf", "hybrid_ml", "mct"), "times_oracle", *NOISY),
    ),
    Claim(
        "hybrid_queue's tail is shorter than the oracle's and sjf's: 99th percentile of response, on random nodes",
        "order",
        _beats(QUEUE, ("oracle", "sjf"), "p99_times_oracle", *NODES),
    ),
    Claim(
        "hybrid_queue slows tasks down more alike than fcfs and sjf do",
        "order",
        _beats(QUEUE, ("fcfs", "sjf"), "fairness", *DEFAULT, *NODES),
    ),
    Claim(
        f"{listed(NAIVE)} break below the node's capacity, {listed(LEARNERS)} do not",
        "load",
        _breaking,
    ),
    *(
        Claim(f"Raising the weight of {goal} lowers {listed(LEARNERS)}'s {what}, step by step", "energy", _falls(goal))
        for goal, what in (("energy", "energy"), ("money", "cost"), ("time", "mean response"))
    ),
    *(
        Claim(f"{part} is worth something to {whole}", "ablation", _part(whole, without))
        for part, whole, without in (
            ("The backlog in its state", "rl_agent", "rl_agent_no_backlog"),
            ("A target network", "rl_agent", "rl_agent_no_target"),
            ("Looking ahead (γ above 0)", "rl_agent", "rl_agent_gamma_0"),
            ("A reward that counts waiting, not execution alone,", "rl_agent", "rl_agent_myopic"),
            ("The view of the queues", "hybrid_ml", "hybrid_ml_no_queues"),
            ("Drift detection", "hybrid_ml", "hybrid_ml_no_drift"),
        )
    ),
    Claim(
        "Learning on is worth something: hybrid_ml against static_forest",
        "ablation",
        _part("hybrid_ml", "static_forest"),
    ),
)
"""What this project claims."""
EARLIER = (
    Claim(
        "RL has a 15–20 % better makespan than greedy on mixed tasks",
        "mixed",
        _better_by("rl_agent", "greedy", "makespan", 0.15, 0.20),
    ),
    Claim(
        "RL has a 15–20 % better makespan than round robin on mixed tasks",
        "mixed",
        _better_by("rl_agent", "round_robin", "makespan", 0.15, 0.20),
    ),
    Claim("GPUs cost 5 × as much (a setting, said again)", "mixed", _price),
    Claim(
        "RL is within 5 % of the oracle, by makespan (nearly automatic: who keeps up ends soon after the last arrival)",
        "mixed",
        _near_oracle("makespan"),
    ),
    Claim("RL is within 5 % of the oracle, by mean response", "mixed", _near_oracle("avg_response")),
    Claim(
        "RL has a speedup of 1.2–1.4 × over round robin",
        "mixed",
        _times("round_robin", "rl_agent", "makespan", 1.2, 1.4),
    ),
    Claim("RL has a speedup of 1.05–1.15 × over greedy", "mixed", _times("greedy", "rl_agent", "makespan", 1.05, 1.15)),
    Claim("Load balance is 0.90–0.95, at a moderate load", "mixed", _balance),
    Claim("Load balance is 0.90–0.95, at a high load", "heavy", _balance),
)
"""What the earlier documents claimed, and `FOREST`."""
