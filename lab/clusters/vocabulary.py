"""The commands: one vocabulary for a click, a REST call and a scenario step. A command is a mapping with `do`.

| do | with | what happens |
|---|---|---|
| kill, restart, pause, resume, stop, power_loss | broker, node or leader_of | to the process |
| create_topic, delete_topic, add_partitions | topic, partitions, replication_factor, configs | by the admin client |
| alter_config | topic or broker, set | settings that change while it runs |
| produce | topic, value, key, partition, acks | one record by hand |
| partition_link, heal_link | between [A, B], one_way | nothing passes; passes again |
| delay_link | between [A, B], delay_ms, one_way | each message is late by so much |
| drop_link | between [A, B], probability, one_way | messages are lost, and the connection with them |
| stop_all_faults | | all links healed, paused processes go on |
| start_client, stop_client, set_client | name, ... | built-in producers and consumers |

`broker: 2`, `node: zookeeper-1`, `leader_of: orders-0`, `follower_of: orders-0` (the first of the assignment that
does not lead) and `controller: any` name a process. In `between`, `leader_of:orders-0`
and `followers_of:orders-0` stand for those that lead and follow at that moment, a number for a broker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.spec import client_from_dict, topic_configs

Check = Callable[[Any, Place], Any]


@dataclass(frozen=True, slots=True)
class CommandKind:
    """Which keys a command has, how each is checked, and which must be there."""

    keys: dict[str, Check]
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()


def _whole(least: int, most: int | None = None) -> Check:
    return _Within(least, most)


@dataclass(frozen=True, slots=True)
class _Within:
    least: int
    most: int | None

    def __call__(self, value: Any, place: Place) -> Any:
        return checks.integer(value, place, self.least, self.most)


def _probability(value: Any, place: Place) -> float:
    return checks.number(value, place, 0, 1)


def _delay(value: Any, place: Place) -> float:
    return checks.number(value, place, 0, 3_600_000)


def _topic_partition(value: Any, place: Place) -> str:
    """`orders-0`."""
    name, dash, number = str(value).rpartition("-")
    if not dash or not name or not number.isdigit():
        raise SpecError(place, f"{value!r}: expected TOPIC-PARTITION, as in orders-0")
    return str(value)


def _any(value: Any, place: Place) -> str:
    """There is one: `any`."""
    return checks.choice(value, place, ("any",))


def _assignment(value: Any, place: Place) -> list[list[int]]:
    """One list of brokers for each partition, the preferred leader first."""
    rows = [checks.items(one, (*place, index)) for index, one in enumerate(checks.items(value, place))]
    for index, row in enumerate(rows):
        for number, broker in enumerate(row):
            checks.integer(broker, (*place, index, number), 0)
    return rows


def _pair(value: Any, place: Place) -> list[Any]:
    """Two ends of a link."""
    ends = checks.items(value, place)
    if len(ends) != 2:
        raise SpecError(place, f"expected two ends, as in [broker-1, broker-2], found {len(ends)}")
    for index, end in enumerate(ends):
        if isinstance(end, str) and end.startswith(("leader_of:", "followers_of:")):
            _topic_partition(end.split(":", 1)[1], (*place, index))
        elif not isinstance(end, int):
            checks.text(end, (*place, index))
    return ends


def _settings(value: Any, place: Place) -> dict[str, str | None]:
    """Name -> value, or null to take it back."""
    given = checks.mapping(value, place)
    if not given:
        raise SpecError(place, "expected at least one setting")
    return {name: None if one is None else checks.setting(one, (*place, name)) for name, one in given.items()}


def _acks(value: Any, place: Place) -> str:
    return checks.choice(str(value), place, ("all", "-1", "0", "1"))


def _value(value: Any, place: Place) -> Any:
    if not isinstance(value, (str, int, float)):
        raise SpecError(place, f"expected a text, found {checks.kind(value)}")
    return value


_TARGET: dict[str, Check] = {
    "broker": _whole(0), "node": checks.text, "leader_of": _topic_partition, "follower_of": _topic_partition,
    "controller": _any,
}  # fmt: skip
_LINK: dict[str, Check] = {"between": _pair, "one_way": checks.truth}
_CLIENT: dict[str, Check] = dict.fromkeys(
    ("kind", "topic", "settings", "era", "rate", "size", "keys", "count", "partition", "process_ms", "commit"), _value
)


def _process() -> CommandKind:
    return CommandKind(_TARGET, one_of=tuple(_TARGET))


KINDS: dict[str, CommandKind] = {
    **{name: _process() for name in ("kill", "restart", "pause", "resume", "stop", "power_loss")},
    "create_topic": CommandKind(
        {"topic": checks.text, "partitions": _whole(1, 10_000), "replication_factor": _whole(1, 30),
         "configs": topic_configs, "assignment": _assignment}, ("topic",)),
    "delete_topic": CommandKind({"topic": checks.text}, ("topic",)),
    "add_partitions": CommandKind({"topic": checks.text, "partitions": _whole(2, 10_000)}, ("topic", "partitions")),
    "alter_config": CommandKind(
        {"topic": checks.text, "broker": _whole(0), "set": _settings}, ("set",), ("topic", "broker")),
    "produce": CommandKind(
        {"topic": checks.text, "partition": _whole(0), "key": _value, "value": _value, "acks": _acks},
        ("topic", "value")),
    "partition_link": CommandKind(_LINK, ("between",)),
    "heal_link": CommandKind(_LINK, ("between",)),
    "delay_link": CommandKind({**_LINK, "delay_ms": _delay}, ("between", "delay_ms")),
    "drop_link": CommandKind({**_LINK, "probability": _probability}, ("between", "probability")),
    "stop_all_faults": CommandKind({}),
    "start_client": CommandKind({"name": checks.text, **_CLIENT}, ("name",)),
    "stop_client": CommandKind({"name": checks.text}, ("name",)),
    "set_client": CommandKind({"name": checks.text, "set": _settings}, ("name", "set")),
}  # fmt: skip


def check_command(value: Any, place: Place = ()) -> dict[str, Any]:
    """The command with all values checked; raises SpecError naming the key."""
    given = checks.mapping(value, place, None, ("do",))
    name = given["do"]
    if name not in KINDS:
        raise SpecError((*place, "do"), f"unknown command {name!r}, {checks.expected(str(name), list(KINDS))}")
    kind = KINDS[name]
    checks.mapping(given, place, ["do", *kind.keys], kind.required)
    found = [key for key in kind.one_of if key in given]
    if kind.one_of and len(found) != 1:
        raise SpecError(place, f"{name}: expected exactly one of {', '.join(kind.one_of)}, found {len(found)}")
    if name == "start_client" and len(given) > 2:
        client_from_dict({key: one for key, one in given.items() if key != "do"}, place)
        return given
    checked = {key: kind.keys[key](given[key], (*place, key)) for key in kind.keys if key in given}
    return {"do": name, **checked}
