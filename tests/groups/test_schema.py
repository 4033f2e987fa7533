"""The bytes of `__consumer_offsets`, against Kafka's schemas and Apache's own reader."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broker_core.groups import schema
from broker_core.groups.consumer_protocol import MalformedProtocol, assigned_partitions, subscribed_topics
from broker_core.groups.group_offsets import CommittedOffset

MEMBER = schema.StoredMember("app-1", "a", "app", "/127.0.0.1", 60_000, 10_000, b"sub", b"share")
GROUP = schema.StoredGroup("consumer", 3, "range", "app-1", 1_700_000_000_000, [MEMBER])


def test_a_committed_offset_is_stored_as_the_chapter_says() -> None:
    assert schema.encode_offset_key("g", "orders", 0).hex(" ") == "00 01 00 01 67 00 06 6f 72 64 65 72 73 00 00 00 00"
    value = schema.encode_offset_value(CommittedOffset(42, 5, "", 1_700_000_000_000))
    assert value.hex(" ") == "00 03 00 00 00 00 00 00 00 2a 00 00 00 05 00 00 00 00 01 8b cf e5 68 00"


def test_what_is_written_is_read_again() -> None:
    assert schema.decode_key(schema.encode_offset_key("g", "t", 7)) == schema.OffsetKey("g", "t", 7)
    assert schema.decode_key(schema.encode_group_key("grüße")) == schema.GroupKey("grüße")
    assert schema.decode_group_value(schema.encode_group_value(GROUP)) == GROUP
    for offset in (CommittedOffset(1, 2, "x", 3), CommittedOffset(1, -1, "", 3, 4)):
        assert schema.decode_offset_value(schema.encode_offset_value(offset)) == offset


def test_every_older_and_newer_version_of_an_offset_is_read() -> None:
    number, text = struct.Struct(">q").pack, b"\0\1m"
    forms = {
        b"\0\0" + number(9) + text + number(100): CommittedOffset(9, -1, "m", 100),
        b"\0\1" + number(9) + text + number(100) + number(200): CommittedOffset(9, -1, "m", 100, 200),
        b"\0\2" + number(9) + text + number(100): CommittedOffset(9, -1, "m", 100),
        b"\0\3" + number(9) + b"\0\0\0\6" + text + number(100): CommittedOffset(9, 6, "m", 100),
        b"\0\4" + number(9) + b"\0\0\0\6" + b"\2m" + number(100) + b"\0": CommittedOffset(9, 6, "m", 100),
    }
    for data, offset in forms.items():
        assert schema.decode_offset_value(data) == offset


def test_a_group_of_version_0_has_no_rebalance_timeout_and_takes_the_session_timeout() -> None:
    data = b"\0\0\0\1c\0\0\0\1\0\1r\0\1m" + b"\0\0\0\1" + b"\0\1m\0\1i\0\1h\0\0\x27\x10" + b"\0\0\0\0\0\0\0\0"
    group = schema.decode_group_value(data)
    assert group.members[0].rebalance_timeout_ms == group.members[0].session_timeout_ms == 10_000
    assert group.state_since_ms == -1


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1\0\5ab", b"\0\3\0", b"\0\x09" + b"\0" * 30])
def test_bytes_that_are_no_record_are_refused_by_name(data: bytes) -> None:
    for decode in (schema.decode_group_value, schema.decode_offset_value):
        with pytest.raises(schema.MalformedRecord):
            decode(data)


def test_a_group_that_ends_anywhere_but_at_its_end_is_refused() -> None:
    whole = schema.encode_group_value(GROUP)
    for size in range(len(whole)):
        with pytest.raises(schema.MalformedRecord):
            schema.decode_group_value(whole[:size])


def test_a_kind_of_key_that_is_not_known_is_passed_over() -> None:
    assert schema.decode_key(b"\0\3whatever") is None


def test_consumer_metadata_are_read_from_the_front_and_malformed_ones_are_refused() -> None:
    v3 = b"\0\3\0\0\0\2\0\1a\0\1b\xff\xff\xff\xff" + b"\0\0\0\0\0\0\0\1\xff\xff"
    assert subscribed_topics(v3) == ["a", "b"]
    assert assigned_partitions(b"\0\1\0\0\0\1\0\1a\0\0\0\2\0\0\0\4\0\0\0\5\xff\xff\xff\xff") == {"a": [4, 5]}
    assert assigned_partitions(b"") == {}
    for bad in (b"", b"\0\1", b"\0\1\x7f\xff\xff\xff", b"\0\1\0\0\0\1\0\5a", b"\xff\xff\0\0\0\0"):
        with pytest.raises(MalformedProtocol):
            subscribed_topics(bad)


def oracle() -> Path | None:
    here = Path(__file__).resolve().parents[3] / "shared" / "oracle" / "oracle.py"
    found = Path(os.environ.get("BROKERLAB_ORACLE", here))
    return found if found.is_file() else None


@pytest.mark.skipif(oracle() is None, reason="no oracle: set BROKERLAB_ORACLE to its oracle.py")
def test_apaches_offsets_decoder_reads_what_we_write(lab: Any, tmp_path: Path) -> None:
    (member,), generation = lab.stable_group(group="my-group", client="app")
    lab.commit({("orders", 0): 42}, member, generation, group="my-group", metadata="hi")
    lab.commit({("bills", 3): 7}, group="by-hand", version=2, retention_time=3_600_000)
    lab.run(4_000_000)
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(b"".join(lab.topic.files()))
    command = [sys.executable, str(oracle()), "--zookeeper", "dump-log", str(segment), "--offsets-decoder"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "install" in done.stderr and done.returncode:
        pytest.skip("the oracle's jars are not installed")
    for expected in (
        'key: {"type":"1","data":{"group":"my-group","topic":"orders","partition":0}}',
        '"offset":42',
        '"metadata":"hi"',
        '"expireTimestamp":',
        'key: {"type":"2","data":{"group":"my-group"}}',
        '"protocolType":"consumer"',
        '"clientId":"app"',
    ):
        assert expected in done.stdout, done.stdout + done.stderr
