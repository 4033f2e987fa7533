"""Settings as the inspector shows them: value, default, source, meaning, and whether they change while it runs.

What it means: `meanings`.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.settings import names, parse
from broker_core.kernel.errors import CommandError
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from broker_core.metadata.configs import BrokerConfig, ConfigEntry, ConfigSource
from broker_core.metadata.configs_group import describe_group
from broker_core.metadata.configs_topics import describe_topic
from broker_core.metadata.configs_types import KRAFT
from lab.clusters import eras
from lab.clusters.charge import charge_of, clients_of
from lab.clusters.observe import brokers
from lab.clusters.client_spec import SETTINGS_OF, ClientSpec
from lab.clusters.meanings import korean, of_clients
from lab.truth import truth_of


def config(world: World, name: str) -> dict[str, Any]:
    """`topic:orders`, `broker:2` (`broker:any`: of one that runs), `group:billing` (with KRaft) or
    `client:producer-orders`."""
    kind, _, which = name.partition(":")
    if kind == "broker":
        found = running(world, None if which == "any" else which)
        entries = [found.describe(one) for one in found.names()]
        return {"name": name, "entries": [entry(one, kind) for one in entries]}
    if kind == "client":
        return {"name": name, "entries": _of_client(client_of(world, which))}
    found = running(world, None)
    if kind == "group" and found.era == KRAFT:
        entries = sorted(describe_group(_set_of_group(world, which), found), key=lambda one: one.name)
        return {"name": name, "entries": [entry(one, kind) for one in entries]}
    if kind != "topic":
        raise CommandError(problem("no_object", kind=kind, name=which), "name")
    return {"name": name, "entries": [entry(one, kind) for one in describe_topic(overrides(world, which), found)]}


def overrides(world: World, topic: str) -> dict[str, str]:
    """What a topic has of its own."""
    found = truth_of(world).topic_configs(topic)
    if found is None:
        raise CommandError(problem("no_topic", topic=topic), "name")
    return found


def _set_of_group(world: World, group: str) -> dict[str, str]:
    """What a group has of its own, as a broker that runs has heard; any name may have some."""
    machines: list[Any] = [node.machine for _, node in brokers(world) if node.machine is not None]
    found: dict[str, str] = machines[0].groups.registry.overrides.get(group, {})
    return found


def client_of(world: World, name: str) -> ClientSpec:
    """A built-in client by its name."""
    known = clients_of(world)
    if name not in known or name not in world.nodes:
        raise CommandError(problem("no_client", name=name, known=list(known)), "name")
    return known[name]


def client_as_of(world: World, name: str, seq: int) -> ClientSpec:
    """The same as it was behind event `seq`."""
    charge = charge_of(world)
    changes = [] if charge is None else charge.changes
    known = {client.name: client for at, client in changes if at <= seq}
    if name not in known:
        raise CommandError(problem("no_client", name=name, known=list(known)), "name")
    return known[name]


def _of_client(client: ClientSpec) -> list[dict[str, Any]]:
    """Kafka's settings of a client, and what the lab's own producer does: how often, how large, with how many keys."""
    found: dict[str, tuple[str, Any, Any]] = {}
    then: dict[str, dict[str, Any] | None] = {}
    for half, given in client.halves().items():
        used, plain = parse(SETTINGS_OF[half], given), SETTINGS_OF[half]()
        for name, field in names(SETTINGS_OF[half]).items():
            found[name] = (name, getattr(used, field), getattr(plain, field))
            then[name] = eras.beside(half, name)
    rows, meanings = list(found.values()), of_clients()
    if client.kind == "producer":
        rows += [(name, getattr(client, name), None) for name in ("rate", "size", "keys")]
    return [
        {
            "name": name, "value": _text(value), "default": _text(default), "read_only": False, "type": typed(value),
            "source": "CLIENT" if name in client.settings else "DEFAULT", "changed": name in client.settings,
            "doc": meanings[name]["en"], "ko": meanings[name]["ko"], "eras": then.get(name),
        }
        for name, value, default in sorted(rows)
    ]  # fmt: skip


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    return None if value is None else str(value)


def plain(name: str, value: Any) -> str | None:
    """A client's default as its documentation has it: acks is a number inside, and called all."""
    return "all" if (name, value) == ("acks", -1) else _text(value)


def typed(value: Any) -> str:
    """What Kafka calls the type of a client's setting."""
    return "BOOLEAN" if isinstance(value, bool) else "INT" if isinstance(value, int) else "STRING"


def running(world: World, which: str | None) -> BrokerConfig:
    """The settings of a broker that runs; of any one without a name."""
    for number, node in brokers(world):
        machine: Any = node.machine
        if machine is not None and which in (None, str(number)):
            found: BrokerConfig = machine.config
            return found
    raise CommandError(problem("none_runs") if which is None else problem("broker_down", broker=which), "name")


def entry(one: ConfigEntry, of: str = eras.BROKER) -> dict[str, Any]:
    """One setting as plain data; `eras`: what it was and is, where eras differ."""
    default = next((place.value for place in one.synonyms if place.source == ConfigSource.DEFAULT), None)
    changed = one.source not in (ConfigSource.DEFAULT,)
    return {
        "name": one.name, "value": one.value, "default": default, "source": one.source.name, "changed": changed,
        "read_only": one.read_only, "type": one.type.name, "doc": one.doc,
        "ko": korean().get(one.name) or korean().get(f"group.{one.name}", one.doc), "eras": eras.beside(of, one.name),
    }  # fmt: skip
