"""Voters come and go while the quorum works (KIP-853): one at a time, each change committed by the new set.

| step | add | remove | update |
|---|---|---|---|
| no other change is under way, the leader has committed something in its epoch | x | x | x |
| kraft.version 1, the last voters' record is committed | x | x | x |
| the id is free / a voter of this id and directory is there | x | x | x |
| ApiVersions: it knows this kraft.version | x | | (says so itself) |
| it has been at the end of the log once, and has fetched within the hour | x | | |
| write the voters' record: from here on the new set decides | x | x | x |
| answer | when it is committed | when it is committed; a leader that has gone resigns | at once |

The last voter cannot be removed. Source: AddVoterHandler, RemoveVoterHandler, UpdateVoterHandler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.raft.control_records import kraft_version, voters_record
from broker_core.raft.leader import Leader
from broker_core.raft.voters import Listener, ReplicaKey, VoterNode, VoterSet
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.raft.client import RaftClient

Reply = Callable[[Any, Any], None]
FEATURE = "kraft.version"
ANOTHER_LEADS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)


class Change:
    """A change that waits: `node` while ApiVersions is asked, `offset` once its record is written."""

    __slots__ = ("key", "node", "offset", "deadline_us", "kind", "reply", "context", "ack_when_committed")

    def __init__(
        self, key: ReplicaKey, node: VoterNode | None, deadline_us: int, kind: Any, reply: Reply, context: Any,
        ack_when_committed: bool = True,
    ) -> None:  # fmt: skip
        self.key = key
        self.node = node
        self.offset: int | None = None
        self.deadline_us = deadline_us
        self.kind = kind
        self.reply = reply
        self.context = context
        self.ack_when_committed = ack_when_committed

    def answer(self, error: ErrorCode, message: str | None = None) -> None:
        """Once; `kind` is the class of the answer."""
        self.reply(self.context, self.kind(error_code=int(error), error_message=message))


class _Refused(Exception):
    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(error, message)
        self.error = error
        self.message = message


class Voters(NamedTuple):
    """The voters as of their last record, which is committed."""

    leader: Leader
    voters: VoterSet


class Reconfiguration:
    """The part of a leader that changes the voters."""

    def __init__(self, client: RaftClient) -> None:
        self.client = client

    def handle_add(self, body: Any, reply: Reply, context: Any) -> None:
        self._or_refuse(self._add, m.AddRaftVoterResponse, body, reply, context)

    def handle_remove(self, body: Any, reply: Reply, context: Any) -> None:
        self._or_refuse(self._remove, m.RemoveRaftVoterResponse, body, reply, context)

    def _or_refuse(
        self, begin: Callable[[Any, Reply, Any], None], kind: Any, body: Any, reply: Reply, context: Any
    ) -> None:
        """`begin` a change that will answer by itself, or say why not."""
        try:
            begin(body, reply, context)
        except _Refused as refused:
            reply(context, kind(error_code=int(refused.error), error_message=refused.message))

    def _add(self, body: Any, reply: Reply, context: Any) -> None:
        kind = m.AddRaftVoterResponse
        key = self._key(body.voter_id, body.voter_directory_id, body.cluster_id)
        node = VoterNode(key, tuple(Listener(one.name, one.host, one.port) for one in body.listeners))
        if not node.listeners:
            raise _Refused(ErrorCode.INVALID_REQUEST, "Add voter request didn't include an endpoint")
        found = self._ready("adding")
        if key.id in found.voters:
            message = f"The voter id for {key.id} is already part of the set of voters {found.voters.ids}."
            raise _Refused(ErrorCode.DUPLICATE_VOTER, message)
        client = self.client
        timeout_us = min(body.timeout, client.settings.request_timeout_ms) * 1000
        change = Change(key, node, client.node.now_us() + timeout_us, kind, reply, context, body.ack_when_committed)
        if not client.ask(key.id, ApiKey.API_VERSIONS, 4, m.ApiVersionsRequest(
            client_software_name="apache-kafka-java", client_software_version="4.3.0")):  # fmt: skip
            change.answer(ErrorCode.REQUEST_TIMED_OUT, f"New voter {key.id} is not ready to receive requests")
            return
        found.leader.change = change

    def versions_answered(self, replica_id: int, body: Any) -> None:
        """What the new voter can do. It is written among the voters, or refused."""
        leader = self.client.quorum.leader
        change = leader.change if leader is not None else None
        if leader is None or change is None or change.offset is not None or change.key.id != replica_id:
            return
        aborted = f"Aborted add voter operation for {replica_id} since"
        if body is None or body.error_code:
            self._end(leader, ErrorCode.REQUEST_TIMED_OUT, f"{aborted} API_VERSIONS returned an error")
            return
        level = self.client.history.last_version
        ranges = [(one.min_version, one.max_version) for one in body.supported_features or [] if one.name == FEATURE]
        if not ranges or not ranges[0][0] <= level <= ranges[0][1]:
            message = f"{aborted} the {FEATURE} range doesn't support the finalized version {level}"
            self._end(leader, ErrorCode.INVALID_REQUEST, message)
            return
        if not leader.is_caught_up(change.key, self.client.node.wall_ms()):
            self._end(leader, ErrorCode.REQUEST_TIMED_OUT, f"{aborted} it is lagging behind")
            return
        least, most = ranges[0]
        node = VoterNode(change.key, change.node.listeners if change.node else (), least, most)
        voters = self.client.history.last_voters.with_voter(node)
        if voters is None:
            self._end(leader, ErrorCode.DUPLICATE_VOTER, None)
            return
        change.offset = self._write(leader, voters)
        if not change.ack_when_committed:
            self._end(leader, ErrorCode.NONE, None)

    def _remove(self, body: Any, reply: Reply, context: Any) -> None:
        kind = m.RemoveRaftVoterResponse
        key = self._key(body.voter_id, body.voter_directory_id, body.cluster_id)
        found = self._ready("removing")
        voters = found.voters.without(key)
        if voters is None:
            message = f"Cannot remove voter {key.id} from the set of voters {found.voters.ids}"
            raise _Refused(ErrorCode.VOTER_NOT_FOUND, message)
        client = self.client
        deadline_us = client.node.now_us() + client.settings.request_timeout_ms * 1000
        change = found.leader.change = Change(key, None, deadline_us, kind, reply, context)
        change.offset = self._write(found.leader, voters)

    def handle_update(self, body: Any) -> Any:
        """A voter describes itself anew: other addresses, another range of kraft.version."""
        feature = body.k_raft_version_feature
        try:
            error = self.client.leader_only(body.current_leader_epoch)
            if error != ErrorCode.NONE:
                raise _Refused(error)
            key = self._key(body.voter_id, body.voter_directory_id, body.cluster_id)
            listeners = tuple(Listener(one.name, one.host, one.port) for one in body.listeners)
            least, most = feature.min_supported_version, feature.max_supported_version
            if not listeners or least < 0 or most < least:
                raise _Refused(ErrorCode.INVALID_REQUEST)
            if self.client.history.last_version < 1:
                return self._described(VoterNode(key, listeners, least, most))
            found = self._ready("updating")
            if not least <= self.client.history.last_version <= most:
                raise _Refused(ErrorCode.INVALID_REQUEST)
            voters = found.voters.updated(VoterNode(key, listeners, least, most))
            if voters is None:
                raise _Refused(ErrorCode.VOTER_NOT_FOUND)
            self._write(found.leader, voters)
            return self._updated(ErrorCode.NONE)
        except _Refused as refused:
            return self._updated(refused.error)

    def _described(self, node: VoterNode) -> Any:
        """A static voter says who it is: kept for the time when voters become records."""
        if node.key not in self.client.history.last_voters:
            raise _Refused(ErrorCode.VOTER_NOT_FOUND)
        self.client.leading().described[node.key.id] = node
        return self._updated(ErrorCode.NONE)

    def upgrade(self, version: int) -> int:
        """Static voters become records, and from then on voters can change: kraft.version 1 (KIP-853). Offset of the
        last record. Raises ValueError, with Kafka's reason, while a voter has not said what it knows."""
        client = self.client
        leader = client.leading()
        nodes = [leader.described.get(one) for one in client.history.last_voters.ids]
        known = [node for node in nodes if node is not None and node.min_version <= version <= node.max_version]
        if len(known) < len(nodes):
            missing = [one for one in client.history.last_voters.ids if one not in [node.key.id for node in known]]
            raise ValueError(f"The voters {missing} have not said that they support it.")
        controls = [kraft_version(version), voters_record(VoterSet(known))]
        return leader.accumulator.append_control(controls, client.node.now_us(), client.node.wall_ms())

    def update_request(self) -> Any:
        client, kind = self.client, m.UpdateRaftVoterRequest
        own = client.own
        return kind(
            cluster_id=client.cluster_id, current_leader_epoch=client.quorum.epoch, voter_id=own.key.id,
            voter_directory_id=own.key.directory,
            listeners=[kind.Listener(name=one.name, host=one.host, port=one.port) for one in own.listeners],
            k_raft_version_feature=kind.KRaftVersionFeature(
                min_supported_version=own.min_version, max_supported_version=own.max_version
            ),
        )  # fmt: skip

    def join_request(self) -> tuple[ApiKey, Any] | None:
        """What a controller asks that wants a vote and has none; None: it does not, or voters stand in no log."""
        client = self.client
        own, history = client.own, client.history
        wants = client.settings.auto_join and own.listeners and client.stopping is None
        if not wants or history.last_version < 1:
            return None
        former = history.last_voters.nodes.get(own.key.id)
        if former is not None:
            remove = m.RemoveRaftVoterRequest
            return ApiKey.REMOVE_RAFT_VOTER, remove(
                cluster_id=client.cluster_id, voter_id=own.key.id, voter_directory_id=former.key.directory
            )
        kind = m.AddRaftVoterRequest
        return ApiKey.ADD_RAFT_VOTER, kind(
            cluster_id=client.cluster_id, timeout=client.settings.request_timeout_ms, voter_id=own.key.id,
            voter_directory_id=own.key.directory,
            listeners=[kind.Listener(name=one.name, host=one.host, port=one.port) for one in own.listeners],
            ack_when_committed=False,
        )  # fmt: skip

    @property
    def update_is_due(self) -> bool:
        """Whether the voters' record describes this replica otherwise than it is; without one: whether the leader has
        not been told who it is."""
        history, own, follower = self.client.history, self.client.own, self.client.quorum.follower
        if history.last_version < 1:
            return follower is not None and not follower.described
        known = history.last_voters.nodes.get(own.key.id)
        return history.last_version > 0 and known is not None and known.key.matches(own.key) and known != own

    def update_answered(self, body: Any) -> bool:
        """The leader knows this replica now, or cannot (too old for it): either is a sign of life, as a Fetch is.
        Whether the answer was of use."""
        follower = self.client.quorum.follower
        if body is None or follower is None:
            return body is not None
        if body.error_code not in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
            return body.error_code in ANOTHER_LEADS
        follower.described = True
        self.client.progress.heard_of_leader(follower)
        return True

    def _updated(self, error: ErrorCode) -> Any:
        quorum, kind = self.client.quorum, m.UpdateRaftVoterResponse
        leader_id = -1 if quorum.leader_id is None else quorum.leader_id
        leader = kind.CurrentLeader(leader_id=leader_id, leader_epoch=quorum.epoch)
        return kind(error_code=int(error), current_leader=leader)

    # -- steps that all share ---------------------------------------------------------------------
    def _key(self, voter_id: int, directory: Any, cluster_id: str | None) -> ReplicaKey:
        if not self.client.is_own_cluster(cluster_id):
            raise _Refused(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f'The given id "{cluster_id}" doesn\'t match the cluster id "{self.client.cluster_id}"',
            )
        error = self.client.leader_only(self.client.quorum.epoch)
        if error != ErrorCode.NONE:
            raise _Refused(error)
        key = ReplicaKey(voter_id, directory)
        if key.id < 0 or key == ReplicaKey(key.id):
            raise _Refused(ErrorCode.INVALID_REQUEST, "Remove voter request didn't include a valid voter")
        return key

    def _ready(self, changing: str) -> Voters:
        client = self.client
        leader, history = client.leading(), client.history
        waiting = "Request timed out waiting for"
        if leader.change is not None:
            message = f"{waiting} leader to handle previous voter change request"
            raise _Refused(ErrorCode.REQUEST_TIMED_OUT, message)
        if leader.high_watermark is None:
            message = f"{waiting} leader to establish HWM and fence previous voter changes"
            raise _Refused(ErrorCode.REQUEST_TIMED_OUT, message)
        if history.last_version < 1:
            feature = f"the {FEATURE} feature is {history.last_version}"
            message = f"Cluster doesn't support {changing} voter because {feature}"
            raise _Refused(ErrorCode.UNSUPPORTED_VERSION, message)
        offset = history.last_voters_offset
        if offset is None or offset >= leader.high_watermark:
            place = f"{offset} with HWM {leader.high_watermark}"
            message = f"{waiting} voters to commit the latest voter change at {place}"
            raise _Refused(ErrorCode.REQUEST_TIMED_OUT, message)
        return Voters(leader, history.last_voters)

    def _write(self, leader: Leader, voters: VoterSet) -> int:
        node = self.client.node
        return leader.accumulator.append_control([voters_record(voters)], node.now_us(), node.wall_ms())

    def committed(self, leader: Leader) -> None:
        """The high watermark has moved: the change may be complete."""
        change = leader.change
        if change is None or change.offset is None or (leader.high_watermark or 0) <= change.offset:
            return
        self._end(leader, ErrorCode.NONE, None)

    def expire(self, leader: Leader) -> None:
        """A change takes too long: nobody knows whether it will be."""
        if leader.change is not None and leader.change.deadline_us <= self.client.node.now_us():
            self._end(leader, ErrorCode.REQUEST_TIMED_OUT, None)

    def abandon(self, leader: Leader) -> None:
        """The leader is none any more."""
        if leader.change is not None:
            self._end(leader, ErrorCode.NOT_LEADER_OR_FOLLOWER, None)

    def _end(self, leader: Leader, error: ErrorCode, message: str | None) -> None:
        change, leader.change = leader.change, None
        change.answer(error, message)
