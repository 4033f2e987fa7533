"""A share-partition alone: states, locks, counts. No record is two members' at once, lost, or delivered too often."""

from __future__ import annotations

import random

import pytest

from broker_core.sharing.batches import ACKNOWLEDGED, ACQUIRED, ARCHIVED, AVAILABLE, StateBatch
from broker_core.sharing.partition import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledged,
    AcknowledgementRefused,
    Acquired,
    InFlight,
    Limits,
    SharePartition,
    Wanted,
    state_batches,
)
from broker_core.wire.errors import ErrorCode as E

LIMITS = Limits(5, 2000, 30_000_000)
ALL = Wanted(500, 500)


def take(share: SharePartition, member: str, spans: list[tuple[int, int]], wanted: Wanted = ALL, now_us: int = 0) -> list[Acquired]:
    return share.acquire(member, spans, wanted, LIMITS, now_us)[0]


def settle(share: SharePartition, member: str, kind: int, first: int, last: int, written: bool = True, now_us: int = 0) -> None:
    going, _ = share.acknowledge(member, [Acknowledged(first, last, [kind])], LIMITS, now_us)
    share.settle(going, written, LIMITS, now_us)


def states(share: SharePartition) -> list[int]:
    return [share.records[offset].state for offset in sorted(share.records)]


def test_two_members_share_a_partition() -> None:
    share = SharePartition(0)
    assert take(share, "a", [(0, 3)]) == [Acquired(0, 3, 1)]
    assert share.next_fetch_offset == 4
    assert take(share, "b", [(4, 9)]) == [Acquired(4, 9, 1)]
    settle(share, "b", ACCEPT, 4, 9)
    assert share.start == 0
    settle(share, "a", ACCEPT, 0, 3)
    assert (share.start, share.records) == (10, {})


def test_whole_batches_or_exactly_so_many() -> None:
    spans = [(0, 4), (5, 9), (10, 14)]
    assert take(SharePartition(0), "a", spans, Wanted(7, 500)) == [Acquired(0, 9, 1)]
    assert take(SharePartition(0), "a", spans, Wanted(7, 5)) == [Acquired(0, 4, 1), Acquired(5, 9, 1)]
    exact = SharePartition(0)
    assert take(exact, "a", spans, Wanted(7, 500, exactly=True)) == [Acquired(0, 6, 1)]
    assert take(exact, "b", spans, Wanted(7, 500, exactly=True)) == [Acquired(7, 13, 1)]


def test_released_and_rejected_records() -> None:
    share = SharePartition(0)
    take(share, "a", [(0, 3)])
    settle(share, "a", RELEASE, 0, 1)
    settle(share, "a", REJECT, 3, 3)
    assert states(share) == [AVAILABLE, AVAILABLE, ACQUIRED, ARCHIVED]
    assert take(share, "b", [(0, 3)]) == [Acquired(0, 1, 2)]
    with pytest.raises(AcknowledgementRefused) as refused:
        settle(share, "a", ACCEPT, 0, 0)
    assert refused.value.error is E.INVALID_RECORD_STATE


def test_a_request_that_is_wrong_in_one_place_changes_nothing() -> None:
    share = SharePartition(0)
    take(share, "a", [(0, 3)])
    take(share, "b", [(4, 5)])
    with pytest.raises(AcknowledgementRefused):
        share.acknowledge("a", [Acknowledged(0, 1, [ACCEPT]), Acknowledged(2, 4, [ACCEPT])], LIMITS, 0)
    assert states(share) == [ACQUIRED] * 6
    for wrong in (Acknowledged(0, 9, [ACCEPT]), Acknowledged(9, 9, [ACCEPT])):
        with pytest.raises(AcknowledgementRefused) as refused:
            share.acknowledge("a", [wrong], LIMITS, 0)
        assert refused.value.error is E.INVALID_REQUEST


def test_a_lock_runs_out_and_can_be_renewed() -> None:
    share = SharePartition(0)
    take(share, "a", [(0, 1)])
    share.acknowledge("a", [Acknowledged(1, 1, [RENEW])], LIMITS, 20_000_000)
    assert share.next_deadline_us == 30_000_000
    assert [one.offset for one in share.expire(LIMITS, 30_000_000)] == [0]
    assert states(share) == [AVAILABLE, ACQUIRED]
    assert share.next_deadline_us == 50_000_000


def test_what_could_not_be_written_is_as_before_or_free_when_its_time_is_over() -> None:
    share = SharePartition(0)
    take(share, "a", [(0, 1)])
    settle(share, "a", ACCEPT, 0, 0, written=False)
    assert states(share) == [ACQUIRED, ACQUIRED]
    settle(share, "a", ACCEPT, 1, 1, written=False, now_us=31_000_000)
    assert states(share) == [ACQUIRED, AVAILABLE]


def test_while_it_is_being_written_nobody_gets_it() -> None:
    share = SharePartition(0)
    take(share, "a", [(0, 1)])
    going, _ = share.acknowledge("a", [Acknowledged(0, 1, [RELEASE])], LIMITS, 0)
    assert take(share, "b", [(0, 1)]) == []
    with pytest.raises(AcknowledgementRefused):
        share.acknowledge("a", [Acknowledged(0, 0, [ACCEPT])], LIMITS, 0)
    share.settle(going, True, LIMITS, 0)
    assert take(share, "b", [(0, 1)]) == [Acquired(0, 1, 2)]


def test_a_poison_record_comes_alone_at_last_and_is_given_up() -> None:
    share, alone = SharePartition(0), 0
    take(share, "m", [(0, 7)])
    for _ in range(60):
        settle_all(share, "m", poison=3)
        if share.start == 8:
            break
        for one in take(share, "m", [(0, 7)]):
            alone += one == Acquired(3, 3, 5)
    assert share.start == 8
    assert alone == 1


def settle_all(share: SharePartition, member: str, poison: int) -> None:
    """A member that dies of one record: it releases everything it got with it, and accepts the rest."""
    mine = [one.offset for one in share.records.values() if one.state == ACQUIRED]
    kind = RELEASE if poison in mine else ACCEPT
    for offset in mine:
        settle(share, member, kind, offset, offset)


def test_locks_are_limited() -> None:
    limits, share = Limits(5, 4, 1), SharePartition(0)
    assert share.acquire("a", [(0, 9)], Wanted(500, 500, exactly=True), limits, 0)[0] == [Acquired(0, 3, 1)]
    assert not share.may_acquire(limits)
    assert share.acquire("b", [(4, 9)], ALL, limits, 0)[0] == []


def test_what_a_leader_before_has_left_goes_on() -> None:
    share = SharePartition(3, 1, [StateBatch(3, 4, ACKNOWLEDGED, 1), StateBatch(5, 5, AVAILABLE, 2), StateBatch(8, 9, ARCHIVED, 5)])
    assert (share.start, share.end, share.next_fetch_offset) == (5, 9, 5)
    assert take(share, "a", [(5, 12)])[:3] == [Acquired(5, 5, 3), Acquired(6, 7, 1), Acquired(10, 12, 1)]


def test_records_that_were_compacted_away_or_deleted_are_nobodys() -> None:
    share = SharePartition(0)
    take(share, "a", [(0, 5)])
    settle(share, "a", RELEASE, 0, 5)
    given, gone = share.acquire("b", [(3, 5)], ALL, LIMITS, 0)
    assert [one.offset for one in gone] == [0, 1, 2]
    assert given == [Acquired(3, 5, 2)]
    assert state_batches(gone) == [StateBatch(0, 2, ARCHIVED, 1)]
    share.log_starts_at(5)
    assert (share.start, list(share.records)) == (5, [5])
    settle(share, "b", ACCEPT, 2, 4)  # of what is gone nothing has to be said any more
    settle(share, "b", GAP, 3, 5)
    assert share.start == 6


def test_any_play_of_members_and_failures_keeps_the_rules() -> None:
    """Members that fetch, acknowledge, are silent; writes that fail; leaders that die: against a plain account of each record."""
    for seed in range(150):
        chance, now_us, end = random.Random(seed), 0, 40
        limits = Limits(chance.choice((2, 3, 5)), chance.choice((8, 100)), 1000)
        share, written = SharePartition(0), {offset: (AVAILABLE, 0) for offset in range(end)}
        held: dict[int, str] = {}
        deliveries = dict.fromkeys(range(end), 0)
        for _ in range(400):
            now_us += chance.randrange(200)
            late = share.expire(limits, now_us)
            note(written, late)
            for one in late:
                held.pop(one.offset, None)
            member, deed = chance.choice("abc"), chance.random()
            if deed < 0.4 and share.next_fetch_offset < end:
                first = share.next_fetch_offset // 5 * 5
                spans = [(base, base + 4) for base in range(first, end, 5)][: chance.randrange(1, 4)]
                wanted = Wanted(chance.randrange(1, 12), chance.choice((1, 10)), chance.random() < 0.5)
                for given in share.acquire(member, spans, wanted, limits, now_us)[0]:
                    for offset in range(given.first, given.last + 1):
                        assert offset not in held, (seed, offset)
                        assert written[offset][0] == AVAILABLE, (seed, offset)
                        held[offset] = member
                        deliveries[offset] += 1
                        assert given.delivery == share.records[offset].count <= limits.deliveries
            elif deed < 0.85:
                mine = sorted(offset for offset, owner in held.items() if owner == member)
                if not mine:
                    continue
                offset = chance.choice(mine)
                kind = chance.choice((ACCEPT, ACCEPT, RELEASE, REJECT, GAP))
                going, _ = share.acknowledge(member, [Acknowledged(offset, offset, [kind])], limits, now_us)
                well = chance.random() < 0.8
                if well:
                    note(written, going)
                share.settle(going, well, limits, now_us)
                if well or share.records[offset].state != ACQUIRED:
                    held.pop(offset)
            elif deed < 0.95:
                going = share.release(member, limits)
                note(written, going)
                share.settle(going, True, limits, now_us)
                held = {offset: owner for offset, owner in held.items() if owner != member}
            else:  # the leader dies: what was written is known, what was acquired is available
                known = [StateBatch(offset, offset, *written[offset]) for offset in sorted(written) if share.start <= offset <= share.end]
                share, held = SharePartition(share.start, 0, known), {}
            done = {offset for offset, (state, _) in written.items() if state in (ACKNOWLEDGED, ARCHIVED)}
            assert set(range(share.start)) <= done, seed
        for _ in range(400):
            spans = [(base, base + 4) for base in range(share.next_fetch_offset // 5 * 5, end, 5)]
            now_us += 1001
            note(written, share.expire(limits, now_us))
            share.advance()
            for given in share.acquire("z", spans, ALL, limits, now_us)[0] if spans else ():
                going, _ = share.acknowledge("z", [Acknowledged(given.first, given.last, [ACCEPT])], limits, now_us)
                note(written, going)
                share.settle(going, True, limits, now_us)
        assert share.start == end, (seed, share.start)
        assert all(state in (ACKNOWLEDGED, ARCHIVED) for state, _ in written.values())


def note(written: dict[int, tuple[int, int]], changed: list[InFlight]) -> None:
    """What the share coordinator knows from now on."""
    for one in changed:
        written[one.offset] = one.state, one.count
