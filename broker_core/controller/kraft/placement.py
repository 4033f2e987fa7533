"""Where the replicas of new partitions go: striped over racks, and over the brokers of each rack.

    rack a: 1, 2    rack b: 3, 4    rack c: 5      three replicas
    partition 0     a1 b3 c5
    partition 1     b4 c5 a2        the next rack leads, each rack goes on to its next broker
    partition 2     c5 a1 b3

- the first replica, which leads, is on a broker that is not fenced; the others may be on fenced ones, where their rack
  has nobody else
- who has no rack is in a rack of its own kind
- where it begins is drawn, and drawn anew after as many partitions as there are unfenced brokers

Source: StripedReplicaPlacer (KIP-631).
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from broker_core.metadata.errors import RequestError
from broker_core.metadata.registration import BrokerRegistration
from broker_core.wire.errors import ErrorCode

NOBODY = -1


class _Brokers:
    """The brokers of a rack that are fenced, or that are not, in the order in which they are used."""

    def __init__(self, ids: list[int], random: Random) -> None:
        self.ids = sorted(ids)
        self._offset = random.randrange(len(ids)) if ids else 0
        self._index = 0
        self._turn = 0

    def next(self, turn: int) -> int:
        """The next one for a partition; NOBODY when all have been used for it."""
        if not self.ids:
            return NOBODY
        if turn != self._turn:
            self._turn, self._index = turn, 0
            self._offset = (self._offset + 1) % len(self.ids)
        if self._index >= len(self.ids):
            return NOBODY
        self._index += 1
        return self.ids[(self._index - 1 + self._offset) % len(self.ids)]

    def shuffle(self, random: Random) -> None:
        random.shuffle(self.ids)


class _Rack:
    def __init__(self, brokers: list[BrokerRegistration], random: Random) -> None:
        self.fenced = _Brokers([one.id for one in brokers if one.fenced], random)
        self.unfenced = _Brokers([one.id for one in brokers if not one.fenced], random)

    def next(self, turn: int) -> int:
        found = self.unfenced.next(turn)
        return found if found != NOBODY else self.fenced.next(turn)

    def shuffle(self, random: Random) -> None:
        self.fenced.shuffle(random)
        self.unfenced.shuffle(random)


def place(brokers: Iterable[BrokerRegistration], partitions: int, factor: int, random: Random) -> list[list[int]]:
    """The replicas of each partition. Raises RequestError where there are too few brokers."""
    known = sorted(brokers, key=lambda one: one.id)
    unfenced = sum(1 for one in known if not one.fenced)
    if not unfenced:
        raise _impossible(factor, "All brokers are currently fenced.")
    if factor > len(known):
        raise _impossible(
            factor, f"The target replication factor of {factor} cannot be reached because only {len(known)} broker(s) "
            f"are registered or some brokers have all their log directories cordoned.",
        )  # fmt: skip
    names = sorted({one.rack or "" for one in known})
    racks = [_Rack([one for one in known if (one.rack or "") == name], random) for name in names]
    offset = random.randrange(len(racks))
    turn = 0
    found = []
    for _ in range(partitions):
        if turn == unfenced and unfenced > 1:
            random.shuffle(racks)
            for rack in racks:
                rack.shuffle(random)
            turn = 0
        offset %= len(racks)
        found.append(_one(racks, offset, turn, factor))
        turn, offset = turn + 1, offset + 1
    return found


def _one(racks: list[_Rack], offset: int, turn: int, factor: int) -> list[int]:
    first = offset
    while (leader := racks[first].unfenced.next(turn)) == NOBODY:
        first = (first + 1) % len(racks)
    replicas = [leader]
    at, skipped = offset, first
    while len(replicas) < factor:
        if at == skipped:
            skipped = NOBODY  # the leader's rack has had its turn in the first round
        elif (broker := racks[at].next(turn)) != NOBODY:
            replicas.append(broker)
        at = (at + 1) % len(racks)
    return replicas


def _impossible(factor: int, why: str) -> RequestError:
    message = f"Unable to replicate the partition {factor} time(s): {why}"
    return RequestError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
