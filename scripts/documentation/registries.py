"""The references of what is registered by name: schedulers, metrics, presets, formats, experiments."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields

from documentation.tables import code, documented, table
from hybrid_scheduler.experiments.registry import experiment_classes
from hybrid_scheduler.metrics.registry import metric_infos
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS
from hybrid_scheduler.schedulers.registry import scheduler_class, scheduler_names
from hybrid_scheduler.workloads import GRAPH_PRESETS, PRESETS
from hybrid_scheduler.workloads.readers.assumptions import RULES
from hybrid_scheduler.workloads.readers.registry import create_reader, reader_names

BETTER = {True: "bigger", False: "smaller", None: "neither"}


def schedulers_page() -> str:
    """The page of the schedulers."""
    found = {name: scheduler_class(name) for name in scheduler_names()}
    rows = [
        (f"[{name}](#{name})", _sees(each), "yes" if issubclass(each, Learner) else "", each.summary())
        for name, each in found.items()
    ]
    default = ", ".join(map(code, DEFAULT_SCHEDULERS))
    introduction = f"""# Schedulers

`hms schedulers` prints this list, packages of other people included. A race takes {default}
unless `--schedulers` says otherwise. Parameters are set in `config.yaml`, under `schedulers`.
"""
    return "\n".join([introduction, table(("name", "sees", "learns", "what it does"), rows), *_details(found)])


def _details(found: dict[str, type[Scheduler]]) -> Iterator[str]:
    for name, each in found.items():
        yield f"## {name}\n"
        yield _prose(each) + "\n"
        meanings = documented(each, "Args")
        rows = [
            (code(key), code(parameter.default), meanings.get(key, "seed of the run" if key == "seed" else ""))
            for key, parameter in inspect.signature(each).parameters.items()
        ]
        if rows:
            yield table(("parameter", "default", "meaning"), rows)


def _prose(thing: object) -> str:
    """A docstring up to its first section."""
    text = inspect.getdoc(thing) or ""
    for heading in ("Args:", "Attributes:"):
        text = text.split(f"\n{heading}")[0]
    return text.strip()


def _sees(found: type[Scheduler]) -> str:
    return "truth" if found.knows_truth else "estimates" if found.uses_estimates else "queues"


def metrics_page() -> str:
    """The page of the metrics."""
    rows = [
        (code(info.name), info.title, info.unit, BETTER[info.bigger_is_better], info.description)
        for info in metric_infos().values()
    ]
    introduction = """# Metrics

Every figure is derived from outcomes; `None` (in JSON `null`) means that there is no data. `decision_us`, the mean
microseconds per decision by the wall clock, and what learners count (`updates`: gradient steps,
`refit_checks`: refreshes of the model, `refits`: those that replaced something) stand beside them.
"""
    return "\n".join([introduction, table(("name", "title", "unit", "better", "what it is"), rows)])


def presets_page() -> str:
    """The page of the workload presets."""
    rows = []
    for name, preset in PRESETS.items():
        ranges = [f"{low:g} to {high:g}" for low, high in preset.shapes.ranges]
        rows.append((code(name), preset.summary, *ranges))
    introduction = """# Presets

Named kinds of workload, for `--preset` and `workload.preset`. `drift:A:B` drifts from preset A to preset B.
"""
    graphs = """## Graphs

Presets of whole task graphs, with parameters behind the name: `cholesky:tiles=10,tile=480`. Without a number of tasks
there is one graph; else as many whole graphs as hold at least so many tasks.
"""
    kinds = [
        (code(name), preset.summary, preset().tasks, " ".join(_prose(preset).split()))
        for name, preset in GRAPH_PRESETS.items()
    ]
    parameters = [
        (code(name), code(f"{each.name}={each.default:g}"), each.metadata["what"], str(each.metadata["legal"]))
        for name, preset in GRAPH_PRESETS.items()
        for each in fields(preset)
    ]
    return "\n".join(
        [
            introduction,
            table(("name", "what it is", "size", "intensity", "memory MB"), rows),
            graphs,
            table(("name", "what it is", "tasks of a graph", "how"), kinds),
            table(("preset", "parameter", "what it is", "legal"), parameters),
        ]
    )


def formats_page() -> str:
    """The page of the formats that `--trace` reads."""
    found = {name: create_reader(name) for name in reader_names()}
    introduction = """# Formats

What `--trace` and `hms inspect` read, packages of other people included; `hms inspect --formats` prints this list. A
file is recognised by its content, gzip is unpacked; `--format NAME` forces one. The [guide](../guide/own-trace.md) has
the project's own formats.
"""
    parts = [introduction, table(("name", "what it is"), [(f"[{n}](#{n})", r.title) for n, r in found.items()])]
    for name, reader in found.items():
        parts += [f"## {name}\n", _prose(type(reader)) + "\n"]
    rules = [(code(rule), meaning) for rule, meaning in RULES.items()]
    said = "What a file does not say is filled by these rules; the output names those that were used, with the seed.\n"
    return "\n".join([*parts, "## Rules\n", said, table(("rule", "what it does"), rules)])


def experiments_page() -> str:
    """The page of the experiments."""
    found = sorted(experiment_classes().items())
    introduction = """# Experiments

`hms experiment NAME` runs one over several seeds; the [guide](../guide/experiments.md) says what it writes.
"""
    rows = [(f"[{name}](#{name})", each.question) for name, each in found]
    parts = [introduction, table(("name", "question"), rows)]
    for name, each in found:
        parts += [f"## {name}\n", _prose(each) + "\n"]
        facts = [
            ("schedulers", ", ".join(map(code, each.schedulers))),
            ("compared by", ", ".join(map(code, each.compared))),
            ("seeds", each.default_seeds),
            ("tasks", inspect.signature(each).parameters["tasks"].default),
            ("varies", code(each.parameter) if each.parameter else "nothing"),
            ("plots", ", ".join(map(code, each.plots))),
        ]
        parts.append(table(("", ""), facts))
    return "\n".join(parts)
