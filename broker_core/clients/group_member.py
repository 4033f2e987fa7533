"""A member of a consumer group: the classic protocol as seen from the consumer (`ConsumerCoordinator`).

| state | what it does | event => next state |
|---|---|---|
| unjoined | looks for the coordinator (FindCoordinator) | the application polls => preparing |
| preparing | commits, gives up its partitions | done => joining |
| joining | sends JoinGroup, commits nothing | answered => syncing; MEMBER_ID_REQUIRED => once more |
| syncing | the group's leader shares out, all send SyncGroup | answered => stable; an error => unjoined |
| stable | reads; heartbeats every `heartbeat.interval.ms` | REBALANCE_IN_PROGRESS => unjoined, keeps its id; |
| | | ILLEGAL_GENERATION => the same, without its partitions; UNKNOWN_MEMBER_ID => unjoined, without an id |

Rebalances are *eager*: everything is given up before it is shared out anew. Where all assignors of a member are
cooperative, so is the member (KIP-429): it keeps what it has and reads on while it joins, gives up only what the new
assignment lacks, and then joins at once again, so that it can be handed out. With `cooperative-sticky,range` it is
eager still: the first step of a rolling upgrade. Rebalances happen while the application polls.
One that does not poll for `max.poll.interval.ms` leaves the group, so that others get its partitions, though its
heartbeats have gone on.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.assignors import ASSIGNORS, COOPERATIVE, JAVA_NAMES, Subscription, TopicPartition
from broker_core.clients.backoff import backoff_us
from broker_core.clients.connections import Connections, error_of
from broker_core.clients.group_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    sticky_user_data,
)
from broker_core.clients.metadata import Metadata
from broker_core.clients.settings import ConsumerSettings, SettingsError
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node, Timer
from broker_core.kernel.problems import problem
from broker_core.kernel.transitions import Transitions
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

UNJOINED, PREPARING, JOINING, SYNCING, STABLE = "unjoined", "preparing", "joining", "syncing", "stable"
STATES = Transitions("group member", {
    UNJOINED: (UNJOINED, PREPARING),
    PREPARING: (JOINING, UNJOINED),
    JOINING: (JOINING, SYNCING, UNJOINED),
    SYNCING: (STABLE, UNJOINED),
    STABLE: (UNJOINED,),
})  # fmt: skip
LOST = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
FORGOTTEN = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
GROUP = 0  # FindCoordinator's key type


class GroupMember:
    """Membership of one consumer. The owner has

    - `in_poll`: whether the application is inside poll()
    - `revoked(done)`: commit if need be, give everything up (a cooperative member that is in the group: nothing),
      then call done()
    - `let_go(partitions, done)`: commit these if need be, give them up, then call done()
    - `assigned(partitions)`, `coordinator_found()`
    """

    def __init__(
        self, node: Node, settings: ConsumerSettings, connections: Connections, metadata: Metadata,
        topics: list[str], owner: Any,
    ) -> None:  # fmt: skip
        self.node = node
        self.settings = settings
        self.connections = connections
        self.metadata = metadata
        self.topics = topics
        self.owner = owner
        self.state = UNJOINED
        self.coordinator: str | None = None
        self.member_id = ""
        self.generation = -1
        self.is_leader = False
        self.owned: list[TopicPartition] = []
        self.shared_out: dict[str, int] = {}
        self.assignors = [_assignor(name) for name in settings.partition_assignment_strategy]
        self.cooperative = set(self.assignors) == {COOPERATIVE}
        self._owned_in = -1  # the generation that gave `owned` out
        self._synced_with: bytes | None = None
        self._finding = False
        self._attempts = 0
        self._retry: Timer | None = None
        self._heartbeat: Timer | None = None
        self._heartbeat_in_flight = False
        self._heard_us = 0
        self._left = False

    @property
    def told_as(self) -> tuple[str | None, int]:
        """Id and epoch by which it calls itself when it asks for offsets: it does not, as `ConsumerCoordinator`. A
        group of the new protocol would hold the epoch against that of the member."""
        return None, -1

    @property
    def may_commit(self) -> bool:
        """Whether the coordinator would take offsets of it: not between JoinGroup and SyncGroup."""
        return self.generation >= 0 and self.state not in (JOINING, SYNCING)

    def still(self, generation: int) -> bool:
        """Whether what was to be committed in a generation still can be."""
        return 0 <= generation == self.generation

    # -- coordinator ------------------------------------------------------------------------
    def poll(self) -> None:
        """The application polls: move on whatever is due."""
        if self._synced_with is not None:
            self._take()
        if self.coordinator is None:
            self._find()
        elif self.state == UNJOINED and self._retry is None and not self._left:
            self.state = STATES.step(self.state, PREPARING)
            self.owner.revoked(self._join)

    def _find(self) -> None:
        dest = self.metadata.any_broker()
        if self._finding or self._retry is not None or dest is None:
            return
        self._finding = True
        body = m.FindCoordinatorRequest(
            key_type=GROUP, key=self.settings.group_id, coordinator_keys=[self.settings.group_id]
        )
        self.connections.call(dest, ApiKey.FIND_COORDINATOR, body, self._found, dest)

    def _found(self, dest: str, response: Any) -> None:
        self._finding = False
        if response is None:
            self.connections.failed(dest)
            self._later()
            return
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code != ErrorCode.NONE:
            self._note("FindCoordinator", found.error_code, "retry")
            self._later()
            return
        self.coordinator = broker_node(found.node_id)
        self._attempts = 0
        self._heard_us = self.node.now_us()
        self.owner.coordinator_found()
        self._go_on()

    def lose_coordinator(self) -> None:
        """It has moved or is gone: look for it again. The generation stays valid."""
        if self.coordinator is not None:
            self.connections.failed(self.coordinator)
            self.coordinator = None
        self._later()

    def _later(self) -> None:
        """Go on after the backoff."""
        if self._retry is None:
            settings = self.settings
            random = self.node.random("backoff")
            wait = backoff_us(self._attempts, settings.retry_backoff_ms, settings.retry_backoff_max_ms, random)
            self._attempts += 1
            self._retry = self.node.after(wait, self._retry_now)

    def _retry_now(self) -> None:
        self._retry = None
        self._go_on()

    def _go_on(self) -> None:
        if self.coordinator is None:
            self._find()
        elif self.owner.in_poll:
            self.poll()

    # -- join -------------------------------------------------------------------------------
    def _join(self) -> None:
        if self.state not in (PREPARING, JOINING):
            return  # left meanwhile, or fallen out
        if self.coordinator is None:
            self.state = STATES.step(self.state, UNJOINED)
            self._find()
            return
        self.state = STATES.step(self.state, JOINING)
        settings = self.settings
        body = m.JoinGroupRequest(
            group_id=settings.group_id, session_timeout=settings.session_timeout_ms,
            rebalance_timeout=settings.max_poll_interval_ms, member_id=self.member_id,
            group_instance_id=settings.group_instance_id or None, protocol_type="consumer", reason="",
            protocols=[self._protocol(name) for name in self.assignors],
        )  # fmt: skip
        timeout_ms = max(settings.request_timeout_ms, settings.max_poll_interval_ms + 5_000)
        self.connections.call(self.coordinator, ApiKey.JOIN_GROUP, body, self._joined, None, timeout_ms)

    def _protocol(self, name: str) -> Any:
        wish = Subscription(self.topics)
        if self.cooperative:
            wish = Subscription(self.topics, self.owned, self._owned_in)
        user_data = sticky_user_data(self.owned, self.generation) if name == "sticky" and self.owned else None
        return m.JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=encode_subscription(wish, user_data))

    def _joined(self, context: None, response: Any) -> None:
        if self.state != JOINING:
            return  # as above: the answer is nobody's any more
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if response is None else error_of(response.error_code)
        if error == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self._join()
        elif error != ErrorCode.NONE:
            self._refused("JoinGroup", error)
        else:
            self.state = STATES.step(self.state, SYNCING)
            self.member_id, self.generation = response.member_id, response.generation_id
            self.is_leader = response.leader == response.member_id and not response.skip_assignment
            self._sync(self._share_out(response) if self.is_leader else [], response)

    def _share_out(self, response: Any) -> list[Any]:
        """The leader's work: who reads what."""
        members = {
            member.member_id: decode_subscription(bytes(member.metadata), member.group_instance_id)
            for member in response.members
        }
        topics = sorted({topic for wish in members.values() for topic in wish.topics})
        for topic in topics:
            self.metadata.add_topic(topic)
        self.shared_out = {topic: self.metadata.partition_count(topic) for topic in topics}
        shared = ASSIGNORS[response.protocol_name](self.shared_out, members)
        return [
            m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
            for member, partitions in shared.items()
        ]

    def _sync(self, assignments: list[Any], joined: Any) -> None:
        if self.coordinator is None:
            self.state = STATES.step(self.state, UNJOINED)
            return
        body = m.SyncGroupRequest(
            group_id=self.settings.group_id, generation_id=self.generation, member_id=self.member_id,
            group_instance_id=self.settings.group_instance_id or None, protocol_type="consumer",
            protocol_name=joined.protocol_name, assignments=assignments,
        )  # fmt: skip
        self.connections.call(self.coordinator, ApiKey.SYNC_GROUP, body, self._synced)

    def _synced(self, context: None, response: Any) -> None:
        if self.state != SYNCING:
            return
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if response is None else error_of(response.error_code)
        if error != ErrorCode.NONE:
            self._refused("SyncGroup", error)
            return
        self.state = STATES.step(self.state, STABLE)
        self._attempts = 0
        self._heard_us = self.node.now_us()
        self._arm_heartbeat()
        self._synced_with = bytes(response.assignment)
        if self.owner.in_poll or not self.cooperative:
            self._take()

    def _take(self) -> None:
        """Take the assignment, in poll() only: a cooperative member may still be dealing with records of what goes."""
        before, self.owned = self.owned, decode_assignment(self._synced_with or b"")
        self._synced_with, self._owned_in = None, self.generation
        lost = [tp for tp in before if tp not in self.owned] if self.cooperative else []
        if lost:
            kept = [tp for tp in before if tp in self.owned]
            self.node.emit(
                events.PARTITIONS_REVOKED, partitions=_by_topic(lost), kept=_by_topic(kept), generation=self.generation
            )
            self.owner.let_go(lost, self._let_go)
        self.node.emit(events.ASSIGNMENT_TAKEN, partitions=_by_topic(self.owned), generation=self.generation)
        self.owner.assigned(self.owned)
        self.topics_changed()

    def _let_go(self) -> None:
        """What went is free: join again, so that it is handed out; unless another rebalance has come in between."""
        if self.state == STABLE:
            self.rejoin()

    def topics_changed(self) -> None:
        """The leader watches for topics that grow: then the group shares out anew."""
        if self.state == STABLE and self.is_leader:
            now = {topic: self.metadata.partition_count(topic) for topic in self.shared_out}
            if now != self.shared_out and all(now.values()):
                self.rejoin()

    def rejoin(self) -> None:
        """At the next poll, which may be under way."""
        self.state = STATES.step(self.state, UNJOINED)
        self._disarm_heartbeat()
        if self.owner.in_poll:
            self.poll()

    def _refused(self, api: str, error: ErrorCode) -> None:
        self._note(api, error, "retry")
        self.state = STATES.step(self.state, UNJOINED)
        if error in FORGOTTEN:
            self.forget(error)
        if error in LOST:
            self.lose_coordinator()
        else:
            self._later()

    def forget(self, error: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID) -> None:
        """This member, or with ILLEGAL_GENERATION its generation, does not exist any more. Who only missed a
        rebalance may be a member still, so it asks again under its id (KAFKA-13419)."""
        if error != ErrorCode.ILLEGAL_GENERATION:
            self.member_id = ""
        self.generation, self.owned = -1, []
        self._owned_in, self._synced_with = -1, None

    def expelled(self, error: ErrorCode) -> None:
        """A commit has told it that it is no member any more, or not of this generation."""
        self.forget(error)
        self.rejoin()

    # -- heartbeats -------------------------------------------------------------------------
    def _arm_heartbeat(self) -> None:
        self._disarm_heartbeat()
        self._heartbeat = self.node.after(self.settings.heartbeat_interval_ms * 1000, self._beat)

    def _disarm_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            self._heartbeat = None

    def _beat(self) -> None:
        self._arm_heartbeat()
        if self.node.now_us() - self._heard_us > self.settings.session_timeout_ms * 1000:
            self._heard_us = self.node.now_us()
            self.lose_coordinator()
        if self.coordinator is None or self._heartbeat_in_flight:
            return
        self._heartbeat_in_flight = True
        body = m.HeartbeatRequest(
            group_id=self.settings.group_id, generation_id=self.generation, member_id=self.member_id,
            group_instance_id=self.settings.group_instance_id or None,
        )  # fmt: skip
        self.connections.call(self.coordinator, ApiKey.HEARTBEAT, body, self._beaten, self.generation)

    def _beaten(self, generation: int, response: Any) -> None:
        self._heartbeat_in_flight = False
        if generation != self.generation or self.state != STABLE:
            return
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if response is None else error_of(response.error_code)
        if error == ErrorCode.NONE:
            self._heard_us = self.node.now_us()
            return
        self._note("Heartbeat", error, "rejoin" if error not in LOST else "retry")
        if error in LOST:
            self.lose_coordinator()
        else:
            if error in FORGOTTEN:
                self.forget(error)
            self.rejoin()

    # -- the end ----------------------------------------------------------------------------
    def leave(self, reason: str) -> None:
        """LeaveGroup; a static member stays, for it is expected back."""
        self._disarm_heartbeat()
        if self.coordinator is not None and self.member_id and not self.settings.group_instance_id:
            identity = m.LeaveGroupRequest.MemberIdentity(member_id=self.member_id, reason=reason)
            body = m.LeaveGroupRequest(
                group_id=self.settings.group_id, member_id=self.member_id, members=[identity]
            )
            self.connections.call(self.coordinator, ApiKey.LEAVE_GROUP, body, self._was_left)
        self.forget()
        self.state = STATES.step(self.state, UNJOINED)

    def _was_left(self, context: None, response: Any) -> None:
        """Nothing depends on the answer."""

    def _note(self, api: str, error: int, reaction: str) -> None:
        if self.node.messages:
            self.node.emit(
                events.CLIENT_ERROR, api=api, error=error_of(error).name, reaction=reaction, topic=None, partition=None
            )


def _assignor(name: str) -> str:
    short = JAVA_NAMES.get(name, name)
    if short not in ASSIGNORS:
        strategy = "partition.assignment.strategy"
        raise SettingsError(problem("setting_among", name=strategy, given=name, known=sorted(ASSIGNORS)), strategy)
    return short


def _by_topic(partitions: list[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found
