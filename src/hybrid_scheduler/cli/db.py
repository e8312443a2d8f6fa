"""`hms db`: create, upgrade, inspect, export and clear the store."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hybrid_scheduler.cli import options

if TYPE_CHECKING:
    from hybrid_scheduler.store import Store

Table = Annotated[str, typer.Argument(metavar="TABLE", help="Which table, e.g. training_data.", show_default=False)]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", help="Yes, forget the history.")]

Result = TypeVar("Result")

db = typer.Typer(rich_markup_mode=None)


@db.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    """Create, upgrade, inspect, export and clear the store.

    The store is the SQLite file data/hybrid_scheduler.db, or the PostgreSQL at POSTGRES_HOST, or whatever DATABASE_URL
    says.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@db.command()
def create() -> None:
    """Make the store where there is none."""
    from hybrid_scheduler.config.store import store_room, store_url

    async def make() -> str:
        made = await store_room().create_store(store_url())
        async with await _opened() as store:
            return f"{'made' if made else 'already there:'} {store.backend} {store.address}"

    typer.echo(_run(make()))


@db.command()
def upgrade() -> None:
    """Bring an older store to the schema of this version; a copy of it first is a good idea.

    An SQLite file of an older version is rewritten, which takes minutes when the history is long: end the service, and
    have room for a second file of its size.
    """
    from hybrid_scheduler.config.store import store_room, store_url

    before, after = _run(store_room().upgrade_store(store_url()))
    typer.echo(f"schema {after}: nothing to do" if before == after else f"schema {before} is now {after}")


@db.command()
def status(json: options.Json = None) -> None:
    """Show where the store is, its schema, its size and how much is in it."""
    from hybrid_scheduler.cli.output import STANDARD_OUTPUT, check_writable, write_json

    check_writable(json)
    facts = _run(_facts())
    if json is not None:
        write_json(json, facts)
    if json == STANDARD_OUTPUT:
        return
    tables: dict[str, int] = facts.pop("tables")
    facts["size"] = f"{facts.pop('size_bytes') / 1e6:.1f} MB"
    for name, value in (facts | {name: f"{rows:,} rows" for name, rows in tables.items()}).items():
        typer.echo(f"{name:<18} {value}")


@db.command()
def export(table: Table, file: File) -> None:
    """Write a whole table to a CSV or Parquet file."""

    async def write() -> int:
        async with await _opened() as store:
            return await store.export(table, file)

    typer.echo(f"wrote {file}: {_run(write()):,} rows of {table}")


@db.command()
def clear(yes: Yes = False) -> None:
    """Forget tasks, results, labels, means, learning curves, measured times and ended runs; model versions stay.

    The room is given back to the disk. What a running service stores meanwhile stays.
    """
    from hybrid_scheduler.cli.output import progress_bar
    from hybrid_scheduler.model.errors import InvalidInputError

    async def forget() -> str:
        async with await _opened() as store:
            there = await store.counts()
            if not yes:
                what = f"{_counted(there.tasks, 'task')} and {_counted(there.runs, 'run')} in {store.address}"
                raise InvalidInputError(f"this forgets {what} for good; add --yes if that is meant")
            with progress_bar(["clearing"], there.tasks) as progress:
                gone = await store.clear(lambda gone, _: progress("clearing", gone.tasks) if progress else None)
            left = (await store.counts()).runs
            forgot = f"forgot {_counted(gone.tasks, 'task')} and {_counted(gone.runs, 'run')}"
            return f"{forgot}; {_counted(left, 'run')} not ended yet" if left else forgot

    typer.echo(_run(forget()))


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    import asyncio  # here, because `hms --help` must answer at once

    return asyncio.run(work)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


async def _opened() -> Store:
    from hybrid_scheduler.config.store import store_room, store_url

    store: Store = await store_room().open_store(store_url(), create=False)
    return store


async def _facts() -> dict[str, Any]:
    async with await _opened() as store:
        return {
            "backend": store.backend,
            "address": store.address,
            "schema": await store.revision(),
            "size_bytes": await store.size(),
            "tables": await store.exact_counts(),
        }
