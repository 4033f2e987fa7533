"""The same requests to a controller of Apache Kafka 4.3 and to ours: what each answers, and the records that it writes.

Brokers 11 to 14 exist only in this script: it registers them, sends their heartbeats and speaks for them, so that
nothing happens that is not asked for. `tests/wire_vectors/kraft-controller-4.3.json` is what Kafka answered.

    python -m tests.controller.kafka_script HOST:PORT CLUSTER_ID LOG_FILE > kraft-controller-4.3.json

with the address of a dedicated controller (`oracle.py up newest --brokers 1 --controllers 1 --set
broker.session.timeout.ms=90000`, so that a slow machine loses none of them) and the newest segment of its
`__cluster_metadata-0`.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from broker_core.metadata import records as r
from broker_core.records import decode_records
from broker_core.records.header import CONTROL, Batch, iterate_batches
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from tests.oracle.asking import Script

Ask = Callable[[int, int, Any], Any]
BROKERS = (11, 12, 13, 14)
SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
FAR = 1_000_000
UPGRADE, SAFE, UNSAFE = 1, 2, 3
FEATURES = {
    "metadata.version": (7, 30), "kraft.version": (0, 1), "transaction.version": (0, 2), "group.version": (0, 1),
    "eligible.leader.replicas.version": (0, 1), "share.version": (0, 1), "streams.version": (0, 1),
}


def directory(broker: int, number: int = 1) -> uuid.UUID:
    return uuid.UUID(int=(broker * 100 + number) << 64 | 0x7777)


class Telling(Script):
    """Numbers and ids keep their order: that of replicas and directories counts."""

    def shown(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and all(isinstance(one, int | uuid.UUID) for one in value):
            return [Script.shown(self, one) for one in value]
        return super().shown(value)


class Play:
    """Runs the script by `ask(api key, version, request)`; `answers` are comparable."""

    def __init__(self, ask: Ask, cluster_id: str) -> None:
        self.ask = ask
        self.cluster_id = cluster_id
        self.script = Telling({1: ""})
        self.epochs: dict[int, int] = {}
        self.topics: dict[str, uuid.UUID] = {}

    def note(self, title: str, key: int, version: int, body: Any) -> Any:
        answer = self.ask(key, version, body)
        self.script.note(title, answer)
        return answer

    def run(self) -> dict[str, Any]:
        for part in (self.registrations, self.topics_made, self.settings, self.replaced_settings, self.reassignments,
                     self.producer_ids, self.features, self.elections, self.directories, self.unclean_starts, self.unregistered):
            self.beat()
            part()
        return self.script.answers

    # -- brokers ----------------------------------------------------------------------------------
    def register(self, title: str, broker: int, start: int = 1, previous: int = -1, dirs: int = 1, **values: Any) -> Any:
        kind = m.BrokerRegistrationRequest
        body = kind(**{
            "broker_id": broker, "cluster_id": self.cluster_id, "incarnation_id": uuid.UUID(int=(broker << 80) + start),
            "listeners": [kind.Listener(name="PLAINTEXT", host="127.0.0.1", port=9000 + broker, security_protocol=0)],
            "features": [kind.Feature(name=name, min_supported_version=least, max_supported_version=most)
                         for name, (least, most) in FEATURES.items()],
            "rack": None, "log_dirs": [directory(broker, one) for one in range(1, dirs + 1)], "previous_broker_epoch": previous,
            **values,
        })
        answer = self.ask(ApiKey.BROKER_REGISTRATION, 4, body)
        if not answer.error_code:
            self.epochs[broker] = answer.broker_epoch
        shown = m.BrokerRegistrationResponse(error_code=answer.error_code, broker_epoch=min(1, answer.broker_epoch))
        self.script.note(title, shown)
        return answer

    def heartbeat(self, title: str | None, broker: int, **values: Any) -> Any:
        body = m.BrokerHeartbeatRequest(**{
            "broker_id": broker, "broker_epoch": self.epochs[broker], "current_metadata_offset": FAR, "want_fence": False,
            **values,
        })
        answer = self.ask(ApiKey.BROKER_HEARTBEAT, 1, body)
        if title is not None:
            self.script.note(title, answer)
        return answer

    def beat(self) -> None:
        for broker in self.epochs:
            self.heartbeat(None, broker)

    def registrations(self) -> None:
        for broker in BROKERS:
            self.register(f"{broker} registers", broker, dirs=2 if broker == 13 else 1)
            self.heartbeat(f"{broker} is unfenced", broker)
        self.register("11 registers once more", 11)
        self.heartbeat("11 says that it has read it", 11)
        self.register("another 11 while the first lives", 11, start=2)
        self.register("15 knows no feature", 15, features=[])
        few = [m.BrokerRegistrationRequest.Feature(name="metadata.version", min_supported_version=7, max_supported_version=29)]
        self.register("15 knows too little", 15, features=few)
        self.register("15 has no directory", 15, dirs=0)
        self.register("15 of another cluster", 15, cluster_id="AAAAAAAAAAAAAAAAAAAAAA")
        self.heartbeat("a heartbeat of another life", 12, broker_epoch=self.epochs[12] + 1)

    # -- topics -----------------------------------------------------------------------------------
    def create(self, title: str, *topics: Any, **values: Any) -> Any:
        answer = self.note(f"create: {title}", ApiKey.CREATE_TOPICS, 7, m.CreateTopicsRequest(topics=list(topics), timeout=5000, **values))
        self.topics.update({one.name: one.topic_id for one in answer.topics if not one.error_code and one.topic_id.int})
        return answer

    def topics_made(self) -> None:
        self.create("a topic on three", topic("a", [11, 12, 13], min_insync_replicas="2"))
        self.create("two partitions", topic("b", [11, 12], [12, 13]))
        self.create("only tried", topic("c", [11]), validate_only=True)
        self.create("unknown setting", topic("c", [11], retention_hours="1"))
        self.create("bad value", topic("c", [11], retention_ms="soon"))
        self.create("a null value", topic("c", [11], retention_ms=None))
        self.create("an unknown broker", topic("c", [11, 99]))
        self.create("a broker twice", topic("c", [11, 11]))
        self.create("different lengths", topic("c", [11, 12], [13]))
        self.create("no replicas", topic("c", []))
        self.create("taken and colliding", topic("a", [11]), topic("d.e", [11]))
        self.create("the same once more", topic("d_e", [11]))
        self.create("too many replicas", m.CreateTopicsRequest.CreatableTopic(name="f", num_partitions=1, replication_factor=9))
        self.create("no partitions", m.CreateTopicsRequest.CreatableTopic(name="f", num_partitions=0, replication_factor=1))
        self.create("no factor", m.CreateTopicsRequest.CreatableTopic(name="f", num_partitions=1, replication_factor=0))
        self.create("twice in one request", topic("g", [11]), topic("g", [11]))
        grow = m.CreatePartitionsRequest.CreatePartitionsTopic
        given = m.CreatePartitionsRequest.CreatePartitionsAssignment
        for title, one in (
            ("to fewer", grow(name="b", count=1, assignments=None)), ("to as many", grow(name="b", count=2, assignments=None)),
            ("by one", grow(name="b", count=3, assignments=[given(broker_ids=[13, 11])])),
            ("with too few", grow(name="b", count=5, assignments=[given(broker_ids=[13, 11])])),
            ("with another factor", grow(name="b", count=4, assignments=[given(broker_ids=[13])])),
            ("of nothing", grow(name="nothing", count=4, assignments=None)),
        ):
            self.note(f"grows {title}", ApiKey.CREATE_PARTITIONS, 3, m.CreatePartitionsRequest(topics=[one], timeout=5000))

    # -- settings ---------------------------------------------------------------------------------
    def settings(self) -> None:
        def change(title: str, resource: int, name: str, *operations: tuple[str, int, str | None], **values: Any) -> None:
            kind = m.IncrementalAlterConfigsRequest
            configs = [kind.AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in operations]
            one = kind.AlterConfigsResource(resource_type=resource, resource_name=name, configs=configs)
            self.note(f"alter: {title}", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, kind(resources=[one] * values.pop("times", 1), **values))

        change("set", TOPIC, "a", ("retention.ms", SET, "60000"), ("segment.bytes", SET, "1048576"))
        change("set the same", TOPIC, "a", ("retention.ms", SET, "60000"))
        change("append", TOPIC, "a", ("cleanup.policy", APPEND, "compact"))
        change("append once more", TOPIC, "a", ("cleanup.policy", APPEND, "compact,delete"))
        change("subtract", TOPIC, "a", ("cleanup.policy", SUBTRACT, "delete"))
        change("delete", TOPIC, "a", ("segment.bytes", DELETE, None))
        change("delete what is not set", TOPIC, "a", ("segment.bytes", DELETE, None))
        change("only tried", TOPIC, "a", ("retention.ms", SET, "5"), validate_only=True)
        change("append to a number", TOPIC, "a", ("retention.ms", APPEND, "5"))
        change("append to nothing known", TOPIC, "a", ("retention.hours", APPEND, "5"))
        change("unknown key", TOPIC, "a", ("retention.hours", SET, "5"))
        change("not a number", TOPIC, "a", ("retention.ms", SET, "soon"))
        change("out of range", TOPIC, "a", ("min.insync.replicas", SET, "0"))
        change("null", TOPIC, "a", ("retention.ms", SET, None))
        change("key twice", TOPIC, "a", ("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
        change("resource twice", TOPIC, "a", ("retention.ms", SET, "1"), times=2)
        change("unknown topic", TOPIC, "nothing", ("retention.ms", SET, "1"))
        change("bad topic name", TOPIC, "no/thing", ("retention.ms", SET, "1"))
        change("no topic name", TOPIC, "", ("retention.ms", SET, "1"))
        change("good and bad", TOPIC, "a", ("retention.ms", SET, "7"), ("segment.ms", SET, "-7"))
        change("all brokers", BROKER, "", ("log.retention.ms", SET, "70000"))
        change("all brokers again", BROKER, "", ("log.retention.ms", SET, "70000"))
        change("one broker", BROKER, "11", ("log.cleaner.threads", SET, "2"))
        change("an unregistered broker", BROKER, "99", ("log.cleaner.threads", SET, "2"))
        change("no broker's name", BROKER, "x", ("log.cleaner.threads", SET, "2"))
        change("a negative broker", BROKER, "-1", ("log.cleaner.threads", SET, "2"))
        change("read only", BROKER, "11", ("broker.id", SET, "7"))
        change("not of a broker", BROKER, "11", ("nobody.knows", SET, "7"))
        change("brokers: not a number", BROKER, "", ("log.retention.ms", SET, "soon"))
        change("min ISR of one broker", BROKER, "11", ("min.insync.replicas", SET, "2"))
        change("min ISR of all", BROKER, "", ("min.insync.replicas", SET, "2"))
        change("min ISR of all away", BROKER, "", ("min.insync.replicas", DELETE, None))
        change("min ISR of all back", BROKER, "", ("min.insync.replicas", SET, "1"))
        change("min ISR of a topic", TOPIC, "b", ("min.insync.replicas", SET, "2"))
        change("min ISR of a topic away", TOPIC, "b", ("min.insync.replicas", DELETE, None))
        change("logger", LOGGER, "11", ("kafka", SET, "INFO"))
        change("unknown resource", 3, "x", ("kafka", SET, "INFO"))
        change("group", GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"))
        change("group, unknown", GROUP, "g", ("nobody.knows", SET, "50000"))
        change("group, bad", GROUP, "g", ("consumer.session.timeout.ms", SET, "soon"))
        change("group without name", GROUP, "", ("consumer.session.timeout.ms", SET, "50000"))
        change("all brokers back", BROKER, "", ("log.retention.ms", DELETE, None))

    def replaced_settings(self) -> None:
        def replace(title: str, resource: int, name: str, configs: dict[str, str | None], **values: Any) -> None:
            kind = m.AlterConfigsRequest
            listed = [kind.AlterableConfig(name=key, value=value) for key, value in configs.items()]
            one = kind.AlterConfigsResource(resource_type=resource, resource_name=name, configs=listed)
            self.note(title, ApiKey.ALTER_CONFIGS, 2, kind(resources=[one], **values))

        replace("replace", TOPIC, "a", {"retention.ms": "9", "min.insync.replicas": "2"})
        replace("replace by the same", TOPIC, "a", {"retention.ms": "9", "min.insync.replicas": "2"})
        replace("replace: null", TOPIC, "a", {"retention.ms": None})
        replace("replace: unknown", TOPIC, "a", {"retention.hours": "9"})
        replace("replace: unknown topic", TOPIC, "nothing", {"retention.ms": "9"})
        replace("replace one broker's", BROKER, "11", {"log.cleaner.threads": "1"})
        replace("replace all brokers', without min ISR", BROKER, "", {"log.cleaner.threads": "1"})
        replace("replace all brokers', with it", BROKER, "", {"min.insync.replicas": "1"})

    # -- reassignment -----------------------------------------------------------------------------
    def reassignments(self) -> None:
        def move(title: str, name: str, *wanted: tuple[int, list[int] | None], **values: Any) -> None:
            kind = m.AlterPartitionReassignmentsRequest
            parts = [kind.ReassignablePartition(partition_index=number, replicas=replicas) for number, replicas in wanted]
            body = kind(timeout=5000, topics=[kind.ReassignableTopic(name=name, partitions=parts)], **values)
            self.note(title, ApiKey.ALTER_PARTITION_REASSIGNMENTS, values.pop("version", 1), body)

        def ongoing(title: str, *asked: tuple[str, list[int]]) -> None:
            kind = m.ListPartitionReassignmentsRequest
            topics = [kind.ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers) for name, numbers in asked]
            self.note(title, ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, kind(timeout=5000, topics=topics or None))

        ongoing("nothing moves")
        move("move: nothing of that name", "nothing", (0, [11]))
        move("move: no such partition", "a", (9, [11]))
        move("move to nobody", "a", (0, []))
        move("move to the same twice", "a", (0, [11, 11]))
        move("move to a stranger", "a", (0, [11, 99]))
        move("cancel what does not move", "a", (0, None))
        move("another order", "a", (0, [12, 11, 13]))
        move("the same order", "a", (0, [12, 11, 13]))
        move("another in", "a", (0, [14, 12, 11]))
        ongoing("a moves")
        ongoing("a moves, asked for", ("a", [0, 1]), ("nothing", [0]), ("b", [0]))
        move("somewhere else meanwhile", "a", (0, [14, 13]))
        ongoing("a moves otherwise")
        move("back", "a", (0, None))
        move("one away", "a", (0, [11, 12]))
        move("a third", "a", (0, [11, 12, 14]))
        self.alter_partition("a", 11, [11, 12, 14])
        move("two partitions", "b", (0, [12, 13]), (1, [13, 14]), (2, [11]))
        self.alter_partition("b", 11, [11, 12, 13])
        self.alter_partition("b", 12, [12, 13, 14], number=1)
        move("a larger factor, not allowed", "b", (0, [11, 12, 13]), allow_replication_factor_change=False)
        self.heartbeat("14 is fenced for a moment", 14, want_fence=True)
        move("while one is out of sync", "b", (1, [13, 14, 11]))
        self.alter_partition("b", 13, [13, 11], number=1)
        self.heartbeat("14 comes back", 14)
        self.alter_partition("b", 13, [13, 11, 14], number=1)
        ongoing("at the end")

    def alter_partition(self, name: str, leader: int, isr: list[int], number: int = 0, **values: Any) -> Any:
        """With the epochs that fit: they are raised until the controller finds them new enough."""
        title = values.pop("title", f"{name}-{number} in sync: {isr}")
        kind = m.AlterPartitionRequest
        leader_epoch = partition_epoch = 0
        while True:
            part = kind.PartitionData(
                partition_index=number, leader_epoch=leader_epoch, partition_epoch=partition_epoch,
                new_isr_with_epochs=[kind.BrokerState(broker_id=one, broker_epoch=self.epochs[one]) for one in isr], **values,
            )
            topics = [kind.TopicData(topic_id=self.topics[name], partitions=[part])]
            answer = self.ask(ApiKey.ALTER_PARTITION, 3, kind(broker_id=leader, broker_epoch=self.epochs[leader], topics=topics))
            if not answer.topics:
                break
            error = answer.topics[0].partitions[0].error_code
            leader_epoch += error == ErrorCode.FENCED_LEADER_EPOCH
            partition_epoch += error == ErrorCode.INVALID_UPDATE_VERSION
            if error not in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION):
                break
        self.script.note(title, answer)
        return answer

    # -- the rest ---------------------------------------------------------------------------------
    def producer_ids(self) -> None:
        kind = m.AllocateProducerIdsRequest
        for title, broker, epoch in (("first", 11, 0), ("next", 12, 0), ("of another life", 12, 1)):
            answer = self.ask(ApiKey.ALLOCATE_PRODUCER_IDS, 0, kind(broker_id=broker, broker_epoch=self.epochs[broker] + epoch))
            self.script.note(f"producer ids, {title}", m.AllocateProducerIdsResponse(
                error_code=answer.error_code, producer_id_len=answer.producer_id_len))

    def features(self) -> None:
        def update(title: str, *updates: tuple[str, int, int], version: int = 2, **values: Any) -> None:
            kind = m.UpdateFeaturesRequest
            listed = [kind.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=how) for name, level, how in updates]
            self.note(f"features: {title}", ApiKey.UPDATE_FEATURES, version, kind(feature_updates=listed, **values))

        update("the same level", ("metadata.version", 30, UPGRADE))
        update("one that nobody knows", ("foo.version", 1, UPGRADE))
        update("a level that nobody knows", ("metadata.version", 99, UPGRADE))
        update("a negative level", ("group.version", -1, UPGRADE))
        update("down, said to be up", ("transaction.version", 1, UPGRADE))
        update("down, only tried", ("transaction.version", 1, SAFE), validate_only=True)
        update("down", ("transaction.version", 1, SAFE))
        update("up, said to be down", ("transaction.version", 2, SAFE))
        update("up", ("transaction.version", 2, UPGRADE))
        update("to none", ("streams.version", 0, SAFE))
        update("to none again", ("streams.version", 0, SAFE))
        update("from none", ("streams.version", 1, UPGRADE))
        update("unknown type", ("group.version", 1, 9))
        update("one good, one bad", ("group.version", 0, SAFE), ("share.version", 7, UPGRADE))
        update("one good, one bad, version 1", ("group.version", 0, SAFE), ("share.version", 7, UPGRADE), version=1)
        update("twice", ("group.version", 1, UPGRADE), ("group.version", 1, UPGRADE))
        update("metadata.version down safely", ("metadata.version", 29, SAFE))
        update("metadata.version far down safely", ("metadata.version", 20, SAFE))
        update("metadata.version far down anyhow", ("metadata.version", 20, UNSAFE))
        update("metadata.version too low", ("metadata.version", 1, SAFE))
        update("metadata.version back up", ("metadata.version", 30, UPGRADE))
        update("kraft.version up", ("kraft.version", 1, UPGRADE))
        update("kraft.version the same", ("kraft.version", 0, UPGRADE))
        update("kraft.version unknown", ("kraft.version", 2, UPGRADE))
        update("ELR off", ("eligible.leader.replicas.version", 0, SAFE))
        update("ELR on", ("eligible.leader.replicas.version", 1, UPGRADE))
        update("nothing at all")

    def elections(self) -> None:
        def elect(title: str, kind_of: int, *asked: tuple[str, list[int]]) -> None:
            kind = m.ElectLeadersRequest
            topics = [kind.TopicPartitions(topic=name, partitions=numbers) for name, numbers in asked]
            self.note(f"elect: {title}", ApiKey.ELECT_LEADERS, 2, kind(election_type=kind_of, topic_partitions=topics or None, timeout=5000))

        self.create("for elections", topic("e", [11, 12, 13]), topic("u", [14]), topic("v", [14, 11], min_insync_replicas="2"))
        elect("not needed", 0, ("e", [0]), ("nothing", [0]), ("e", [7]))
        self.heartbeat("11 wants to be fenced", 11, want_fence=True)
        elect("preferred, away", 0, ("e", [0]))
        self.heartbeat("11 is back", 11)
        elect("preferred, not in sync", 0, ("e", [0]))
        self.alter_partition("e", 12, [11, 12, 13])
        elect("preferred", 0, ("e", [0]))
        elect("all that need it", 0)
        elect("unknown type", 5, ("e", [0]))
        self.heartbeat("14 wants to be fenced", 14, want_fence=True)
        elect("unclean, nobody alive", 1, ("u", [0]))
        self.heartbeat("11 wants to be fenced again", 11, want_fence=True)
        self.heartbeat("11 is back again", 11)
        elect("unclean", 1, ("u", [0]), ("v", [0]))
        elect("unclean, not needed", 1, ("v", [0]))
        self.heartbeat("14 is back", 14)

    def directories(self) -> None:
        def assign(title: str, broker: int, where: uuid.UUID, what: uuid.UUID, *numbers: int, epoch: int = 0) -> None:
            kind = m.AssignReplicasToDirsRequest
            parts = [kind.PartitionData(partition_index=number) for number in numbers]
            one = kind.DirectoryData(id_=where, topics=[kind.TopicData(topic_id=what, partitions=parts)])
            body = kind(broker_id=broker, broker_epoch=self.epochs[broker] + epoch, directories=[one])
            self.note(f"directories: {title}", ApiKey.ASSIGN_REPLICAS_TO_DIRS, 0, body)

        self.create("for directories", topic("dirs", [13, 11], [13, 12], [13, 12]))
        made = self.topics["dirs"]
        assign("in the first", 13, directory(13, 1), made, 0, 1)
        assign("again", 13, directory(13, 1), made, 0)
        assign("in the second", 13, directory(13, 2), made, 2)
        assign("no such partition", 13, directory(13, 1), made, 9)
        assign("no such topic", 13, directory(13, 1), uuid.UUID(int=77 << 64), 0)
        assign("not its own", 14, directory(14, 1), made, 0)
        assign("of another life", 13, directory(13, 1), made, 0, epoch=1)
        self.heartbeat("13 has lost its second directory", 13, offline_log_dirs=[directory(13, 2)])
        self.heartbeat("13 says so again", 13, offline_log_dirs=[directory(13, 2)])
        assign("in one that is lost", 13, directory(13, 2), made, 1)
        self.create("one directory is left", topic("dirs2", [13]))

    def unclean_starts(self) -> None:
        self.create("for starts", topic("s", [12, 11], min_insync_replicas="2"), topic("t", [12, 14]))
        self.heartbeat("12 ends", 12, want_fence=True)
        self.register("12 starts after a clean end", 12, start=2, previous=self.epochs[12])
        self.heartbeat("12 runs", 12)
        self.heartbeat("12 ends again", 12, want_fence=True)
        self.register("12 starts after a crash", 12, start=3, previous=-1)
        self.heartbeat("12 runs again", 12)

    def unregistered(self) -> None:
        def forget(title: str, broker: int) -> None:
            self.note(f"unregister {title}", ApiKey.UNREGISTER_BROKER, 0, m.UnregisterBrokerRequest(broker_id=broker))

        forget("nobody", 99)
        forget("one that lives", 14)
        del self.epochs[14]
        forget("it again", 14)
        self.heartbeat("11 leaves in order", 11, want_shut_down=True)
        kind = m.DeleteTopicsRequest
        states = [kind.DeleteTopicState(name="t"), kind.DeleteTopicState(name="nothing"),
                  kind.DeleteTopicState(name=None, topic_id=self.topics["s"]),
                  kind.DeleteTopicState(name=None, topic_id=uuid.UUID(int=99 << 64))]
        self.note("delete", ApiKey.DELETE_TOPICS, 6, kind(topics=states, timeout=5000))


def topic(name: str, *assignment: list[int], **settings: str | None) -> Any:
    kind = m.CreateTopicsRequest
    return kind.CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1,
        assignments=[kind.CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
                     for number, replicas in enumerate(assignment)],
        configs=[kind.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()],
    )


def records_of(log: Iterable[Batch], script: Script) -> list[Any]:
    """Records about the brokers of the script and its topics, comparable."""
    found = []
    for batch in log:
        if batch.header.attributes & CONTROL:
            continue
        for record in decode_records(batch):
            one = r.decode(record.value or b"")
            if type(one).__name__ not in ("NoOpRecord", "RegisterControllerRecord") and getattr(one, "broker_id", 11) >= 11:
                shown = script.shown(one)
                for name in ("broker_epoch", "next_producer_id"):
                    shown.pop(name, None)
                found.append([type(one).__name__, (record.value or b"")[2], shown])
    return in_any_order(found)


def in_any_order(records: list[Any]) -> list[Any]:
    """Settings of one resource, and partitions that one event changes, come in the order of Java's hashes: sorted."""
    runs = [list(run) for _, run in groupby(records, key=lambda one: one[0])]
    free = ("ConfigRecord", "PartitionChangeRecord", "RemoveTopicRecord")
    return [one for run in runs for one in (sorted(run, key=json.dumps) if run[0][0] in free else run)]


if __name__ == "__main__":
    address, cluster_id, log_file = sys.argv[1:]
    asking = Script({1: address})
    play = Play(asking.ask, cluster_id)
    answers = play.run()
    written = records_of(iterate_batches(Path(log_file).read_bytes()), play.script)
    json.dump({"answers": answers, "records": written}, sys.stdout, indent=0)
