"""Metadata, topics, settings, log directories, coordinators, and what no client should send."""

from __future__ import annotations

import struct
import uuid
from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import CLOSED, Script
from tests.oracle.requests import create, make_topic, metadata, topic

TOO_LONG = "x" * 250


def versions(k: Script) -> None:
    """ApiVersions: the list, wrong names, a version from the future."""
    for version in (0, 1, 2, 3, 4):
        answer = k.ask(ApiKey.API_VERSIONS, version, software("kcat", "1.7.1"))
        k.answers[f"offered v{version}"] = {
            ApiKey(one.api_key).name: f"{one.min_version}-{one.max_version}" for one in answer.api_keys
        }
    for name, number in (("", ""), ("a", ""), ("-a", "1"), ("a_b", "1"), ("a.b-c", "1.0-x"), ("한", "1")):
        k(f"software {name!r} {number!r}", ApiKey.API_VERSIONS, 3, software(name, number))
    connection = k.fresh()
    connection.write(struct.pack(">ihhih", 11, 18, 99, 7, -1) + b"\0")
    frame = connection.frame()
    assert frame is not None
    k.answers["version 99"] = frame[:6].hex()
    answer = connection.ask(ApiKey.API_VERSIONS, 0, software("", ""))
    k.answers["asked again"] = answer.error_code
    connection.close()


def software(name: str, number: str) -> Any:
    return m.ApiVersionsRequest(client_software_name=name, client_software_version=number)


def cluster(k: Script) -> None:
    """Metadata in all versions, DescribeCluster."""
    known = make_topic(k, "known", 3)
    for version in range(0, 13):
        k("known", ApiKey.METADATA, version, metadata("known"))
        k("none asked for", ApiKey.METADATA, max(1, version), metadata()) if version else None
        k("unknown and known", ApiKey.METADATA, version, metadata("known", "unknown-there")) if version >= 4 else None
        for wrong in ("", "..", "a b", "a/b", TOO_LONG, "한글"):
            if version in (4, 7, 9, 12):
                k(f"invalid {wrong[:5]!r}", ApiKey.METADATA, version, metadata(wrong))
                k(f"invalid {wrong[:5]!r}, may create", ApiKey.METADATA, version, metadata(wrong, auto=True))
        if 8 <= version:
            k("operations", ApiKey.METADATA, version, metadata("known", include_topic_authorized_operations=True))
        if 8 <= version <= 10:
            k("cluster operations", ApiKey.METADATA, version, metadata(include_cluster_authorized_operations=True))
    by_id = m.MetadataRequest.MetadataRequestTopic
    for title, one in (("by id", by_id(topic_id=known, name=None)), ("unknown id", by_id(topic_id=uuid.UUID(int=77), name=None)),
                       ("id and name", by_id(topic_id=known, name="known")), ("neither", by_id(name=None)),
                       ("id and no name", by_id(topic_id=known, name="")),
                       ("unknown id and no name", by_id(topic_id=uuid.UUID(int=77), name="")),
                       ("id and another name", by_id(topic_id=known, name="nowhere"))):  # fmt: skip
        for version in (10, 12):
            k(title, ApiKey.METADATA, version, m.MetadataRequest(topics=[one], allow_auto_topic_creation=False))
    mixed = [by_id(name="nowhere"), by_id(topic_id=known, name=""), by_id(topic_id=uuid.UUID(int=77), name="known")]
    k("ids and names", ApiKey.METADATA, 12, m.MetadataRequest(topics=mixed, allow_auto_topic_creation=False))
    twice = metadata("known", "known")
    k("twice", ApiKey.METADATA, 9, twice)
    k("created", ApiKey.METADATA, 4, metadata("made-by-asking", auto=True))
    k.until(ApiKey.METADATA, 9, metadata("made-by-asking"), lambda answer: answer.topics[0].error_code == 0)
    k("then", ApiKey.METADATA, 9, metadata("made-by-asking"))
    k("created by an old client", ApiKey.METADATA, 1, metadata("made-by-an-old-client"))
    for version in (0, 1):
        for wanted in (True, False):
            k(f"operations {wanted}", ApiKey.DESCRIBE_CLUSTER, version, m.DescribeClusterRequest(
                include_cluster_authorized_operations=wanted, endpoint_type=1))
    for kind in (0, 2, 9):
        k(f"endpoint {kind}", ApiKey.DESCRIBE_CLUSTER, 1, m.DescribeClusterRequest(endpoint_type=kind))


def topics(k: Script) -> None:
    """CreateTopics, CreatePartitions, DeleteTopics with every mistake."""
    k.ask(ApiKey.CREATE_TOPICS, 5, create(topic("there")))
    cases = {
        "fine": topic("fine", 2), "exists": topic("there"), "exists with a dot": topic("there.x"),
        "collides": topic("there_x"), "empty name": topic(""), "dots": topic(".."), "bad letters": topic("a b"),
        "too long": topic(TOO_LONG), "no partitions": topic("p0", 0), "partitions below": topic("p-2", -2),
        "defaults": topic("defaulted", -1, -1), "factor 0": topic("f0", 1, 0), "factor 2": topic("f2", 1, 2),
        "factor -2": topic("f-2", 1, -2), "huge factor": topic("f9", 1, 30_000),
        "unknown setting": topic("c1", nonsense="1"), "setting's value": topic("c2", segment_bytes="x"),
        "setting too small": topic("c3", segment_bytes="1"), "policy": topic("c4", cleanup_policy="keep"),
        "null value": topic("c5", cleanup_policy=None), "settings": topic("c6", retention_ms="1000"),
        "min isr": topic("c7", min_insync_replicas="0"),
        "assigned": topic("a1", -1, -1, [(0, [1]), (1, [1])]), "assigned and counted": topic("a2", 2, 1, [(0, [1])]),
        "assigned twice": topic("a3", -1, -1, [(0, [1, 1])]), "assigned to a stranger": topic("a4", -1, -1, [(0, [7])]),
        "assigned with a gap": topic("a5", -1, -1, [(0, [1]), (2, [1])]),
        "assigned from 1": topic("a7", -1, -1, [(1, [1])]),
        "uneven": topic("a10", -1, -1, [(0, [1]), (1, [1, 2])]), "too many": topic("a11", 2_000_000_000, 1),
    }  # fmt: skip
    for title, one in cases.items():
        if title not in ("exists with a dot", "too many"):
            k(title, ApiKey.CREATE_TOPICS, 7, create(one, timeout=300 if title == "assigned to a stranger" else 10_000))
    k.ask(ApiKey.CREATE_TOPICS, 5, create(topic("with.dot")))
    k("collides with a dot", ApiKey.CREATE_TOPICS, 7, create(topic("with_dot")))
    for version in range(0, 8):
        name = f"version-{version}"
        if version:
            k("only checked", ApiKey.CREATE_TOPICS, version, create(topic(name), only=True))
            k("only checked, wrong", ApiKey.CREATE_TOPICS, version, create(topic("there"), only=True))
        k("made", ApiKey.CREATE_TOPICS, version, create(topic(name, 1, 1, None, cleanup_policy="compact")))
        k("made by defaults", ApiKey.CREATE_TOPICS, version, create(topic(name + "-d", -1, -1)))
    k("one twice", ApiKey.CREATE_TOPICS, 5, create(topic("twin"), topic("twin"), topic("single")))
    k("none", ApiKey.CREATE_TOPICS, 5, create())
    k("no time", ApiKey.CREATE_TOPICS, 5, create(topic("hasty"), timeout=0))
    _partitions(k)
    _deletion(k)


def _partitions(k: Script) -> None:
    make_topic(k, "growing", 2)
    wanted, assigned = m.CreatePartitionsRequest.CreatePartitionsTopic, m.CreatePartitionsRequest.CreatePartitionsAssignment

    def grow(title: str, *given: Any, version: int = 3, only: bool = False) -> None:
        k(title, ApiKey.CREATE_PARTITIONS, version,
          m.CreatePartitionsRequest(topics=list(given), timeout=10_000, validate_only=only))

    def one(name: str, count: int, *ids: list[int]) -> Any:
        return wanted(name=name, count=count, assignments=[assigned(broker_ids=one) for one in ids] if ids else None)

    grow("grow: same", one("growing", 2))
    grow("grow: fewer", one("growing", 1))
    grow("grow: none", one("growing", 0))
    grow("grow: assigned to nothing", wanted(name="growing", count=3, assignments=[]))
    grow("grow: below", one("growing", -1))
    grow("grow: unknown", one("nowhere", 3))
    grow("grow: bad name", one("a b", 3))
    grow("grow: checked", one("growing", 3), only=True)
    grow("grow: wrong count of lists", one("growing", 4, [1]))
    grow("grow: stranger", one("growing", 3, [7]))
    grow("grow: twice the same", one("growing", 3, [1, 1]))
    grow("grow: nobody", one("growing", 3, []))
    grow("grow: other factor", one("growing", 3, [1, 2]))
    grow("grow: twice", one("growing", 5), one("growing", 6))
    for version in range(0, 4):
        grow("grow", one("growing", 3 + version), version=version)
    grow("grow: assigned", one("growing", 8, [1], [1]))


def _deletion(k: Script) -> None:
    known = make_topic(k, "doomed-id")
    for version in range(0, 7):
        name = f"doomed-{version}"
        make_topic(k, name)
        state = m.DeleteTopicsRequest.DeleteTopicState
        for title, wanted in (("delete", name), ("delete unknown", "nowhere"), ("delete bad name", "a b")):
            k(title, ApiKey.DELETE_TOPICS, version, m.DeleteTopicsRequest(
                topic_names=[wanted], topics=[state(name=wanted)], timeout=10_000))
        k("delete two", ApiKey.DELETE_TOPICS, version, m.DeleteTopicsRequest(
            topic_names=["nowhere", "nowhere-2"], topics=[state(name="nowhere"), state(name="nowhere")], timeout=10_000))
    for title, given in (
        ("unknown id", state(name=None, topic_id=uuid.UUID(int=5))), ("id and name", state(name="doomed-id", topic_id=known)),
        ("neither", state(name=None)), ("by id", state(name=None, topic_id=known)),
    ):  # fmt: skip
        k(f"delete: {title}", ApiKey.DELETE_TOPICS, 6, m.DeleteTopicsRequest(topics=[given], timeout=10_000))


def settings(k: Script) -> None:
    """Describe, alter, alter incrementally."""
    make_topic(k, "set", retention_ms="1000", cleanup_policy="delete")
    d = m.DescribeConfigsRequest
    for version in range(0, 5):
        for kind, name, keys in (
            (2, "set", None), (2, "set", ["retention.ms", "nonsense"]), (2, "set", []), (2, "nowhere", None), (2, "a b", None),
            (4, "1", ["log.retention.ms", "num.io.threads", "min.insync.replicas", "ssl.keystore.password", "broker.id"]),
            (4, "", None), (4, "7", None), (4, "x", None), (3, "x", None),
            (16, "", None), (16, "c", None), (32, "g", None),
        ):  # fmt: skip
            resource = d.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
            label = f"{kind} {name!r} {None if keys is None else len(keys)}"
            if kind in (16,) and version == 0:
                continue
            k(f"describe {label}", ApiKey.DESCRIBE_CONFIGS, version, d(resources=[resource]))
    one = d.DescribeConfigsResource(resource_type=2, resource_name="set", configuration_keys=["retention.ms", "segment.bytes"])
    for version in (1, 4):
        k("synonyms", ApiKey.DESCRIBE_CONFIGS, version, d(resources=[one], include_synonyms=True))
    k("documentation", ApiKey.DESCRIBE_CONFIGS, 4, d(resources=[one], include_documentation=True))
    k("twice", ApiKey.DESCRIBE_CONFIGS, 4, d(resources=[one, one]))
    _alter(k)


def _alter(k: Script) -> None:
    a, i = m.AlterConfigsRequest, m.IncrementalAlterConfigsRequest

    def alter(title: str, kind: int, name: str, only: bool = False, version: int = 2, **values: Any) -> None:
        configs = [a.AlterableConfig(name=key.replace("_", "."), value=value) for key, value in values.items()]
        resource = a.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        k(f"alter {title}", ApiKey.ALTER_CONFIGS, version, a(resources=[resource], validate_only=only))

    def change(title: str, kind: int, name: str, *changes: tuple[str, int, Any], only: bool = False, version: int = 1) -> None:
        configs = [i.AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in changes]
        resource = i.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        k(f"change {title}", ApiKey.INCREMENTAL_ALTER_CONFIGS, version, i(resources=[resource], validate_only=only))

    for version in (0, 1, 2):
        alter("topic", 2, "set", version=version, retention_ms="5000", segment_ms="9000")
    alter("nothing", 2, "set")
    alter("unknown topic", 2, "nowhere", retention_ms="1")
    alter("bad topic", 2, "a b", retention_ms="1")
    alter("unknown setting", 2, "set", nonsense="1")
    alter("bad value", 2, "set", retention_ms="x")
    alter("out of range", 2, "set", retention_ms="-7")
    alter("null", 2, "set", retention_ms=None)
    alter("checked", 2, "set", True, retention_ms="7000")
    alter("checked, wrong", 2, "set", True, retention_ms="x")
    alter("broker", 4, "1", log_cleaner_threads="2")
    alter("broker, fixed", 4, "1", broker_id="5")
    alter("broker, unknown", 4, "1", nonsense="5")
    alter("broker, bad value", 4, "1", log_cleaner_threads="x")
    alter("other broker", 4, "7", log_cleaner_threads="2")
    alter("no broker", 4, "x", log_cleaner_threads="2")
    alter("all brokers", 4, "", log_retention_ms="-1")
    alter("all brokers, own", 4, "", broker_id="4")
    alter("kind 3", 3, "x", retention_ms="1")
    alter("logger", 8, "1", kafka="INFO")
    for version in (0, 1):
        change("set", 2, "set", ("retention.ms", 0, "6000"), version=version)
    change("append", 2, "set", ("cleanup.policy", 2, "compact"))
    change("append again", 2, "set", ("cleanup.policy", 2, "compact"))
    change("subtract", 2, "set", ("cleanup.policy", 3, "delete"))
    change("append to a number", 2, "set", ("retention.ms", 2, "1"))
    change("subtract from a number", 2, "set", ("retention.ms", 3, "1"))
    change("delete", 2, "set", ("retention.ms", 1, None))
    change("delete with a value", 2, "set", ("cleanup.policy", 1, "x"))
    change("delete what is not set", 2, "set", ("segment.ms", 1, None))
    change("null", 2, "set", ("retention.ms", 0, None))
    change("two nulls", 2, "set", ("retention.ms", 0, None), ("segment.ms", 0, None))
    change("twice", 2, "set", ("retention.ms", 0, "1"), ("retention.ms", 0, "2"))
    change("operation 9", 2, "set", ("retention.ms", 9, "1"))
    change("unknown setting", 2, "set", ("nonsense", 0, "1"))
    change("delete unknown setting", 2, "set", ("nonsense", 1, None))
    change("append unknown setting", 2, "set", ("nonsense", 2, "1"))
    change("bad value", 2, "set", ("retention.ms", 0, "x"))
    change("unknown topic", 2, "nowhere", ("retention.ms", 0, "1"))
    change("bad topic", 2, "a b", ("retention.ms", 0, "1"))
    change("nothing", 2, "set")
    change("checked", 2, "set", ("retention.ms", 0, "4000"), only=True)
    change("broker", 4, "1", ("log.cleaner.threads", 0, "2"))
    change("broker, fixed", 4, "1", ("broker.id", 0, "3"))
    change("broker, bad value", 4, "1", ("log.cleaner.threads", 0, "x"))
    change("other broker", 4, "7", ("log.cleaner.threads", 0, "2"))
    change("all brokers", 4, "", ("log.cleaner.threads", 0, "2"))
    change("broker, back", 4, "1", ("log.cleaner.threads", 1, None))
    change("all brokers, back", 4, "", ("log.cleaner.threads", 1, None), ("log.retention.ms", 1, None))
    change("kind 3", 3, "x", ("retention.ms", 0, "1"))
    change("kind 0", 0, "x", ("retention.ms", 0, "1"))
    change("group", 32, "g", ("consumer.session.timeout.ms", 0, "50000"))
    change("last", 2, "set", ("retention.bytes", 0, "123"))
    keys = ["retention.ms", "cleanup.policy", "segment.ms", "retention.bytes"]
    d = m.DescribeConfigsRequest
    wanted = d(resources=[d.DescribeConfigsResource(resource_type=2, resource_name="set", configuration_keys=keys)])
    k.until(ApiKey.DESCRIBE_CONFIGS, 4, wanted,
            lambda answer: {one.name: one.value for one in answer.results[0].configs}["retention.bytes"] == "123")
    k("describe after all that", ApiKey.DESCRIBE_CONFIGS, 4, wanted)


def directories(k: Script) -> None:
    """AlterReplicaLogDirs, of a broker that has one directory."""
    make_topic(k, "placed", 2)
    described = k.ask(ApiKey.DESCRIBE_LOG_DIRS, 2, m.DescribeLogDirsRequest(topics=None))
    own = described.results[0].log_dir
    a = m.AlterReplicaLogDirsRequest

    def into(path: str, topic: str, *partitions: int) -> Any:
        return a.AlterReplicaLogDir(path=path, topics=[a.AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))])

    for version in (1, 2):
        for title, dirs in (
            ("where it lies", [into(own, "placed", 0)]), ("nowhere", [into("/nowhere", "placed", 0, 1)]),
            ("relative", [into(own[1:], "placed", 0)]), ("a slash behind", [into(own + "/", "placed", 0)]), ("empty", [into("", "placed", 0)]),
            ("partition 9", [into(own, "placed", 9)]), ("unknown topic", [into(own, "missing", 0)]),
            ("long name", [into(own, "x" * 240, 0)]), ("long name, nowhere", [into("/nowhere", "x" * 240, 0)]),
            ("two", [into(own, "placed", 0, 1)]), ("twice", [into(own, "placed", 0), into("/nowhere", "placed", 0)]), ("none", []),
        ):  # fmt: skip
            k(title, ApiKey.ALTER_REPLICA_LOG_DIRS, version, a(dirs=dirs))


def others(k: Script) -> None:
    """DescribeLogDirs, FindCoordinator, ElectLeaders, reassignments."""
    make_topic(k, "lying", 2)
    d = m.DescribeLogDirsRequest
    asked = [d.DescribableLogDirTopic(topic="lying", partitions=[0, 9]), d.DescribableLogDirTopic(topic="nowhere", partitions=[0])]
    for version in range(1, 5):
        k("log dirs", ApiKey.DESCRIBE_LOG_DIRS, version, d(topics=asked))
        k("no log dirs", ApiKey.DESCRIBE_LOG_DIRS, version, d(topics=[]))
    key = ApiKey.FIND_COORDINATOR
    def found(answer: Any) -> bool:
        return answer.error_code == 0

    k.until(key, 2, m.FindCoordinatorRequest(key="g", key_type=0), found)
    for version in range(0, 7):
        many = version >= 4
        for kind, name in ((0, "g"), (0, ""), (2, "x"), (9, "x"))[: 2 if version == 0 else 4]:
            k(f"coordinator {kind} {name!r}", key, version, m.FindCoordinatorRequest(
                key=name, key_type=kind, coordinator_keys=[name] if many else []))
    k("coordinators", key, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "", "h"]))
    k("no coordinators", key, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=[]))
    e = m.ElectLeadersRequest
    for version in (0, 1, 2):
        for kind in (0, 1) if version else (0,):
            for name, part in (("lying", 0), ("lying", 9), ("nowhere", 0)):
                k(f"elect {kind} {name}-{part}", ApiKey.ELECT_LEADERS, version, e(
                    election_type=kind, topic_partitions=[e.TopicPartitions(topic=name, partitions=[part])], timeout=5000))
    r = m.AlterPartitionReassignmentsRequest
    for title, name, part, replicas in (
        ("same", "lying", 0, [1]), ("stranger", "lying", 0, [7]), ("twice", "lying", 0, [1, 1]), ("none", "lying", 0, []),
        ("below", "lying", 0, [-1]), ("cancel", "lying", 0, None), ("unknown", "nowhere", 0, [1]), ("partition 9", "lying", 9, [1]),
    ):  # fmt: skip
        wanted = r.ReassignableTopic(name=name, partitions=[r.ReassignablePartition(partition_index=part, replicas=replicas)])
        k(f"reassign: {title}", ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, r(topics=[wanted], timeout=5000))
    one = m.ListPartitionReassignmentsRequest
    k("reassignments", ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, one(topics=None, timeout=5000))
    some = [one.ListPartitionReassignmentsTopics(name="nowhere", partition_indexes=[0])]
    k("reassignments of", ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, one(topics=some, timeout=5000))
    _forgotten_offsets(k)


def _forgotten_offsets(k: Script) -> None:
    """The broker says what does not exist, its coordinator the rest (KIP-496)."""
    c, d = m.OffsetCommitRequest, m.OffsetDeleteRequest
    parts = [c.OffsetCommitRequestPartition(partition_index=index, committed_offset=5) for index in (0, 1)]
    topics = [c.OffsetCommitRequestTopic(name="lying", partitions=parts)]
    commit = c(group_id="g", generation_id_or_member_epoch=-1, topics=topics)
    k.until(ApiKey.OFFSET_COMMIT, 8, commit, lambda answer: answer.topics[0].partitions[0].error_code == 0)

    def forget(title: str, group: str, **given: tuple[int, ...]) -> None:
        topics = [
            d.OffsetDeleteRequestTopic(
                name=name, partitions=[d.OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
            )
            for name, indexes in given.items()
        ]
        k(f"forget: {title}", ApiKey.OFFSET_DELETE, 0, d(group_id=group, topics=topics))

    for group in ("g", "nobody"):
        forget(f"nothing of {group}", group)
        forget(f"what is not there of {group}", group, nowhere=(0, 1), lying=(9,))
        forget(f"no partitions of {group}", group, lying=(), nowhere=())
        forget(f"one of several of {group}", group, nowhere=(0,), lying=(9, 0))
        forget(f"the last of {group}", group, lying=(1,), nowhere=(0,))


def malformed(k: Script) -> None:
    """What no client should send: the connection is closed, and the next client is served."""
    good = struct.pack(">hhih", 3, 0, 1, -1) + struct.pack(">i", 0)
    for title, data in (
        ("unknown key", struct.pack(">ihhih", 10, 999, 0, 1, -1)),
        ("negative key", struct.pack(">ihhih", 10, -5, 0, 1, -1)),
        ("unsupported version", struct.pack(">ihhih", 14, 3, 99, 1, -1) + struct.pack(">i", 0)),
        ("negative version", struct.pack(">ihhih", 14, 3, -1, 1, -1) + struct.pack(">i", 0)),
        ("length of 2 GiB", struct.pack(">i", 2**31 - 1) + good),
        ("length below zero", struct.pack(">i", -5) + good),
        ("length over the limit", struct.pack(">i", 104857601)),
        ("length of zero", struct.pack(">i", 0)),
        ("header cut off", struct.pack(">i", 3) + b"\0\3\0"),
        ("body cut off", struct.pack(">i", len(good) - 2) + good[:-2]),
        ("count that lies", struct.pack(">i", len(good)) + good[:-4] + struct.pack(">i", 2**31 - 1)),
        ("bytes behind", struct.pack(">i", len(good) + 4) + good + b"\0\0\0\0"),
        ("client id that lies", struct.pack(">ihhih", 10, 3, 0, 1, 500)),
        ("HTTP", b"GET / HTTP/1.1\r\n\r\n"),
    ):  # fmt: skip
        connection = k.fresh()
        connection.write(data)
        k.answers[title] = CLOSED if connection.frame() is None else "an answer"
        connection.close()
    connection = k.fresh()
    connection.write(struct.pack(">i", 500) + good)
    connection.close()
    assert k.ask(ApiKey.API_VERSIONS, 0, software("", "")).error_code == 0
