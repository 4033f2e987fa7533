"""Each invariant turns red when what it guards is broken, and only those lights that must; sound runs stay green."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c

from broker_core.clients import assignors, history
from broker_core.groups.group_offsets import CommittedOffset
from broker_core.kernel.inputs import Command
from broker_core.kernel.world import World
from broker_core.log.producers import ProducerStateTable
from broker_core.metadata import znodes
from broker_core.metadata.partition import LeaderAndIsr
from broker_core.records.batch import encode_batch
from broker_core.replication.partition import Partition
from broker_core.replication.protections import Protections
from broker_core.wire.errors import ErrorCode
from lab.checkers.invariants import INVARIANTS, InvariantMonitor, described
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from tests.replication.harness import EPOCH_MS, Cluster


# -- brokers that are only replicas: protections off ----------------------------------------
class Truth:
    """Leader and ISR as the test, which plays the controller, has decided."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def __call__(self, world: World, topic: str, index: int) -> LeaderAndIsr | None:
        truth = self.cluster.truth.get((topic, index))
        return truth and LeaderAndIsr(truth["leader"], truth["isr"], truth["epoch"], truth["partition_epoch"])


class Clock:
    """Something happens all the time, as in a real cluster: time moves in small steps."""

    def __init__(self, world: World) -> None:
        self.world = world

    def tick(self) -> None:
        self.world.schedule(10_000, None, self.tick, ())


def watched(brokers: int, protections: Protections, **more: Any) -> tuple[Cluster, InvariantMonitor]:
    cluster = Cluster(brokers, protections, **more)
    monitor = InvariantMonitor(cluster.world, Truth(cluster))
    Clock(cluster.world).tick()
    return cluster, monitor


def cut_off(cluster: Cluster, one: int, other: int, cut: bool = True) -> None:
    for a, b in ((one, other), (other, one)):
        cluster.world.network.link(f"broker-{a}", f"broker-{b}").change(partitioned=cut)


def red(monitor: InvariantMonitor) -> list[str]:
    return [name for name, light in monitor.lights().items() if not light["ok"]]


def s1(cluster: Cluster) -> None:
    """A follower restarts, cuts to its late high watermark, and is elected."""
    cluster.assign(2, 0, replicas=[1, 2])
    cluster.produce(2, "m1")
    cluster.run(6000)
    cluster.produce(2, "m2")
    cluster.run(60)
    cluster.world.crash("broker-1")
    cut_off(cluster, 1, 2)
    cluster.restart(1)
    cluster.assign(2, 1, replicas=[1, 2])
    cluster.run(60)
    cluster.world.crash("broker-2")
    cluster.assign(1, 2, replicas=[1, 2], isr=[1], to=[1])
    cluster.run(200)


def s2(cluster: Cluster) -> None:
    """Two leaders in quick succession; the follower does not find where they differ."""
    cluster.assign(1, 0, replicas=[1, 2], to=[1])
    cluster.produce(1, "m0", acks=1)
    cluster.assign(2, 1, replicas=[1, 2], to=[2])
    cluster.produce(2, "m1", acks=1)
    cluster.assign(1, 2, replicas=[1, 2], to=[1])
    cluster.produce(1, "m2", acks=1)
    cluster.assign(1, 3, replicas=[1, 2], to=[2])
    cluster.assign(1, 4, replicas=[1, 2])
    cluster.run(3000)


def s3(cluster: Cluster) -> None:
    """A fetch of an old epoch commits a record; then the follower acts on the old epoch, and cuts it away."""
    cluster.assign(1, 0)
    cluster.assign(2, 1, to=[1, 2])
    cluster.assign(1, 3, isr=[1, 3], to=[1])
    cluster.produce(1, "m0")
    cluster.run(3000)
    real = dict(cluster.truth["orders", 0])
    cluster.assign(2, 1, to=[3], isr=[1, 2, 3])
    cluster.truth["orders", 0] = real
    cluster.run(3000)


def s4(cluster: Cluster) -> None:
    """An empty follower joins the ISR of a leader whose high watermark is still old."""
    cluster.assign(2, 1, isr=[2, 3], to=[2, 3])
    cluster.run(100)
    cluster.produce(2, "m0")
    cluster.run(100)
    cluster.assign(3, 2, isr=[2, 3], to=[3, 1])
    for _ in range(30):
        cluster.run(5)


def s5(cluster: Cluster) -> None:
    """A leader that was replaced commits by the fetch of a follower that is in a newer epoch."""
    cluster.assign(2, 1, isr=[2, 3], to=[2])
    cluster.produce(2, "x")
    cluster.assign(3, 2, isr=[2, 3], to=[3, 1])
    cluster.run(100)
    cluster.assign(2, 3, isr=[1, 2, 3], to=[3])
    cluster.run(3000)


def s6(cluster: Cluster) -> None:
    """A follower that has missed an epoch in between does not look where its log differs."""
    cluster.assign(1, 0, to=[1, 3])
    cluster.produce(1, "x", acks=1)
    cluster.assign(2, 1, to=[1, 2])
    cluster.run(10)
    cluster.assign(1, 2, to=[1, 2])
    cluster.produce(1, "y", acks=1)
    cluster.assign(1, 3, to=[3])
    cluster.assign(1, 4)
    cluster.run(3000)
    cluster.produce(1, "z")
    cluster.run(1000)


def s8(cluster: Cluster) -> None:
    """A leader commits by the old ISR while the controller may elect the new member, who lacks the record."""
    cluster.assign(1, 0, isr=[1, 2], to=[1, 2])
    cluster.controller_answers = False
    cluster.assign(1, 0, isr=[1, 2], to=[3])
    cluster.run(2000)
    cluster.world.pause("broker-3")
    cluster.run(40_000)
    cluster.produce(1, "m0", timeout_ms=100_000)
    cluster.run(31_000)
    cluster.produce(1, "m1")
    cluster.run(100)


AGREEMENT = ["StrongIsr", "WeakIsr"]
MUTANTS: list[tuple[Callable[[Cluster], None], int, dict[str, bool], dict[str, Any], list[str]]] = [
    (s1, 2, {"truncate_by_leader_epoch": False}, {}, [*AGREEMENT, "ValidHighWatermark", "LeaderCandidateCompleteness", "NoCommittedRecordLost"]),
    (s2, 2, {"epoch_end_offset_of_largest_not_above": False}, {}, [*AGREEMENT, "LogMatching"]),
    (s3, 3, {"fence_fetch_by_leader_epoch": False}, {}, [*AGREEMENT, "ValidHighWatermark", "LeaderCandidateCompleteness"]),
    (s4, 3, {"isr_expansion_waits_for_epoch_start": False}, {"link_delay_us": 10_000}, ["StrongIsr", "LeaderCandidateCompleteness"]),
    (s5, 3, {"fence_follower_of_newer_epoch": False, "diverging_epoch_in_fetch": False}, {}, ["StrongIsr"]),
    (s6, 3, {"truncate_on_every_new_epoch": False}, {}, [*AGREEMENT, "LogMatching"]),
    (s8, 3, {"maximal_isr": False}, {}, ["ValidHighWatermark"]),
]
BY_NAME = [one[0].__name__ for one in MUTANTS]


@pytest.mark.parametrize(("story", "brokers", "off", "more", "expected"), MUTANTS, ids=BY_NAME)
def test_a_protection_that_is_off_turns_its_lights_red(story, brokers, off, more, expected):
    cluster, monitor = watched(brokers, Protections(**off), **more)
    story(cluster)
    assert red(monitor) == expected


@pytest.mark.parametrize(("story", "brokers", "off", "more", "expected"), MUTANTS, ids=BY_NAME)
def test_the_same_story_with_everything_on_stays_green(story, brokers, off, more, expected):
    still_off = {name: False for name in off if name == "diverging_epoch_in_fetch"}
    cluster, monitor = watched(brokers, Protections(**still_off), **more)
    story(cluster)
    assert red(monitor) == []


# -- whole clusters: something is broken on purpose ------------------------------------------
SPEC = {
    "cluster": {"brokers": 3, "preset": "teaching", "link_delay_ms": 1, "settings": {"min.insync.replicas": 2}},
    "seed": 5,
    "clients": [
        {"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 100},
        {"name": "producer-short", "kind": "producer", "topic": "orders", "rate": 20,
         "settings": {"delivery.timeout.ms": 2000, "request.timeout.ms": 1000}},
        {"name": "reader", "kind": "consumer", "topic": "orders", "settings": {"group.id": "g"}},
        {"name": "other", "kind": "consumer", "topic": "orders", "settings": {"group.id": "g"}},
        {"name": "alone", "kind": "consumer", "topic": "orders", "settings": {"auto.offset.reset": "earliest"}},
    ],
}  # fmt: skip


class Lab:
    """A cluster under load with its monitor."""

    def __init__(self) -> None:
        self.world = build_world(run_from_dict(SPEC))
        self.monitor = InvariantMonitor(self.world)
        self.run(4)
        self.do(do="create_topic", topic="orders", partitions=1, replication_factor=3)
        self.run(1)
        for client in ("producer-a", "reader"):
            self.do(do="start_client", name=client)
        self.run(4)

    def run(self, seconds: float) -> None:
        self.world.run_until(self.world.now_us + int(seconds * 1_000_000))

    def do(self, **command: Any) -> None:
        item = Command(command)
        self.world.inject(item)
        self.world.run_due()
        assert item.result and item.result["ok"], item.result

    @property
    def state(self) -> dict[str, Any]:
        return observe.partition_state(self.world, "orders", 0)

    def machine(self, broker: int) -> Any:
        return self.world.nodes[f"broker-{broker}"].machine

    def replica(self, broker: int) -> Partition:
        return self.machine(broker).partitions["orders", 0]

    @property
    def leader(self) -> Partition:
        return self.replica(self.state["leader"])

    @property
    def followers(self) -> list[int]:
        return [broker for broker in self.state["replicas"] if broker != self.state["leader"]]


def overwrite(replica: Partition, offset: int, checksum: bool) -> None:
    """Put another batch where one is, in the files of a running broker."""
    segment = replica.log.active
    position, header = segment.locate(offset)
    rest = bytes(segment.log.read(position + header.size, segment.log.size))
    head = bytes(segment.log.read(0, position))
    batch = bytearray(segment.log.read(position, header.size))
    batch[-1] ^= 1
    if checksum:
        batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    segment.log.truncate(0)
    segment.log.append([head + bytes(batch) + rest])


def leader_out_of_isr(lab: Lab, patch: Any) -> None:
    """Somebody has written a state into the tree that no controller would."""
    node = observe.tree(lab.world)[znodes.state_path("orders", 0)]
    state = znodes.decode_state(node.data, node.version)
    state.isr = lab.followers
    node.data = znodes.encode_state(state)
    lab.run(0.3)


def mark_goes_back(lab: Lab, patch: Any) -> None:
    lab.do(do="stop_client", name="producer-a")
    lab.run(2)
    lab.leader.log.high_watermark -= 20
    lab.run(0.3)


def outsider_differs(lab: Lab, patch: Any) -> None:
    """A replica outside the ISR holds another batch, below everybody's high watermark; its checksum is right."""
    gone = lab.followers[0]
    lab.do(do="pause", broker=gone)
    lab.run(5)
    assert gone not in lab.state["isr"]
    overwrite(lab.replica(gone), 5, checksum=True)
    lab.run(12)


def bit_flips(lab: Lab, patch: Any) -> None:
    """In a member of the ISR; nobody reads it but the audit, which finds the checksum wrong."""
    overwrite(lab.replica(lab.followers[0]), 5, checksum=False)
    lab.run(12)


def acked_too_early(lab: Lab, patch: Any) -> None:
    """A leader answers acks=all before anybody has copied the records, then it dies."""
    leader = lab.state["leader"]
    for other in lab.followers:
        lab.do(do="delay_link", between=[leader, other], delay_ms=300)
    lab.run(1)
    with patch.context() as now:
        now.setattr(Partition, "check_replicated", lambda partition, offset: ErrorCode.NONE)
        lab.run(1)
    lab.do(do="kill", broker=leader)
    lab.do(do="stop_all_faults")
    lab.run(6)


def power_is_gone(lab: Lab, patch: Any) -> None:
    """All replicas lose what they had not flushed, and come back as a clean ISR."""
    for client in ("producer-a", "reader"):
        lab.do(do="stop_client", name=client)
    lab.run(2)
    for broker in (1, 2, 3):
        lab.do(do="power_loss", broker=broker)
    for broker in (1, 2, 3):
        lab.do(do="restart", broker=broker)
    lab.run(8)


def read_differently(lab: Lab, patch: Any) -> None:
    """A second reader gets another value for an old offset."""
    runs_of = history.runs_of
    patch.setattr(history, "runs_of", lambda values: [[*run[:2], run[2] + (run[0] < 100), run[3]] for run in runs_of(values)])
    lab.do(do="start_client", name="alone")
    lab.run(1)


def second_controller(lab: Lab, patch: Any) -> None:
    active = observe.controller_id(lab.world)
    other = lab.machine(active % 3 + 1).controller
    other.is_active, other.context.epoch = True, lab.machine(active).controller.epoch
    lab.run(0.1)


def stale_cache(lab: Lab, patch: Any) -> None:
    lab.machine(2).cache.topics["orders"][0].leader_epoch -= 1
    lab.run(7)


def offsets_are_skipped(lab: Lab, patch: Any) -> None:
    lab.leader.log.log_end_offset += 5
    lab.run(0.5)


def made_up_offset(lab: Lab, patch: Any) -> None:
    coordinator = next(machine for _, machine in lab.monitor.view.machines() if "g" in machine.groups.registry.groups)
    coordinator.groups.registry.groups["g"].offsets.committed["orders", 0] = CommittedOffset(1_000_000)
    lab.run(0.3)


def shared_by_all(lab: Lab, patch: Any) -> None:
    """An assignor gives each member everything."""
    everything = [("orders", 0)]
    patch.setitem(assignors.ASSIGNORS, "range", lambda partitions, members: {name: list(everything) for name in members})
    lab.do(do="start_client", name="other")
    lab.run(5)


def sequence_twice(lab: Lab, patch: Any) -> None:
    """A leader that does not look takes in a batch a second time."""
    patch.setattr(ProducerStateTable, "check", lambda *_: None)
    for _ in range(2):
        batch = encode_batch([(EPOCH_MS, None, b"v", [])], producer_id=77, producer_epoch=0, base_sequence=0)
        lab.leader.append_as_leader(batch, 1, "client")
    lab.run(0.3)


def index_points_elsewhere(lab: Lab, patch: Any) -> None:
    index = lab.leader.log.active.index
    entries = bytes(index.file.read(0, index.file.size))
    index.file.truncate(len(entries) - 1)
    index.file.append([bytes([entries[-1] ^ 1])])
    lab.run(3)


def never_told(lab: Lab, patch: Any) -> None:
    """A producer forgets to tell how its writes have ended."""
    patch.setattr(history, "settled", lambda *_, **__: None)
    lab.do(do="start_client", name="producer-short")
    lab.run(9)


BROKEN: list[tuple[Callable[[Lab, Any], None], list[str]]] = [
    (leader_out_of_isr, ["LeaderInIsr"]),
    (mark_goes_back, ["MonotonicHighWatermark"]),
    (outsider_differs, ["LogMatching"]),
    (bit_flips, [*AGREEMENT, "LogMatching"]),
    (acked_too_early, ["LeaderCompleteness"]),
    (power_is_gone, ["LeaderCompleteness", "LeaderCandidateCompleteness", "NoCommittedRecordLost"]),
    (read_differently, ["ConsistentRead"]),
    (second_controller, ["SingleController"]),
    (stale_cache, ["MetadataConvergence"]),
    (offsets_are_skipped, ["OffsetsDense"]),
    (made_up_offset, ["CommittedOffsetNotBeyondEnd"]),
    (shared_by_all, ["OneOwnerPerPartitionInGroupGeneration"]),
    (sequence_twice, ["SequenceNoGapNoDup"]),
    (index_points_elsewhere, ["IndexMatchesLog"]),
    (never_told, ["EveryWriteEnds"]),
]


@pytest.mark.parametrize(("story", "expected"), BROKEN, ids=[one[0].__name__ for one in BROKEN])
def test_what_is_broken_on_purpose_turns_exactly_its_lights_red(story, expected, monkeypatch):
    lab = Lab()
    assert red(lab.monitor) == []
    began = lab.world.seq
    story(lab, monkeypatch)
    assert red(lab.monitor) == expected
    for name in expected:
        first = lab.monitor.lights()[name]["first"]
        assert first["seq"] > began - 1000 and first["text"] and first["t"] <= lab.world.now_us


def test_every_invariant_has_a_mutant_that_it_kills():
    killed = {name for one in MUTANTS for name in one[4]} | {name for _, names in BROKEN for name in names}
    assert killed == {kind.__name__ for kind in INVARIANTS}


def test_every_invariant_is_described_in_both_languages_and_in_the_documentation():
    text = (Path(__file__).resolve().parents[2] / "docs" / "invariants.md").read_text()
    for name, meaning in described().items():
        assert meaning["en"].endswith(".") and any("가" <= letter <= "힣" for letter in meaning["ko"])
        assert f"| {name} |" in text
