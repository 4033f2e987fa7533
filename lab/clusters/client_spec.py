"""The description of a built-in client: what kind it is, what it reads and writes, and its settings.

| kind | reads `topic` | writes to | what it is |
|---|---|---|---|
| producer | | `topic` | an application that sends running numbers; in transactions with a `transactional.id` |
| consumer | yes | | the poll loop, with or without a group |
| worker | yes, in a share group | | takes records from a queue and says what became of each (KIP-932) |
| processor | yes, in a group | `into` | consume, transform, produce: with a `transactional.id` exactly once |

A processor has a consumer and a producer: a setting that only one of them has is for that one, others are for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from broker_core.clients.converging_member import PATTERN
from broker_core.clients.settings import (
    ACKNOWLEDGEMENT_MODE, CLASSIC, CLASSIC_ONLY, CONSUMER, ERAS, EXPLICIT, GROUP_PROTOCOL, ClientSettings,
    ConsumerSettings, ProducerSettings, SettingsError, ShareConsumerSettings, halves, parse,
)  # fmt: skip
from broker_core.clients.share_consumer import CRASH, ON_FAILURE
from broker_core.kernel.names import cluster_of
from broker_core.kernel.problems import problem
from lab.clusters import presets
from lab.clusters.checks import Place, SpecError, choice, integer, limits, mapping, number, settings_of, text, truth

KINDS = ("producer", "consumer", "processor", "worker")


@dataclass(slots=True)
class ClientSpec:
    """A built-in client. `start`: false means that a command starts it later."""

    name: str
    kind: str
    topic: str
    into: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    start: bool = True
    rate: float = 100.0
    size: int = 100
    keys: int = 0
    count: int = 0
    partition: int | None = None
    process_ms: float = 0.0
    commit: str = "auto"
    transaction_records: int = 0
    transaction_ms: int = 0
    abort_share: float = 0.0
    fails: str = ""
    fail_share: float = 0.0
    on_failure: str = ""
    renews: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain; what only processors, workers and transactional producers have is there where it is given."""
        of_some = (*TRANSACTIONAL, *FAILURES, "into")
        return {name: value for name, value in asdict(self).items() if value or name not in of_some}

    @property
    def topics(self) -> list[str]:
        """What it reads: names, and patterns that begin with ^."""
        return [topic.strip() for topic in self.topic.split(",")]

    def halves(self) -> dict[str, Mapping[str, Any]]:
        """Settings of its producer and its consumer, as far as it has them. Raises SettingsError."""
        if self.kind == "processor":
            reads, writes = halves(self.settings)
            return {"consumer": reads, "producer": writes}
        return {self.kind: self.settings}


CLIENT_KEYS = tuple(one.name for one in fields(ClientSpec))
SETTINGS_OF: dict[str, type[ClientSettings]] = {
    "consumer": ConsumerSettings, "producer": ProducerSettings, "worker": ShareConsumerSettings,
}  # fmt: skip
HALVES = {"consumer": presets.CONSUMER, "producer": presets.PRODUCER, "worker": presets.WORKER}
LOAD: dict[str, Callable[[Any], float]] = {"rate": float, "size": int, "keys": int}
"""What a built-in producer does, beside Kafka's settings; it changes while the client runs."""
FAILURES = ("fails", "fail_share", "on_failure", "renews")
"""Of workers: what they fail at, and what then."""
USUAL_COMMITS = ("auto", "after", "before", "none")
COMMITS = {"worker": ("poll", "sync")}
TRANSACTIONAL = ("transaction_records", "transaction_ms", "abort_share")
MOST = {
    "rate": 1_000_000, "size": 10_000_000, "keys": 10_000_000, "count": 1_000_000_000,
    "transaction_records": 1_000_000, "transaction_ms": 3_600_000,
}  # fmt: skip


def client_from_dict(value: Any, place: Place, preset: str = "default", usual: str = "3.x") -> ClientSpec:
    """A built-in client and its settings, which are checked as its kind of client checks them.

    `usual`: its era, where it names none.
    """
    data = mapping(value, place, [*CLIENT_KEYS, "era"], ["name", "kind", "topic"])
    client = ClientSpec(
        text(data["name"], (*place, "name")),
        choice(data["kind"], (*place, "kind"), KINDS),
        text(data["topic"], (*place, "topic")),
    )
    _check_name(client, (*place, "name"))
    era = choice(data.get("era", usual), (*place, "era"), ERAS)
    own = settings_of(data.get("settings"), (*place, "settings"))
    for half, given in HALVES.items():
        if client.kind == half or (client.kind == "processor" and half != "worker"):
            client.settings |= {**given[preset], **ERAS[era].get(half, {})}
    client.settings |= own
    if str(own.get(GROUP_PROTOCOL)).lower() == CONSUMER:
        _forget_classic(client, own)
    check_client_settings(client, (*place, "settings"), own)
    _check_pattern(client, (*place, "topic"))
    _read_load(client, data, place)
    return client


def _check_name(client: ClientSpec, place: Place) -> None:
    """Who writes is known by its values, which begin with its name. `payments/...` is a process of a neighbour."""
    if cluster_of(client.name):
        raise SpecError(place, problem("name_of_neighbour", name=client.name))
    if client.kind == "producer" and not client.name.startswith("producer"):
        raise SpecError(place, problem("name_of_producer", name=client.name))
    if client.kind == "processor" and not client.name.startswith("processor"):
        raise SpecError(place, problem("name_of_processor", name=client.name))
    if client.kind == "worker" and not client.name.startswith("worker"):
        raise SpecError(place, problem("name_of_worker", name=client.name))


def _forget_classic(client: ClientSpec, given: Mapping[str, Any]) -> None:
    """What presets say of groups, or what was said before, the brokers decide now."""
    for name in CLASSIC_ONLY:
        if name not in given:
            client.settings.pop(name, None)


def _check_pattern(client: ClientSpec, place: Place) -> None:
    """Patterns are resolved by the coordinator, for those who speak its newer protocol."""
    pattern = any(topic.startswith(PATTERN) for topic in client.topics)
    if pattern and client.settings.get(GROUP_PROTOCOL, CLASSIC).lower() != CONSUMER:
        raise SpecError(place, problem("pattern_needs_protocol", name=client.topic))


def _read_load(client: ClientSpec, data: dict[str, Any], place: Place) -> None:
    _read_into(client, data, place)
    if "start" in data:
        client.start = truth(data["start"], (*place, "start"))
    if "rate" in data:
        client.rate = number(data["rate"], (*place, "rate"), 0, MOST["rate"])
    for name in ("size", "keys", "count", "transaction_records", "transaction_ms"):
        if name in data:
            setattr(client, name, integer(data[name], (*place, name), 0, MOST[name]))
    if "abort_share" in data:
        client.abort_share = number(data["abort_share"], (*place, "abort_share"), 0, 1)
    for name in TRANSACTIONAL:
        if name in data and not client.settings.get("transactional.id"):
            raise SpecError((*place, name), problem("needs_transactional_id", name=name))
    if data.get("partition") is not None:
        client.partition = integer(data["partition"], (*place, "partition"), 0)
    _read_failures(client, data, place)
    if "process_ms" in data:
        client.process_ms = number(data["process_ms"], (*place, "process_ms"), 0)
    if "commit" in data:
        client.commit = choice(data["commit"], (*place, "commit"), COMMITS.get(client.kind, USUAL_COMMITS))
        if client.kind == "processor" and client.settings.get("transactional.id") and client.commit != "none":
            raise SpecError((*place, "commit"), problem("offsets_in_transactions"))


def _read_failures(client: ClientSpec, data: dict[str, Any], place: Place) -> None:
    """What a worker fails at; who says so of single records acknowledges them explicitly."""
    if client.kind == "worker":
        client.commit, client.on_failure = "poll", "release"
    for name in FAILURES:
        if name not in data:
            continue
        if client.kind != "worker":
            raise SpecError((*place, name), problem("failures_of_workers", name=name))
        explicit = client.settings.get(ACKNOWLEDGEMENT_MODE) == EXPLICIT or data.get("on_failure") == CRASH
        if data[name] and name != "on_failure" and not explicit:
            raise SpecError((*place, name), problem("needs_explicit", name=name))
    if "fails" in data:
        client.fails = text(data["fails"], (*place, "fails"))
    if "fail_share" in data:
        client.fail_share = number(data["fail_share"], (*place, "fail_share"), 0, 1)
    if "on_failure" in data:
        client.on_failure = choice(data["on_failure"], (*place, "on_failure"), tuple(ON_FAILURE))
    if "renews" in data:
        client.renews = truth(data["renews"], (*place, "renews"))


def _read_into(client: ClientSpec, data: dict[str, Any], place: Place) -> None:
    """Where a processor writes; it commits once that is done."""
    if client.kind == "processor":
        mapping(data, place, None, ["into"])
        client.commit = "none" if client.settings.get("transactional.id") else "after"
    if data.get("into"):
        client.into = text(data["into"], (*place, "into"))
        if client.kind != "processor":
            raise SpecError((*place, "into"), problem("into_of_processors"))


def changed_client(client: ClientSpec, given: Mapping[str, str | None], place: Place) -> ClientSpec:
    """The client with other settings (None: taken back) and another load. Raises SpecError that names the key."""
    changed = replace(client, settings=dict(client.settings))
    for name, value in given.items():
        if name in LOAD and value is not None:
            setattr(changed, name, _load(name, value, (*place, name)))
        elif value is None:
            changed.settings.pop(name, None)
        else:
            changed.settings[name] = value
    if str(given.get(GROUP_PROTOCOL)).lower() == CONSUMER:
        _forget_classic(changed, given)
    check_client_settings(changed, place, given)
    return changed


def _load(name: str, value: str, place: Place) -> float:
    try:
        found = LOAD[name](value)
    except ValueError:
        found = math.nan
    if not found >= 0:
        raise SpecError(place, problem("expected_from_zero", given=value))
    limits(found, place, 0, MOST[name])
    return found


def check_client_settings(client: ClientSpec, place: Place, given: Mapping[str, Any]) -> None:
    """Raise SpecError for a client setting that is unknown or wrong; its place is one of those that were `given`."""
    try:
        for kind, settings in client.halves().items():
            parse(SETTINGS_OF[kind], settings)
        if client.kind == "processor" and not client.settings.get("group.id"):
            raise SettingsError(problem("needs_group_id"), "group.id")
    except SettingsError as error:
        name = next((one for one in error.names if one in given), *error.names[:1])
        raise SpecError((*place, name), error.problem) from None
