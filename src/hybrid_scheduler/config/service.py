"""The service's settings: environment variables, or a `.env` file in the working folder."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from hybrid_scheduler.model.errors import InvalidInputError

DEFAULT_DATABASE = "sqlite+aiosqlite:///data/hybrid_scheduler.db"
SMALLEST_STORE = 16
"""Megabytes."""
SHORTEST_TOKEN = 16
"""Characters of a token in production."""


class ServiceSettings(BaseSettings):
    """Everything about the service that depends on where it runs.

    Attributes:
        environment: `production` logs JSON, shows no debug output, and refuses to listen beyond loopback without
            `API_TOKEN`.
        postgres_host: When set, PostgreSQL is the store.
        postgres_port: Its port.
        postgres_user: Its user.
        postgres_password: The user's password.
        postgres_db: Its database.
        database_url: An SQLAlchemy URL (`sqlite+aiosqlite:///…` or `postgresql+asyncpg://…`); beats `POSTGRES_*`.
        redis_host: When set, Redis (port 6379) shares cache, rate limits and live feed between server processes.
        redis_url: The same as a URL; beats `REDIS_HOST`.
        api_token: When set, every call that changes something needs it as `Authorization: Bearer …`, and so does the
            WebSocket (there also as `?token=…`). Printable ASCII without spaces at its ends; in production at least 16
            characters.
        allowed_hosts: Names, separated by commas, under which the service may be called, besides addresses, localhost
            and the machine's own name; `*.lab.example` stands for every name below, `*` for any.
        allowed_origins: Other sites, separated by commas, whose pages may call the API and open the WebSocket.
        rate_limit: Calls per client, e.g. `300/minute`.
        write_rate_limit: The same for calls that change something.
        max_body_bytes: A larger request body is refused.
        max_clients: More WebSocket clients than this are refused.
        max_connections: Connections of all kinds; when there are more, those that ask for nothing go first.
        max_connections_per_address: Connections from one address, trusted proxies excepted; 0 for no limit.
        update_hz: Live updates per second.
        log_format: `text` or `json`; by default text on a terminal and JSON in production.
        log_level: Least level that is logged.
        log_file: Rotating log file; empty for none.
        model_folder: Where the live learners are saved.
        trace_folder: CSV files here may be raced live by name.
        results_folder: Where experiments started by the API write their results.
        results_kept: So many of their folders are kept, the newest.
        retention_days: Tasks stored longer ago are forgotten; 0 for no limit. Of the three limits the first counts.
        retention_tasks: Most tasks kept; 0 for no limit.
        retention_mb: Most megabytes the store takes, at least 16; 0 for no limit.
        save_interval: Seconds between two saves of the live learners.
        learn_from_store: Train the live learners on the labels in the store when the service starts.
    """

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True)

    environment: Literal["development", "production", "test"] = "development"
    postgres_host: str | None = None
    postgres_port: Annotated[int, Field(ge=1, le=65535)] = 5432
    postgres_user: str = "postgres"
    postgres_password: SecretStr = SecretStr("")
    postgres_db: str = "hybrid_scheduler_db"
    database_url: SecretStr | None = None
    redis_host: str | None = None
    redis_url: SecretStr | None = None
    api_token: SecretStr | None = None
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = ()
    rate_limit: str = "600/minute"
    write_rate_limit: str = "120/minute"
    max_body_bytes: Annotated[int, Field(ge=1024)] = 65_536
    max_clients: Annotated[int, Field(ge=1)] = 1000
    max_connections: Annotated[int, Field(ge=1)] = 2000
    max_connections_per_address: Annotated[int, Field(ge=0)] = 0
    update_hz: Annotated[float, Field(gt=0, le=50)] = 2.0
    log_format: Literal["text", "json"] | None = None
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_file: str = "logs/app.log"
    model_folder: str = "models/live"
    trace_folder: str = "data/workload_traces"
    results_folder: str = "data/results"
    results_kept: Annotated[int, Field(ge=1)] = 50
    retention_days: Annotated[float, Field(ge=0, le=100_000)] = 0.0
    retention_tasks: Annotated[int, Field(ge=0)] = 0
    retention_mb: Annotated[int, Field(ge=0)] = 1024
    save_interval: Annotated[float, Field(gt=0)] = 60.0
    learn_from_store: bool = False

    @field_validator("allowed_hosts", "allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("api_token")
    @classmethod
    def _can_match(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Headers carry ASCII and lose spaces at their ends: any other token would never match."""
        if value is None:
            return None
        token = value.get_secret_value()
        if not (token.isascii() and token.isprintable()) or token != token.strip():
            raise ValueError("it must be printable ASCII without spaces at its ends; `openssl rand -hex 24` makes one")
        if info.data.get("environment") == "production" and len(token) < SHORTEST_TOKEN:
            raise ValueError(
                f"it has {len(token)} characters, but in production it must have at least {SHORTEST_TOKEN}; "
                "`openssl rand -hex 24` makes one"
            )
        return value

    @field_validator("retention_mb")
    @classmethod
    def _room_to_work(cls, value: int) -> int:
        """The log and the room kept for a full disk count, too."""
        if 0 < value < SMALLEST_STORE:
            raise ValueError(f"it must be 0 (no limit) or at least {SMALLEST_STORE}")
        return value

    @cached_property
    def database(self) -> str:
        """The URL of the store, password included: for connecting, not for showing."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        if self.postgres_host is None:
            return DEFAULT_DATABASE
        user, password = quote(self.postgres_user, safe=""), quote(self.postgres_password.get_secret_value(), safe="")
        name = f"{user}:{password}" if password else user
        return f"postgresql+asyncpg://{name}@{self.postgres_host}:{self.postgres_port}/{self.postgres_db}"

    @cached_property
    def redis(self) -> str | None:
        """The URL of Redis, None for the in-process stand-in."""
        if self.redis_url is not None:
            return self.redis_url.get_secret_value()
        return None if self.redis_host is None else f"redis://{self.redis_host}:6379/0"


def load_service_settings() -> ServiceSettings:
    """Read the environment and `.env`.

    Raises:
        InvalidInputError: A variable has a bad value; the message names it, the value and the rule, never a secret.
    """
    try:
        return ServiceSettings()
    except UnicodeDecodeError as error:
        raise InvalidInputError(".env: the file is no text in UTF-8; save it in that encoding") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]).upper()
        secret = any(word in name for word in ("PASSWORD", "TOKEN", "URL"))
        shown = "" if secret else f" is {first['input']!r}, but"
        rule = first["msg"].removeprefix("Value error, ").replace("Input should be", "it must be")
        raise InvalidInputError(f"environment variable {name}{shown}: {rule[0].lower()}{rule[1:]}") from error
