"""`hms serve`: the live race, its API and the dashboard."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from hybrid_scheduler.cli import options

Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 opens it to the network.")]
Port = Annotated[int, typer.Option(parser=options.whole(0, 65535), metavar="N", help="Port; 0 takes any free one.")]
Trace = Annotated[Path | None, options.optional("Race the tasks of a file, in a loop.", "FILE")]
Load = Annotated[
    float | None,
    options.optional(
        "Arrivals: rate as a share of the node's capacity; default 0.05, where every scheduler keeps up.",
        "X",
        options.real(0, open_low=True),
    ),
]
Speed = Annotated[
    float | None, options.optional("Simulated seconds per second; default 1.", "X", options.real(0, 1e6, open_low=True))
]
LearnFromStore = Annotated[
    bool,
    typer.Option("--learn-from-store", help="Train the learners on the labels in the store first, as the race begins."),
]
Node = Annotated[
    Literal["simulated", "machine"],
    typer.Option(
        help="What the schedulers race on: simulated nodes, or real work (kernels) on this machine, in turns.",
    ),
]
Lanes = Annotated[
    int | None,
    options.count("How many lanes share the machine's cores with --node machine; one beside GPUs, else two.", 1, 1024),
]
PLATFORM = sys.platform
UNSUPPORTED = 1
"""Exit code on a system without what the service is built on."""


def unsupported(platform: str) -> str | None:
    """Why the service cannot run on a system (`sys.platform`), in one line; None where it can.

    The engine's process inherits a socket, and experiments are processes of a group: both as on Unix.
    """
    if platform in ("win32", "cygwin"):
        return "the live service needs Linux or macOS, and this is Windows; run it in WSL or in a container"
    return None


def serve(
    port: Port = 8000,
    host: Host = "127.0.0.1",
    schedulers: options.Names = None,
    preset: options.Preset = None,
    trace: Trace = None,
    format: options.Format = None,
    rate: options.Rate = None,
    load: Load = None,
    speed: Speed = None,
    cluster: options.Cluster = None,
    node: Node = "simulated",
    lanes: Lanes = None,
    seed: options.Seed = None,
    learn_from_store: LearnFromStore = False,
    config: options.Config = None,
) -> None:
    """Race schedulers live, and serve API and dashboard on one port.

    The race starts by itself; SQLite in data/ keeps its history. PostgreSQL, Redis, a token and more are set by
    environment variables or a file .env (docs/service.md).
    """
    if (problem := unsupported(PLATFORM)) is not None:
        typer.echo(f"hms serve: {problem}", err=True)
        raise typer.Exit(UNSUPPORTED)
    from hybrid_scheduler.cli.output import note_first_use

    note_first_use()
    from hybrid_scheduler.config import load_config
    from hybrid_scheduler.config.service import load_service_settings
    from hybrid_scheduler.model.errors import MissingExtraError

    try:
        from hybrid_scheduler.live import live_engine
        from hybrid_scheduler.live.start import LiveStart

        settings = load_service_settings()
        if learn_from_store:
            settings = settings.model_copy(update={"learn_from_store": True})
        names = None if schedulers is None else tuple(name.strip() for name in schedulers.split(","))
        start = LiveStart(
            load_config(config), names, preset, trace, rate, load, speed, seed, format, cluster, node, lanes
        )
        # Before the web half is imported: the engine's process loads its libraries at the same time.
        engine = live_engine(settings, start)
        from hybrid_scheduler.server.serve import serve as run
    except ModuleNotFoundError as error:
        if str(error.name).startswith("hybrid_scheduler"):
            raise
        raise MissingExtraError("hms serve", str(error.name), "server") from error
    run(settings, engine, host=host, port=port, announce=lambda address: typer.echo(f"Dashboard: {address}"))
