"""The door to Ray: a cluster of this machine that is started for us, or one that runs somewhere.

Ray gives membership and transport; what runs where is decided by us. This is the only place that connects.
"""

from __future__ import annotations

import logging
import os
import platform
import signal
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from threading import current_thread, main_thread
from types import ModuleType
from typing import Final

from hybrid_scheduler.hardware.workers import RAY, RAY_ADDRESS
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError, MissingExtraError

OBJECT_STORE: Final = 80 * 2**20
"""Bytes of shared memory of a cluster that is started for us; what does not fit goes to disk."""


AUTO: Final = RAY_ADDRESS + "auto"


class RayError(HybridSchedulerError):
    """The Ray cluster lost something that it could not make up for."""


@dataclass
class RayCluster:
    """A connection to a Ray cluster.

    Attributes:
        ray: The package.
        ours: Whether the connection, and with `ray` the cluster, was made by us, so that we end it.
    """

    ray: ModuleType
    ours: bool

    def close(self) -> None:
        """End what was begun; a cluster that runs somewhere runs on. May be called twice."""
        if self.ours:
            self.ours = False
            self.ray.shutdown()
            _let_ray_speak(self.ray, True)

    def processors(self) -> int:
        """Those of all machines."""
        return max(1, int(sum(node["Resources"].get("CPU", 0) for node in self.ray.nodes() if node["Alive"])))


def connect(node: str, *, processors: int | None = None) -> RayCluster:
    """Connect to a Ray cluster; if this process is connected to one, that is used and stays.

    Args:
        node: `ray`: one is started on this machine, of its own even if others run here. `ray://HOST:PORT`: one that
            runs, through its Ray client server. `ray://auto`: the one this machine is part of (or `RAY_ADDRESS`),
            without the detour through that server.
        processors: How many a cluster that is started here says it has; None: what Ray finds.

    Raises:
        MissingExtraError: Ray is not installed.
        InvalidInputError: There is no cluster at that address.
    """
    try:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray
    except ImportError as error:
        raise MissingExtraError(f"node {node!r}", "Ray", "ray") from error
    if ray.is_initialized():
        return RayCluster(ray, ours=False)
    with _own_signals(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Ray Client connection timed out", UserWarning)  # the error below says so
        try:
            if node == RAY:
                ray.init(
                    "local",
                    num_cpus=processors,
                    include_dashboard=False,
                    object_store_memory=OBJECT_STORE,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    _node_ip_address="127.0.0.1",
                )
            else:
                ray.init("auto" if node == AUTO else node, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ImportError, RuntimeError, ValueError) as error:
            raise InvalidInputError(f"node {node!r}: no Ray cluster answers there ({error})") from error
    _let_ray_speak(ray, False)
    return RayCluster(ray, ours=True)


def _let_ray_speak(ray: ModuleType, aloud: bool) -> None:
    """Ray prints what happens to its machines on standard output, which is for results; no option turns that off."""
    ray._private.worker._worker_logs_enabled = aloud


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; who had it keeps it. Without anybody, Ray ends what it started."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    if callable(handler) and current_thread() is main_thread():
        signal.signal(signal.SIGTERM, handler)


@cache
def this_machine() -> str:
    """Tells machines apart; the same in all processes of one, containers included, for they share its clock."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return f"{platform.node()} {uuid.getnode()}"


@cache
def sources() -> str:
    """Version of this package and state of its sources: machines of a cluster must have the same."""
    package, digest = Path(__file__).parents[1], blake2b(digest_size=8)
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return f"{version('hybrid-ml-scheduler')} ({digest.hexdigest()})"


def own_sources() -> tuple[str, str]:
    """This machine and the state of its sources, for `refuse_other_sources` on another."""
    return this_machine(), sources()


def refuse_other_sources(sender: tuple[str, str]) -> None:
    """Refuse to work for a machine that has other sources than this one.

    Raises:
        InvalidInputError: It has. (On one machine they are the same, even while somebody edits them.)
    """
    machine, expected = sender
    if machine != this_machine() and sources() != expected:
        raise InvalidInputError(
            f"{platform.node()} has hybrid-ml-scheduler {sources()}, but where it is called from it is {expected}; "
            "install the same on all machines of the Ray cluster"
        )
