"""What docstrings of kernel, log, replication, metadata and controllers claim."""

from __future__ import annotations

import struct
from typing import Any

from tests.claims.bullets import holds
from tests.claims.looks_clients import Memory, ascending

from broker_core.controller.zk.controller import KafkaController
from broker_core.controller.zk.thread import ControllerThread
from broker_core.kernel.journal import Journal
from broker_core.kernel.node import RUNNING
from broker_core.log import tail
from broker_core.log.checkpoints import read_epochs
from broker_core.log.epochs import LeaderEpochCache
from broker_core.log.offset_index import ENTRY, ENTRY_SIZE, OffsetIndex
from broker_core.log.partition_log import PartitionLog
from broker_core.log.scan import headers_from
from broker_core.log.segment import LogSegment
from broker_core.log.tail import Tail
from broker_core.log.time_index import TimeIndex
from broker_core.log.transactions import Transactions
from broker_core.metadata.image import MetadataImage
from broker_core.metadata.registration import PartitionRegistration
from broker_core.purgatory.timing_wheel import TimingWheel
from broker_core.raft.leader import Leader
from broker_core.raft.quorum_state import QuorumState
from broker_core.raft.voters import VoterSet
from broker_core.replication.follower_state import FETCHING, FollowerState
from broker_core.replication.partition import LEADER, Partition
from broker_core.replication.replica import Replica
from broker_core.zookeeper.client import ZkClient
from broker_core.zookeeper.election import LOOKING, Election
from broker_core.zookeeper.ensemble import EnsembleServer
from broker_core.zookeeper.leading import Leading
from broker_core.zookeeper.tree import ROOT, DataTree
from lab.checkers.invariants_log import Remembered
from lab.clusters import observe

MARKS = "log start <= high watermark <= log end"


def _never_down(memory: Memory, **now: Any) -> bool:
    fell = any(memory.get(key, value) > value for key, value in now.items())
    memory.update(now)
    return not fell


@holds(Journal, "rows are ordered by seq")
def _(journal: Journal, memory: Memory) -> bool:
    numbers = [row[0] for row in journal.tail]
    return numbers == sorted(numbers)


@holds(TimingWheel, "`clock_ms` is a multiple of `tick_ms` and never goes back")
def _(wheel: TimingWheel, memory: Memory) -> bool:
    return wheel.clock_ms % wheel.tick_ms == 0 and _never_down(memory, clock=wheel.clock_ms)


@holds(TimingWheel, "a task in bucket b has expiration // tick_ms == b's number, and less than clock + interval")
def _(wheel: TimingWheel, memory: Memory) -> bool:
    tasks = [(number, task) for number, bucket in enumerate(wheel.buckets) for task in bucket.tasks]
    return all(task.expiration_ms // wheel.tick_ms % wheel.size == number for number, task in tasks) and all(
        task.expiration_ms < wheel.clock_ms + wheel.interval_ms for _, task in tasks)  # fmt: skip


def _lives(partition: Partition) -> bool:
    """The files of one whose process has ended belong to the next process."""
    node = partition.host.node
    return node.state == RUNNING and observe.partitions_of(node).get((partition.topic, partition.index)) is partition


# -- logs ---------------------------------------------------------------------------------------


@holds(PartitionLog, f"{MARKS}; offsets below the log start are gone, even where their bytes still lie in a segment",
       "broker_core.log.partition_log")  # fmt: skip
def _(log: PartitionLog, memory: Memory) -> bool:
    return log.log_start_offset <= log.high_watermark <= log.log_end_offset


@holds(LogSegment, "base_offset <= every offset in it <= base_offset + 2^31-1")
def _(segment: LogSegment, memory: Memory) -> bool:
    known = [*segment.tail.last_offsets, *(offset for offset, _ in segment.index.entries())]
    return all(segment.base_offset <= one <= segment.base_offset + 2**31 - 1 for one in known)


@holds(Tail, "last offsets and ends go up, the first end is behind `start`")
def _(last: Tail, memory: Memory) -> bool:
    return ascending(last.last_offsets) and ascending([last.start, *last.ends])


@holds(Tail, "at most `LONGEST` entries")
def _(last: Tail, memory: Memory) -> bool:
    return len(last.ends) == len(last.last_offsets) <= tail.LONGEST


@holds(OffsetIndex, "offsets go strictly up, positions go up")
def _(index: OffsetIndex, memory: Memory) -> bool:
    entries = index.entries()
    positions = [at for _, at in entries]
    return ascending([offset for offset, _ in entries]) and positions == sorted(positions)


@holds(Partition, "memory equals file once loaded", "broker_core.log.offset_index:OffsetIndex")
def _(partition: Partition, memory: Memory) -> bool:
    return not _lives(partition) or all(_as_on_disk(one.index) for one in partition.log.segments)


def _as_on_disk(index: OffsetIndex) -> bool:
    data = bytes(index.file.read(0, index.file.size // ENTRY_SIZE * ENTRY_SIZE))
    return index.entries() == [(index.base_offset + relative, at) for relative, at in struct.iter_unpack(ENTRY.format, data)]


@holds(TimeIndex, "timestamps go strictly up, offsets go up")
def _(index: TimeIndex, memory: Memory) -> bool:
    entries = index.entries()
    offsets = [offset for _, offset in entries]
    return ascending([at for at, _ in entries]) and offsets == sorted(offsets)


@holds(LeaderEpochCache, "epochs go strictly up, start offsets go strictly up")
def _(cache: LeaderEpochCache, memory: Memory) -> bool:
    return ascending([epoch for epoch, _ in cache.entries]) and ascending([start for _, start in cache.entries])


@holds(Partition, "an epoch stands in the file before a batch of it stands in the log", "broker_core.log.epochs:LeaderEpochCache")
def _(partition: Partition, memory: Memory) -> bool:
    if not _lives(partition) or partition.log.opening is not None:
        return True
    log = partition.log
    recorded = {epoch for epoch, _ in read_epochs(log.storage, log.epochs_path)}
    headers = headers_from(log.active.log, 0, log.active.size)
    return {header.leader_epoch for _, header in headers if header.base_offset >= log.log_start_offset} <= recorded


@holds(Transactions, "first offsets in `open` go up, markers in `unreplicated` go up, and no transaction is in both")
def _(transactions: Transactions, memory: Memory) -> bool:
    open_ones, markers = list(transactions.open), list(transactions.unreplicated.values())
    return ascending(open_ones) and ascending(markers) and not transactions.open.keys() & transactions.unreplicated.keys()


# -- replication and controllers ----------------------------------------------------------------


@holds(Partition, "leader_epoch and partition_epoch never go down")
def _(partition: Partition, memory: Memory) -> bool:
    return _never_down(memory, leader=partition.leader_epoch, partition=partition.partition_epoch)


@holds(Partition, MARKS)
def _(partition: Partition, memory: Memory) -> bool:
    return partition.log.log_start_offset <= partition.log.high_watermark <= partition.log.log_end_offset


@holds(Partition, "role == LEADER: leader_id is this broker, it is in the ISR, `remote` has all other replicas")
def _(partition: Partition, memory: Memory) -> bool:
    own = partition.host.broker_id
    others = {*partition.replicas} - {own}
    return partition.role != LEADER or (
        partition.leader_id == own and own in partition.isr.committed and partition.remote.keys() == others)  # fmt: skip


@holds(Partition, "the local replica of a leader is in `committed` and in every proposal", "broker_core.replication.isr:InSyncReplicas")
def _(partition: Partition, memory: Memory) -> bool:
    own, isr = partition.host.broker_id, partition.isr
    return partition.role != LEADER or (own in isr.committed and (isr.proposed is None or own in isr.proposed))


@holds(FollowerState, "phase == FETCHING: fetch_offset is the log end")
def _(state: FollowerState, memory: Memory) -> bool:
    followed = state.partition
    over = followed.role == LEADER or followed.leader_epoch != state.leader_epoch
    return over or state.phase != FETCHING or state.fetch_offset == followed.log.log_end_offset


@holds(Replica, "last_caught_up_ms <= last_fetch_ms (right after the election both are its time)")
def _(replica: Replica, memory: Memory) -> bool:
    return replica.last_caught_up_ms <= replica.last_fetch_ms


@holds(KafkaController, "every replica of `assignments` has a state, and every partition unless its topic is being deleted",
       "broker_core.controller.zk.context:ControllerContext")  # fmt: skip
def _(controller: KafkaController, memory: Memory) -> bool:
    context, thread = controller.context, controller.thread
    if thread._waiting or thread._steps or thread._events:
        return True
    partitions = [(topic, number) for topic, parts in context.assignments.items() for number in parts]
    replicas = [(*one, broker) for one in partitions for broker in context.assignments[one[0]][one[1]].replicas]
    stay = {one for one in partitions if one[0] not in context.deleting}
    return stay <= {*context.partition_states} and {*replicas} <= {*context.replica_states}


@holds(ControllerThread, "while the tree owes an answer no turn is scheduled; else one is, as long as something is left to do")
def _(thread: ControllerThread, memory: Memory) -> bool:
    if thread._waiting:
        return not thread._scheduled
    return not thread._called and (thread._scheduled or not (thread._steps or thread._events))


@holds(MetadataImage, "`topic_ids` and `topics` name the same topics")
def _(image: MetadataImage, memory: Memory) -> bool:
    return image.topic_ids == {one.name: topic for topic, one in image.topics.items()}


@holds(MetadataImage, "partitions of a topic are numbered from 0 without a gap")
def _(image: MetadataImage, memory: Memory) -> bool:
    return all(sorted(one.partitions) == list(range(len(one.partitions))) for one in image.topics.values())


@holds(PartitionRegistration, "leader -1: there is none; else it is in the ISR")
def _(partition: PartitionRegistration, memory: Memory) -> bool:
    return partition.leader == -1 or partition.leader in partition.isr


@holds(PartitionRegistration, "ISR and `elr` have no member in common")
def _(partition: PartitionRegistration, memory: Memory) -> bool:
    return not {*partition.isr} & {*partition.elr}


@holds(Leader, "the high watermark never goes down", "broker_core.raft.leader")
def _(leader: Leader, memory: Memory) -> bool:
    return leader.high_watermark is None or _never_down(memory, mark=leader.high_watermark)


@holds(Leader, "a voter is known by id and directory: a fetch of the same id with another directory is an observer's",
       "broker_core.raft.leader")  # fmt: skip
def _(leader: Leader, memory: Memory) -> bool:
    voters = [one.key for one in leader.voters.values()]
    return not any(voter.matches(key) for voter in voters for key in leader.observers)


@holds(QuorumState, "the epoch never goes down; in one epoch a replica votes for one candidate and knows one leader",
       "broker_core.raft.quorum_state")  # fmt: skip
def _(quorum: QuorumState, memory: Memory) -> bool:
    said = {"voted": quorum.state.voted, "leader": quorum.leader_id}
    before = memory.get("said", {}) if memory.get("epoch") == quorum.epoch else {}
    memory["said"] = before | {key: value for key, value in said.items() if value is not None}
    return _never_down(memory, epoch=quorum.epoch) and all(before.get(key, value) == value for key, value in said.items() if value is not None)


@holds(QuorumState, "epoch, vote and leader are on disk before anybody learns of them", "broker_core.raft.quorum_state")
def _(quorum: QuorumState, memory: Memory) -> bool:
    kept, voted = quorum.file.read(), quorum.state.voted
    assert kept is not None
    same_vote = voted is None if kept.voted is None else voted is not None and voted.id == kept.voted.id
    return (kept.epoch, kept.leader_id) == (quorum.epoch, quorum.leader_id) and same_vote


@holds(VoterSet, "ids ascend")
def _(voters: VoterSet, memory: Memory) -> bool:
    return ascending(voters.ids)


@holds(VoterSet, "0 < majority <= len(set) unless it is empty, and two majorities always share a voter")
def _(voters: VoterSet, memory: Memory) -> bool:
    return not len(voters) or len(voters) < 2 * voters.majority <= 2 * len(voters)


# -- the coordination tree ----------------------------------------------------------------------


@holds(DataTree, "every znode but the root is in the children of its parent")
def _(tree: DataTree, memory: Memory) -> bool:
    return all(path.rpartition("/")[2] in tree.nodes[path.rpartition("/")[0] or ROOT].children for path in tree.nodes if path != ROOT)


@holds(DataTree, "a session's `ephemerals` are exactly the znodes that name it as owner")
def _(tree: DataTree, memory: Memory) -> bool:
    owned: dict[int, set[str]] = {number: set() for number in tree.sessions}
    for path, node in tree.nodes.items():
        if node.owner:
            owned.setdefault(node.owner, set()).add(path)
    return owned == {number: {*one.ephemerals} for number, one in tree.sessions.items()}


@holds(ZkClient, "replies arrive in the order of `_in_flight`, which holds at most `max_in_flight`")
def _(client: ZkClient, memory: Memory) -> bool:
    return len(client._in_flight) <= client.max_in_flight


@holds(Election, "while it looks, its own vote is among those received")
def _(election: Election, memory: Memory) -> bool:
    return election.state != LOOKING or not election.round or election.received.get(election.own) == election.vote


@holds(EnsembleServer, "zxids go up: of the tree's last transaction, of `_flushed_only`, of `_received`")
def _(server: EnsembleServer, memory: Memory) -> bool:
    return ascending([server.tree.last_zxid, *(one.zxid for one in (*server._flushed_only, *server._received))])


@holds(Leading, "`outstanding` is in the order of zxids; none of them is in the tree yet")
def _(leading: Leading, memory: Memory) -> bool:
    return ascending([leading.server.tree.last_zxid, *(one.proposal.zxid for one in leading.outstanding)])


@holds(Remembered, "the last offsets go up; a block has as many keys, and no block is empty")
def _(batches: Remembered, memory: Memory) -> bool:
    return ascending([last for lasts, _ in batches.blocks for last in lasts]) and all(len(lasts) == len(keys) > 0 for lasts, keys in batches.blocks)
