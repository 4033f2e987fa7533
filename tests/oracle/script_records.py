"""Produce with every error, Fetch at every border, offsets by time, by epoch, and deleted records."""

from __future__ import annotations

import struct
import time
import uuid
from typing import Any

from broker_core.records import encode_batch
from broker_core.records.header import crc_of, iterate_batches
from broker_core.records.legacy import encode_message_set
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.conftest import PATIENCE_S
from tests.oracle.asking import Script
from tests.oracle.requests import THEN, batch, fetch, list_offsets, make_topic, produce

PRODUCE, FETCH = ApiKey.PRODUCE, ApiKey.FETCH


def broken(offset: int, layout: str, value: int, *, crc: bool = True) -> bytearray:
    """A batch with another value at a place of its header; the CRC is made to fit it again."""
    from crc32c import crc32c

    data = batch(b"one", b"two")
    struct.pack_into(layout, data, offset, value)
    if crc:
        struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return data


def producing(k: Script) -> None:
    """Every answer that Produce can give at one broker."""
    make_topic(k, "produce", 2)
    make_topic(k, "small", max_message_bytes="1000")
    make_topic(k, "compacted", cleanup_policy="compact")
    make_topic(k, "two-wanted", min_insync_replicas="2")
    make_topic(k, "append-time", message_timestamp_type="LogAppendTime")
    make_topic(k, "narrow", message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000")
    make_topic(k, "gzipped", compression_type="gzip")
    for version in range(3, 12):
        k("one record", PRODUCE, version, produce("produce", batch(b"v%d" % version)))
    for acks in (-1, 1, 2, -2):
        k(f"acks {acks}", PRODUCE, 9, produce("produce", batch(b"a"), acks))
        k(f"acks {acks} to two-wanted", PRODUCE, 9, produce("two-wanted", batch(b"a"), acks))
    for version in (3, 7, 8, 10, 11):
        k("unknown topic", PRODUCE, version, produce("nowhere", batch(b"a")))
        k("unknown partition", PRODUCE, version, produce("produce", batch(b"a"), partition=9))
        k("keyless on compacted", PRODUCE, version, produce("compacted", batch(b"a", b"b", key=None)))
        k("too large", PRODUCE, version, produce("small", batch(b"x" * 2000)))
        k("time too early", PRODUCE, version, produce("narrow", batch(b"a", b"b")))
    k("keyed on compacted", PRODUCE, 9, produce("compacted", batch(b"a", b"b")))
    k("time too late", PRODUCE, 9, produce("narrow", batch(b"a", at=4_000_000_000_000)))
    k("append time", PRODUCE, 9, produce("append-time", batch(b"a", at=4_000_000_000_000)))
    k("empty name", PRODUCE, 9, produce("", batch(b"a")))
    several = produce("produce", batch(b"a"))
    several.topic_data[0].partition_data.append(m.ProduceRequest.PartitionProduceData(index=7, records=batch(b"b")))
    several.topic_data += produce("nowhere", batch(b"a")).topic_data + produce("small", batch(b"x" * 2000)).topic_data
    k("several", PRODUCE, 9, several)
    k("nothing", PRODUCE, 9, m.ProduceRequest(acks=1, timeout=100, topic_data=[], transactional_id=None))
    for compression in (0, 1, 2, 3, 4):
        k(f"compression {compression}", PRODUCE, 9, produce("produce", batch(b"abc" * 50, compression=compression)))
        k(f"compression {compression} to gzipped", PRODUCE, 9,
          produce("gzipped", batch(b"abc" * 50, compression=compression)))
    k("zstd", PRODUCE, 6, produce("produce", batch(b"a", compression=4)))
    k("read back", FETCH, 11, fetch("produce"))
    k("read gzipped", FETCH, 11, fetch("gzipped"))
    k("read append time", FETCH, 11, fetch("append-time"))


def times_that_lie(k: Script) -> None:
    """Batches that say LogAppendTime, as only a broker may, and headers that say another time than their records."""
    forever = {"retention_ms": "-1"}
    topics = {
        "times": forever,
        "append-times": {"message_timestamp_type": "LogAppendTime", **forever},
        "narrow-times": {"message_timestamp_before_max_ms": "1000", "message_timestamp_after_max_ms": "1000", **forever},
        "gzipped-times": {"compression_type": "gzip", **forever},
        "keyed-times": {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "1.0"},
    }
    for name, configs in topics.items():
        make_topic(k, name, **configs)
        for codec in (0, 1, 3):
            for title, data in (
                ("append time", batch(b"a", b"b", compression=codec, timestamp_type=1)),
                ("append time, none", timed(batch(b"a", b"b", compression=codec, timestamp_type=1), -1)),
                ("append time, no key", timed(batch(b"a", key=None, compression=codec, timestamp_type=1), -1)),
                ("append time, later", timed(batch(b"a", b"b", compression=codec, timestamp_type=1), THEN + 5000)),
                ("append time, before 1970", timed(batch(b"a", compression=codec, timestamp_type=1), -5)),
                ("later", timed(batch(b"a", b"b", compression=codec), THEN + 5000)),
                ("none", timed(batch(b"a", b"b", compression=codec), -1)),
                ("before 1970", batch(b"a", b"b", at=-5, compression=codec)),
                ("no time", batch(b"a", at=-1, compression=codec)),
            ):
                if name == "append-times":
                    time.sleep(0.002)  # each is of a millisecond of its own: the last one is the latest
                k(f"{title}, {codec} to {name}", PRODUCE, 9, produce(name, data))
        k(f"read {name}", FETCH, 11, fetch(name))
        for moment in (-3, THEN, THEN + 1, THEN + 2, THEN + 5000):
            k(f"{name} at {moment}", ApiKey.LIST_OFFSETS, 7, list_offsets(name, moment))
        data = bytes(k.ask(FETCH, 11, fetch(name)).responses[0].partitions[0].records or b"")
        heads = [one.header for one in iterate_batches(data)]
        k.note(f"latest in {name}", [k.moment(head.max_timestamp) for head in heads])


def timed(data: bytearray, latest: int) -> bytearray:
    """A batch whose header says that its latest record is of `latest`."""
    struct.pack_into(">q", data, 35, latest)
    struct.pack_into(">I", data, 17, crc_of(data))
    return data


def producing_wrongly(k: Script) -> None:
    """Batches that lie."""
    make_topic(k, "wrong")
    for title, data in (
        ("wrong CRC", broken(17, ">I", 12345, crc=False)),
        ("count that lies", broken(57, ">i", 5)),
        ("count of zero", broken(57, ">i", 0)),
        ("count below zero", broken(57, ">i", -3)),
        ("last offset that lies", broken(23, ">i", 7)),
        ("magic 1 in a batch", broken(16, ">b", 1)),
        ("magic 3", broken(16, ">b", 3)),
        ("magic -1", broken(16, ">b", -1)),
        ("length too long", broken(8, ">i", 500)),
        ("length too short", broken(8, ">i", 10)),
        ("length below zero", broken(8, ">i", -10)),
        ("compression 7", broken(21, ">h", 7)),
        ("gzip that is none", broken(21, ">h", 1)),
        ("zstd that is none", broken(21, ">h", 4)),
        ("control batch", broken(21, ">h", 32)),
        ("transactional", broken(21, ">h", 16)),
        ("base offset 7", broken(0, ">q", 7)),
        ("base offset -7", broken(0, ">q", -7)),
        ("max timestamp", broken(35, ">q", THEN + 5000)),
        ("no bytes", b""),
        ("few bytes", b"\0" * 7),
        ("zeros", b"\0" * 80),
        ("two batches", batch(b"a") + batch(b"b")),
        ("magic 0", encode_message_set([(THEN, b"k", b"v", ())], 0)),
        ("magic 1", encode_message_set([(THEN, b"k", b"v", ())], 1)),
        ("sequence without producer", broken(53, ">i", 5)),
        ("producer without sequence", broken(43, ">q", 5)),
    ):
        for version in (3, 8, 10):
            k(title, PRODUCE, version, produce("wrong", data))
    for version in (0, 1, 2):
        for magic in (0, 1):
            data = encode_message_set([(THEN, b"k", b"v", ()), (THEN, b"k", b"w", ())], magic)
            k(f"magic {magic}", PRODUCE, version, produce("wrong", data))
        k("magic 2", PRODUCE, version, produce("wrong", batch(b"x")))
    for acks, title, request in (
        (0, "fine", produce("wrong", batch(b"silent"), 0)),
        (0, "unknown topic", produce("nowhere", batch(b"silent"), 0)),
        (0, "wrong CRC", produce("wrong", broken(17, ">I", 1, crc=False), 0)),
    ):
        connection = k.fresh()
        connection.send(PRODUCE, 9, request)
        k.note(f"after acks {acks}, {title}", connection.ask(PRODUCE, 9, produce("wrong", batch(b"behind"))))
        connection.close()
    k("read back", FETCH, 11, fetch("wrong"))
    k("read back", FETCH, 4, fetch("wrong"))
    k("read back", FETCH, 3, fetch("wrong"))
    k("read back", FETCH, 1, fetch("wrong"))


def idempotence(k: Script) -> None:
    """Sequences and epochs of producers, and who they are."""
    make_topic(k, "sequences")
    key = ApiKey.INIT_PRODUCER_ID
    anew = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    k.until(key, 1, m.InitProducerIdRequest(**anew), lambda answer: answer.error_code == 0)
    for version in range(0, 6):
        made = k("new producer", key, version, m.InitProducerIdRequest(**anew))
    k("empty transactional id", key, 4, m.InitProducerIdRequest(**{**anew, "transactional_id": ""}))
    k("id without epoch", key, 4, m.InitProducerIdRequest(**{**anew, "producer_id": 5}))
    k("epoch without id", key, 4, m.InitProducerIdRequest(**{**anew, "producer_epoch": 5}))
    mine = m.InitProducerIdRequest(**{**anew, "producer_id": made.producer_id, "producer_epoch": 0})
    k("my id again", key, 4, mine)

    def send(title: str, sequence: int, *values: bytes, epoch: int = 0, who: int | None = None, version: int = 9) -> Any:
        producer = made.producer_id if who is None else who
        data = batch(*values, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)
        return k(title, PRODUCE, version, produce("sequences", data, -1))

    send("first", 0, b"a", b"b")
    send("second", 2, b"c")
    send("second again", 2, b"c")
    send("first again", 0, b"a", b"b")
    send("gap", 9, b"d")
    for number in range(6):
        send(f"third and following {number}", 3 + number, b"e")
    send("older than five batches", 0, b"a", b"b")
    send("overlap", 2, b"c", b"d", b"e", b"f")
    send("next epoch must begin at 0", 4, b"f", epoch=2)
    send("next epoch", 0, b"f", epoch=2)
    send("old epoch", 9, b"g", epoch=1)
    send("old epoch", 9, b"g", epoch=1, version=3)
    send("stranger begins at 7", 7, b"h", who=made.producer_id + 500)
    send("stranger's gap", 9, b"h", who=made.producer_id + 500)
    send("epoch -1", 0, b"h", epoch=-1)
    send("sequence -1", -1, b"h")
    wanted = m.DescribeProducersRequest.TopicRequest
    k("who writes", ApiKey.DESCRIBE_PRODUCERS, 0, m.DescribeProducersRequest(
        topics=[wanted(name="sequences", partition_indexes=[0, 9]), wanted(name="nowhere", partition_indexes=[0])]))
    k("read back", FETCH, 11, fetch("sequences"))


def fetching(k: Script) -> None:
    """Fetch at every border."""
    fetchable = make_topic(k, "fetchable", 2, segment_bytes="1000")
    make_topic(k, "empty")
    for number in range(8):
        data = batch(*[b"%d" % number * 100 for _ in range(3)], compression=number % 3)
        k.ask(PRODUCE, 9, produce("fetchable", data))
    k.ask(PRODUCE, 9, produce("fetchable", batch(b"other"), partition=1))
    for version in range(4, 18):
        topic: Any = "fetchable" if version < 13 else fetchable
        k("from the start", FETCH, version, fetch(topic))
        k("in the middle of a batch", FETCH, version, fetch(topic, 7, partition_max_bytes=500))
        k("at the end", FETCH, version, fetch(topic, 24))
        k("beyond the end", FETCH, version, fetch(topic, 25))
        k("before the start", FETCH, version, fetch(topic, -1))
        k("unknown partition", FETCH, version, fetch(topic, partition=9))
        k("read committed", FETCH, version, fetch(topic, 18, isolation_level=1))
        if version >= 9:
            for epoch in (0, 1, -1):
                k(f"leader epoch {epoch}", FETCH, version, fetch(topic, 24, current_leader_epoch=epoch))
        if version >= 12:
            k("last fetched epoch 0", FETCH, version, fetch(topic, 24, last_fetched_epoch=0))
            k("last fetched epoch 5", FETCH, version, fetch(topic, 24, last_fetched_epoch=5))
    for version in (0, 1, 2, 3):
        k("from the start", FETCH, version, fetch("fetchable"))
        k("beyond the end", FETCH, version, fetch("fetchable", 25))
    k("unknown topic", FETCH, 12, fetch("nowhere"))
    k("unknown topic", FETCH, 4, fetch("nowhere"))
    k("unknown id", FETCH, 13, fetch(uuid.UUID(int=99)))
    k("zero id", FETCH, 13, fetch(uuid.UUID(int=0)))
    k("empty topic", FETCH, 11, fetch("empty"))
    k("empty topic beyond", FETCH, 11, fetch("empty", 1))
    for size in (0, 1, 350, 800, 1000):
        k(f"partition's {size} bytes", FETCH, 11, fetch("fetchable", partition_max_bytes=size))
        k(f"{size} bytes", FETCH, 11, fetch("fetchable", max_bytes=size))
        k(f"{size} bytes", FETCH, 2, fetch("fetchable", partition_max_bytes=size))
    both = fetch("fetchable", max_bytes=400)
    both.topics[0].partitions += fetch("fetchable", partition=1).topics[0].partitions
    k("two partitions, few bytes", FETCH, 11, both)
    k("min bytes not there", FETCH, 11, fetch("fetchable", 24, min_bytes=10_000, max_wait=60))
    k("as a follower", FETCH, 11, fetch("fetchable", replica_id=5))
    k("as a follower", FETCH, 15, fetch(fetchable, replica_state=m.FetchRequest.ReplicaState(replica_id=5)))
    k("as a debugger", FETCH, 11, fetch("fetchable", 23, replica_id=-2))


def fetch_sessions(k: Script) -> None:
    """Incremental fetches (KIP-227)."""
    first, second = make_topic(k, "session-1"), make_topic(k, "session-2")
    for version in (7, 12, 13, 17):
        one: Any = "session-1" if version < 13 else first
        other: Any = "session-2" if version < 13 else second
        opened = k("open", FETCH, version, fetch(one, session_epoch=0))
        here = {"session_id": opened.session_id}
        both = fetch(one, session_epoch=1, **here)
        both.topics += fetch(other).topics
        k("add a topic", FETCH, version, both)
        k("nothing new", FETCH, version, fetch(one, topics=[], session_epoch=2, **here))
        k.ask(PRODUCE, 9, produce("session-2", batch(b"news")))
        k("news", FETCH, version, fetch(one, topics=[], session_epoch=3, **here))
        k("wrong epoch", FETCH, version, fetch(one, topics=[], session_epoch=9, **here))
        k("stranger", FETCH, version, fetch(one, topics=[], session_id=12345, session_epoch=1))
        named = {"topic": other} if version < 13 else {"topic_id": other}
        gone = m.FetchRequest.ForgottenTopic(partitions=[0], **named)
        k("forget", FETCH, version, fetch(one, topics=[], session_epoch=4, forgotten_topics_data=[gone], **here))
        k("closed", FETCH, version, fetch(one, topics=[], session_epoch=-1, **here))
        k("after that", FETCH, version, fetch(one, topics=[], session_epoch=5, **here))


def offsets(k: Script) -> None:
    """ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""
    make_topic(k, "timed", 2)
    make_topic(k, "quiet")
    make_topic(k, "compact-only", cleanup_policy="compact")
    for number in range(5):
        k.ask(PRODUCE, 9, produce("timed", batch(b"a", b"b", b"c", at=THEN + 1000 * (number if number != 3 else 9))))
    moments = (-1, -2, -3, -4, -5, -6, 0, THEN, THEN + 1, THEN + 1001, THEN + 3000, THEN + 8000, THEN + 20_000)
    for version in range(0, 10):
        for moment in moments:
            k(f"at {moment}", ApiKey.LIST_OFFSETS, version, list_offsets("timed", moment))
        k("quiet, latest", ApiKey.LIST_OFFSETS, version, list_offsets("quiet", -1))
        k("quiet, by time", ApiKey.LIST_OFFSETS, version, list_offsets("quiet", THEN))
        k("unknown topic", ApiKey.LIST_OFFSETS, version, list_offsets("nowhere", -1))
        k("unknown partition", ApiKey.LIST_OFFSETS, version, list_offsets("timed", -1, 9))
        if version >= 2:
            k("committed", ApiKey.LIST_OFFSETS, version, list_offsets("timed", -1, isolation_level=1))
        if version >= 4:
            for epoch in (0, 1):
                k(f"epoch {epoch}", ApiKey.LIST_OFFSETS, version, list_offsets("timed", -1, epoch=epoch))
    twice = list_offsets("timed", -1)
    twice.topics[0].partitions *= 2
    k("twice", ApiKey.LIST_OFFSETS, 5, twice)
    k("as follower", ApiKey.LIST_OFFSETS, 5, list_offsets("timed", -1, replica_id=5))
    k("as debugger", ApiKey.LIST_OFFSETS, 5, list_offsets("timed", -1, replica_id=-2))
    for version in range(0, 5):
        for current, epoch, name, part in ((-1, 0, "timed", 0), (-1, 1, "timed", 0), (-1, -1, "timed", 0),
                                           (0, 0, "quiet", 0), (3, 0, "timed", 0), (-1, 0, "timed", 9),
                                           (-1, 0, "nowhere", 0)):  # fmt: skip
            e = m.OffsetForLeaderEpochRequest
            asked = e.OffsetForLeaderPartition(partition=part, current_leader_epoch=current, leader_epoch=epoch)
            topics = [e.OffsetForLeaderTopic(topic=name, partitions=[asked])]
            k(f"end of {epoch} at {current}, {name}-{part}", ApiKey.OFFSET_FOR_LEADER_EPOCH, version,
              e(replica_id=-1 if version < 4 else -2, topics=topics))
    for version in (0, 1, 2):
        for number, (name, part, offset) in enumerate((
            ("timed", 0, version + 1), ("timed", 0, 0), ("timed", 0, 99), ("timed", 0, -5), ("timed", 9, 0),
            ("nowhere", 0, 0), ("compact-only", 0, 0), ("quiet", 0, -1), ("quiet", 0, 0),
        )):  # fmt: skip
            d = m.DeleteRecordsRequest
            asked = d.DeleteRecordsPartition(partition_index=part, offset=offset)
            k(f"delete {number}: {name}-{part} below {offset}", ApiKey.DELETE_RECORDS, version,
              d(topics=[d.DeleteRecordsTopic(name=name, partitions=[asked])], timeout=3000))
    k("first", ApiKey.LIST_OFFSETS, 5, list_offsets("timed", -2))
    k("read deleted", FETCH, 11, fetch("timed", 0))
    k("read the rest", FETCH, 11, fetch("timed", 3))


def large_request(k: Script) -> None:
    """A megabyte passes, more does not."""
    make_topic(k, "large")
    for size in (1_000_000, 1_048_500, 1_048_600, 2_000_000):
        k(f"{size} bytes", PRODUCE, 9, produce("large", batch(bytes(size))))
    many = encode_batch([(THEN, b"k", b"x" * 600_000, ())] * 2)
    k("together too large", PRODUCE, 9, produce("large", many))
    k("together too large, compressed", PRODUCE, 9,
      produce("large", encode_batch([(THEN, b"k", b"x" * 600_000, ())] * 2, compression=1)))
    started = time.monotonic()
    k("waits", FETCH, 11, fetch("large", 99, max_wait=100, min_bytes=1))
    assert time.monotonic() - started < PATIENCE_S
