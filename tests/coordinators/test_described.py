"""Records of internal topics in words, held letter for letter against what Apache Kafka 4.3's own DumpLogSegments printed of
the same bytes, which brokers of ours have written, and a real broker of 4.3."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from broker_core.coordinators.described import OFFSETS, SHARES, TRANSACTIONS, in_words
from broker_core.coordinators.stored import ConsumerGroupMemberMetadataValue, OffsetCommitKey, decode, encode
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log.dump import dump
from broker_core.records.record import Record
from cli.parser import main

WRITTEN = Path(__file__).parent.parent / "wire_vectors"
VECTORS = json.loads((WRITTEN / "internal-topics-4.3.json").read_text())
OF_KAFKA = json.loads((WRITTEN / "internal-topics-of-kafka-4.3.json").read_text())
KINDS = {"__consumer_offsets": OFFSETS, "__transaction_state": TRANSACTIONS, "__share_group_state": SHARES}
OPTIONS = dict(zip(KINDS, ("--offsets-decoder", "--transaction-log-decoder", "--share-group-state-decoder"), strict=True))


@pytest.mark.parametrize("vectors", [VECTORS, OF_KAFKA], ids=["ours", "Kafka's"])
@pytest.mark.parametrize("topic", KINDS)
def test_the_dump_is_that_of_kafkas_tool_letter_for_letter(topic: str, vectors: Any) -> None:
    file = MemoryStorage().open(f"{'0' * 20}.log")
    file.append([bytes.fromhex(vectors[topic]["bytes"])])
    assert list(dump(file, deep=True, decode=partial(in_words, KINDS[topic])))[1:] == vectors[topic]["dump"]


@pytest.mark.parametrize(("topic", "without"), [("__consumer_offsets", {0, 4}), ("__transaction_state", set()), ("__share_group_state", set())])
def test_every_kind_of_record_is_there(topic: str, without: set[int]) -> None:
    """(Kind 4 is Kafka's alone, whose tombstone stands in its log; kind 0 of __consumer_offsets is what brokers before 0.9 wrote.)"""
    found = {int(kind) for line in VECTORS[topic]["dump"] for kind in re.findall(r'key: {"type":"(\d+)"', line)}
    assert found == set(KINDS[topic]) - without


@pytest.mark.parametrize("key", [None, b"", b"\0", b"\0\x63", encode(OffsetCommitKey(group="g", topic="t", partition=0), 1)[:-1]])
def test_what_is_no_record_has_a_reason_in_brackets(key: bytes | None) -> None:
    assert re.fullmatch(r"<.+>", in_words(OFFSETS, Record(0, 0, key, b"\0\0", ()))["key"])


@pytest.mark.parametrize("topic", KINDS)
def test_the_command_has_an_option_for_each_topic(topic: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / f"{'0' * 20}.log"
    path.write_bytes(bytes.fromhex(VECTORS[topic]["bytes"]))
    assert main(["dump-log", OPTIONS[topic], str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-len(VECTORS[topic]["dump"]) :] == VECTORS[topic]["dump"]


def test_a_member_of_the_new_protocol_says_that_it_is_no_classic_one() -> None:
    """To Kafka a record without these bytes is one of a classic member (the default of a struct is an empty one)."""
    nobody = {"client_id": "", "client_host": "", "subscribed_topic_names": []}
    written = encode(ConsumerGroupMemberMetadataValue(**nobody), 0)
    assert written.endswith(b"\x01\x00\x01\x00")
    for value in (written, written[:-4] + b"\x00"):  # as older versions of this lab have written it
        assert decode(ConsumerGroupMemberMetadataValue, value)[0].classic_member_metadata is None
