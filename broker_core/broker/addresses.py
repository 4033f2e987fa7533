"""Where a broker listens, where its clients are told to find it, and where its logs lie.

A broker has one listener, PLAINTEXT://HOST:PORT in `listeners`; one that is a controller, too, has CONTROLLER://HOST:PORT
behind it (`cluster.kraft`). Clients get that address with the metadata, unless
`advertised.listeners` names another one: that of a tunnel or of a container's host, say. Nobody listens there for us.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from broker_core.metadata.configs_types import invalid

_LISTENER = re.compile(r"PLAINTEXT://(\[[^\]]+\]|[^,/]*):(\d{1,5})(?:,CONTROLLER://[^,]*)?")


class Settings(Protocol):
    """A `BrokerConfig`, or a dictionary of both settings; None is unset."""

    def __getitem__(self, name: str, /) -> Any: ...


def listener_address(config: Settings) -> tuple[str, int]:
    """Host and port of `listeners`. Raises ConfigError."""
    host, port = _address(config, "listeners")
    return host or "127.0.0.1", port


def advertised_address(config: Settings) -> tuple[str, int]:
    """Host and port that clients are told. Raises ConfigError when `advertised.listeners` is no single such address."""
    if not config["advertised.listeners"]:
        return listener_address(config)
    host, port = _address(config, "advertised.listeners")
    if host in ("", "0.0.0.0", "::"):
        value = config["advertised.listeners"]
        raise invalid("advertised.listeners", value, "it must name a host that clients can reach")
    return host, port


def _address(config: Settings, name: str) -> tuple[str, int]:
    value = config[name]
    text = ",".join(value) if isinstance(value, list) else str(value)
    found = _LISTENER.fullmatch(text.strip())
    if found is None or int(found[2]) > 65535:
        raise invalid(name, text, "it must be one listener, PLAINTEXT://HOST:PORT")
    return found[1].strip("[]"), int(found[2])


def log_dirs(config: Settings) -> list[str]:
    """Directories of `log.dirs`, relative to the node's disks."""
    given = config["log.dirs"] or config["log.dir"]
    names = given if isinstance(given, list) else str(given).split(",")
    return [name.strip().strip("/") for name in names if name.strip()]
