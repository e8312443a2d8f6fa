"""Attacks on the web half: endless headers, silence, crowds, foreign names, kills, broken HTTP."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import stat
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from live_service import LIGHT, LiveService, until
from websockets.sync.client import connect

TOKEN = 'a "token" of \\ odd, {characters}'
CROWD = Path(__file__).with_name("crowd.py")
HOST = b"Host: 127.0.0.1\r\n"
HALF_A_HEADER = b"GET /api/status HTTP/1.1\r\n" + HOST
HALF_A_BODY = b"POST /api/tasks HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nContent-Length: 90\r\n\r\n{"
HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
LONG = {"name": "energy", "seeds": 5, "tasks": 1_000_000}
"""An experiment of several minutes, most of them in compiled code."""


@contextmanager
def served(folder: Path, **environment: str) -> Iterator[LiveService]:
    """A light race."""
    service = LiveService(folder, f"sqlite+aiosqlite:///{folder}/store.db", **environment)
    try:
        yield service.start()
        assert "Traceback" not in service.log(), service.log()[-5000:]
    finally:
        service.close()


def port_of(service: LiveService) -> int:
    port = service.client.base_url.port
    assert port is not None
    return port


def opened(service: LiveService, data: bytes = b"") -> socket.socket:
    """A raw connection on which something was sent."""
    made = socket.create_connection(("127.0.0.1", port_of(service)), 60)
    made.sendall(data)
    return made


def answer(connection: socket.socket) -> tuple[int, Any]:
    """Status and document of one answer."""
    found = http.client.HTTPResponse(connection)
    found.begin()
    return found.status, json.loads(found.read() or b"null")


def megabytes(process: int) -> float:
    """Resident set size."""
    return int(Path(f"/proc/{process}/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


def refused(service: LiveService) -> dict[str, float]:
    """Connections refused or cut, by reason."""
    lines = service.client.get("/api/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("hms_connections_refused_total{")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in found}


class Probe:
    """Asks for health twenty times a second on a new connection each, whether or not the last has been answered."""

    def __init__(self, port: int) -> None:
        self._port, self._over = port, threading.Event()
        self.seconds: list[float] = []
        self.bad: list[str] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        asking = []
        while not self._over.wait(0.05):
            asking.append(threading.Thread(target=self._ask))
            asking[-1].start()
        for each in asking:
            each.join()

    def _ask(self) -> None:
        began = time.perf_counter()
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)) as connection:
                connection.request("GET", "/api/health")
                status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            self.bad.append(repr(error))
        else:
            self.seconds.append(time.perf_counter() - began)
            self.bad += [] if status == 200 else [str(status)]

    def verdict(self) -> str:
        """All were answered, and 99 of 100 within 250 ms."""
        high = statistics.quantiles(self.seconds, n=100)[98]
        assert not self.bad, self.bad[:5]
        assert high < 0.25, f"health p99 is {high * 1e3:.0f} ms"
        return f"health p99 {high * 1e3:.0f} ms of {len(self.seconds)}"


def check_endless_headers(folder: Path) -> str:
    """Five connections with 200 MB of headers each get 431 and take no room."""
    with served(folder) as service:
        before, sent, told = megabytes(service.process_id), 0, 0
        peak = before
        for _ in range(5):
            with opened(service, b"GET / HTTP/1.1\r\nX: ") as connection, suppress(ConnectionError):
                for _ in range(200):
                    connection.sendall(b"a" * 1_000_000)
                    sent += 1
                    peak = max(peak, megabytes(service.process_id))
        for _ in range(5):
            with opened(service, b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 70_000 + b"\r\n\r\n") as connection:
                told += answer(connection)[0] == 431
        grown = peak - before
        assert told == 5
        assert grown < 10, f"the web process has grown by {grown:.0f} MB"
        assert refused(service)["headers_too_large"] == 10
        return f"{sent} MB went in, resident {grown:+.1f} MB"


def check_patience(folder: Path) -> str:
    """Half headers are cut after 10 s, half bodies after 30 s, with 408; silent connections and idle ones go, too."""
    with served(folder) as service, ExitStack() as stack:
        kinds = {"header": (HALF_A_HEADER, 10), "body": (HALF_A_BODY, 30), "silent": (b"", 10)}
        took: dict[str, float] = {}
        began = time.monotonic()
        all_open = {
            kind: [stack.enter_context(closing(opened(service, data))) for _ in range(50)]
            for kind, (data, _) in kinds.items()
        }
        for kind in sorted(kinds, key=lambda kind: kinds[kind][1]):
            for connection in all_open[kind]:
                if kind == "silent":
                    with suppress(ConnectionResetError):
                        assert connection.recv(1) == b""
                else:
                    assert answer(connection)[0] == 408
            took[kind] = time.monotonic() - began
            assert kinds[kind][1] - 0.5 < took[kind] < kinds[kind][1] + 4, took
        lines = [line for line in service.log().splitlines() if "connections refused or cut" in line]
        assert len(lines) < 10, "150 connections, a few lines"
        return ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in took.items())


def check_silence_with_1024_files(folder: Path) -> str:
    """1100 silent connections at `ulimit -n 1024`: health and everything else still answer, and the log says so."""
    python, few_files = sys.executable, folder / "python"
    few_files.write_text(f'#!/bin/sh\nulimit -n 1024\nexec {python} "$@"\n')
    few_files.chmod(0o700)
    with patch.object(sys, "executable", str(few_files)), served(folder) as service:
        assert "may open 1024 files only" in service.log()
        command = [python, str(CROWD), str(port_of(service)), "0", "0", "1100", "8"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as crowd:
            assert crowd.stdout is not None
            assert crowd.stdout.readline() == "connected\n"
            with Probe(port_of(service)) as probe:
                assert service.status()["state"] == "running"
                time.sleep(5)
            crowd.wait()
        assert "no_room" in service.log()
        return f"{probe.verdict()}, {refused(service)['no_room']:.0f} silent ones made room"


def check_crowd(folder: Path) -> str:
    """1000 WebSocket clients, 300 of which never read, and 1100 silent connections at once."""
    with served(folder) as service:
        before = peak = megabytes(service.process_id)
        command = [sys.executable, str(CROWD), str(port_of(service)), "700", "300", "1100", "20"]
        with (
            Probe(port_of(service)) as probe,
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as crowd,
        ):
            assert crowd.stdout is not None
            assert crowd.stdout.readline() == "connected\n"
            began, cut = time.monotonic(), 0.0
            until(lambda: service.status()["feed"]["clients"] > 900, "a thousand clients")
            while crowd.poll() is None:
                peak = max(peak, megabytes(service.process_id))
                if not cut and service.status()["feed"]["clients"] == 700:
                    cut = time.monotonic() - began
                time.sleep(0.1)
            ended = json.loads(crowd.stdout.read())
        grown = peak - before
        assert ended["reader"] == 700, ended
        assert ended["messages"] > 700 * 2 * 15, "two updates a second each"
        assert 5 < cut < 13, f"those who never read were cut after {cut:.1f} s"
        assert grown < 150, f"the web process has grown by {grown:.0f} MB"
        return f"{probe.verdict()}, resident {grown:+.0f} MB, the deaf were cut after {cut:.1f} s"


def check_foreign_names(folder: Path) -> str:
    """DNS rebinding: under a foreign name nothing is read, changed or heard."""
    with served(folder, ALLOWED_HOSTS="lab.example") as service:
        evil = {"Host": "evil.example"}
        paths = ("/", "/api/status", "/api/history/comparative", "/api/health", "/api/metrics", "/assets/x.js")
        codes = [service.client.get(path, headers=evil).status_code for path in paths]
        codes.append(service.client.post("/api/pause", headers=evil).status_code)
        assert set(codes) == {421}, codes
        assert service.client.get("/api/status", headers={"Host": "lab.example"}).status_code == 200
        address = f"ws://127.0.0.1:{port_of(service)}/ws"
        with socket.create_connection(("127.0.0.1", port_of(service))) as raw:
            raw.sendall(HANDSHAKE.replace(b"127.0.0.1", b"evil.example"))
            assert answer(raw)[0] == 421
        with connect(address) as fine:
            assert json.loads(fine.recv(10))
        return f"{len(codes) + 1} ways, all 421"


def check_clock_jumps(folder: Path) -> str:
    """The time of day jumps by an hour either way: `Retry-After` stays within the window."""
    from hybrid_scheduler.server.limits import Limit, Windows

    found = []
    for jump in (3600.0, -3600.0):
        windows, really = Windows(Limit("RATE_LIMIT", 1, 60)), time.time
        windows.hit("client")
        with patch("time.time", lambda jump=jump, really=really: really() + jump):
            found.append(windows.hit("client"))
    assert all(count == 2 and 59 < left <= 60 for count, left in found), found
    return f"{[round(left) for _, left in found]} s left of 60"


def check_engine_that_dies_and_hangs(folder: Path) -> str:
    """An engine that is killed again and again, or stopped, is 503 in health within seconds."""
    with served(folder) as service:
        for _ in range(3):
            service.wait_for("running")
            time.sleep(1.5)
            service.kill_engine()
            service.wait_for("starting")
        until(lambda: service.client.get("/api/health").status_code == 503, "503 of an engine that dies", 10)
        died = service.client.get("/api/health").json()["dependencies"]["engine"]["message"]
        service.wait_for("running")
    shutil.rmtree(folder / "models", ignore_errors=True)
    with served(folder) as service:
        engine = until(lambda: service.engine_id, "an engine")
        os.kill(engine, signal.SIGSTOP)
        began = time.monotonic()
        until(lambda: service.client.get("/api/health").status_code == 503, "503 of an engine that hangs", 30)
        took = time.monotonic() - began
        os.kill(engine, signal.SIGCONT)
        until(lambda: service.client.get("/api/health").status_code == 200, "its recovery", 30)
    return f"killed: {died!r}; stopped: 503 after {took:.0f} s"


def check_experiments_end(folder: Path) -> str:
    """SIGKILL of the web process: five seconds later neither the experiment nor a worker of it runs."""
    with served(folder) as service:
        job = service.client.post("/api/experiments", json=LONG).json()
        place = f"energy-{job['id']}"
        leader = until(lambda: _leader(place), "the experiment")
        until(lambda: len(_group(leader)) >= 3, "its workers")
        time.sleep(5)
        service.kill()
        began = time.monotonic()
        try:
            until(lambda: not _group(leader), "their end", 5.0)
        finally:
            for process in _group(leader):
                os.kill(process, signal.SIGKILL)
        took = time.monotonic() - began
        modes = {stat.S_IMODE(each.stat().st_mode) for each in (folder / "data" / "results" / place).iterdir()}
        assert modes <= {0o600, 0o700}, modes
        return f"all gone after {took:.1f} s"


def _processes() -> Iterator[tuple[int, int, str]]:
    """Number, group and command of every process that runs."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, group, *_ = file.read_text().rpartition(")")[2].split()
            if state != "Z":
                yield int(file.parent.name), int(group), file.with_name("cmdline").read_text()


def _leader(word: str) -> int | None:
    return next((number for number, group, command in _processes() if word in command and number == group), None)


def _group(leader: int) -> list[int]:
    return [number for number, group, _ in _processes() if group == leader]


def check_ending_with_half_bodies(folder: Path) -> str:
    """SIGTERM meets a hundred half-open bodies: the end takes seconds, and the log has no traceback."""
    with served(folder) as service, ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(closing(opened(service, HALF_A_BODY)))
        time.sleep(0.5)
        took = service.end()
        assert took < 8, f"the end took {took:.1f} s"
        return f"ended in {took:.1f} s"


def check_bad_settings(folder: Path) -> str:
    """Settings that cannot work: one line on standard error, exit code 2, no secret in it."""
    bad = {"REDIS_URL": "foo://:hunter2@host", "API_TOKEN": "hunter2 ", "MAX_CONNECTIONS": "0"}
    for name, value in bad.items():
        environment = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ} | {name: value}
        command = [sys.executable, "-m", "hybrid_scheduler", "serve", "--port", "0", "--schedulers", ",".join(LIGHT)]
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        lines = [line for line in ended.stderr.splitlines() if line]
        assert (ended.returncode, len(lines)) == (2, 1), ended.stderr
        assert name in lines[0]
        assert "hunter2" not in lines[0]
    return f"{len(bad)} settings, a line each"


def check_broken_http(folder: Path) -> str:
    """Whatever comes over the wire is answered in the one shape of errors, and every line of the log is JSON."""
    nasties: list[tuple[bytes, int]] = [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", 400),
        (b"HELLO\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"POST /api/tasks HTTP/1.1\r\n" + HOST + b"Content-Length: -5\r\n\r\n", 400),
        (b"POST /api/tasks HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"GET /ws HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 431),
    ]
    with served(folder, API_TOKEN=TOKEN, ENVIRONMENT="production", LOG_LEVEL="DEBUG") as service:
        for data, status in nasties:
            with opened(service, data) as connection:
                found, document = answer(connection)
                assert (found, set(document)) == (status, {"error"}), (data[:50], found, document)
                assert set(document["error"]) == {"code", "message", "details"}
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        wrong = service.client.post("/api/tasks", content=b"size=1", headers=bearer | {"Content-Type": "text/plain"})
        assert wrong.status_code == 415
        service.client.get(f"/api/{TOKEN}")
        with opened(service, HANDSHAKE.replace(b"/ws", b"/ws?token=wrong")) as connection:
            assert answer(connection)[0] == 401
        lines = [line for line in service.log().splitlines() if not line.startswith("Dashboard: ")]
        documents = [json.loads(line) for line in lines]
        assert TOKEN not in service.log()
        assert stat.S_IMODE((folder / "logs" / "app.log").stat().st_mode) == 0o600
        return f"{len(nasties) + 1} refusals, {len(documents)} lines of JSON"
