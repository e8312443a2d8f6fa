"""Logs: readable lines on a terminal, JSON lines on request and in production, a rotating file, and no secrets."""

from __future__ import annotations

import contextvars
import logging
import logging.config
import re
import time
from collections.abc import Iterable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from urllib.parse import unquote, urlsplit

import orjson

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.model.errors import InvalidInputError

FILE_BYTES = 5_000_000
FILES_KEPT = 5
HIDDEN = "***"

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
"""The id of the request at hand; every line logged on its behalf carries it."""

_TOKEN_IN_ADDRESS = re.compile(r"(?i)(\btoken=)[^&\s\"']+")
_PASSWORD_IN_ADDRESS = re.compile(r"(://[^\s:/@]*:)[^\s@/]+@")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


def secrets_of(settings: ServiceSettings) -> list[str]:
    """The words that must not appear in any log."""
    found = {settings.postgres_password.get_secret_value()}
    if settings.api_token is not None:
        found.add(settings.api_token.get_secret_value())
    for address in (settings.database, settings.redis):
        password = urlsplit(address).password if address else None
        found |= {password, unquote(password)} if password else set()
    return sorted(filter(None, found), key=len, reverse=True)


class _Formatter(logging.Formatter):
    """Hides secrets in whatever a line has become."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self.hide(self.line(record))

    def line(self, record: logging.LogRecord) -> str:
        raise NotImplementedError

    def hide(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return _PASSWORD_IN_ADDRESS.sub(rf"\1{HIDDEN}@", _TOKEN_IN_ADDRESS.sub(rf"\1{HIDDEN}", text))


class TextFormatter(_Formatter):
    """`12:30:01 INFO  server.app  message  key=value`."""

    def line(self, record: logging.LogRecord) -> str:
        """One readable line, and the traceback if there is one."""
        clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        name = record.name.removeprefix("hybrid_scheduler.")
        # A line break in a message would let a caller write lines of their own.
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        facts = "".join(f"  {key}={value}" for key, value in _facts(record).items())
        trouble = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{clock} {record.levelname:<7} {name}  {message}{facts}{trouble}"


class JsonFormatter(_Formatter):
    """One JSON object per line: time, level, logger, message, request_id, and what else is known."""

    def line(self, record: logging.LogRecord) -> str:
        """One line."""
        document = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(document, default=str).decode()


def _facts(record: logging.LogRecord) -> dict[str, object]:
    facts: dict[str, object] = {"request_id": request_id.get()} if request_id.get() else {}
    return facts | {key: value for key, value in vars(record).items() if key not in _STANDARD}


def formatter_for(settings: ServiceSettings) -> logging.Formatter:
    """The form of log lines that the settings ask for."""
    wanted = settings.log_format or ("json" if settings.environment == "production" else "text")
    kind = JsonFormatter if wanted == "json" else TextFormatter
    return kind(secrets_of(settings))


def _not_about_one_websocket(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith(('%s - "WebSocket', "connection open", "connection closed"))


def configure_logging(settings: ServiceSettings) -> None:
    """Send every log line of this process to standard error and to the log file.

    Raises:
        InvalidInputError: The log file cannot be written.
    """
    formatter = formatter_for(settings)
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if settings.log_file:
        path = Path(settings.log_file)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handlers.append(RotatingFileHandler(path, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="utf-8"))
        except OSError as error:
            raise InvalidInputError(
                f"environment variable LOG_FILE is {settings.log_file!r}, but the file cannot be written: "
                f"{error.strerror or error}"
            ) from error
    for handler in handlers:
        handler.setFormatter(formatter)
    logging.basicConfig(level=settings.log_level, handlers=handlers, force=True)
    # Our own lines say the same, without query strings.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn.error").addFilter(_not_about_one_websocket)
    for noisy in ("asyncio", "alembic", "aiosqlite", "numba", "matplotlib"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
