"""The host names the service answers to, against DNS rebinding: a foreign name that was made to resolve to it."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.errors import ApiError


class AllowedHosts:
    """Addresses, localhost and the machine's own name always; the names of `ALLOWED_HOSTS` and `ALLOWED_ORIGINS` too.

    An address in a URL cannot be rebound, and an operator who allows an origin trusts its pages anyway.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        own = socket.gethostname().lower()
        origins = (_host_of(origin) for origin in settings.allowed_origins)
        given = {name.lower().rstrip(".") for name in (*settings.allowed_hosts, *origins) if name}
        self._any = "*" in given
        self._names = given | {"localhost", own, own.partition(".")[0]}
        self._endings = (".localhost", *(name[1:] for name in given if name.startswith("*.")))

    def check(self, headers: Headers) -> None:
        """Refuse a call under another name. One without `Host` comes from no browser.

        Raises:
            ApiError: 421.
        """
        for host in headers.getlist("host"):
            if not self._any and not self._is_allowed(host_name(host)):
                raise ApiError(
                    421,
                    f"the service does not answer to the name {host[:100]!r}; the operator can allow it with "
                    "ALLOWED_HOSTS",
                )

    def _is_allowed(self, name: str) -> bool:
        return name in self._names or name.endswith(self._endings) or _is_address(name)


def host_name(host: str) -> str:
    """A `Host` without its port, in small letters; an IPv6 address without its brackets."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.strip().lower().rstrip(".")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return _is_address(name) and ipaddress.ip_address(name).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _host_of(origin: str) -> str:
    try:
        return host_name(urlsplit(origin).netloc)
    except ValueError:  # e.g. a broken IPv6 address
        return ""
