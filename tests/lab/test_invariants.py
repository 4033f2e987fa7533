"""Each invariant turns red when what it guards is broken, and only those lights that must; sound runs stay green."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from tests.worlds import Driven

from broker_core.clients import assignors, history
from broker_core.groups.group_offsets import CommittedOffset
from broker_core.log.producers import ProducerStateTable
from broker_core.controller.zk import znodes
from broker_core.records.batch import encode_batch
from broker_core.records.control import transaction_marker_batch
from broker_core.replication.isr_changes import IsrChanges
from broker_core.replication.partition import Partition
from broker_core.replication.protections import Protections
from broker_core.wire.errors import ErrorCode
from lab.checkers.invariants import INVARIANTS, InvariantMonitor, described
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from tests.lab.ensemble_stories import ENSEMBLE_BROKEN
from tests.lab.invariants_stories import AGREEMENT, MUTANTS, watched
from tests.lab.moving_stories import MOVES_BROKEN
from tests.lab.quorum_stories import KRAFT_BROKEN, as_params
from tests.lab.sharing_stories import SHARING_BROKEN
from tests.lab.transaction_stories import SHORT, TRANSACTIONS_BROKEN, transact, transactions_over_two_partitions
from tests.replication.harness import EPOCH_MS
from lab.truth import truth_of


def red(monitor: InvariantMonitor) -> list[str]:
    return [name for name, light in monitor.lights().items() if not light["ok"]]


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


class Lab(Driven):
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

    @property
    def state(self) -> dict[str, Any]:
        return truth_of(self.world).partition_state("orders", 0)

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


def test_a_calm_patrol_compares_again_when_an_end_a_mark_a_log_or_a_broker_is_another_one() -> None:
    lab = Lab()
    lab.do(do="stop_client", name="producer-a")
    lab.do(do="stop_client", name="reader")
    lab.run(5)
    view = lab.monitor.view
    copy = view.histories["orders", 0].copies[lab.state["leader"]]

    def calm() -> bool:
        view.touched.clear()
        view.patrol()
        return view._calm is not None and view.touched == {}

    assert calm()
    for name in ("log_end_offset", "high_watermark"):
        before = getattr(lab.leader.log, name)
        setattr(lab.leader.log, name, before - 1)
        assert not calm() and ("orders", 0) in view.touched
        setattr(lab.leader.log, name, before)
        assert calm()
    log, copy.log = copy.log, lab.replica(lab.followers[0]).log
    assert calm(), "nothing has told of it"
    view.moved((0, 0, "", "replica_moved", 0, {}))
    assert not calm() and ("orders", 0) in view.touched
    copy.log = log
    assert calm()
    lab.do(do="kill", broker=lab.followers[0])
    hosted = [(broker, machine.replicas.partitions_by_name) for broker, machine in view.machines()]
    assert view._calm is not None and view._calm.is_over(hosted)


def leader_out_of_isr(lab: Lab, patch: Any) -> None:
    """Somebody has written a state into the tree that no controller would."""
    node = truth_of(lab.world).tree[znodes.state_path("orders", 0)]
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


@pytest.mark.interpreted
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
    active = truth_of(lab.world).controller_id()
    other = lab.machine(active % 3 + 1).cluster.controller
    other.is_active, other.context.epoch = True, lab.machine(active).cluster.controller.epoch
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


@pytest.mark.interpreted
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


@pytest.mark.interpreted
def never_told(lab: Lab, patch: Any) -> None:
    """A producer forgets to tell how its writes have ended."""
    patch.setattr(history, "settled", lambda *_, **__: None)
    lab.do(do="start_client", name="producer-short")
    lab.run(9)


def nobody_leaves(lab: Lab, patch: Any) -> None:
    """A follower is cut off for longer than the leader may wait, and the leader keeps it."""
    patch.setattr(IsrChanges, "maybe_shrink", lambda *_: None)
    controller = truth_of(lab.world).controller_id()
    gone = next(broker for broker in lab.followers if broker != controller)
    lab.do(do="partition_link", between=[lab.state["leader"], gone])
    lab.run(12)


def zombie_is_obeyed(lab: Lab, patch: Any) -> None:
    """A request of a controller that was replaced comes late, and is carried out."""
    lab.machine(lab.followers[0]).cluster.control.controller_epoch -= 1
    lab.run(0.3)


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
    (nobody_leaves, ["LaggardsLeave"]),
    (zombie_is_obeyed, ["NewestControllerObeyed"]),
    *TRANSACTIONS_BROKEN,
]


@pytest.mark.parametrize(("story", "expected"), as_params(BROKEN))
def test_what_is_broken_on_purpose_turns_exactly_its_lights_red(story, expected, monkeypatch):
    lab = Lab()
    assert red(lab.monitor) == []
    began = lab.world.seq
    story(lab, monkeypatch)
    assert red(lab.monitor) == expected
    for name in expected:
        first = lab.monitor.lights()[name]["first"]
        assert first["seq"] > began - 1000 and first["text"] and first["t"] <= lab.world.now_us


def test_transactions_as_they_should_be_turn_no_light_red():
    lab = Lab()
    transactions_over_two_partitions(lab)
    assert red(lab.monitor) == [] and lab.world.nodes["producer-bank"].machine.producer.sender.transactions.count > 5


def test_a_write_in_a_transaction_may_wait_as_long_as_its_coordinator_is_dead():
    lab = Lab()
    transactions_over_two_partitions(lab, 100, **SHORT)
    writing = lab.world.nodes["producer-bank"].machine
    for broker in (1, 2, 3):
        lab.do(do="kill", broker=broker)
    lab.run(40)
    assert red(lab.monitor) == [] and writing.rounds.ending
    before = writing.sent
    for broker in (1, 2, 3):
        lab.do(do="restart", broker=broker)
    lab.run(20)
    assert red(lab.monitor) == [] and writing.sent > before


def test_a_careful_reader_beside_aborted_and_open_transactions_turns_no_light_red():
    lab = Lab()
    transact(lab, 0)
    transact(lab, 0, transaction_marker_batch(False, 77, 0, 0, EPOCH_MS))
    settings = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    lab.do(do="start_client", name="careful", kind="consumer", topic="orders", settings=settings)
    lab.run(2)
    transact(lab, 1)
    lab.run(1)
    assert red(lab.monitor) == [] and lab.world.nodes["careful"].machine.read > 100


def test_who_looks_at_what_careful_readers_get_uses_up_no_fault_of_a_disk():
    looked = []
    for watched_too in (True, False):
        lab = Lab()
        if not watched_too:
            lab.monitor.detach()
        lab.do(do="disk_read_error", broker=lab.state["leader"], on_call=100_000)
        settings = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        lab.do(do="start_client", name="careful", kind="consumer", topic="orders", settings=settings)
        lab.run(2)
        assert lab.world.nodes["careful"].machine.read > 100
        looked.append(lab.machine(lab.state["leader"]).node.storage.faults.rules[0].calls)
    assert looked[0] == looked[1] > 0


def test_every_invariant_has_a_mutant_that_it_kills():
    killed = {name for one in MUTANTS for name in one[4]} | {name for _, names in [*BROKEN, *KRAFT_BROKEN] for name in names}
    killed |= {name for one in ENSEMBLE_BROKEN for name in one[2]} | {name for _, names in SHARING_BROKEN for name in names}
    killed |= {name for one in MOVES_BROKEN for name in one[2]}
    assert killed == {kind.__name__ for kind in INVARIANTS}


def test_every_invariant_is_described_in_both_languages_and_in_the_documentation():
    text = (Path(__file__).resolve().parents[2] / "docs" / "invariants.md").read_text()
    for name, meaning in described().items():
        assert meaning["en"].endswith(".") and any("가" <= letter <= "힣" for letter in meaning["ko"])
        assert f"| {name} |" in text


def test_what_one_generation_alone_has_is_said_to_be_there_only():
    only = {name: meaning.get("only") for name, meaning in described().items()}
    assert {name for name, one in only.items() if one == "zookeeper"} == {
        "OneEnsembleLeaderPerEpoch", "CommittedTreeKept", "EphemeralsHaveSessions"}
    kraft = {name for name, one in only.items() if one == "kraft"}
    assert {name for name in only if "Quorum" in name or "Elr" in name or "Share" in name} <= kraft
    assert {"OneVotePerEpoch", "CommittedMetadataKept", "BrokerEpochs"} <= kraft and not {"LeaderInIsr", "EveryGroupReads"} & kraft
