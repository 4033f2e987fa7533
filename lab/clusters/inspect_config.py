"""Settings as the inspector shows them: value, default, source, meaning, and whether they change while it runs.

What a setting means stands beside it in the core, in English; `settings.ko.json` says the same in Korean.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from broker_core.kernel.errors import CommandError
from broker_core.kernel.world import World
from broker_core.metadata import znodes
from broker_core.metadata.configs import BrokerConfig, ConfigEntry, ConfigSource
from broker_core.metadata.configs_topics import describe_topic
from lab.clusters.observe import brokers, tree


def config(world: World, name: str) -> dict[str, Any]:
    """`topic:orders` or `broker:2`."""
    kind, _, which = name.partition(":")
    if kind == "broker":
        found = running(world, which)
        entries = [found.describe(one) for one in found.names()]
        return {"name": name, "entries": [entry(one) for one in entries]}
    path = znodes.config_path("topics", which)
    node = tree(world).get(path)
    if kind != "topic" or (node is None and znodes.topic_path(which) not in tree(world)):
        raise CommandError(f"there is no {kind} {which}", "name")
    overrides = znodes.decode_config(node.data) if node is not None and node.data else {}
    return {"name": name, "entries": [entry(one) for one in describe_topic(overrides, running(world, None))]}


def running(world: World, which: str | None) -> BrokerConfig:
    """The settings of a broker that runs; of any one without a name."""
    for number, node in brokers(world):
        machine: Any = node.machine
        if machine is not None and which in (None, str(number)):
            found: BrokerConfig = machine.config
            return found
    raise CommandError("no broker runs" if which is None else f"broker {which} does not run", "name")


def entry(one: ConfigEntry) -> dict[str, Any]:
    """One setting as plain data."""
    default = next((place.value for place in one.synonyms if place.source == ConfigSource.DEFAULT), None)
    changed = one.source not in (ConfigSource.DEFAULT,)
    return {
        "name": one.name, "value": one.value, "default": default, "source": one.source.name, "changed": changed,
        "read_only": one.read_only, "type": one.type.name, "doc": one.doc,
        "ko": korean().get(one.name, one.doc),
    }  # fmt: skip


@cache
def korean() -> dict[str, str]:
    """Name of a setting -> what it means."""
    found: dict[str, str] = orjson.loads((Path(__file__).parent / "settings.ko.json").read_bytes())
    return found
