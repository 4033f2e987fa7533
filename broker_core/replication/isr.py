"""The set of in-sync replicas of a partition, as its leader keeps it.

The controller owns the ISR; a leader only proposes a change (AlterPartition, KIP-497) and waits for
the answer. While it waits it does not know which of the two sets is true, so it takes the worse one
for each question:

| pending          | who must have a record before it is committed (`maximal`) | counted for min.insync.replicas |
|------------------|-----------------------------------------------------------|---------------------------------|
| none             | the ISR                                                   | the ISR                         |
| expand, +3       | the ISR and 3: the controller may already elect 3         | the ISR                         |
| shrink, -3       | the ISR, with 3: the controller may have refused          | the ISR                         |

Without `maximal_isr` a leader commits by the old set while 3 can already be elected: records that 3
never got are lost.

An ISR is a set, and is written down in the order in which the leader's set gives it. The order says nothing, but
whoever describes a topic sees it:

| broker 3 leads, [3] is the ISR, 1 has caught up | why                                                             |
|-------------------------------------------------|-----------------------------------------------------------------|
| Kafka 3.9   [3, 1]                              | Scala keeps up to four members in the order of their coming     |
| Kafka 4.3   [1, 3]                              | a hash table that is walked bucket by bucket: `by_buckets`      |
"""

from __future__ import annotations

from broker_core.replication.protections import Protections


SHRUNK_BUCKETS = 16


def by_buckets(isr: list[int], buckets: int) -> list[int]:
    """In the order of the hash table of Kafka 4.3's leader: ascending, but 8 stands before 7 in eight buckets."""

    def place(broker: int) -> tuple[int, int]:
        mixed = broker ^ (broker >> 16)
        return mixed & (buckets - 1), mixed

    return sorted(isr, key=place)


def buckets_for(members: int) -> int:
    """Of a table that is made for so many: a power of two, eight at least, filled to three quarters."""
    return 1 << max(int((members + 1) / 0.75) - 1, 4).bit_length()


class InSyncReplicas:
    """Committed ISR, and the proposal that is on its way (None = there is none).

    Invariants
        * the local replica of a leader is in `committed` and in every proposal
        * at most one proposal is pending
    """

    __slots__ = ("committed", "proposed", "maximal", "_protections")

    def __init__(self, protections: Protections) -> None:
        self._protections = protections
        self.commit([])

    def commit(self, isr: list[int]) -> None:
        """The controller says so."""
        self.committed = list(isr)
        self.withdraw()

    def withdraw(self) -> None:
        """The proposal was certainly not applied."""
        self.proposed: list[int] | None = None
        self.maximal = frozenset(self.committed)

    def propose(self, isr: list[int]) -> None:
        """Send a change; until it is answered both sets may be true."""
        self.proposed = isr
        if self._protections.maximal_isr:
            self.maximal = frozenset([*self.committed, *isr])

    @property
    def pending(self) -> bool:
        return self.proposed is not None
