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
"""

from __future__ import annotations

from broker_core.replication.protections import Protections


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
