"""Experiments that the service runs: one at a time, each in a process of its own with low priority."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.background import BackgroundTasks
from hybrid_scheduler.server.errors import ApiError
from hybrid_scheduler.server.private_files import UMASK, make_private_folder, private_opener
from hybrid_scheduler.server.store_access import StoreAccess
from hybrid_scheduler.store.errors import StoreError

_LOG = logging.getLogger(__name__)

MOST_JOBS = 20
"""Jobs that are remembered."""
NICENESS = 10
LOOK_SECONDS = 0.2
"""Between two looks whether the process has ended."""
PROGRESS, LOG = ".progress.json", ".experiment.log"
"""In the folder of the job, beside the results."""
_JOB_FOLDER = re.compile(r".+-[0-9a-f]{12}")
RUNNING, FINISHED, FAILED, CANCELLED = "running", "finished", "failed", "cancelled"
_MESSAGES = {RUNNING: "", FINISHED: "all files are written", CANCELLED: "it was cancelled"}


@dataclass
class ExperimentJob:
    """One experiment that was asked for; `dismissed`: its own address is gone, as after any DELETE."""

    name: str
    folder: Path
    process: subprocess.Popen[bytes]
    id: str
    state: str = RUNNING
    message: str = ""
    cancelled_at: float | None = None
    dismissed: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def signal(self, number: signal.Signals) -> None:
        """To the process and its workers."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class ExperimentJobs:
    """Starts experiments, follows them, ends them with the service.

    Args:
        settings: Of the service.
        store_access: To the store.
        cancel_seconds: For a cancelled experiment to end by itself.
    """

    def __init__(self, settings: ServiceSettings, store_access: StoreAccess, cancel_seconds: float) -> None:
        self._settings, self._store_access, self._cancel_seconds = settings, store_access, cancel_seconds
        self._jobs: deque[ExperimentJob] = deque(maxlen=MOST_JOBS)
        self._starting, self._background = asyncio.Lock(), BackgroundTasks()

    async def open(self) -> None:
        """Nothing runs before it is asked for."""

    async def close(self) -> None:
        """End what runs."""
        async with self._starting:
            for job in self._jobs:
                await self._cancel(job)

    async def start(self, name: str, seeds: int | None, tasks: int | None) -> dict[str, Any]:
        """Start an experiment; gives its document.

        Raises:
            UnknownNameError: There is no such experiment.
            ApiError: 409 while another one runs, 503 when no process can be started.
        """
        await asyncio.to_thread(_check_name, name)
        async with self._starting:
            running = next((job for job in self._jobs if job.state == RUNNING), None)
            if running is not None:
                raise ApiError(
                    409,
                    f"experiment {running.name!r} is running as job {running.id}; wait for it or cancel it",
                    code="experiment_running",
                )
            number = uuid.uuid4().hex[:12]
            folder = Path(self._settings.results_folder).absolute() / f"{name}-{number}"
            words = [name, "--out", str(folder), "--progress-file", str(folder / PROGRESS), "--end-with-input"]
            for option, value in (("--seeds", seeds), ("--tasks", tasks)):
                words += [] if value is None else [option, str(value)]
            try:
                await asyncio.to_thread(_forget_oldest, folder.parent, self._settings.results_kept - 1)
                process = await asyncio.to_thread(_launch, words, folder, self._settings.database)
            except OSError as error:
                _LOG.warning("experiment %s cannot be started: %s", name, error)
                raise ApiError(503, f"the experiment cannot be started: {error.strerror}") from error
            job = ExperimentJob(name, folder, process, number)
            self._background.start(self._watch(job), f"experiment-{number}")
            self._jobs.appendleft(job)
        return await describe(job)

    async def documents(self) -> list[dict[str, Any]]:
        """All jobs, newest first."""
        return [await describe(job) for job in list(self._jobs)]

    async def document(self, job_id: str) -> dict[str, Any]:
        """One job.

        Raises:
            ApiError: 404, also for a job that was dismissed.
        """
        job = self._find(job_id)
        if job.dismissed:
            raise ApiError(404, f"job {job_id} was dismissed; the list of jobs still says how it ended")
        return await describe(job)

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """End a job, if it runs, and dismiss it: only the list knows it from then on. Twice is fine.

        Raises:
            ApiError: 404.
        """
        job = self._find(job_id)
        await self._cancel(job)
        job.dismissed = True
        return await describe(job)

    def _find(self, job_id: str) -> ExperimentJob:
        for job in self._jobs:
            if job.id == job_id:
                return job
        raise ApiError(404, f"there is no such job; the latest {MOST_JOBS} that this process started are known")

    async def _cancel(self, job: ExperimentJob) -> None:
        if job.state == RUNNING and job.cancelled_at is None:
            job.cancelled_at = time.monotonic()
            job.signal(signal.SIGINT)  # as Ctrl-C: it says in the store that it was interrupted
        await job.ended.wait()

    async def _watch(self, job: ExperimentJob) -> None:
        """Wait for its end by polling, which needs no thread and no signal handler."""
        try:
            while job.process.poll() is None:
                await asyncio.sleep(LOOK_SECONDS)
                if job.cancelled_at is not None and time.monotonic() - job.cancelled_at > self._cancel_seconds:
                    job.signal(signal.SIGKILL)
            job.signal(signal.SIGKILL)  # workers that outlived it
            if job.process.stdin is not None:
                job.process.stdin.close()
            state = FAILED if job.cancelled_at is None else CANCELLED
            if job.process.returncode == 0:
                state = FINISHED
            else:
                await self._end_run(job, "failed" if state == FAILED else "interrupted")
            job.message = _MESSAGES[state] if state != FAILED else await asyncio.to_thread(_last_line, job)
            job.state = state
            _LOG.info("experiment %s, job %s: %s %s", job.name, job.id, job.state, job.message)
        finally:
            job.ended.set()

    async def _end_run(self, job: ExperimentJob, status: str) -> None:
        """One that was killed could not do it itself; a run that has ended stays as it is."""
        run_id = (await describe(job))["run_id"]
        if run_id is not None:
            try:
                await self._store_access.store.end_run(run_id, status)
            except StoreError as error:
                _LOG.warning("run %d of job %s could not be ended: %s", run_id, job.id, error)


async def describe(job: ExperimentJob) -> dict[str, Any]:
    """The document of a job."""
    progress = await asyncio.to_thread(_progress, job.folder)
    left = progress.seconds_left if job.state == RUNNING else None
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state,
        "done": progress.done,
        "total": progress.total,
        "seconds_left": left,
        "run_id": progress.run_id,
        "message": job.message,
        "files": list(progress.files),
    }


# Experiments bring much that the web half does without, so it is imported when one is requested.


def _check_name(name: str) -> None:
    from hybrid_scheduler.experiments.registry import find_experiment

    find_experiment(name)


def _progress(folder: Path) -> Any:
    from hybrid_scheduler.experiments.progress_file import read_progress

    return read_progress(folder / PROGRESS)


def _forget_oldest(results: Path, kept: int) -> None:
    """Remove the folders of all but the newest jobs. Folders without our log are left alone."""
    ours = [folder for folder in results.glob("*") if _JOB_FOLDER.fullmatch(folder.name) and not folder.is_symlink()]
    logs = [folder / LOG for folder in ours if (folder / LOG).is_file()]
    for log in sorted(logs, key=lambda log: log.stat().st_mtime, reverse=True)[kept:]:
        shutil.rmtree(log.parent, ignore_errors=True)


def _launch(words: list[str], folder: Path, database: str) -> subprocess.Popen[bytes]:
    make_private_folder(folder)
    with open(folder / LOG, "wb", opener=private_opener) as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hybrid_scheduler", "experiment", *words],
            stdin=subprocess.PIPE,  # it ends when we do, however that happens
            stdout=log,
            stderr=log,
            env=os.environ | {"DATABASE_URL": database},
            start_new_session=True,
            umask=UMASK,
        )
    with contextlib.suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
    return process


def _last_line(job: ExperimentJob) -> str:
    lines = (job.folder / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    return last[:500] or f"its process ended with status {job.process.returncode}"
