"""Replication of the metadata log: a follower fetches, the leader learns by it how far everybody is.

| the follower says | the leader answers |
|---|---|
| "I have all below 118, the last of epoch 5": true | batches from 118 on; without any it waits, up to 500 ms (1) |
| the same, but the logs have come apart | diverging epoch: "epoch 4 ends at 90 here"; it cuts, asks again |
| an offset that the leader has only in a snapshot | its id; it fetches that with FetchSnapshot, begins behind it |
| another epoch | FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH |

(1) also for a higher watermark than the follower knows (KIP-1166), so that it hears at once of what is committed.

An observer does the same without a vote: its fetches move no high watermark. Where it does not know the leader
it asks any voter, whose answer names him. Source: KafkaRaftClient.handleFetchRequest, handleFetchResponse,
handleFetchSnapshotRequest, handleFetchSnapshotResponse; KIP-595, KIP-630.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.kernel.node import Timer
from broker_core.log.errors import LogError
from broker_core.raft.metadata_log import DIVERGING, PARTITION, SNAPSHOT, TOPIC, TOPIC_ID, VALID, Place
from broker_core.raft.settings import MAX_FETCH_WAIT_MS, MOST_READ_BYTES, TICK_US
from broker_core.raft.snapshots import BOOTSTRAP, SnapshotId
from broker_core.raft.states import Follower
from broker_core.raft.voters import ReplicaKey
from broker_core.records.errors import RecordsError
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.raft.client import RaftClient

Reply = Callable[[Any, Any], None]
"""`reply(context, body)`, once."""
UNKNOWN = -1


class Parked(NamedTuple):
    """A Fetch that waits for something new."""

    asked: Any
    key: ReplicaKey
    most_bytes: int
    reply: Reply
    context: Any
    timer: Timer


class Fetching:
    """The part of a replica that copies, on both sides."""

    def __init__(self, client: RaftClient) -> None:
        self.client = client
        self.parked: list[Parked] = []

    # -- leader -----------------------------------------------------------------------------------
    def handle_fetch(self, body: Any, reply: Reply, context: Any) -> None:
        """Answer a Fetch of the metadata log, at once or when there is something to say."""
        client = self.client
        asked = self._asked(body)
        if not client.is_own_cluster(body.cluster_id):
            reply(context, m.FetchResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID)))
            return
        if asked is None:
            reply(context, m.FetchResponse(error_code=int(ErrorCode.INVALID_REQUEST)))
            return
        epochs_fit = 0 <= asked.last_fetched_epoch <= asked.current_leader_epoch
        if body.max_wait < 0 or asked.fetch_offset < 0 or not epochs_fit:
            reply(context, self._answer(ErrorCode.INVALID_REQUEST))
            return
        state = body.replica_state
        key = ReplicaKey(state.replica_id if state.replica_id >= 0 else body.replica_id, asked.replica_directory_id)
        most_bytes = min(body.max_bytes, MOST_READ_BYTES)
        answer, has_news = self._try(asked, key, most_bytes)
        if has_news or body.max_wait == 0:
            reply(context, answer)
            return
        wait_us = min(body.max_wait, MAX_FETCH_WAIT_MS) * 1000 + TICK_US
        timer = client.node.after(wait_us, self._expired, reply, context)
        self.parked.append(Parked(asked, key, most_bytes, reply, context, timer))

    def _asked(self, body: Any) -> Any:
        if len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
            return None
        topic, partition = body.topics[0], body.topics[0].partitions[0]
        named = topic.topic_id == TOPIC_ID or topic.topic == TOPIC
        return partition if named and partition.partition == PARTITION else None

    def _try(self, asked: Any, key: ReplicaKey, most_bytes: int) -> tuple[Any, bool]:
        """The answer as of now, and whether it says anything."""
        client = self.client
        error = client.leader_only(asked.current_leader_epoch)
        if error != ErrorCode.NONE:
            return self._answer(error), True
        leader, log = client.leading(), client.log
        latest = log.latest_snapshot_id
        place = log.place_of(asked.fetch_offset, asked.last_fetched_epoch)
        if asked.fetch_offset == 0 and latest is not None and latest != BOOTSTRAP:
            place = Place(SNAPSHOT, *latest)
        if place.kind != VALID:
            return self._answer(ErrorCode.NONE, place), True
        records = []
        if asked.fetch_offset < log.end_offset:
            records = [part.read() for part in log.read(asked.fetch_offset, most_bytes).slices]
        if key.id == client.own.key.id:
            return self._answer(ErrorCode.INVALID_REQUEST), True
        if leader.update_replica(key, client.node.now_us(), client.node.wall_ms(), asked.fetch_offset):
            client.progress.committed()
        high_watermark = UNKNOWN if leader.high_watermark is None else leader.high_watermark
        return self._answer(ErrorCode.NONE, None, records), bool(records) or asked.high_watermark < high_watermark

    def _answer(self, error: ErrorCode, place: Place | None = None, records: list[Any] | None = None) -> Any:
        client, kind = self.client, m.FetchResponse
        quorum = client.quorum
        high_watermark = quorum.state.high_watermark if error == ErrorCode.NONE else None
        partition = kind.PartitionData(
            partition_index=PARTITION, error_code=int(error), log_start_offset=client.log.start_offset,
            high_watermark=UNKNOWN if high_watermark is None else high_watermark, records=records or None,
            current_leader=kind.LeaderIdAndEpoch(
                leader_id=UNKNOWN if quorum.leader_id is None else quorum.leader_id, leader_epoch=quorum.epoch
            ),
        )  # fmt: skip
        if place is not None and place.kind == DIVERGING:
            partition.diverging_epoch = kind.EpochEndOffset(epoch=place.epoch, end_offset=place.offset)
        elif place is not None and place.kind == SNAPSHOT:
            partition.snapshot_id = kind.SnapshotId(epoch=place.epoch, end_offset=place.offset)
        return kind(responses=[kind.FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])])

    def _expired(self, reply: Reply, context: Any) -> None:
        self.parked = [one for one in self.parked if one.context is not context]
        reply(context, self._answer(ErrorCode.NONE if self.client.quorum.leader else ErrorCode.NOT_LEADER_OR_FOLLOWER))

    def wake(self) -> None:
        """The log has grown, more is committed, or this is no leader any more: answer those for whom it matters."""
        waiting, self.parked = self.parked, []
        for one in waiting:
            answer, has_news = self._try(one.asked, one.key, one.most_bytes)
            if has_news:
                one.timer.cancel()
                one.reply(one.context, answer)
            else:
                self.parked.append(one)

    # -- follower ---------------------------------------------------------------------------------
    def fetch_request(self) -> Any:
        client, kind = self.client, m.FetchRequest
        last_epoch, end = client.log.position
        high_watermark = client.quorum.state.high_watermark
        partition = kind.FetchPartition(
            partition=PARTITION, current_leader_epoch=client.quorum.epoch, fetch_offset=end,
            last_fetched_epoch=last_epoch, partition_max_bytes=0, replica_directory_id=client.own.key.directory,
            high_watermark=UNKNOWN if high_watermark is None else high_watermark,
        )  # fmt: skip
        return kind(
            max_wait=MAX_FETCH_WAIT_MS, min_bytes=0, max_bytes=client.settings.fetch_max_bytes,
            cluster_id=client.cluster_id,
            replica_state=kind.ReplicaState(replica_id=client.own.key.id, replica_epoch=-1),
            topics=[kind.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
        )  # fmt: skip

    def fetch_answered(self, body: Any) -> bool:
        """Take over what the leader has sent. Whether the answer was of use."""
        client = self.client
        if body.error_code or len(body.responses) != 1 or len(body.responses[0].partitions) != 1:
            return False
        answer = body.responses[0].partitions[0]
        said = answer.current_leader
        done = client.voting.settle(ErrorCode(answer.error_code), said.leader_id, said.leader_epoch)
        if done is not None:
            return done
        follower = client.quorum.follower
        if follower is None:
            return False
        if not self._take(follower, answer):
            return False
        client.progress.heard_of_leader(follower)
        return True

    def _take(self, follower: Follower, answer: Any) -> bool:
        client = self.client
        diverging, snapshot = answer.diverging_epoch, answer.snapshot_id
        if diverging is not None and diverging.epoch >= 0:
            return self._truncate(diverging)
        if snapshot is not None and (snapshot.epoch >= 0 or snapshot.end_offset >= 0):
            if min(snapshot.epoch, snapshot.end_offset) < 0:
                return False
            follower.fetching = client.log.new_snapshot(SnapshotId(snapshot.end_offset, snapshot.epoch))
            return True
        if answer.records:
            try:
                client.progress.copied(answer.records)
            except (RecordsError, LogError):
                return False
        client.progress.follow_high_watermark(follower, answer.high_watermark)
        return True

    def _truncate(self, diverging: Any) -> bool:
        log = self.client.log
        if diverging.end_offset < (self.client.quorum.state.high_watermark or 0):
            return False  # what is committed is never cut: such a leader is not one
        end = log.truncate_to_end_of(diverging.epoch, diverging.end_offset)
        self.client.progress.truncated(end)
        return True

    # -- snapshots --------------------------------------------------------------------------------
    def snapshot_request(self, follower: Follower) -> Any:
        client, kind = self.client, m.FetchSnapshotRequest
        raw = follower.fetching
        assert raw is not None
        partition = kind.PartitionSnapshot(
            partition=PARTITION, current_leader_epoch=client.quorum.epoch, position=raw.size,
            snapshot_id=kind.SnapshotId(end_offset=raw.id.end_offset, epoch=raw.id.epoch),
            replica_directory_id=client.own.key.directory,
        )  # fmt: skip
        return kind(
            replica_id=client.own.key.id, max_bytes=client.settings.fetch_snapshot_max_bytes,
            cluster_id=client.cluster_id,
            topics=[kind.TopicSnapshot(name=TOPIC, partitions=[partition])],
        )

    def handle_fetch_snapshot(self, body: Any) -> Any:
        """A piece of a snapshot, from a position on."""
        client, kind = self.client, m.FetchSnapshotResponse
        if not client.is_own_cluster(body.cluster_id):
            return kind(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID))
        if len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
            return kind(error_code=int(ErrorCode.INVALID_REQUEST))
        topic, asked = body.topics[0], body.topics[0].partitions[0]
        if topic.name != TOPIC or asked.partition != PARTITION:
            return self._snapshot_answer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic.name, asked)
        error = client.leader_only(asked.current_leader_epoch)
        wanted = SnapshotId(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
        snapshot = client.log.open_snapshot(wanted) if wanted != BOOTSTRAP else None
        if error == ErrorCode.NONE and snapshot is None:
            error = ErrorCode.SNAPSHOT_NOT_FOUND
        if error != ErrorCode.NONE or snapshot is None:
            return self._snapshot_answer(error, TOPIC, asked)
        if not 0 <= asked.position < snapshot.size:
            return self._snapshot_answer(ErrorCode.POSITION_OUT_OF_RANGE, TOPIC, asked)
        client.leading().heard(ReplicaKey(body.replica_id, asked.replica_directory_id), client.node.now_us())
        piece = snapshot.read(asked.position, min(body.max_bytes, MOST_READ_BYTES))
        return self._snapshot_answer(ErrorCode.NONE, TOPIC, asked, snapshot.size, piece)

    def _snapshot_answer(self, error: ErrorCode, topic: str, asked: Any, size: int = 0, piece: Any = None) -> Any:
        quorum, kind = self.client.quorum, m.FetchSnapshotResponse
        partition = kind.PartitionSnapshot(
            index=asked.partition, error_code=int(error), size=size, position=asked.position,
            snapshot_id=kind.SnapshotId(end_offset=asked.snapshot_id.end_offset, epoch=asked.snapshot_id.epoch),
            unaligned_records=piece,
            current_leader=kind.LeaderIdAndEpoch(
                leader_id=UNKNOWN if quorum.leader_id is None else quorum.leader_id, leader_epoch=quorum.epoch
            ),
        )  # fmt: skip
        return kind(topics=[kind.TopicSnapshot(name=topic, partitions=[partition])])

    def snapshot_answered(self, body: Any) -> bool:
        """Add a piece; with the last one the log begins behind the snapshot."""
        client = self.client
        if body.error_code or len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
            return False
        answer = body.topics[0].partitions[0]
        said, error = answer.current_leader, ErrorCode(answer.error_code)
        gone = error in (ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE)
        done = client.voting.settle(ErrorCode.NONE if gone else error, said.leader_id, said.leader_epoch)
        if done is not None:
            return done
        follower = client.quorum.follower
        raw = follower.fetching if follower is not None else None
        if follower is None or raw is None:
            return False
        if gone or (answer.snapshot_id.end_offset, answer.snapshot_id.epoch) != raw.id or answer.position != raw.size:
            raw.abandon()
            follower.fetching = None
        else:
            raw.append(bytes(answer.unaligned_records or b""))
            if raw.size >= answer.size:
                self._snapshot_is_whole(follower)
        client.progress.heard_of_leader(follower)
        return True

    def _snapshot_is_whole(self, follower: Follower) -> None:
        client, raw = self.client, follower.fetching
        assert raw is not None
        raw.freeze()
        follower.fetching = None
        client.log.keep(raw.id)
        client.log.truncate_to_latest_snapshot()
        client.tell_snapshot(raw, "fetched")
        client.progress.read_control_records_anew()
        client.progress.follow_high_watermark(follower, raw.id.end_offset)
