"""Share groups broken on purpose, in one piece each, and the light that has to turn red."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.clients_core.test_share_consumer import EXPLICIT, GROUP, LOCK, Lab

from broker_core.sharing.decisions import Decisions
from broker_core.sharing.partition import AVAILABLE, SharePartition
from lab.checkers.invariants import InvariantMonitor


class SharedLab(Lab):
    """A queue of 60 records, watched from its beginning."""

    def __init__(self) -> None:
        super().__init__(60, **{**LOCK, "group.share.min.delivery.count.limit": "2", "group.share.delivery.count.limit": "2"})

    def do(self, **command: Any) -> dict[str, Any]:
        if not hasattr(self, "monitor"):
            self.monitor = InvariantMonitor(self.world)
        return super().do(**command)

    def two_work(self, seconds: float, **more: Any) -> None:
        for number in (1, 2):
            self.work(f"worker-{number}", process_ms=20, **more)
        self.run(seconds)


def given_away_twice(lab: SharedLab, patch: Any) -> None:
    """The leader forgets that a record is with somebody."""
    take = SharePartition._take

    def take_and_forget(self: SharePartition, offset: int, member: str, deadline_us: int) -> Any:
        one = take(self, offset, member, deadline_us)
        self.free.add(offset)
        return one

    patch.setattr(SharePartition, "_take", take_and_forget)
    lab.two_work(10)


def given_to_the_same_member_again(lab: SharedLab, patch: Any) -> None:
    """What was given back and is with somebody again counts as free all the same; there is only one worker."""
    take = SharePartition._take

    def take_and_leave_free(self: SharePartition, offset: int, member: str, deadline_us: int) -> Any:
        was_free = offset in self.free
        one = take(self, offset, member, deadline_us)
        if was_free:
            self.free.add(offset)
        return one

    patch.setattr(SharePartition, "_take", take_and_leave_free)
    lab.work("worker-1", settings=EXPLICIT, fail_share=0.5, process_ms=20)
    lab.run(12)


def locks_are_cut_short(lab: SharedLab, patch: Any) -> None:
    """A lock runs out a second after it began."""
    expire = SharePartition.expire
    patch.setattr(SharePartition, "next_deadline_us", property(
        lambda self: min((one.deadline_us - 4_000_000 for one in self.records.values() if one.member), default=None)
    ))  # fmt: skip
    patch.setattr(SharePartition, "expire", lambda self, limits, now_us: expire(self, limits, now_us + 4_000_000))
    lab.work("worker-1", process_ms=1000)
    lab.run(13)


def nothing_is_written_down(lab: SharedLab, patch: Any) -> None:
    """The share coordinator says that it has written, and has not; the next leader begins where the first one did."""
    changed = Decisions._changed

    def unchanged(self: Decisions, key: Any, before: Any, epoch: int, start: int, completed: int, told: Any, now: int) -> Any:
        return changed(self, key, before, epoch, before.start, before.completed, (), now)

    patch.setattr(Decisions, "_changed", unchanged)
    lab.two_work(8, settings={**GROUP, "max.poll.records": "10", "share.acquire.mode": "record_limit"})
    lab.do(do="kill", leader_of="jobs-0")
    lab.run(15)


def the_limit_is_overlooked(lab: SharedLab, patch: Any) -> None:
    """A record that was delivered as often as allowed is given back all the same."""
    start = SharePartition._start
    patch.setattr(SharePartition, "_start", lambda self, one, state, limits: start(self, one, state, limits._replace(deliveries=99)))
    lab.do(do="produce", topic="jobs", value="poison")
    lab.two_work(15, settings=EXPLICIT, fails="poison")


def the_start_goes_back(lab: SharedLab, patch: Any) -> None:
    """A look at the log's start sets the share-partition's."""
    def back(self: SharePartition, offset: int) -> None:
        self.start = min(self.start, offset)

    patch.setattr(SharePartition, "log_starts_at", back)
    lab.two_work(10, settings={**EXPLICIT, "max.poll.records": "5", "share.acquire.mode": "record_limit"})


def what_is_released_is_nobodys(lab: SharedLab, patch: Any) -> None:
    """Who gives a record back gives it to nobody."""
    settle = SharePartition.settle

    def settle_and_forget(self: SharePartition, *given: Any) -> None:
        settle(self, *given)
        self.free -= {offset for offset in self.free if offset in self.records and self.records[offset].state == AVAILABLE}

    patch.setattr(SharePartition, "settle", settle_and_forget)
    lab.two_work(170, settings=EXPLICIT, fail_share=0.3)


SHARING_BROKEN: list[tuple[Callable[[SharedLab, Any], None], list[str]]] = [
    (given_away_twice, ["ShareDeliveriesWithinLimit", "ShareRecordHeldByOne"]),
    (given_to_the_same_member_again, ["ShareDeliveriesWithinLimit", "ShareRecordHeldByOne"]),
    (locks_are_cut_short, ["ShareRecordHeldByOne"]),
    (nothing_is_written_down, ["ShareRecordEndsOnce"]),
    (the_limit_is_overlooked, ["ShareDeliveriesWithinLimit"]),
    (the_start_goes_back, ["ShareStartMonotonic"]),
    (what_is_released_is_nobodys, ["EveryShareRecordEnds"]),
]
