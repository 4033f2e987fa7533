"""The two records that describe a partition: who holds it, and who leads it.

| record | written by | example |
|---|---|---|
| ReplicaAssignment | creation, growth, reassignment | replicas [1, 2, 3], adding [], removing [] |
| LeaderAndIsr | elections and ISR changes | leader 1, leader epoch 5, ISR [1, 2], partition epoch 9 |

The *leader epoch* grows by one with every election; replicas refuse who comes with an older one
(KIP-101, KIP-320). The *partition epoch* grows with every change of this record, an ISR change
included, so that two who change it at once are told apart (KIP-497). In ZooKeeper mode it is the
version of the znode.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

NO_LEADER = -1
RECOVERED, RECOVERING = 0, 1

TopicPartition = tuple[str, int]


@dataclass(slots=True)
class LeaderAndIsr:
    """Leader and in-sync replicas. The leader, if there is one, is in the ISR."""

    leader: int
    isr: list[int]
    leader_epoch: int = 0
    partition_epoch: int = 0
    controller_epoch: int = 0
    recovery_state: int = RECOVERED

    def new_leader(self, leader: int) -> LeaderAndIsr:
        """Another leader with the same ISR: the next leader epoch."""
        return self.new_leader_and_isr(leader, self.isr)

    def new_leader_and_isr(self, leader: int, isr: list[int]) -> LeaderAndIsr:
        return replace(self, leader=leader, isr=list(isr), leader_epoch=self.leader_epoch + 1)

    def new_epoch(self) -> LeaderAndIsr:
        """The same leader has to begin anew."""
        return self.new_leader_and_isr(self.leader, self.isr)

    def with_partition_epoch(self, partition_epoch: int, controller_epoch: int) -> LeaderAndIsr:
        return replace(self, partition_epoch=partition_epoch, controller_epoch=controller_epoch)


@dataclass(slots=True)
class ReplicaAssignment:
    """Brokers that hold a partition, the preferred leader first.

    While it is reassigned, `replicas` holds old and new ones, `adding` those that will be new and
    `removing` those that will go (KIP-455).
    """

    replicas: list[int]
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)

    @property
    def being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> list[int]:
        """Replicas once the reassignment is over."""
        return [replica for replica in self.replicas if replica not in self.removing]

    @property
    def origin(self) -> list[int]:
        """Replicas before the reassignment."""
        return [replica for replica in self.replicas if replica not in self.adding]

    def reassign_to(self, target: list[int]) -> ReplicaAssignment:
        """The first step of a move: new replicas stand first, then the ones that are leaving.

        [1, 2, 3] to [3, 4]: replicas [3, 4, 1, 2], adding [4], removing [1, 2].
        """
        origin = self.origin
        full = list(dict.fromkeys([*target, *origin]))
        adding = [replica for replica in full if replica not in origin]
        removing = [replica for replica in full if replica not in target]
        return ReplicaAssignment(full, adding, removing)
