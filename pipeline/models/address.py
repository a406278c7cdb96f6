"""Where a model server listens, and whether conversations may be sent there."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from pipeline.errors import ConfigFault


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens. path: what every request's path begins with, without a last /."""

    secure: bool
    host: str
    port: int
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host}:{self.port}{self.path}"


def address(url: str, *, remote: bool, keyed: bool) -> Address:
    """The address in a `server.url`. remote: whether it may be another machine's. keyed: whether
    requests carry a key.

    Raises ConfigFault for what is no such URL, names a user or a password, or leaves this machine
    without leave, or with a key that anybody on the way could read.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad_url() from None
    if parts.username is not None or parts.password is not None:
        raise ConfigFault(
            "`server.url` holds a name or a password, which would stand in every listing of it",
            mend="name the variable that holds the key in `server.key_variable`",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise _bad_url()
    secure, here = parts.scheme == "https", _is_loopback(parts.hostname)
    if not here and not remote:
        raise ConfigFault(
            f"`server.url` leads to {parts.hostname}, and conversations stay on this machine",
            mend="set `server.remote = true` to send them there all the same",
        )
    if keyed and not here and not secure:
        raise ConfigFault(
            f"the key for {parts.hostname} would go over the network in plain sight",
            mend="give `server.url` as https://…",
        )
    return Address(secure, parts.hostname, port or (443 if secure else 80), parts.path.rstrip("/"))


def _bad_url() -> ConfigFault:
    return ConfigFault(
        "`server.url` is no address of a server",
        mend="write it as http://HOST:PORT/v1 or https://HOST/v1",
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
