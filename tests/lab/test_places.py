"""The place of an error is the very key: of commands with nested keys, in YAML, behind a link, and after the fact."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from tests.lab.test_grammar import GOOD
from tests.lab.test_operator import SPEC, Lab
from tests.lab.test_scenarios_receipt import LESSON

from broker_core.kernel.errors import CommandError
from broker_core.kernel.problems import told
from broker_core.kernel.world import World
from lab.clusters.checks import SpecError, shown
from lab.clusters.inspect_trial import trial
from lab.clusters.spec import run_from_dict
from lab.clusters.vocabulary import KINDS, check_command
from lab.outcomes import place_of
from lab.scenarios import grammar, links
from lab.scenarios.grammar import ScenarioError
from lab.scenarios.reading import read

# (what is set of the producer, the key that is wrong): the same in a command, a trial, YAML and a link
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"acks": "7"}, "acks"),
    ({"linger.ms": "5", "acks": "7"}, "acks"),
    ({"linger.ms": "soon"}, "linger.ms"),
    ({"lingerms": 5}, "lingerms"),
    ({"enable.idempotence": "maybe"}, "enable.idempotence"),
    ({"enable.idempotence": "true", "acks": "1"}, "acks"),
    ({"enable.idempotence": "true", "retries": 0}, "retries"),
    ({"enable.idempotence": "true", "max.in.flight.requests.per.connection": 6}, "max.in.flight.requests.per.connection"),
    ({"compression.type": "zip"}, "compression.type"),
    ({"delivery.timeout.ms": "1"}, "delivery.timeout.ms"),
    ({"linger.ms": {"a": 1}}, "linger.ms"),
    ({"rate": "fast"}, "rate"),
    ({"rate": "nan"}, "rate"),
    ({"rate": "-1"}, "rate"),
    ({"rate": "1e9"}, "rate"),
    ({"size": "1.5"}, "size"),
    ({"acks": "1", "keys": "-3"}, "keys"),
]


@pytest.fixture(scope="module")
def lab() -> Lab:
    lab = Lab(run_from_dict(SPEC))
    lab.do(do="create_topic", topic="orders", partitions=2, replication_factor=3)
    lab.do(do="start_client", name="producer-a")
    lab.do(do="start_client", name="reader", kind="consumer", topic="orders")
    lab.run(2)
    return lab


@pytest.mark.parametrize(("given", "key"), WRONG)
def test_a_setting_that_is_wrong_is_named_by_the_command_and_by_its_trial(lab: Lab, given: dict[str, Any], key: str) -> None:
    command = {"do": "set_client", "name": "producer-a", "set": given}
    said = lab.do(**command)
    assert (said["ok"], said["place"]) == (False, f"set.{key}"), said
    with pytest.raises(CommandError) as error:
        trial(lab.world, orjson.dumps(command).decode())
    assert (error.value.place, error.value.reason) == (said["place"], told(said["problem"]))


@pytest.mark.parametrize(("given", "key"), WRONG)
def test_a_setting_that_is_wrong_is_named_in_a_document_and_behind_a_link(given: dict[str, Any], key: str) -> None:
    steps = [{"at": "1s", "do": "stop_all_faults"}, {"at": "2s", "do": "set_client", "name": "producer-a", "set": given}]
    document = {**SPEC, "topics": [{"name": "orders"}], "steps": steps}
    for one in (document, links.unpack(links.pack(document))):
        with pytest.raises(SpecError) as error:
            grammar.from_dict(one)
        assert shown(error.value.place) == f"steps[1].set.{key}"


@pytest.mark.parametrize(("given", "key"), [row for row in WRONG if row[1] not in ("rate", "size", "keys")])
def test_a_setting_of_a_client_is_named_where_the_client_is_described(lab: Lab, given: dict[str, Any], key: str) -> None:
    said = lab.do(do="start_client", name="producer-b", kind="producer", topic="orders", settings=given)
    assert (said["ok"], said["place"]) == (False, f"settings.{key}")
    with pytest.raises(SpecError) as error:
        run_from_dict({"clients": [{"name": "producer-b", "kind": "producer", "topic": "orders", "settings": given}]})
    assert shown(error.value.place) == f"clients[0].settings.{key}"


def test_of_settings_that_do_not_fit_one_another_that_one_is_named_that_was_given(lab: Lab) -> None:
    said = lab.do(do="set_client", name="reader", set={"session.timeout.ms": "100"})
    assert said["place"] == "set.session.timeout.ms"
    said = lab.do(do="set_client", name="reader", set={"heartbeat.interval.ms": "1000000"})
    assert said["place"] == "set.heartbeat.interval.ms"


@pytest.mark.parametrize(("command", "place"), [
    ({"do": "set_protection", "set": {"truncate": True}}, "set.truncate"),
    ({"do": "set_protection", "set": {"truncate_by_leader_epoch": "no"}}, "set.truncate_by_leader_epoch"),
    ({"do": "set_client", "name": "producer-a", "set": {}}, "set"),
    ({"do": "create_topic", "topic": "x", "configs": {"retention.ms": "abc"}}, "configs.retention.ms"),
    ({"do": "create_topic", "topic": "x", "assignment": [[1, 2], [1, "b"]]}, "assignment[1][1]"),
    ({"do": "alter_config", "topic": "orders", "set": {"retention.ms": {"a": 1}}}, "set.retention.ms"),
    ({"do": "delay_link", "between": [1, "leader_of:carts-0"], "delay_ms": 1}, "between[1]"),
    ({"do": "delay_link", "between": ["followers_of:carts-0", 1], "delay_ms": 1}, "between[0]"),
    ({"do": "delay_link", "between": [1, "leader_of:carts"], "delay_ms": 1}, "between[1]"),
    ({"do": "delay_link", "between": [9, 1], "delay_ms": 1}, "between[0]"),
    ({"do": "lose_next", "between": [1, 2], "api": "Fetchh"}, "api"),
    ({"do": "kill", "follower_of": "carts-0"}, "follower_of"),
    ({"do": "resume", "leader_of": "orders-0"}, "leader_of"),
    ({"do": "resume", "node": "broker-1"}, "node"),
    ({"do": "bit_flip", "broker": 1, "topic": "orders", "partition": 0, "offset": 1 << 40}, "offset"),
    ({"do": "lose_index", "broker": 1, "topic": "orders", "partition": 0}, "broker"),
    ({"do": "produce", "topic": "orders", "value": {"a": 1}}, "value"),
    ({"do": "produce", "topic": "orders", "value": "x", "acks": 1 << 15}, "acks"),
])  # fmt: skip
def test_nested_keys_of_other_commands_are_named_too(lab: Lab, command: dict[str, Any], place: str) -> None:
    said = lab.do(**command)
    assert (said["ok"], said["place"]) == (False, place), said


@pytest.mark.parametrize(("line", "place", "number"), [
    ("  - {at: 1s, do: set_client, name: producer-a, set: {acks: 7}}", "steps[0].set.acks", 5),
    ("  - at: 1s\n    do: set_client\n    name: producer-a\n    set:\n      linger.ms: 1\n      acks: 7",
     "steps[0].set.acks", 10),
    ("  - {at: 1s, do: kill, follower_of: carts-0}", "steps[0].follower_of", 5),
    ("fork:\n  title: {en: x}\n  steps:\n    - do: set_client\n      name: producer-a\n      set: {linger.ms: x}",
     "fork.steps[0].set.linger.ms", 10),
    ("moment:\n  event: leader_elected\n  where:\n    topik: orders", "moment.where.topik", 8),
])  # fmt: skip
def test_yaml_names_line_and_key(line: str, place: str, number: int) -> None:
    head = "scenario: x\ntopics: [{name: orders}]\nclients: [{name: producer-a, kind: producer, topic: orders}]\n"
    source = head + ("steps:\n" if line.startswith("  -") else "steps: []\n") + line
    with pytest.raises(ScenarioError) as error:
        grammar.parse(source, "x.yaml")
    assert (error.value.place, error.value.line) == (place, number)


def test_settings_that_fit_after_earlier_steps_are_taken() -> None:
    clients = [{"name": "producer-a", "kind": "producer", "topic": "orders", "settings": {"enable.idempotence": "true"}}]
    steps = [{"at": "1s", "do": "set_client", "name": "producer-a", "set": {"enable.idempotence": "false"}},
             {"at": "2s", "do": "set_client", "name": "producer-a", "set": {"acks": "1"}}]  # fmt: skip
    document = {"topics": [{"name": "orders"}], "clients": clients, "steps": steps}
    assert len(grammar.from_dict(document).steps) == 2
    with pytest.raises(SpecError, match=r"enable\.idempotence needs acks=all"):
        grammar.from_dict({**document, "steps": steps[1:]})


@pytest.mark.parametrize(("command", "code", "message", "place"), [
    ({"do": "alter_config", "set": {"retention.ms": "a"}}, "INVALID_CONFIG",
     "Invalid value a for configuration retention.ms: Not a number of type LONG", "set.retention.ms"),
    ({"do": "alter_config", "set": {"retention.ms": "1", "local.retention.ms": "a"}}, "INVALID_CONFIG",
     "Invalid value a for configuration local.retention.ms: it", "set.local.retention.ms"),
    ({"do": "alter_config", "set": {"retention": "a"}}, "INVALID_CONFIG", "Unknown topic config name: retention", "set.retention"),
    ({"do": "create_topic", "topic": "x"}, "TOPIC_ALREADY_EXISTS", "Topic 'x' already exists.", "topic"),
    ({"do": "add_partitions", "topic": "x"}, "INVALID_PARTITIONS", "Topic currently has 2 partitions", "partitions"),
    ({"do": "produce", "topic": "x"}, "MESSAGE_TOO_LARGE", "", "value"),
    ({"do": "create_topic", "topic": "x"}, "INVALID_REPLICA_ASSIGNMENT", "", "assignment"),
    ({"do": "reassign", "topic": "x", "partition": 0, "replicas": [9]}, "INVALID_REPLICA_ASSIGNMENT", "", "replicas"),
    ({"do": "delete_records", "topic": "x", "partition": 0, "before": 9}, "OFFSET_OUT_OF_RANGE", "", "before"),
    ({"do": "move_replica", "broker": 1, "topic": "x", "partition": 0, "directory": "c"}, "LOG_DIR_NOT_FOUND", "", "directory"),
    ({"do": "move_replica", "broker": 1, "topic": "x", "partition": 5, "directory": "b"}, "REPLICA_NOT_AVAILABLE", "", "partition"),
    ({"do": "elect_leaders", "topic": "x", "partition": 5}, "UNKNOWN_TOPIC_OR_PARTITION", "", "partition"),
    ({"do": "elect_leaders", "topic": "x", "partition": 0}, "ELECTION_NOT_NEEDED", "", "do"),
    ({"do": "produce", "topic": "x"}, "NOT_ENOUGH_REPLICAS", "", "do"),
])  # fmt: skip
def test_what_the_cluster_refuses_leads_back_to_the_key(command: dict[str, Any], code: str, message: str, place: str) -> None:
    assert place_of(command, code, message) == place


def test_a_trial_is_about_the_settings_of_its_moment() -> None:
    lab = Lab(run_from_dict(SPEC))
    lab.do(do="create_topic", topic="orders", partitions=2, replication_factor=3)
    lab.run(1)
    before = lab.world.seq
    lab.do(do="start_client", name="producer-a")
    lab.do(do="set_client", name="producer-a", set={"enable.idempotence": "true"})
    lab.run(1)
    explicit = lab.world.seq
    lab.do(do="set_client", name="producer-a", set={"enable.idempotence": "false"})
    lab.run(1)

    def tried(**more: Any) -> str:
        command = {"do": "set_client", "name": "producer-a", "set": {"acks": "1"}, **more}
        try:
            trial(lab.world, orjson.dumps(command).decode())
        except CommandError as error:
            return f"{error.place}: {error.reason}"
        return ""

    assert tried() == "", "now it fits"
    assert tried(seq=explicit) == "set.acks: enable.idempotence needs acks=all"
    assert tried(seq=before).startswith("name: there is no client producer-a")
    assert tried(seq="x").startswith("seq: expected a whole number")
    assert lab.do(do="set_client", name="producer-a", set={"acks": "1"})["ok"]


def _said(world: World, **command: Any) -> str:
    try:
        trial(world, orjson.dumps({"do": "alter_config", **command}).decode())
    except CommandError as error:
        return f"{error.place}: {error.reason}"
    return ""


def test_a_trial_of_a_topics_setting_is_about_its_moment_too() -> None:
    lab = Lab(run_from_dict(SPEC))
    lab.run(1)
    before = lab.world.seq
    lab.do(do="create_topic", topic="orders", configs={"max.compaction.lag.ms": "1000"})
    lab.run(1)
    short = lab.world.seq
    lab.do(do="alter_config", topic="orders", set={"max.compaction.lag.ms": "100000"})
    lab.run(1)
    long = lab.world.seq
    lab.do(do="delete_topic", topic="orders")
    lab.run(5)
    gone = lab.world.seq
    lab.do(do="create_topic", topic="orders")
    lab.run(1)

    def tried(**at: int) -> str:
        return _said(lab.world, topic="orders", set={"min.compaction.lag.ms": "50000"}, **at)

    assert tried(seq=before) == tried(seq=gone) == "topic: there is no topic orders"
    assert tried(seq=short).startswith("set.min.compaction.lag.ms: conflict topic config")
    assert tried(seq=long) == tried() == ""
    assert _said(lab.world, topic="orders", set={"min.compaction.lag.ms": "5", "max.compaction.lag.ms": None}, seq=short) == ""
    assert _said(lab.world, topic="orders", set={"max.compaction.lag.ms": "7"}, seq=long) == ""


def test_a_trial_of_a_brokers_setting_is_about_its_moment_too() -> None:
    lab = Lab(run_from_dict(SPEC))
    lab.do(do="create_topic", topic="orders")
    lab.run(1)
    before = lab.world.seq
    lab.do(do="alter_config", broker=2, set={"log.cleaner.dedupe.buffer.size": "2000000"})
    lab.run(1)
    short = lab.world.seq
    lab.do(do="alter_config", broker=2, set={"log.cleaner.dedupe.buffer.size": "20000000"})
    lab.run(1)
    lab.do(do="power_loss", broker=2)
    lab.run(1)

    def tried(**more: int) -> str:
        return _said(lab.world, **{"broker": 2, **more}, set={"log.cleaner.threads": "2"})

    assert tried(seq=before) == tried() == tried(seq=short, broker=1) == "", "also of one that does not run now"
    assert tried(seq=short) == "set: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
    assert tried(broker=9) == "broker: there is no broker 9, expected one of 1, 2, 3"
    assert _said(lab.world, broker=2, set={"log.dirs": "x"}, seq=before).startswith("set.log.dirs: log.dirs is read when a broker starts")


def keys_of(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each key of a document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in children:
        if isinstance(value, dict):
            yield (*place, key)
        yield from keys_of(inner, (*place, key))


def sort_of(document: Any, place: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is the same of a key in one document and in another: where it stands, in which kind of thing, its name."""
    inner, path = document, []
    for part in place[:-1]:
        path.append("*" if isinstance(part, int) or path[-1:] == ["variants"] else part)
        inner = inner[part]
    return (*path, *(str(inner[key]) for key in ("do", "kind", "check") if key in inner), place[-1])


@pytest.fixture(scope="module")
def taken_away() -> set[tuple[Any, ...]]:
    """Sorts of keys that have been taken away by now: lessons have some 16,000 keys of 2,400 sorts."""
    return set()


@pytest.mark.parametrize("source", [GOOD, LESSON, *((grammar.HOME / f"{name}.yaml").read_text() for name in grammar.names())])
def test_a_key_that_is_missing_is_named_at_the_mapping_that_it_misses_from(source: str, taken_away: set[tuple[Any, ...]]) -> None:
    _, document = read(source, "x.yaml")
    refused = 0
    for place in keys_of(document):
        sort = sort_of(document, place)
        if sort in taken_away:
            continue
        taken_away.add(sort)
        other = copy.deepcopy(document)
        inner: Any = other
        for part in place[:-1]:
            inner = inner[part]
        del inner[place[-1]]
        try:
            grammar.from_dict(other)
        except SpecError as error:
            refused += 1
            needed = place[-1] if place[-1] != "check" else "do"  # a step without a condition is one with a command
            if error.place == place[:-1] and not error.reason.startswith("expected at least one"):
                assert needed in error.reason, place
            assert not error.reason.endswith("expected one of "), error.reason
    assert refused > 1 or source is not GOOD


@pytest.mark.parametrize("name", KINDS)
def test_a_key_that_a_command_needs_is_named_when_it_is_missing(name: str) -> None:
    kind = KINDS[name]
    for key in kind.required:
        given = {other: 1 for other in kind.required if other != key}
        with pytest.raises(SpecError) as error:
            check_command({"do": name, **given}, ("steps", 3))
        assert (error.value.place, error.value.reason) == (("steps", 3), f"key {key!r} is missing")
    if kind.one_of:
        with pytest.raises(SpecError) as error:
            check_command({"do": name, **{key: "x" for key in kind.required}}, ("steps", 3))
        assert error.value.place == ("steps", 3) and all(key in error.value.reason for key in kind.one_of)
