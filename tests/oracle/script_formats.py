"""Logs that are written in an old format, and what clients of every time get from them."""

from __future__ import annotations

import struct
from typing import Any

from broker_core.records import decode_records, encode_batch
from broker_core.records.compression import compress, decompress
from broker_core.records.control import transaction_marker_batch
from broker_core.records.header import Batch, iterate_batches
from broker_core.records.legacy import encode_message, encode_message_set
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from tests.oracle.asking import RECENT_MS, Script, text
from tests.oracle.requests import THEN, batch, fetch, leads, list_offsets, make_topic, produce

PRODUCE, FETCH = ApiKey.PRODUCE, ApiKey.FETCH
V0, V1, V2 = "0.9.0", "0.10.2", "2.8"
RELEASES = {0: V0, 1: V1, 2: V2}
CODECS = {"plain": 0, "gzip": 1, "snappy": 2, "lz4": 3}
REQUEST_OF = {0: 1, 1: 2, 2: 9}
"""In which version of Produce a producer sends records of a magic."""
GZIP, ZSTD = 1, 4


def old(magic: int, *values: bytes | None, codec: int = 0, key: bytes | None = b"k", at: int = THEN, **more: Any) -> bytearray:
    """Messages `values`, one millisecond apart."""
    rows = [(at + number, key, value, ()) for number, value in enumerate(values)]
    return encode_message_set(rows, magic, compression=codec, **more)


def wrapper(magic: int, *inner: bytes, codec: int = GZIP, offset: int = 0, at: int = THEN, attributes: int = 0) -> bytes:
    return encode_message(magic, offset, at, None, bytes(compress(codec, b"".join(inner))), codec | attributes)


def records(magic: int, *values: bytes, codec: int = 0) -> bytearray:
    return batch(*values, compression=codec) if magic == 2 else old(magic, *values, codec=codec)


def as_it_lies(data: bytes) -> list[Any]:
    """Of each batch or message all that is the same whoever compressed it: plain bytes, or what is packed in them."""
    found: list[Any] = []
    for one in iterate_batches(data):
        head = one.header
        recent = head.max_timestamp > RECENT_MS
        if not head.compression and not recent:
            found.append(bytes(one.data).hex())
            continue
        row: list[Any] = [
            head.magic, head.base_offset, head.last_offset, head.attributes, Script.moment(head.max_timestamp)
        ]  # fmt: skip
        if head.magic == 2 or not head.compression:
            row += [[each.offset, Script.moment(each.timestamp), text(each.value)] for each in decode_records(one)]
        elif recent:
            row += [[each.header.base_offset, each.header.attributes, Script.moment(each.header.max_timestamp)]
                    for each in iterate_batches(_packed(one))]  # fmt: skip
        else:
            row.append(_packed(one).hex())
        found.append(" ".join(map(str, row)))
    return found


def _packed(wrapper: Batch) -> bytes:
    """The messages in it."""
    data, at = bytes(wrapper.data), 26 if wrapper.header.magic else 18
    at += 4 + max(0, struct.unpack_from(">i", data, at)[0])
    return decompress(wrapper.header.compression, data[at + 4 :])


def lies(k: Script, title: str, topic: str, offset: int = 0, version: int = 11) -> None:
    """What a consumer of today reads, which is what lies in the log."""
    answer = k.ask(FETCH, version, fetch(topic, offset))
    part = answer.responses[0].partitions[0]
    data = bytes(part.records or b"")
    k.note(f"{title}: bytes v{version}", [str(part.error_code), *as_it_lies(data)])


def name_of(k: Script, script: str, magic: int | str, **configs: Any) -> str:
    """A new topic that is written in a format."""
    release = magic if isinstance(magic, str) else RELEASES[magic]
    name = f"{script}-{release}-{len(k.names)}"
    make_topic(k, name, message_format_version=release, **configs)
    return name


def written(k: Script) -> None:
    """Each format and codec into a log of each format."""
    for to in (0, 1, 2):
        name = name_of(k, "written", to)
        for magic in (0, 1, 2):
            for codec, number in CODECS.items():
                data = records(magic, b"one", b"two", b"three" * 3, codec=number)
                k(f"{codec} {magic} to {to}", PRODUCE, REQUEST_OF[magic], produce(name, data))
        lies(k, f"log of {to}", name)
        for offset in (1, 4, 8):
            lies(k, f"log of {to} from {offset}", name, offset)
        for version in (0, 1, 2, 3):
            lies(k, f"log of {to} converted", name, version=version)
            lies(k, f"log of {to} converted from 7", name, 7, version)
            lies(k, f"log of {to} converted from 34", name, 34, version)
        for moment in (-1, -2, -3, 0, THEN, THEN + 1, THEN + 2, THEN + 9):
            for version in (1, 7):
                k(f"{to} at {moment}", ApiKey.LIST_OFFSETS, version, list_offsets(name, moment))
        k(f"{to} segments", ApiKey.LIST_OFFSETS, 0, list_offsets(name, -1))
        for epoch in (0, 1):
            e = m.OffsetForLeaderEpochRequest
            asked = e.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=epoch)
            k(f"{to} end of epoch {epoch}", ApiKey.OFFSET_FOR_LEADER_EPOCH, 3,
              e(replica_id=-2, topics=[e.OffsetForLeaderTopic(topic=name, partitions=[asked])]))


def settings_of_the_topic(k: Script) -> None:
    """The topic's own codec, time and limits."""
    for to in (0, 1, 2):
        for title, configs in (
            ("gzipped", {"compression_type": "gzip"}), ("uncompressed", {"compression_type": "uncompressed"}),
            ("append time", {"message_timestamp_type": "LogAppendTime"}),
            ("compacted", {"cleanup_policy": "compact"}),
            ("narrow", {"message_timestamp_before_max_ms": "1000", "message_timestamp_after_max_ms": "1000"}),
            ("small", {"max_message_bytes": "120"}),
        ):  # fmt: skip
            name = name_of(k, "settings", to, **configs)
            for magic in (0, 1, 2):
                for codec in (0, GZIP):
                    data = records(magic, b"a", b"b", b"x" * 100, codec=codec)
                    k(f"{title}: {magic} with {codec} to {to}", PRODUCE, REQUEST_OF[magic], produce(name, data))
                    if title == "compacted":
                        data = batch(b"a", key=None, compression=codec) if magic == 2 else old(magic, b"a", key=None, codec=codec)
                        k(f"{title}: {magic} with {codec} to {to}, no key", PRODUCE, REQUEST_OF[magic], produce(name, data))
            lies(k, f"{title} log of {to}", name)
    for release in (V0, V1, "2.8", "3.0", "9.9"):
        c = m.CreateTopicsRequest
        configs = [c.CreatableTopicConfig(name="message.format.version", value=release)]
        k(f"format {release}", ApiKey.CREATE_TOPICS, 5, c(topics=[
            c.CreatableTopic(name="maybe", num_partitions=1, replication_factor=1, configs=configs)],
            timeout=1000, validate_only=True))  # fmt: skip
    name = name_of(k, "settings", "3.0")
    k.ask(PRODUCE, 2, produce(name, old(1, b"a")))
    lies(k, "a format above the protocol", name)


def append_times(k: Script) -> None:
    """Messages and wrappers of magic 1 that say LogAppendTime, as only a broker may, for logs of today."""
    for topic, configs in (("append-times", {"message_timestamp_type": "LogAppendTime"}), ("create-times", {})):
        make_topic(k, topic, **configs)
        for bit in (0, 8):
            for at in (THEN, -1):
                one, two = encode_message(1, 0, at, b"k", b"a", bit), encode_message(1, 1, at, b"k", b"b", bit)
                for title, data in (
                    ("message", one), ("messages", one + two), ("wrapper without", wrapper(1, one, two, at=at)),
                    ("wrapper with", wrapper(1, one, two, at=at, attributes=8)),
                ):  # fmt: skip
                    k(f"{title} {bit} of {at} to {topic}", PRODUCE, 2, produce(topic, data))
        lies(k, f"{topic} hold", topic)


def refused(k: Script) -> None:
    """What an old format cannot carry, and messages that lie."""
    anew = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    made = k.until(ApiKey.INIT_PRODUCER_ID, 1, m.InitProducerIdRequest(**anew), lambda answer: answer.error_code == 0)
    one, two = encode_message(0, 0, -1, b"k", b"a"), encode_message(0, 1, -1, b"k", b"b")
    first, second = encode_message(1, 0, THEN, b"k", b"a"), encode_message(1, 1, THEN, b"k", b"b")
    flipped = bytearray(second)
    flipped[-1] ^= 1
    late = encode_message(1, 0, THEN, b"k", b"a", 8)
    for to in (0, 1, 2):
        name = name_of(k, "refused", to)
        numbered = {"producer_id": made.producer_id, "producer_epoch": 0, "base_sequence": 0}
        if to < 2:
            k(f"idempotent to {to}", PRODUCE, 9, produce(name, batch(b"a", **numbered)))
            k(f"idempotent to {to}", PRODUCE, 3, produce(name, batch(b"a", **numbered)))
        k(f"control to {to}", PRODUCE, 9, produce(name, transaction_marker_batch(True, 1, 0, 0, THEN)))
        k(f"zstd to {to}", PRODUCE, 9, produce(name, batch(b"a", compression=ZSTD)))
        for codec in (0, GZIP):
            headers = encode_batch([(THEN, b"k", b"a", (("h", b"1"),))], compression=codec)
            k(f"headers with {codec} to {to}", PRODUCE, 9, produce(name, headers))
        for title, data, version in (
            ("two wrappers", wrapper(1, first) + wrapper(1, first), 2),
            ("message and wrapper", first + wrapper(1, first), 2),
            ("wrapper and message", wrapper(1, first) + first, 2),
            ("magic 0, then 1", one + first, 2),
            ("magic 1, then 0", first + one, 2),
            ("message and batch", first + bytes(batch(b"a")), 2),
            ("batch of today", bytes(batch(b"a")), 2),
            ("two batches of today", bytes(batch(b"a") + batch(b"b")), 2),
            ("offsets 5 and 9", encode_message(1, 5, THEN, b"k", b"a") + encode_message(1, 9, THEN, b"k", b"b"), 2),
            ("offsets 9 and 5", encode_message(1, 9, THEN, b"k", b"a") + encode_message(1, 5, THEN, b"k", b"b"), 2),
            ("wrapper at 7", wrapper(1, first, second, offset=7), 2),
            ("wrapper at 1", wrapper(1, first, second, offset=1), 2),
            ("inner offsets 0, 0", wrapper(1, first, first), 2),
            ("inner offsets 1, 0", wrapper(1, second, first), 2),
            ("inner offsets 1, 0 of magic 0", wrapper(0, two, one), 1),
            ("inner CRC", wrapper(1, first, bytes(flipped)), 2),
            ("outer CRC", first + bytes(flipped), 2),
            ("inner magic", wrapper(1, one), 2),
            ("empty wrapper", wrapper(1), 2),
            ("wrapper of nothing", encode_message(1, 0, THEN, None, None, 1), 2),
            ("wrapper with a key", encode_message(1, 0, THEN, b"k", bytes(compress(1, first)), 1), 2),
            ("not gzip", encode_message(1, 0, THEN, None, b"nothing", 1), 2),
            ("codec 4", encode_message(1, 0, THEN, None, b"nothing", 4), 2),
            ("codec 7", encode_message(1, 0, THEN, None, b"nothing", 7), 2),
            ("wrapper in a wrapper", wrapper(1, wrapper(1, first)), 2),
            ("append time", late, 2),
            ("append time in a wrapper", wrapper(1, late), 2),
            ("append time of a wrapper", wrapper(1, first, attributes=8), 2),
            ("time of a wrapper", wrapper(1, first, at=THEN + 99), 2),
            ("time -1", encode_message(1, 0, -1, b"k", b"a"), 2),
            ("time -5", encode_message(1, 0, -5, b"k", b"a"), 2),
            ("null value", encode_message(1, 0, THEN, b"k", None), 2),
            ("nothing", b"", 2),
            ("cut", first[:20], 2),
            ("cut behind a message", first + second[:20], 2),
            ("bytes behind the value", struct.pack(">qi", 0, len(first) - 12 + 3) + first[12:] + b"abc", 2),
        ):
            k(f"{title} to {to}", PRODUCE, version, produce(name, data))
        lies(k, f"what was taken by {to}", name)


def mixed(k: Script) -> None:
    """One topic whose format is raised twice, then lowered: one segment with all three."""
    name = name_of(k, "mixed", 0, message_downconversion_enable="false")
    for magic in (0, 1, 2, 1):
        alter = m.IncrementalAlterConfigsRequest
        entry = alter.AlterConfigsResource(resource_type=2, resource_name=name, configs=[
            alter.AlterableConfig(name="message.format.version", config_operation=0, value=RELEASES[magic])])  # fmt: skip
        k.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, alter(resources=[entry], validate_only=False))
        _until_it_writes(k, name, magic)
        for codec in (0, GZIP):
            k.ask(PRODUCE, 9, produce(name, batch(b"a", b"b", b"c", compression=codec, at=THEN + 10 * magic)))
        for version in (0, 1, 2, 3, 4):
            answer = k.ask(FETCH, version, fetch(name))
            part = answer.responses[0].partitions[0]
            data = bytes(part.records or b"")
            magics = [head.header.magic for head in iterate_batches(data)]
            k.note(f"reader at {magic}, {len(k.answers)} v{version}", [part.error_code, list(dict.fromkeys(magics))])
        for moment in (-2, -3, THEN, THEN + 11, THEN + 21):
            k(f"now {magic}, {len(k.answers)} at {moment}", ApiKey.LIST_OFFSETS, 7, list_offsets(name, moment))
        e = m.OffsetForLeaderEpochRequest
        asked = e.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)
        k(f"now {magic}, {len(k.answers)} end of epoch 0", ApiKey.OFFSET_FOR_LEADER_EPOCH, 3,
          e(replica_id=-2, topics=[e.OffsetForLeaderTopic(topic=name, partitions=[asked])]))
    for offset in (0, 4, 10, 13, 20):
        lies(k, f"one segment, three formats, from {offset}", name, offset)


def _until_it_writes(k: Script, name: str, magic: int) -> None:
    """A broker hears of the setting a moment later: it then refuses to convert for those who would need it."""
    for version, least in ((1, 1), (3, 2)):
        wanted = _refuses if magic >= least else leads
        k.until(FETCH, version, fetch(name), wanted)


def _refuses(answer: Any) -> bool:
    return answer.responses[0].partitions[0].error_code == ErrorCode.UNSUPPORTED_VERSION
