"""The commands: one vocabulary for a click, a REST call and a scenario step. A command is a mapping with `do`.

| do | with | what happens |
|---|---|---|
| kill, restart, pause, resume, stop, power_loss | broker, node or leader_of | to the process |
| power_loss | torn: true | part of what was not flushed is left, damaged |
| add_broker | broker, rack, settings, generated | it joins: no replicas yet; without `broker` it gets the next id |
| add_machine | broker | a blank machine with the id of a broker: refused while that one lives |
| add_controller | controller | it joins a KRaft cluster, catches up as an observer, and gets a vote |
| remove_controller | controller | it loses its vote, and goes on as an observer |
| update_feature | feature, level, downgrade | another feature level: `kafka-features upgrade`, `downgrade` |
| create_topic, delete_topic, add_partitions | topic, partitions, replication_factor, configs | by the admin client |
| elect_leaders | topic and partition, or neither; unclean | the preferred leader, or any replica that is alive |
| reassign | topic, partition, replicas, throttle | other replicas, the preferred leader first; bytes a second |
| verify_reassignment | topic | when nothing moves any more, the throttles go |
| cancel_reassignment | topic, partition | the replicas of before |
| move_replica | broker, topic, partition, directory, throttle | it is copied to another log directory of the broker |
| delete_records | topic, partition, before | the log starts at that offset, or at the high watermark |
| reset_offsets | group, topic, partition, and one of to, to_offset, to_ms, by_ms, shift_by | where the group goes on |
| delete_offsets | group, topic | the group forgets where it has got to in the topic |
| abort_transaction | topic, partition | the oldest open transaction, past its coordinator: `kafka-transactions abort` |
| alter_config | topic, broker or group, set | settings that change while it runs |
| set_protection | set {name: true or false} | what replication protects itself with, put in place or taken away |
| set_stage_costs | set {network_us, io_us} | what a request costs a thread of each stage, on all brokers |
| produce | topic, value, key, headers, partition, acks | a record by hand; value: null: a tombstone; acks: any number |
| produce | the same, to, damaged | once to broker `to`, whoever leads; with a bit turned over behind its checksum |
| ask_versions | broker, node or leader_of; version | ApiVersions, also in a version that there is not |
| partition_link, heal_link | between [A, B], one_way | nothing passes; passes again |
| delay_link | between [A, B], delay_ms, one_way | each message is late by so much |
| drop_link | between [A, B], probability, one_way | messages are lost, and the connection with them |
| duplicate_link, reorder_link | between [A, B], probability, one_way | what TCP never does |
| bandwidth_link | between [A, B], bytes_per_s, one_way | messages wait for their turn |
| lose_next | between [A, B], api | the next such request from A to B is lost, and nothing else |
| hold_next | between [A, B], api, delay_ms | the next such request is held up for so long; others overtake it |
| deliver_next | between [A, B] | what is first on its way from A to B arrives now, and nothing else happens |
| drop_next | between [A, B] | what is first on its way from A to B is lost, and nothing else |
| isolate | broker, one_way | cut off from everybody |
| random_halves | | the brokers fall into two halves that do not hear each other |
| disk_full, disk_write_error, disk_read_error, lost_fsync | broker, directory, times, on_call, probability | disks |
| misdirected_write | the same | an append lands in an earlier place of its file |
| slow_disk | the same, latency_ms | an append or flush takes so much longer |
| bit_flip | broker, topic, partition, offset, field | a bit of the batch with that offset turns over |
| lose_index | broker, topic, partition, offset, torn | the indexes of a stopped broker's segment are gone, or cut |
| repair_disk | broker | it works again |
| wipe | broker | the process is killed, its disks are empty |
| clock_skew | broker, ms | its clock is wrong by so much |
| set_clocks | forward_ms | all clocks show so much more; `outside`: for one who writes from there |
| expire_session | broker | the coordination tree gives its session up (ZooKeeper only) |
| remove_deleted | | files of deleted topics and segments go now, not `file.delete.delay.ms` later |
| stop_all_faults | | links healed, disks work, clocks are right, paused processes go on |
| start_client, stop_client, set_client | name, ... | built-in producers, consumers, processors and workers |

`broker: 2`, `node: zookeeper-1`, `leader_of: orders-0`, `follower_of: orders-0` (the first of the assignment that
does not lead) and `controller: any` name a process. In `between`, `leader_of:orders-0`
and `followers_of:orders-0` stand for those that lead and follow at that moment, a number for a broker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker_core.kernel.problems import problem
from broker_core.metadata.feature_levels import SUPPORTED
from broker_core.wire.apis import ApiKey, api_name
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.client_spec import client_from_dict
from lab.clusters.neighbour_spec import ANY
from lab.clusters.spec import MOST_STAGE_US, PROTECTIONS, STAGES
from lab.clusters.topic_spec import topic_configs
from lab.faults.disks import BATCH_FIELDS

Check = Callable[[Any, Place], Any]


@dataclass(frozen=True, slots=True)
class CommandKind:
    """Which keys a command has, how each is checked, and which must be there; of those `together` all or none."""

    keys: dict[str, Check]
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    together: tuple[str, ...] = ()


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


def _milliseconds(value: Any, place: Place) -> int:
    return checks.integer(value, place, -(1 << 42), 1 << 42)


def _forward(value: Any, place: Place) -> int:
    """Milliseconds, up to 139 years."""
    return checks.integer(value, place, 1, 1 << 42)


def _api(value: Any, place: Place) -> str:
    """An API by Kafka's name: UpdateMetadata."""
    return checks.choice(value, place, [api_name(key) for key in ApiKey])


def _field(value: Any, place: Place) -> str:
    return checks.choice(value, place, BATCH_FIELDS)


def _topic_partition(value: Any, place: Place) -> str:
    """`orders-0`."""
    name, dash, number = str(value).rpartition("-")
    if not dash or not name or not number.isdigit():
        raise SpecError(place, problem("expected_partition", given=str(value)))
    return str(value)


def _any(value: Any, place: Place) -> str:
    """There is one: `any`; each neighbour has another one, `payments`."""
    return checks.text(value, place) if isinstance(value, str) else checks.choice(value, place, (ANY,))


def _assignment(value: Any, place: Place) -> list[list[int]]:
    """One list of brokers for each partition, the preferred leader first."""
    rows = [checks.items(one, (*place, index)) for index, one in enumerate(checks.items(value, place))]
    for index, row in enumerate(rows):
        for number, broker in enumerate(row):
            checks.integer(broker, (*place, index, number), 0)
    return rows


def _replicas(value: Any, place: Place) -> list[int]:
    """Brokers, the preferred leader first."""
    found = [checks.integer(one, (*place, index), 0) for index, one in enumerate(checks.items(value, place))]
    if not found:
        raise SpecError(place, problem("no_brokers_given"))
    checks.unique([str(one) for one in found], place, "broker")
    return found


def _pair(value: Any, place: Place) -> list[Any]:
    """Two ends of a link."""
    ends = checks.items(value, place)
    if len(ends) != 2:
        raise SpecError(place, problem("two_ends", n=len(ends)))
    for index, end in enumerate(ends):
        if isinstance(end, str) and end.startswith(("leader_of:", "followers_of:")):
            _topic_partition(end.split(":", 1)[1], (*place, index))
        elif not isinstance(end, int):
            checks.text(end, (*place, index))
    return ends


def _feature(value: Any, place: Place) -> str:
    return checks.choice(value, place, list(SUPPORTED))


def _settings(value: Any, place: Place) -> dict[str, str | None]:
    """Name -> value, or null to take it back."""
    given = checks.mapping(value, place)
    if not given:
        raise SpecError(place, problem("no_settings_given"))
    return {name: None if one is None else checks.setting(one, (*place, name)) for name, one in given.items()}


def _own_settings(value: Any, place: Place) -> dict[str, str]:
    """Name -> value; they are checked beside those of the cluster, when the command is carried out."""
    return {name: checks.setting(one, (*place, name)) for name, one in checks.mapping(value, place).items()}


def _switches(value: Any, place: Place) -> dict[str, bool]:
    """Protection -> whether it is in place."""
    given = checks.mapping(value, place, PROTECTIONS)
    if not given:
        raise SpecError(place, problem("no_switches_given"))
    return {name: checks.truth(on, (*place, name)) for name, on in given.items()}


def _stage_costs(value: Any, place: Place) -> dict[str, int]:
    """Stage -> microseconds; a stage that is not named keeps its own."""
    given = checks.integers(value, place, STAGES, 0, MOST_STAGE_US)
    if not given:
        raise SpecError(place, problem("no_settings_given"))
    return given


def _border(value: Any, place: Place) -> str:
    return checks.choice(value, place, ("earliest", "latest"))


def _acks(value: Any, place: Place) -> str:
    """Any number that the request has room for: what is none of 0, 1 and all is for the broker to refuse."""
    if str(value) == "all":
        return "all"
    given = int(value) if isinstance(value, str) and value.lstrip("-").isdigit() and len(value) < 7 else value
    return str(checks.integer(given, place, -(1 << 15), (1 << 15) - 1))


def _value(value: Any, place: Place) -> Any:
    if not isinstance(value, (str, int, float)):
        raise SpecError(place, problem("expected_text", found=checks.kind(value)))
    return value


def _content(value: Any, place: Place) -> Any:
    """Of a record or a header; null is none at all."""
    return None if value is None else _value(value, place)


def _headers(value: Any, place: Place) -> dict[str, Any]:
    """Name -> content, in this order."""
    return {name: _content(one, (*place, name)) for name, one in checks.mapping(value, place).items()}


_TARGET: dict[str, Check] = {
    "broker": _whole(0), "node": checks.text, "leader_of": _topic_partition, "follower_of": _topic_partition,
    "controller": _any,
}  # fmt: skip
TARGETS = tuple(_TARGET)
OF_NEIGHBOURS = ("kill", "power_loss", "restart", "pause", "resume", "stop", "isolate")
"""What can be done to a process of a neighbour, `payments/broker-1`; links to it can be broken, too."""
_LINK: dict[str, Check] = {"between": _pair, "one_way": checks.truth}
_CLIENT: dict[str, Check] = dict.fromkeys(
    ("kind", "topic", "settings", "era", "rate", "size", "keys", "count", "partition", "process_ms", "commit",
     "into", "transaction_records", "transaction_ms", "abort_share", "fails", "fail_share", "on_failure",
     "renews"), _value
)


_throttle = _whole(0, 1 << 62)
"""Bytes per second."""
_PARTITION: dict[str, Check] = {"topic": checks.text, "partition": _whole(0)}

_RESETS: dict[str, Check] = {
    "to": _border, "to_offset": _whole(0, 1 << 62), "to_ms": _whole(0, 1 << 42), "by_ms": _whole(0, 1 << 42),
    "shift_by": _whole(-(1 << 62), 1 << 62),
}  # fmt: skip
"""`kafka-consumer-groups --reset-offsets` has --to-earliest and --to-latest, --to-offset, --to-datetime (here
milliseconds of the cluster's time), --by-duration, --shift-by."""

_DISK: dict[str, Check] = {
    "directory": checks.text, "once": checks.truth, "times": _whole(1), "on_call": _whole(1),
    "probability": _probability,
}  # fmt: skip


def _process(required: tuple[str, ...] = (), **more: Check) -> CommandKind:
    return CommandKind({**_TARGET, **more}, required, one_of=TARGETS)


KINDS: dict[str, CommandKind] = {
    **{
        name: _process()
        for name in ("kill", "restart", "pause", "resume", "stop", "wipe", "repair_disk", "expire_session")
    },
    "power_loss": _process(torn=checks.truth),
    "add_broker": CommandKind(
        {"broker": _whole(0), "rack": checks.text, "settings": _own_settings, "generated": checks.truth}),
    "add_machine": CommandKind({"broker": _whole(0)}, ("broker",)),
    "add_controller": CommandKind({"controller": _whole(0)}),
    "remove_controller": CommandKind({"controller": _whole(0)}, ("controller",)),
    "update_feature": CommandKind(
        {"feature": _feature, "level": _whole(0, 32_767), "downgrade": checks.truth}, ("feature", "level")),
    "create_topic": CommandKind(
        {"topic": checks.text, "partitions": _whole(1, 10_000), "replication_factor": _whole(1, 30),
         "configs": topic_configs, "assignment": _assignment}, ("topic",)),
    "delete_topic": CommandKind({"topic": checks.text}, ("topic",)),
    "add_partitions": CommandKind({"topic": checks.text, "partitions": _whole(2, 10_000)}, ("topic", "partitions")),
    "elect_leaders": CommandKind({**_PARTITION, "unclean": checks.truth}, together=tuple(_PARTITION)),
    "reassign": CommandKind(
        {**_PARTITION, "replicas": _replicas, "throttle": _throttle}, (*_PARTITION, "replicas")),
    "verify_reassignment": CommandKind({"topic": checks.text}, ("topic",)),
    "cancel_reassignment": CommandKind(_PARTITION, tuple(_PARTITION)),
    "move_replica": CommandKind(
        {"broker": _whole(0), **_PARTITION, "directory": checks.text, "throttle": _throttle},
        ("broker", *_PARTITION, "directory")),
    "delete_records": CommandKind({**_PARTITION, "before": _whole(0)}, tuple(_PARTITION)),
    "reset_offsets": CommandKind(
        {"group": checks.text, **_PARTITION, **_RESETS}, ("group", "topic"), tuple(_RESETS)),
    "delete_offsets": CommandKind({"group": checks.text, "topic": checks.text}, ("group", "topic")),
    "abort_transaction": CommandKind(_PARTITION, ("topic", "partition")),
    "alter_config": CommandKind(
        {"topic": checks.text, "broker": _whole(0), "group": checks.text, "set": _settings}, ("set",),
        ("topic", "broker", "group")),
    "set_protection": CommandKind({"set": _switches}, ("set",)),
    "set_stage_costs": CommandKind({"set": _stage_costs}, ("set",)),
    "produce": CommandKind(
        {"topic": checks.text, "partition": _whole(0), "key": _value, "value": _content, "headers": _headers,
         "acks": _acks, "to": _whole(0), "damaged": checks.truth}, ("topic", "value")),
    "ask_versions": _process(("version",), version=_whole(0, (1 << 15) - 1)),
    "partition_link": CommandKind(_LINK, ("between",)),
    "heal_link": CommandKind(_LINK, ("between",)),
    "delay_link": CommandKind({**_LINK, "delay_ms": _delay, "jitter_ms": _delay}, ("between", "delay_ms")),
    **{name: CommandKind({**_LINK, "probability": _probability}, ("between", "probability"))
       for name in ("drop_link", "duplicate_link", "reorder_link")},
    "bandwidth_link": CommandKind({**_LINK, "bytes_per_s": _whole(1)}, ("between", "bytes_per_s")),
    "lose_next": CommandKind({"between": _pair, "api": _api}, ("between", "api")),
    "hold_next": CommandKind({"between": _pair, "api": _api, "delay_ms": _delay}, ("between", "api", "delay_ms")),
    "deliver_next": CommandKind({"between": _pair}, ("between",)),
    "drop_next": CommandKind({"between": _pair}, ("between",)),
    "isolate": _process(one_way=checks.truth),
    "random_halves": CommandKind({}),
    **{name: _process((), **_DISK)
       for name in ("disk_full", "disk_write_error", "disk_read_error", "lost_fsync", "misdirected_write")},
    "slow_disk": _process(("latency_ms",), **_DISK, latency_ms=_delay),
    "bit_flip": _process(
        ("topic", "partition", "offset"), topic=checks.text, partition=_whole(0), offset=_whole(0), field=_field),
    "lose_index": _process(
        ("topic", "partition"), topic=checks.text, partition=_whole(0), offset=_whole(0), torn=checks.truth),
    "clock_skew": _process(("ms",), ms=_milliseconds),
    "set_clocks": CommandKind({"forward_ms": _forward, "outside": checks.truth}, ("forward_ms",)),
    "remove_deleted": CommandKind({}),
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
        known = checks.expected(str(name), list(KINDS))
        raise SpecError((*place, "do"), problem("unknown_command", given=str(name), expected=known))
    kind = KINDS[name]
    together = kind.together if any(key in given for key in kind.together) else ()
    checks.mapping(given, place, ["do", *kind.keys], (*kind.required, *together))
    found = [key for key in kind.one_of if key in given]
    if kind.one_of and len(found) != 1:
        raise SpecError(place, problem("one_key_of", name=name, known=kind.one_of, n=len(found)))
    if name == "start_client" and len(given) > 2:
        client_from_dict({key: one for key, one in given.items() if key != "do"}, place)
        return given
    checked = {key: kind.keys[key](given[key], (*place, key)) for key in kind.keys if key in given}
    return {"do": name, **checked}
