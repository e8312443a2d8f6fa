"""Starting and ending: addresses, ports, exposure, signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from hybrid_scheduler.config.service import ServiceSettings, load_service_settings
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.server.listening import check_exposure, listen, web_address
from hybrid_scheduler.server.redis_link import RedisLink

RUN_WITH_FAKE = """
import functools, sys
sys.path[:0] = sys.argv[2:]
from fake_engine import FakeEngine
from hybrid_scheduler.cli import main
from hybrid_scheduler import live
from hybrid_scheduler.server.store_access import StoreAccess
from hybrid_scheduler.store import open_store
live.live_engine = lambda settings, start: FakeEngine(StoreAccess(functools.partial(open_store, settings.database)))
_open = FakeEngine.open
async def open_own_store(self):
    await self._store_access.open()
    await _open(self)
FakeEngine.open = open_own_store
_close = FakeEngine.close
async def close_own_store(self):
    await _close(self)
    await self._store_access.close()
    print("engine closed", flush=True)
FakeEngine.close = close_own_store
sys.exit(main(["serve", "--port", sys.argv[1]]))
"""


def _environment(**more: str) -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")} | more


def _start(folder: Path, port: int = 0, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN_WITH_FAKE, str(port), str(Path(__file__).parent)]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(**environment),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop_and_closes_the_engine(tmp_path: Path, number: signal.Signals) -> None:
    process = _start(tmp_path)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Dashboard: http://127.0.0.1:"), process.communicate(timeout=5)
        address = line.removeprefix("Dashboard: ").strip()
        with urllib.request.urlopen(f"{address}/api/health") as answer:
            assert json.load(answer)["status"] == "ok"
            assert "server" not in {name.lower() for name in answer.headers}
        process.send_signal(number)
        output, _ = process.communicate(timeout=20)
        assert output == "engine closed\n"
        assert process.returncode in (-signal.SIGTERM, 130)
    finally:
        process.kill()
        process.communicate()
    assert (tmp_path / "data" / "hybrid_scheduler.db").is_file()
    assert "GET /api/health" not in (tmp_path / "logs" / "app.log").read_text()
    assert "Shutting down" in (tmp_path / "logs" / "app.log").read_text()


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"DATABASE_URL": "mysql://x/y"}, "mysql"),
        ({"MAX_BODY_BYTES": "5"}, "MAX_BODY_BYTES is '5'"),
        ({"RATE_LIMIT": "often"}, "RATE_LIMIT is 'often'"),
        ({"LOG_FILE": "/proc/none/app.log"}, "LOG_FILE"),
        ({"REDIS_URL": "foo://:secret-word@host"}, "REDIS_URL: it must be like redis://"),
        ({"API_TOKEN": "correct-horse-battery "}, "API_TOKEN: it must be printable ASCII without spaces at its ends"),
    ],
)
def test_a_bad_setting_is_one_line_and_exit_code_2(tmp_path: Path, environment: dict[str, Any], words: str) -> None:
    process = _start(tmp_path, **environment)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 2, errors
    assert output == ""
    last = errors.strip().splitlines()[-1]
    assert last.startswith("hms serve: ")
    assert words in last
    assert "Traceback" not in errors
    assert "secret-word" not in errors
    assert "correct-horse" not in errors


@pytest.mark.parametrize("token", ["pässword-pässword", " correct-horse", "correct-horse\t", "a\nb", "\x00", " "])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ValidationError, match="it must be printable ASCII without spaces at its ends"):
        ServiceSettings(_env_file=None, api_token=SecretStr(token))


def test_a_short_token_is_refused_in_production_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("API_TOKEN", "fifteen-letters")
    assert load_service_settings().api_token is not None
    monkeypatch.setenv("ENVIRONMENT", "production")
    with pytest.raises(InvalidInputError) as refused:
        load_service_settings()
    assert "API_TOKEN: it has 15 characters, but in production it must have at least 16" in str(refused.value)
    assert "fifteen" not in str(refused.value)
    monkeypatch.setenv("API_TOKEN", "sixteen-letters!")
    assert load_service_settings().api_token is not None


@pytest.mark.parametrize(
    "url", ["foo://x", "redis://[::1", "redis://h:port", "redis://h?socket_timeout=x", "", "redis"]
)
def test_a_redis_url_that_is_none_is_said_so(url: str) -> None:
    with pytest.raises(InvalidInputError, match="REDIS_URL: it must be like redis://"):
        RedisLink(url)


def test_a_port_in_use_is_said_and_another_offered(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        process = _start(tmp_path, port)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 2
        assert f"port {port} on 127.0.0.1 is in use by another program; --port " in errors
        offered = int(errors.rsplit("--port ", 1)[1].split()[0])
        with listen("127.0.0.1", offered):
            pass
        # Nobody was disturbed.
        with socket.create_connection(("127.0.0.1", port), 1):
            pass


def test_addresses_that_cannot_be_had_say_why() -> None:
    with pytest.raises(InvalidInputError, match=r"--host 'no\.such\.host\.invalid' is no address"):
        listen("no.such.host.invalid", 0)
    with pytest.raises(InvalidInputError, match=r"cannot listen on 192\.0\.2\.1"):
        listen("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("localhost", "localhost")]
)
def test_the_address_shown_can_be_opened(host: str, shown: str) -> None:
    with listen(host, 0) as listening:
        assert web_address(host, listening) == f"http://{shown}:{listening.getsockname()[1]}"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "", "myhost"])
def test_open_to_the_network_without_a_token(host: str) -> None:
    def settings(**more: Any) -> ServiceSettings:
        return ServiceSettings(_env_file=None, **more)

    assert "without API_TOKEN" in check_exposure(host, settings())
    assert check_exposure(host, settings(api_token="x")) == ""
    assert check_exposure(host, settings(api_token="x" * 16, environment="production")) == ""
    with pytest.raises(InvalidInputError, match="API_TOKEN is not set"):
        check_exposure(host, settings(environment="production"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_token_even_in_production(host: str) -> None:
    assert check_exposure(host, ServiceSettings(_env_file=None, environment="production")) == ""


def test_help_loads_no_web_framework() -> None:
    code = (
        "import sys; from hybrid_scheduler.cli import main; main(['serve', '--help']);"
        "print(sorted({'fastapi', 'starlette', 'uvicorn', 'redis', 'sqlalchemy'} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.endswith("[]\n")
