"""Logs: readable lines on a terminal, JSON lines on request and in production, a rotating file, and no secrets."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import logging.config
import re
import time
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import orjson

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.server.private_files import PrivateRotatingFile, make_private_folder

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
    secrets = {settings.postgres_password.get_secret_value()}
    if settings.api_token is not None:
        secrets.add(settings.api_token.get_secret_value())
    for address in (settings.database, settings.redis):
        with contextlib.suppress(ValueError):  # it is no URL, which is said elsewhere
            password = urlsplit(address).password if address else None
            secrets |= {password, unquote(password)} if password else set()
    return sorted(filter(None, secrets), key=len, reverse=True)


class _Formatter(logging.Formatter):
    """Hides secrets in what a line is made of, before it becomes one: a secret may be any text, a quote or a comma."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def hide(self, value: object) -> object:
        """Any value; what is no number becomes text without secrets."""
        if value is None or isinstance(value, bool | int | float):
            return value
        text = str(value).encode("utf-8", "replace").decode()  # half a pair of surrogates is no text to write
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return _PASSWORD_IN_ADDRESS.sub(rf"\1{HIDDEN}@", _TOKEN_IN_ADDRESS.sub(rf"\1{HIDDEN}", text))

    def facts(self, record: logging.LogRecord) -> dict[str, object]:
        """What is known besides the message."""
        facts: dict[str, object] = {"request_id": request_id.get()} if request_id.get() else {}
        facts |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        return {key: self.hide(value) for key, value in facts.items()}


class TextFormatter(_Formatter):
    """`12:30:01 INFO  server.app  message  key=value`."""

    def format(self, record: logging.LogRecord) -> str:
        """One readable line, and the traceback if there is one."""
        clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        name = record.name.removeprefix("hybrid_scheduler.")
        # A line break in a message would let a caller write lines of their own.
        message = str(self.hide(record.getMessage())).replace("\r", "\\r").replace("\n", "\\n")
        facts = "".join(f"  {key}={value}" for key, value in self.facts(record).items())
        trouble = f"\n{self.hide(self.formatException(record.exc_info))}" if record.exc_info else ""
        return f"{clock} {record.levelname:<7} {name}  {message}{facts}{trouble}"


class JsonFormatter(_Formatter):
    """One JSON object per line: time, level, logger, message, request_id, and what else is known."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        document = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.hide(record.getMessage()),
            **self.facts(record),
        }
        if record.exc_info:
            document["traceback"] = self.hide(self.formatException(record.exc_info))
        return orjson.dumps(document, default=str).decode()


def formatter_for(settings: ServiceSettings) -> logging.Formatter:
    """The form of log lines that the settings ask for."""
    wanted = settings.log_format or ("json" if settings.environment == "production" else "text")
    kind = JsonFormatter if wanted == "json" else TextFormatter
    return kind(secrets_of(settings))


def _not_about_one_websocket(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith('%s - "WebSocket')


def configure_logging(settings: ServiceSettings, file_bytes: int = FILE_BYTES) -> None:
    """Send every log line of this process to standard error and to the log file.

    Args:
        settings: Form, level and file.
        file_bytes: Most bytes of a log file; then another is begun.

    Raises:
        InvalidInputError: The log file cannot be written.
    """
    formatter = formatter_for(settings)
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if settings.log_file:
        path = Path(settings.log_file)
        try:
            make_private_folder(path.parent)
            handlers.append(PrivateRotatingFile(path, maxBytes=file_bytes, backupCount=FILES_KEPT, encoding="utf-8"))
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
    for noisy in ("asyncio", "alembic", "aiosqlite", "numba", "matplotlib", "websockets"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
