"""Elections: Vote, BeginQuorumEpoch, EndQuorumEpoch, and what every answer says about leader and epoch.

    102: fetch timeout                    prospective, epoch 5
    102 -> 101, 103   Vote epoch 5, pre-vote, log ends at (5, 120)
    103 -> 102        granted: it has not heard of the leader either, and its log ends at (5, 118)
    102: majority                         candidate, epoch 6, voted for itself
    102 -> 101, 103   Vote epoch 6
    103 -> 102        granted, after `quorum-state` says so
    102: majority                         leader of epoch 6
    102 -> 101, 103   BeginQuorumEpoch epoch 6, until they fetch, and again when they fall silent

Every message carries the sender's epoch: who hears of a newer one gives up what he was; who hears of an older one
answers with FENCED_LEADER_EPOCH and the newer one. A leader that ends in order sends EndQuorumEpoch with its
successors, best first: the first one asks for votes at once, the others wait their turn.
Source: KafkaRaftClient.handleVoteRequest and its kin; KIP-595, KIP-853, KIP-996.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from broker_core.raft.metadata_log import PARTITION, TOPIC
from broker_core.raft.states import Candidate, Prospective, Resigned, Unattached
from broker_core.raft.voters import ReplicaKey
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.raft.client import RaftClient

NOBODY = -1


class Voting:
    """The part of a replica that elects."""

    def __init__(self, client: RaftClient) -> None:
        self.client = client

    # -- Vote -------------------------------------------------------------------------------------
    def vote_request(self, voter: ReplicaKey, pre_vote: bool) -> Any:
        client = self.client
        last_epoch, end = client.log.position
        own = client.own.key
        partition = m.VoteRequest.PartitionData(
            partition_index=PARTITION, replica_epoch=client.quorum.epoch, replica_id=own.id,
            replica_directory_id=own.directory, voter_directory_id=voter.directory, last_offset_epoch=last_epoch,
            last_offset=end, pre_vote=pre_vote,
        )  # fmt: skip
        topic = m.VoteRequest.TopicData(topic_name=TOPIC, partitions=[partition])
        return m.VoteRequest(cluster_id=client.cluster_id, voter_id=voter.id, topics=[topic])

    def handle_vote(self, body: Any) -> Any:
        """The answer to a Vote; a vote that is given stands on disk first."""
        refused = self._wrong_with(body)
        if refused != ErrorCode.NONE:
            return m.VoteResponse(error_code=int(refused))
        error, granted = self._decide(body.voter_id, only_partition(body.topics))
        quorum = self.client.quorum
        partition = m.VoteResponse.PartitionData(
            partition_index=PARTITION, error_code=int(error), leader_id=self._leader, leader_epoch=quorum.epoch,
            vote_granted=granted,
        )  # fmt: skip
        return m.VoteResponse(topics=[m.VoteResponse.TopicData(topic_name=TOPIC, partitions=[partition])])

    def _decide(self, voter_id: int, asked: Any) -> tuple[ErrorCode, bool]:
        client, quorum = self.client, self.client.quorum
        epoch, last = asked.replica_epoch, (asked.last_offset_epoch, asked.last_offset)
        newest = epoch if asked.pre_vote else epoch - 1  # of a record that a replica of this epoch can have
        if min(last) < 0 or last[0] > newest:
            return ErrorCode.INVALID_REQUEST, False
        error = self.voter_only(asked.replica_id, epoch)
        if error != ErrorCode.NONE:
            return error, False
        if epoch > quorum.epoch:
            client.to_unattached(epoch)
        if not self._is_for_this(voter_id, asked.voter_directory_id):
            return ErrorCode.INVALID_VOTER_KEY, False
        candidate = ReplicaKey(asked.replica_id, asked.replica_directory_id)
        state = quorum.state
        granted = state.can_grant(candidate, last >= client.log.position, asked.pre_vote)
        if granted and not asked.pre_vote and isinstance(state, Unattached | Prospective) and state.voted is None:
            quorum.add_vote(epoch, candidate)
        return ErrorCode.NONE, granted

    def vote_answered(self, voter: int, body: Any) -> bool:
        """Count it. Whether the answer was of use."""
        done = self._settled(body)
        state = self.client.quorum.state
        if done is None and isinstance(state, Prospective | Candidate):
            state.election.record(voter, only_partition(body.topics).vote_granted)
        return done is not False

    # -- BeginQuorumEpoch -------------------------------------------------------------------------
    def begin_request(self, voter: ReplicaKey) -> Any:
        request = self._epoch_request(m.BeginQuorumEpochRequest, voter_directory_id=voter.directory)
        request.voter_id = voter.id
        return request

    def handle_begin(self, body: Any) -> Any:
        kind, refused = m.BeginQuorumEpochResponse, self._wrong_with(body)
        if refused != ErrorCode.NONE:
            return kind(error_code=int(refused))
        asked = only_partition(body.topics)
        error = self._heard_of_leader(asked)
        if error == ErrorCode.NONE and not self._is_for_this(body.voter_id, asked.voter_directory_id):
            error = ErrorCode.INVALID_VOTER_KEY
        return self._epoch_answer(kind, error)

    def begin_answered(self, voter: int, body: Any) -> bool:
        """The voter knows this leader. Whether the answer was of use."""
        done = self._settled(body)
        leader = self.client.quorum.leader
        if done is None and leader is not None and voter in leader.voters:
            leader.voters[voter].acknowledged = True
        return done is not False

    # -- EndQuorumEpoch ---------------------------------------------------------------------------
    def end_request(self, preferred: Sequence[ReplicaKey]) -> Any:
        kind = m.EndQuorumEpochRequest
        return self._epoch_request(kind, preferred_candidates=[
            kind.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory) for key in preferred
        ])  # fmt: skip

    def handle_end(self, body: Any) -> Any:
        """The leader of this epoch goes: those it prefers need not wait for the fetch timeout."""
        kind, refused = m.EndQuorumEpochResponse, self._wrong_with(body)
        if refused != ErrorCode.NONE:
            return kind(error_code=int(refused))
        asked = only_partition(body.topics)
        error = self._heard_of_leader(asked)
        follower = self.client.quorum.follower
        if error == ErrorCode.NONE and follower is not None and follower.leader_id == asked.leader_id:
            preferred = [ReplicaKey(one.candidate_id, one.candidate_directory_id) for one in asked.preferred_candidates]
            preferred = preferred or [ReplicaKey(one) for one in asked.preferred_successors]
            follower.deadline_us = self.client.node.now_us() + self._turn_ms(preferred) * 1000
        return self._epoch_answer(kind, error)

    def _turn_ms(self, preferred: Sequence[ReplicaKey]) -> int:
        """The first successor does not wait; each of the others twice as long as the one before, up to a bound."""
        most = self.client.settings.election_backoff_max_ms
        place = next((at for at, key in enumerate(preferred) if key.matches(self.client.own.key)), len(preferred))
        if place == 0:
            return 0
        if place >= len(preferred):
            return most
        return min(most, (most >> (len(preferred) - 1)) << (place - 1))

    def end_answered(self, voter: int, body: Any) -> bool:
        """The voter knows that this leader goes. Whether the answer was of use."""
        done = self._settled(body)
        state = self.client.quorum.state
        if done is None and isinstance(state, Resigned):
            state.unacknowledged.pop(voter, None)
        return done is not False

    # -- what all of them share -------------------------------------------------------------------
    def _wrong_with(self, body: Any) -> ErrorCode:
        """Why a request as a whole is none for this quorum."""
        if not self.client.is_own_cluster(body.cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        return ErrorCode.INVALID_REQUEST if only_partition(body.topics) is None else ErrorCode.NONE

    def _settled(self, body: Any) -> bool | None:
        """What an answer says of leader and epoch: as `settle`; False for one that says nothing."""
        answer = only_partition(body.topics)
        if body.error_code or answer is None:
            return False
        return self.settle(ErrorCode(answer.error_code), answer.leader_id, answer.leader_epoch)

    def _epoch_request(self, kind: Any, **fields: Any) -> Any:
        """That this replica leads the epoch, or has led it, with `fields` about the partition."""
        client = self.client
        partition = kind.PartitionData(
            partition_index=PARTITION, leader_id=client.own.key.id, leader_epoch=client.quorum.epoch, **fields
        )
        endpoints = [
            kind.LeaderEndpoint(name=one.name, host=one.host, port=one.port) for one in client.own.listeners
        ]
        topics = [kind.TopicData(topic_name=TOPIC, partitions=[partition])]
        return kind(cluster_id=client.cluster_id, topics=topics, leader_endpoints=endpoints)

    @property
    def _leader(self) -> int:
        leader = self.client.quorum.leader_id
        return NOBODY if leader is None else leader

    def _epoch_answer(self, kind: Any, error: ErrorCode) -> Any:
        partition = kind.PartitionData(
            partition_index=PARTITION, error_code=int(error), leader_id=self._leader,
            leader_epoch=self.client.quorum.epoch,
        )  # fmt: skip
        return kind(topics=[kind.TopicData(topic_name=TOPIC, partitions=[partition])])

    def _heard_of_leader(self, asked: Any) -> ErrorCode:
        error = self.voter_only(asked.leader_id, asked.leader_epoch)
        if error == ErrorCode.NONE and not self.maybe_transition(asked.leader_id, asked.leader_epoch):
            error = ErrorCode.INVALID_REQUEST
        return error

    def voter_only(self, replica_id: int, epoch: int) -> ErrorCode:
        """What is wrong with a request that only voters send."""
        if epoch < self.client.quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.INVALID_REQUEST if replica_id < 0 else ErrorCode.NONE

    def _is_for_this(self, voter_id: int, directory: Any) -> bool:
        """Whether the sender means this replica, and not one whose machine it has taken over."""
        return voter_id < 0 or ReplicaKey(voter_id, directory).matches(self.client.own.key)

    def maybe_transition(self, leader_id: int, epoch: int) -> bool:
        """Take over what somebody says about leader and epoch; False when it contradicts what is known here."""
        client, quorum = self.client, self.client.quorum
        known = quorum.leader_id
        if leader_id == client.own.key.id:
            return quorum.leader is not None or epoch < quorum.epoch
        if epoch == quorum.epoch and leader_id >= 0 and known is not None and known != leader_id:
            return False
        if epoch > quorum.epoch:
            if leader_id >= 0:
                client.to_follower(epoch, leader_id)
            else:
                client.to_unattached(epoch)
        elif epoch == quorum.epoch and leader_id >= 0 and (known is None or isinstance(quorum.state, Unattached)):
            client.to_follower(epoch, leader_id)
        return True

    def settle(self, error: ErrorCode, leader_id: int, epoch: int) -> bool | None:
        """What an answer says beside its content. None: look at the content, else whether it was of use."""
        quorum = self.client.quorum
        if epoch < quorum.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
            return True
        if epoch > quorum.epoch or error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER):
            return self.maybe_transition(leader_id, epoch)
        if leader_id >= 0 and quorum.leader_id is None and leader_id != self.client.own.key.id:
            self.client.to_follower(epoch, leader_id)
        return None if error == ErrorCode.NONE else False


def only_partition(topics: Sequence[Any]) -> Any:
    """The one partition that requests of the quorum are about; None when they are about something else."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    topic, partition = topics[0], topics[0].partitions[0]
    number = getattr(partition, "partition_index", None)
    return partition if topic.topic_name == TOPIC and number == PARTITION else None


