"""Offsets of a transaction count when its marker comes, in the order of the log."""

from __future__ import annotations

from broker_core.groups.group_offsets import CommittedOffset, GroupOffsets

KEY = ("orders", 0)


def offsets_with(producer: int, offset: int) -> GroupOffsets:
    offsets = GroupOffsets()
    committed = {KEY: CommittedOffset(offset)}
    offsets.prepare_transactional(producer, committed)
    assert offsets.unstable(KEY)
    offsets.written_transactional(producer, committed)
    return offsets


def test_they_are_unstable_until_the_marker_and_then_count_or_are_forgotten() -> None:
    for commit in (True, False):
        offsets = offsets_with(7, 42)
        assert offsets.unstable(KEY) and not offsets.committed
        offsets.end_transaction(7, commit)
        assert offsets.committed == ({KEY: CommittedOffset(42)} if commit else {})
        assert not offsets.unstable(KEY)


def test_what_was_written_later_stays() -> None:
    offsets = offsets_with(7, 42)
    offsets.prepare({KEY: CommittedOffset(50)})
    offsets.written({KEY: CommittedOffset(50)})
    assert offsets.end_transaction(7, True) == {} and offsets.committed[KEY].offset == 50


def test_one_that_did_not_get_into_the_log_and_one_of_a_deleted_topic_leave_nothing() -> None:
    offsets = GroupOffsets()
    offsets.prepare_transactional(7, {KEY: CommittedOffset(1)})
    offsets.failed_transactional(7, {KEY: CommittedOffset(1)})
    assert not offsets
    offsets = offsets_with(7, 42)
    assert offsets.remove([KEY]) == [] and not offsets
    assert offsets.end_transaction(7, True) == {}
