"""Records of internal topics as bytes."""

from __future__ import annotations

import pytest

from broker_core.coordinators import stored


def test_a_transactional_id_is_stored_as_kafkas_schema_says() -> None:
    assert stored.encode(stored.TransactionLogKey(transactional_id="tx"), 0).hex() == "000000027478"
    schema = stored.TransactionLogValue.PartitionsSchema
    value = stored.TransactionLogValue(
        producer_id=7, producer_epoch=2, transaction_timeout_ms=60_000, transaction_status=1,
        transaction_partitions=[schema(topic="t", partition_ids=[0, 3])],
        transaction_last_update_timestamp_ms=5, transaction_start_timestamp_ms=4, previous_producer_id=6, client_transaction_version=2,
    )  # fmt: skip
    head = "0000000000000007 0002 0000ea60 01"
    times = "0000000000000005 0000000000000004"
    old = f"0000 {head} 00000001 000174 00000002 00000000 00000003 {times}"
    assert stored.encode(value, 0) == bytes.fromhex(old)
    tags = "02 0008 0000000000000006 0202 0002"
    new = f"0001 {head} 02 0274 03 00000000 00000003 00 {times} {tags}"
    assert stored.encode(value, 1) == bytes.fromhex(new)
    assert stored.decode(stored.TransactionLogValue, stored.encode(value, 1)) == (value, 1)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\x09abc", b"\xff\xff", b"\0\0\0"])
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(stored.MalformedRecord):
        stored.decode(stored.TransactionLogValue, data)
