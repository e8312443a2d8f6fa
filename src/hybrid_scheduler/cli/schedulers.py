"""`hms schedulers`: what is registered."""

from __future__ import annotations

from typing import Any

from hybrid_scheduler.cli import options


def schedulers(json: options.Json = None) -> None:
    """List the registered schedulers.

    `sees` is what a scheduler is shown beyond the task: queues, also estimates of times, or the truth (a reference
    that no real machine could run). Parameters are set in config.yaml, under schedulers.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, write_json
    from hybrid_scheduler.schedulers.registry import scheduler_names

    check_writable(json)
    facts_by_name = {name: _facts(name) for name in scheduler_names()}
    if json is not None:
        write_json(json, {"schedulers": facts_by_name})
    if json == STANDARD_OUTPUT:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("scheduler", "sees", "compiled"):
        table.add_column(title, no_wrap=True)
    table.add_column("what it does")
    for name, facts in facts_by_name.items():
        text = Text(facts["summary"])
        if facts["parameters"]:
            settings = ", ".join(f"{key}={value}" for key, value in facts["parameters"].items())
            text.append(f"\n{settings}", style="dim")
        table.add_row(name, facts["sees"], "yes" if facts["compiled"] else "no", text)
    Console(highlight=False).print(table)


def _facts(name: str) -> dict[str, Any]:
    import inspect

    from hybrid_scheduler.api.table import sees
    from hybrid_scheduler.schedulers.registry import scheduler_class

    scheduler = scheduler_class(name)
    defaults = {key: p.default for key, p in inspect.signature(scheduler).parameters.items()}
    return {
        "summary": scheduler.summary(),
        "sees": sees(scheduler),
        "compiled": scheduler.kernel is not None,
        "parameters": {key: None if value is inspect.Parameter.empty else value for key, value in defaults.items()},
    }
