"""One replica of the metadata log: all parts behind one port.

    append(epoch, values)   the leader's user writes; `handle_commit` says when it counts
    handle(...)             a request of the quorum: Vote, Fetch, DescribeQuorum, AddRaftVoter, ...
    receive, peer_down      answers to own requests, connections that have closed
    register(listener)      see `listeners`

`_poll` is the heart: it looks what is due in the present state, does it, and says when to look again. It runs
after everything that comes in, and by one timer. Source: KafkaRaftClient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node, Timer
from broker_core.raft.control_records import kraft_version, leader_change, voters_record
from broker_core.raft.describing import describe_quorum
from broker_core.raft.fetching import Fetching, Reply
from broker_core.raft.io_thread import IoThread
from broker_core.raft.leader import Leader
from broker_core.raft.listeners import LeaderAndEpoch, Listener, ListenerProgress, Read
from broker_core.raft.metadata_log import MetadataLog
from broker_core.raft.polling import Polling
from broker_core.raft.progress import Progress
from broker_core.raft.quorum_state import QuorumState
from broker_core.raft.reconfiguration import Reconfiguration
from broker_core.raft.requests import Requests
from broker_core.raft.settings import CLEANING_INTERVAL_MS, QuorumSettings
from broker_core.raft.snapshots import RawSnapshot, SnapshotId, SnapshotWriter
from broker_core.raft.states import EpochState, Resigned
from broker_core.raft.voter_history import BEFORE_THE_LOG, VoterHistory
from broker_core.raft.voters import VoterNode, VoterSet
from broker_core.raft.voting import Voting
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import Response


class NotLeader(Exception):
    """Only the leader of the epoch may append or resign."""


class Addresses(Protocol):
    """Where replicas of the quorum are."""

    def node_of(self, replica_id: int) -> str:
        """Name of the node on which this replica runs."""
        ...


class RaftClient:
    """See the module. Its owner hands on requests, answers and closed connections, and calls `start` once.

    Invariants
        - at most one leader in an epoch, over all replicas
        - what is below the high watermark of any replica is the same everywhere, for ever
    """

    def __init__(
        self, node: Node, own: VoterNode, cluster_id: str, log_dir: str, static: VoterSet, addresses: Addresses,
        settings: QuorumSettings, bootstrap: Sequence[int] = (),
    ) -> None:  # fmt: skip
        """`static`: `controller.quorum.voters`, empty where voters are dynamic; `bootstrap`: whom an observer asks.

        Raises CorruptCheckpoint, RecordsError, StorageError.
        """
        self.node = node
        self.own = own
        self.cluster_id = cluster_id
        self.settings = settings
        self.addresses = addresses
        self.log = MetadataLog(node, log_dir, settings)
        self.history = VoterHistory(static)
        self.bootstrap = list(bootstrap) or static.ids
        self.thread = IoThread(node, self.poll)
        self.progress = Progress(self)
        self.progress.read_control_records_anew()
        self.quorum = QuorumState(node, own, self.log, self.history, settings)
        self.voting = Voting(self)
        self.fetching = Fetching(self)
        self.reconfiguration = Reconfiguration(self)
        self.requests = Requests(node, own.key.id, settings, self._answered)
        self.polling = Polling(self)
        self.listeners: list[ListenerProgress] = []
        self.stopping: Callable[[], None] | None = None
        self._timer: Timer | None = None
        self._timer_us = 0
        self._polling_now = False
        self._led: tuple[EpochState | None, LeaderAndEpoch] = (None, LeaderAndEpoch(None, 0))
        self._told: tuple[EpochState | None, int | None] = (None, None)

    # -- for its owner ----------------------------------------------------------------------------
    def start(self) -> None:
        """Take part from now on. A quorum of one elects itself at once."""
        if self.quorum.is_only_voter:
            self.quorum.state.deadline_us = self.node.now_us()
        self.node.every(CLEANING_INTERVAL_MS * 1000, self._clean)
        self.poll()

    def register(self, listener: Listener) -> None:
        """From now on it is told what is committed, from the beginning."""
        self.listeners.append(ListenerProgress(listener))
        self._told = (None, None)
        self.poll()

    def unregister(self, listener: Listener) -> None:
        """It is told nothing any more."""
        self.listeners = [one for one in self.listeners if one.listener is not listener]

    @property
    def leader_and_epoch(self) -> LeaderAndEpoch:
        """Nobody leads an epoch whose leader has resigned. As long as the state is the same one, so is this."""
        state, (known, found) = self.quorum.state, self._led
        if state is not known:
            found = LeaderAndEpoch(None if isinstance(state, Resigned) else state.leader_id, state.epoch)
            self._led = (state, found)
        return found

    @property
    def high_watermark(self) -> int | None:
        """None until somebody has said so."""
        return self.quorum.state.high_watermark

    def append(self, epoch: int, values: Sequence[bytes]) -> int:
        """Write records, together or not at all; offset of the last. Raises NotLeader, BatchTooLarge."""
        leader = self.quorum.leader
        if leader is None or leader.epoch != epoch or leader.resign_requested:
            raise NotLeader(f"epoch {epoch}, this replica is {self.quorum.state.name} in epoch {self.quorum.epoch}")
        offset = leader.accumulator.append(values, self.node.now_us(), self.node.wall_ms())
        self._arm(leader.accumulator.due_us)
        return offset

    def upgrade(self, version: int) -> int:
        """Raise kraft.version; offset of its record. Raises ValueError with the reason why that cannot be."""
        offset = self.reconfiguration.upgrade(version)
        self._arm(self.leading().accumulator.due_us)
        return offset

    def resign(self, epoch: int) -> None:
        """The user of this leader cannot go on. Nothing happens when the epoch is over."""
        leader = self.quorum.leader
        if leader is not None and leader.epoch == epoch:
            leader.resign_requested = True
            self.node.soon(self.poll)

    def shut_down(self, done: Callable[[], None]) -> None:
        """Leave in order: a leader names its successors and waits until one leads, at most a request's time-out."""
        self.stopping = done
        self.node.after(self.settings.request_timeout_ms * 1000, self._stopped)
        self.poll()

    def _stopped(self) -> None:
        done, self.stopping = self.stopping, None
        if done is not None:
            if self._timer is not None:
                self._timer.cancel()
            with suppress(StorageError):  # a disk that fails keeps nobody from going (KafkaRaftManager.shutdown)
                self.log.close()
            done()

    def create_snapshot(self, snapshot_id: SnapshotId, last_timestamp_ms: int) -> SnapshotWriter | None:
        """Begin a snapshot of what is committed below its end; None where it exists or the log begins behind it.

        `snapshot_written` is to be called when it is frozen.
        """
        if snapshot_id.end_offset < self.log.start_offset or snapshot_id.end_offset > self.log.high_watermark:
            return None
        raw = self.log.new_snapshot(snapshot_id)
        if raw is None:
            return None
        last = snapshot_id.end_offset - 1
        return SnapshotWriter(
            raw, last_timestamp_ms, self.node.wall_ms(), self.history.version_at(last), self.history.voters_at(last)
        )

    def snapshot_written(self, writer: SnapshotWriter) -> None:
        raw = writer.raw
        self.log.keep(raw.id)
        self.history.forget_before(raw.id.end_offset)
        self.tell_snapshot(raw, "written")

    def tell_snapshot(self, raw: RawSnapshot, how: str) -> None:
        """For the journal: a snapshot is whole."""
        at = raw.id
        self.node.emit(events.METADATA_SNAPSHOT, offset=at.end_offset, epoch=at.epoch, bytes=raw.size, how=how)

    def handle(self, api_key: int, body: Any, reply: Reply, context: Any) -> None:
        """A request of the quorum; `reply(context, answer)` is called once, now or later; never by who has to halt."""
        if self.thread.is_busy:
            self.thread.come_in(self.handle, api_key, body, reply, context)
            return
        self.thread.begin()
        try:
            self._handle(api_key, body, reply, context)
        except StorageError:
            self.node.halt()
            return
        self.poll()

    def _handle(self, api_key: int, body: Any, reply: Reply, context: Any) -> None:
        match api_key:
            case ApiKey.FETCH:
                self.fetching.handle_fetch(body, reply, context)
            case ApiKey.VOTE:
                self.thread.go_out(reply, context, self.voting.handle_vote(body))
            case ApiKey.BEGIN_QUORUM_EPOCH:
                self.thread.go_out(reply, context, self.voting.handle_begin(body))
            case ApiKey.END_QUORUM_EPOCH:
                self.thread.go_out(reply, context, self.voting.handle_end(body))
            case ApiKey.FETCH_SNAPSHOT:
                reply(context, self.fetching.handle_fetch_snapshot(body))
            case ApiKey.DESCRIBE_QUORUM:
                reply(context, describe_quorum(self, body))
            case ApiKey.ADD_RAFT_VOTER:
                self.reconfiguration.handle_add(body, reply, context)
            case ApiKey.REMOVE_RAFT_VOTER:
                self.reconfiguration.handle_remove(body, reply, context)
            case ApiKey.UPDATE_RAFT_VOTER:
                reply(context, self.reconfiguration.handle_update(body))
            case _:
                raise ValueError(f"api {api_key} is none of the quorum's")

    def receive(self, source: str, response: Response) -> bool:
        """An answer; False when it is none to a request of this replica."""
        return self.requests.receive(source, response)

    def peer_down(self, peer: str) -> None:
        self.requests.peer_down(peer)

    # -- polling ----------------------------------------------------------------------------------
    def poll(self) -> None:
        """Do what is due, tell the listeners, and arm the timer for what is due next."""
        if self._polling_now or self.thread.is_busy:
            return
        self.thread.begin()
        try:
            at_us = self._run()
            if self.thread.is_busy:
                return
            self._tell()
        except StorageError:
            self.node.halt()  # a replica that cannot keep its promises must not make any
            return
        self._arm(at_us)

    def _run(self) -> int:
        self._polling_now = True
        try:
            return self.polling.run()
        finally:
            self._polling_now = False

    def _arm(self, at_us: int | None) -> None:
        if at_us is None:
            return
        if self._timer is not None:
            if self._timer_us <= at_us and self._timer.active:
                return
            self._timer.cancel()
        self._timer_us = at_us
        self._timer = self.node.after(max(0, at_us - self.node.now_us()), self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        self.poll()

    def _tell(self) -> None:
        state, leader = self.quorum.state, self.quorum.leader
        high_watermark = state.high_watermark
        known, reached = self._told
        if state is known and high_watermark == reached:
            return  # all of them know it: so most of the calls
        seen = leader.start_offset if leader is not None else BEFORE_THE_LOG
        read: Read = {}
        for progress in list(self.listeners):
            if high_watermark is not None:
                progress.advance(self.log, high_watermark, read)
            progress.tell_leader(self.leader_and_epoch, seen)
        if all(one.has_all(self.leader_and_epoch, high_watermark) for one in self.listeners):
            self._told = (state, high_watermark)

    def ask(self, replica_id: int, api_key: int, version: int, body: Any) -> bool:
        """Send a request to a replica, unless one is under way; whether it went."""
        return self.requests.send(self.addresses.node_of(replica_id), api_key, version, body, replica_id)

    def _answered(self, replica_id: int, api_key: int, body: Any) -> None:
        if self.thread.is_busy:
            self.thread.come_in(self._answered, replica_id, api_key, body)
            return
        self.thread.begin()
        useful = body is not None
        if body is not None and api_key == ApiKey.VOTE:
            useful = self.voting.vote_answered(replica_id, body)
        elif body is not None and api_key == ApiKey.BEGIN_QUORUM_EPOCH:
            useful = self.voting.begin_answered(replica_id, body)
        elif body is not None and api_key == ApiKey.END_QUORUM_EPOCH:
            useful = self.voting.end_answered(replica_id, body)
        elif api_key == ApiKey.FETCH and body is not None:
            useful = self._guarded(self.fetching.fetch_answered, body)
            useful &= not _is_refused(body)  # who does not lead (any more) is not asked again at once
        elif api_key == ApiKey.FETCH_SNAPSHOT and body is not None:
            useful = self._guarded(self.fetching.snapshot_answered, body)
        elif api_key == ApiKey.UPDATE_RAFT_VOTER:
            useful = self.reconfiguration.update_answered(body)
        elif api_key == ApiKey.API_VERSIONS:
            self.reconfiguration.versions_answered(replica_id, body)
        if not useful:
            self.requests.failed(self.addresses.node_of(replica_id))
        self.thread.pay()
        self.poll()

    def _guarded(self, take: Callable[[Any], bool], body: Any) -> bool:
        try:
            return take(body)
        except StorageError:
            self.node.halt()
            return False

    # -- transitions that the parts ask for -------------------------------------------------------
    def to_unattached(self, epoch: int) -> None:
        self._leave()
        self.quorum.to_unattached(epoch)
        self._arrived()

    def to_follower(self, epoch: int, leader_id: int) -> None:
        self._leave()
        self.quorum.to_follower(epoch, leader_id)
        self._arrived()

    def resign_now(self, reason: str) -> None:
        self._leave()
        self.quorum.to_resigned(reason)
        self._arrived()

    def _leave(self) -> None:
        leader = self.quorum.leader
        if leader is not None:
            self.reconfiguration.abandon(leader)

    def _arrived(self) -> None:
        """Another state: requests of the old one do not matter, who waits for the old leader is told."""
        self.requests.reset()
        self.fetching.wake()

    def become_leader(self) -> None:
        """Begin the epoch with a record that says so; once it is committed, all before it is, too."""
        leader = self.quorum.to_leader()
        self.requests.reset()
        self.log.begin_epoch(leader.epoch)
        version, voters = self.history.last_version, self.history.last_voters
        keys = [node.key for node in voters]
        controls = [leader_change(self.own.key.id, keys, leader.granting)]
        if version > 0 and (self.history.last_voters_offset == BEFORE_THE_LOG or self.reconfiguration.update_is_due):
            controls += [kraft_version(version), voters_record(voters.updated(self.own) or voters)]
        leader.accumulator.append_control(controls, self.node.now_us(), self.node.wall_ms())

    # -- facts ------------------------------------------------------------------------------------
    def leading(self) -> Leader:
        """The leader's state; only after `leader_only` has said NONE."""
        leader = self.quorum.leader
        assert leader is not None
        return leader

    def leader_only(self, epoch: int) -> ErrorCode:
        """What is wrong with a request that only the leader of this epoch may answer."""
        if epoch < self.quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > self.quorum.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if self.quorum.leader is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.BROKER_NOT_AVAILABLE if self.stopping is not None else ErrorCode.NONE

    def is_own_cluster(self, cluster_id: str | None) -> bool:
        return cluster_id is None or cluster_id == self.cluster_id

    # -- its own ----------------------------------------------------------------------------------
    def _clean(self) -> None:
        self.log.clean()


def _is_refused(answer: Any) -> bool:
    """Whether a Fetch was not served."""
    return any(partition.error_code for topic in answer.responses for partition in topic.partitions)
