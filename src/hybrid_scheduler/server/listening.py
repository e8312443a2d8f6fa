"""The address the service listens on."""

from __future__ import annotations

import errno
import socket

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.server.hosts import is_loopback

NEARBY = 20
"""Ports after the wanted one that are tried before any free port is offered."""


def check_exposure(host: str, settings: ServiceSettings) -> str:
    """What to warn of when others can reach the service; empty when there is nothing.

    Raises:
        InvalidInputError: It would be open to the network without a token, in production.
    """
    if is_loopback(host) or settings.api_token is not None:
        return ""
    if settings.environment == "production":
        raise InvalidInputError(
            f"--host {host} is open to the network and API_TOKEN is not set, which ENVIRONMENT=production refuses; "
            "set API_TOKEN or listen on 127.0.0.1"
        )
    return f"listening on {host} without API_TOKEN: everybody who reaches this machine can control the service"


def listen(host: str, port: int, backlog: int = 128) -> socket.socket:
    """A listening socket; a port in use is refused.

    Raises:
        InvalidInputError: It cannot be had; for a port in use the message offers a free one.
    """
    try:
        return _bound(host, port, backlog)
    except socket.gaierror as error:
        raise InvalidInputError(f"--host {host!r} is no address of this machine: {error.strerror}") from error
    except PermissionError as error:
        raise InvalidInputError(f"port {port} may not be used by this user; take one above 1023, e.g. 8000") from error
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise InvalidInputError(f"cannot listen on {host} port {port}: {error.strerror or error}") from error
        raise InvalidInputError(
            f"port {port} on {host} is in use by another program; --port {_free_port(host, port)} is free"
        ) from error


def web_address(host: str, listening: socket.socket) -> str:
    """What to type into a browser on this machine."""
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


def _bound(host: str, port: int, backlog: int = 1) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(backlog)
    except OSError:
        made.close()
        raise
    made.setblocking(False)
    return made


def _free_port(host: str, port: int) -> int:
    for candidate in (*range(port + 1, min(port + NEARBY, 65535) + 1), 0):
        try:
            with _bound(host, candidate) as free:
                free_port: int = free.getsockname()[1]
                return free_port
        except OSError:
            continue
    raise InvalidInputError(f"port {port} on {host} is in use by another program, and no other is free")
