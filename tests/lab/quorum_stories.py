"""Stories of a KRaft cluster in which one thing is broken on purpose, for the lights that look at the quorum and at
what its controller decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker_core.clients.offsets import Offsets
from broker_core.controller.kraft import brokers
from broker_core.controller.kraft.partition_change import PartitionChange
from broker_core.controller.kraft.partitions import PartitionControl
from broker_core.raft.leader import Leader
from broker_core.raft.metadata_log import VALID, MetadataLog, Place
from broker_core.raft.quorum_file import QuorumStateFile
from broker_core.raft.states import EpochElection
from broker_core.raft.voters import ReplicaKey
from broker_core.replication.partition import Partition
from lab.checkers.invariants import InvariantMonitor
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.truth import truth_of
from lab.truth.kraft import process_of
from tests.worlds import Driven

SPEC = {
    "cluster": {"brokers": 3, "controller": "kraft", "controllers": 3, "preset": "teaching", "link_delay_ms": 1,
                "settings": {"min.insync.replicas": 2}},
    "seed": 5,
    "clients": [
        {"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 50, "settings": {"acks": 1}},
        {"name": "reader", "kind": "consumer", "topic": "orders",
         "settings": {"group.id": "g", "session.timeout.ms": 10000, "auto.offset.reset": "earliest"}},
    ],
}  # fmt: skip
VOTERS = ("controller-101", "controller-102", "controller-103")


class KRaftLab(Driven):
    """Three brokers, three controllers, one topic of one partition, its monitor."""

    def __init__(self) -> None:
        self.world = build_world(run_from_dict(SPEC))
        self.monitor = InvariantMonitor(self.world)
        self.run(6)
        self.do(do="create_topic", topic="orders", partitions=1, replication_factor=3)
        self.run(2)
        assert self.state["leader"] > 0

    @property
    def state(self) -> dict[str, Any]:
        return truth_of(self.world).partition_state("orders", 0)

    @property
    def active(self) -> str:
        name = truth_of(self.world).controller_node()
        assert name is not None
        return name

    @property
    def others(self) -> list[str]:
        return [name for name in VOTERS if name != self.active]

    @property
    def followers(self) -> list[int]:
        return [broker for broker in self.state["replicas"] if broker != self.state["leader"]]

    def raft(self, name: str) -> Any:
        process = process_of(self.world.nodes[name].machine)
        assert process is not None
        return process.raft


def one_vote_is_enough(lab: KRaftLab, patch: Any) -> None:
    """Each voter that cannot reach the others elects itself, in the same next epoch."""
    patch.setattr(EpochElection, "is_granted", property(lambda election: bool(election.granting)))
    patch.setattr(EpochElection, "is_rejected", property(lambda election: False))
    for name in VOTERS:
        lab.do(do="isolate", node=name)
    lab.run(8)


def another_vote(lab: KRaftLab, patch: Any) -> None:
    """A voter's memory of its vote is another one."""
    voter = lab.raft(lab.others[0]).quorum
    lab.do(do="isolate", node=lab.active)
    lab.run(0.05)
    state = voter.state
    state.voted = ReplicaKey(101, None)
    lab.run(0.1)
    state.voted = ReplicaKey(102, None)
    lab.run(0.1)


def a_vote_is_not_written(lab: KRaftLab, patch: Any) -> None:
    patch.setattr(QuorumStateFile, "write", lambda *_: None)
    lab.do(do="kill", node=lab.active)
    lab.run(6)


def a_tail_is_kept(lab: KRaftLab, patch: Any) -> None:
    """A leader that was cut off has written what nobody else has; it is not told to cut it when it comes back.

    Meanwhile six settings are written, so that a batch of the next leader begins where that tail ends."""
    place_of = MetadataLog.place_of

    def lenient(log: MetadataLog, offset: int, epoch: int) -> Place:
        return Place(VALID, offset, epoch) if offset <= log.end_offset else place_of(log, offset, epoch)

    patch.setattr(MetadataLog, "place_of", lenient)
    lab.do(do="isolate", node=lab.active)
    lab.run(4)
    six = ("retention.ms", "retention.bytes", "segment.ms", "segment.bytes", "flush.ms", "flush.messages")
    lab.do(do="alter_config", topic="orders", set=dict.fromkeys(six, 2_000_000))
    lab.run(6)
    lab.do(do="stop_all_faults")
    lab.run(4)


def committed_by_one(lab: KRaftLab, patch: Any) -> None:
    """A leader takes for committed what it alone has; then it dies."""

    def advance(leader: Leader) -> bool:
        leader.high_watermark = max(progress.end_offset for progress in leader.voters.values())
        return True

    patch.setattr(Leader, "_maybe_advance", advance)
    lab.do(do="isolate", node=lab.active)
    lab.run(3)


def quorum_mark_goes_back(lab: KRaftLab, patch: Any) -> None:
    lab.raft(lab.others[0]).quorum.state.high_watermark -= 3
    lab.run(0.1)


def eligible_and_in_sync(lab: KRaftLab, patch: Any) -> None:
    """Who leaves the ISR is eligible, and so is who stays."""
    patch.setattr(PartitionChange, "_fill_elr", lambda change: change.elr.extend(change.partition.isr))
    patch.setattr(PartitionChange, "_write_elr", lambda change, record: setattr(record, "eligible_leader_replicas", change.elr))
    lab.do(do="kill", broker=lab.followers[0])
    lab.run(5)


def eligible_beside_enough(lab: KRaftLab, patch: Any) -> None:
    """Who has left an ISR that is large enough still counts as eligible."""
    patch.setattr(PartitionChange, "_fill_elr", lambda change: change.elr.extend(set(change.partition.isr) - set(change.isr)))
    lab.do(do="kill", broker=lab.followers[0])
    lab.run(5)


def fenced_ones_stay(lab: KRaftLab, patch: Any) -> None:
    patch.setattr(PartitionControl, "without_broker", lambda control, broker: [])
    lab.do(do="kill", broker=lab.followers[0])
    lab.run(5)


@pytest.mark.interpreted
def committed_below_the_minimum(lab: KRaftLab, patch: Any) -> None:
    """The high watermark moves on with one replica in sync, so that those in the ELR fall behind it."""
    patch.setattr(Partition, "lacks_replicas", lambda *_: False)
    lab.do(do="start_client", name="producer-a")
    lab.run(1)
    for follower in lab.followers:
        lab.do(do="pause", broker=follower)
    lab.run(8)


def epochs_begin_anew(lab: KRaftLab, patch: Any) -> None:
    """A broker that starts again gets an epoch that it has had."""
    registration = brokers._registration
    patch.setattr(brokers, "_registration", lambda body, epoch: registration(body, epoch if epoch < 20 else 1))
    lab.do(do="stop", broker=lab.followers[0])
    lab.run(5)
    gone = next(number for number in (1, 2, 3) if lab.world.nodes[f"broker-{number}"].state == "stopped")
    lab.do(do="restart", broker=gone)
    lab.run(5)


def never_begins_to_read(lab: KRaftLab, patch: Any) -> None:
    """A consumer has its partitions, but never hears where the group had come to."""
    patch.setattr(Offsets, "fetch", lambda offsets: None)
    lab.do(do="start_client", name="producer-a")
    lab.do(do="start_client", name="reader")
    lab.run(2)
    lab.do(do="stop_client", name="producer-a")
    lab.run(80)


def as_params(stories: list[tuple[Any, list[str]]]) -> list[Any]:
    """Of a test of each story: by its name, with the marks that it has."""
    return [pytest.param(*one, id=one[0].__name__, marks=getattr(one[0], "pytestmark", ())) for one in stories]


KRAFT_BROKEN: list[tuple[Callable[[KRaftLab, Any], None], list[str]]] = [
    (one_vote_is_enough, ["SingleController", "OneQuorumLeaderPerEpoch", "QuorumLogMatching"]),
    (another_vote, ["OneVotePerEpoch"]),
    (a_vote_is_not_written, ["OneVotePerEpoch"]),
    (a_tail_is_kept, ["QuorumLogMatching", "CommittedMetadataKept"]),
    (committed_by_one, ["CommittedMetadataKept", "QuorumHighWatermarkMonotonic"]),
    (quorum_mark_goes_back, ["QuorumHighWatermarkMonotonic"]),
    (eligible_and_in_sync, ["IsrAndElrDisjoint"]),
    (eligible_beside_enough, ["IsrAndElrDisjoint"]),
    (fenced_ones_stay, ["IsrAndElrDisjoint"]),
    (committed_below_the_minimum, ["ElrCompleteness"]),
    (epochs_begin_anew, ["BrokerEpochs"]),
    (never_begins_to_read, ["EveryGroupReads"]),
]
