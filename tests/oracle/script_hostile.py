"""What is sent on purpose or by mistake to harm: records that lie, topics of the cluster itself, settings of a broker."""

from __future__ import annotations

from typing import Any

from broker_core.records.batch import assemble
from broker_core.records.compression import compress
from broker_core.records.varint import encode_varint
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import THEN, batch, create, fetch, make_topic, metadata, produce, ready, topic

CODECS = ((0, "plain"), (1, "gzip"), (2, "snappy"), (3, "lz4"), (4, "zstd"))
BODIES = {  # of one record, behind its length
    "no headers": "00 00 00 01 01 00",
    "-3 headers": "00 00 00 01 01 05",
    "2^30 headers": "00 00 00 01 01 80 80 80 80 08",
    "a header without a key": "00 00 00 01 01 02 01 01",
    "a header that is cut": "00 00 00 01 01 02 04 61 01",
    "a byte too many": "00 00 00 01 01 00 00",
    "a value that is too long": "00 00 00 01 7e 00",
    "a value of 2 GiB": "00 00 00 01 fe ff ff ff 0f 00",
    "a key of length -300": "00 00 00 d7 04 01 00",
    "a time of eleven bytes": "00 80 80 80 80 80 80 80 80 80 80 00 00 01 01 00",
    "an offset of six bytes": "00 00 80 80 80 80 80 00 01 01 00",
    "attributes": "ff 00 00 01 01 00",
    "an offset of 7": "00 00 0e 01 01 00",
}


def lying(body: str, count: int, codec: int) -> bytearray:
    """A record of these bytes in front of one that is right; the checksum is right."""
    records = b"".join(encode_varint(len(one)) + one for one in map(bytes.fromhex, (body, "00 00 02 01 01 00")))
    return assemble(compress(codec, records), 0, -1, codec, count - 1, THEN, THEN, -1, -1, -1, count)


def hostile_records(k: Script) -> None:
    """Each codec, each lie. A fetch shows what was stored."""
    make_topic(k, "lies")
    for codec, name in CODECS:
        for title, body in BODIES.items() if codec == 0 else [*BODIES.items()][:-1]:
            k(f"{name}, {title}", ApiKey.PRODUCE, 9, produce("lies", lying(body, 2, codec)))
        for count in (1, 3, 1 << 30):
            k(f"{name}, {count} records", ApiKey.PRODUCE, 9, produce("lies", lying(BODIES["no headers"], count, codec)))


def internal_topics(k: Script) -> None:
    """Before they are there, and after."""
    names = ("__consumer_offsets", "__transaction_state", "__cluster_metadata", "__share_group_state")
    for name in names:
        k(f"produce to {name}", ApiKey.PRODUCE, 9, produce(name, batch(b"v")))
        k(f"fetch {name}", ApiKey.FETCH, 11, fetch(name))
        k(f"delete records of {name}", ApiKey.DELETE_RECORDS, 2, _trim(name))
    for version in (2, 5, 7):
        k("create __cluster_metadata", ApiKey.CREATE_TOPICS, version, create(topic("__cluster_metadata"), topic(f"by-{version}")))
    k("create __cluster_metadata, checked", ApiKey.CREATE_TOPICS, 5, create(topic("__cluster_metadata"), only=True))
    k("metadata of __cluster_metadata", ApiKey.METADATA, 9, metadata("__cluster_metadata", auto=True))
    for name in ("__consumer_offsets", "__transaction_state"):
        k(f"create {name}", ApiKey.CREATE_TOPICS, 5, create(topic(name)))
        k.until(ApiKey.METADATA, 9, metadata(name), lambda answer: ready(answer.topics[0]))
        k(f"create {name} again", ApiKey.CREATE_TOPICS, 5, create(topic(name)))
        k(f"{name}", ApiKey.METADATA, 8, metadata(name))
        for version in (3, 7, 9, 11):
            k(f"produce to {name} that is there", ApiKey.PRODUCE, version, produce(name, batch(b"v")))
        k.note(f"the admin client writes to {name}",
               k.connection().ask(ApiKey.PRODUCE, 9, produce(name, batch(b"v")), "__admin_client"))  # fmt: skip
        k(f"acks=-1 to {name} and to what is not there", ApiKey.PRODUCE, 9, produce(name, batch(b"v"), acks=-1, partition=9))
        k(f"trim {name}", ApiKey.DELETE_RECORDS, 2, _trim(name))
        k(f"trim partition 9 of {name}", ApiKey.DELETE_RECORDS, 2, _trim(name, 9))
    more = m.CreatePartitionsRequest.CreatePartitionsTopic(name="__transaction_state", count=2, assignments=None)
    k("more partitions", ApiKey.CREATE_PARTITIONS, 2, m.CreatePartitionsRequest(topics=[more], timeout=5000))


def _trim(name: str, partition: int = 0) -> Any:
    part = m.DeleteRecordsRequest.DeleteRecordsPartition(partition_index=partition, offset=0)
    one = m.DeleteRecordsRequest.DeleteRecordsTopic(name=name, partitions=[part])
    return m.DeleteRecordsRequest(topics=[one], timeout=3000)


OF_ONE_BROKER: tuple[tuple[str, str], ...] = (
    ("num.io.threads", "16"), ("num.io.threads", "17"), ("num.io.threads", "4"), ("num.io.threads", "3"),
    ("num.io.threads", "0"), ("num.io.threads", "-1"), ("num.network.threads", "6"), ("num.network.threads", "7"),
    ("num.network.threads", "2"), ("num.replica.fetchers", "2"), ("num.replica.fetchers", "3"),
    ("num.replica.fetchers", "0"), ("background.threads", "21"), ("background.threads", "5"), ("background.threads", "4"),
    ("num.recovery.threads.per.data.dir", "3"), ("log.cleaner.threads", "2"), ("log.cleaner.threads", "3"),
    ("log.cleaner.threads", "0"), ("log.cleaner.dedupe.buffer.size", "1048576"), ("log.retention.ms", "-5"),
    ("log.retention.ms", "0"), ("log.retention.ms", "-1"), ("log.retention.minutes", "-5"), ("log.retention.bytes", "-5"),
    ("log.segment.bytes", "13"), ("log.roll.ms", "0"), ("message.max.bytes", "-1"), ("min.insync.replicas", "0"),
    ("max.connections", "-1"), ("max.connections", "5"), ("max.connections.per.ip", "-1"), ("max.connections.per.ip", "0"),
    ("max.connections.per.ip.overrides", "127.0.0.1:x"), ("max.connections.per.ip.overrides", "no.such.host.invalid:5"),
    ("max.connection.creation.rate", "0"), ("log.message.timestamp.type", "x"), ("compression.type", "x"),
    ("log.cleanup.policy", "x"), ("log.cleanup.policy", ""), ("unclean.leader.election.enable", "yes"),
    ("metric.reporters", "x.y.Z"), ("producer.id.expiration.ms", "0"), ("log.flush.interval.ms", "-1"),
    ("log.retention.ms", "9" * 30), ("log.retention.ms", "9" * 5000), ("log.cleaner.min.cleanable.ratio", "1_0"),
    ("log.cleaner.min.cleanable.ratio", "0.5f"), ("log.cleaner.min.cleanable.ratio", "NaN"), ("log.retention.ms", "0x1"),
    ("log.retention.ms", "+0005"), ("log.retention.ms", " 5 "), ("log.retention.ms", ""), ("ssl.keystore.type", "x"),
    ("zookeeper.connect", "x:1"), ("log.dirs", "/tmp"), ("allow.everyone.if.no.acl.found", "true"),
    ("leader.replication.throttled.rate", "-1"), ("leader.replication.throttled.rate", "5"),
)  # fmt: skip
ADDRESSES: tuple[tuple[str, str], ...] = (
    ("advertised.listeners", ""), ("advertised.listeners", "PLAINTEXT://0.0.0.0:1"), ("advertised.listeners", "PLAINTEXT://:1"),
    ("advertised.listeners", "PLAINTEXT://h:99999"), ("advertised.listeners", "PLAINTEXT://h:x"),
    ("advertised.listeners", "PLAINTEXT://h"), ("advertised.listeners", "OTHER://h:1"), ("advertised.listeners", "h:1"),
    ("advertised.listeners", "PLAINTEXT://h:1,PLAINTEXT://g:2"), ("advertised.listeners", "PLAINTEXT://h:1,SSL://h:1"),
    ("listeners", ""), ("listeners", "SSL://127.0.0.1:0"), ("listeners", "PLAINTEXT://127.0.0.1:x"), ("listeners", "x"),
    ("listeners", "OTHER://127.0.0.1:0"), ("listeners", "PLAINTEXT://127.0.0.1:1,PLAINTEXT://127.0.0.1:2"),
    ("listener.security.protocol.map", ""), ("listener.security.protocol.map", "PLAINTEXT:NONE"),
    ("listener.security.protocol.map", "SSL:SSL"), ("listener.security.protocol.map", "PLAINTEXT:SSL"),
    ("listener.security.protocol.map", "PLAINTEXT"), ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT"),
    ("inter.broker.listener.name", "OTHER"),
)  # fmt: skip


def broker_settings(k: Script) -> None:
    """Each for one broker and for all, taken back at once; none from which the way back is too large a step."""
    for broker in ("1", ""):
        for name, value in OF_ONE_BROKER + (ADDRESSES if broker else ADDRESSES[:1]):
            shown = value if len(value) < 50 else f"{len(value)} digits"
            k(f"broker {broker!r}: {name}={shown}", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, _change(broker, name, 0, value))
            k.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, _change(broker, name, 1, None))
            k.until(ApiKey.DESCRIBE_CONFIGS, 1, _describe(name), _is_back)


def _change(broker: str, name: str, operation: int, value: str | None) -> Any:
    i = m.IncrementalAlterConfigsRequest
    config = i.AlterableConfig(name=name, config_operation=operation, value=value)
    return i(resources=[i.AlterConfigsResource(resource_type=4, resource_name=broker, configs=[config])])


def _describe(name: str) -> Any:
    d = m.DescribeConfigsRequest
    one = d.DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=[name])
    return d(resources=[one], include_synonyms=True)


def _is_back(answer: Any) -> bool:
    """Whether the broker has heard that a setting is no dynamic one any more."""
    return all(one.source > 3 for entry in answer.results[0].configs for one in entry.synonyms)
