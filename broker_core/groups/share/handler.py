"""ShareGroupHeartbeat, and everything that happens to a share group by itself: silence, initialized partitions.

A heartbeat is answered when what it changes is committed; that the share coordinator is told of new partitions it does
not wait for. When that is done the group's record says so, and the next heartbeat assigns them.

| the share coordinator says | then                                                         |
|----------------------------|--------------------------------------------------------------|
| NONE for all               | the partitions are initialized                               |
| an error for one           | none of them is; a later heartbeat tries again               |
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from broker_core.coordinators.lanes import Lanes
from broker_core.coordinators.runtime import KeyValue
from broker_core.groups.consumer.checks import HeartbeatRefused
from broker_core.groups.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, Partition
from broker_core.groups.consumer.records import Record
from broker_core.groups.consumer.subscriptions import TopicsPort
from broker_core.groups.consumer.watches import Key, Watches
from broker_core.groups.member import ClientIdentity, Reply
from broker_core.groups.registry import SHARE, GroupRegistry, group_write_error
from broker_core.groups.share import records as r
from broker_core.groups.share.decisions import Decisions
from broker_core.groups.share.group import ShareGroup
from broker_core.kernel import events
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

LONGEST_MEMBER_ID = 36
"""Of characters: clients make a UUID."""
Told = Callable[[Any, dict[Partition, ErrorCode]], None]


class SharePersister(Protocol):
    """The share coordinators of the cluster, as a group coordinator uses them."""

    def initialize(
        self, group_id: str, starts: dict[Partition, int], epoch: int, done: Told, context: Any
    ) -> None:
        """`starts`: where each begins, -1: its leader chooses. Later, once: `done(context, error of each)`."""
        ...

    def delete(self, group_id: str, partitions: list[Partition], done: Told, context: Any) -> None:
        """Later, once: `done(context, error of each partition)`."""
        ...


class Outcome:
    """What a step has decided. `why`: of members that are gone; `reply`: who waits; `then`: what follows."""

    __slots__ = ("group", "records", "reply", "response", "why", "then")

    def __init__(
        self, group: ShareGroup, records: list[Record], reply: Reply | None = None, response: Any = None,
        why: str = "", then: Callable[[bool], None] | None = None,
    ) -> None:  # fmt: skip
        self.group = group
        self.records = records
        self.reply = reply
        self.response = response
        self.why = why
        self.then = then

    def lines(self) -> list[KeyValue]:
        return [r.encoded(record) for record in self.records]


class ShareGroups:
    """The share groups of a coordinator."""

    def __init__(self, registry: GroupRegistry, topics: TopicsPort, persister: SharePersister) -> None:
        self.registry = registry
        self.node = registry.node
        self.topics = topics
        self.persister = persister
        self.decisions = Decisions(registry.config, topics)
        self.lanes = Lanes(self._finish)
        self.sessions = Watches(self.node, self._silent)
        self.groups = registry.share_groups

    # --- requests -------------------------------------------------------------------------------

    def heartbeat(self, request: m.ShareGroupHeartbeatRequest, client: ClientIdentity, reply: Reply) -> None:
        """ShareGroupHeartbeat 1; later an answer."""
        try:
            check_request(request)
        except HeartbeatRefused as refusal:
            reply.send(_refusal(refusal))
            return
        self.lanes.run(self.registry.runtime, request.group_id, self._heartbeat, request, client, reply)

    def _heartbeat(
        self, request: m.ShareGroupHeartbeatRequest, client: ClientIdentity, reply: Reply
    ) -> Outcome | None:
        settings = self.registry.setting
        try:
            error = self.registry.status(request.group_id)
            if error is not ErrorCode.NONE:
                raise HeartbeatRefused(error)
            group = self.group(request.group_id, request.member_epoch)
            if request.member_epoch == LEAVE_EPOCH:
                decision = self.decisions.leave(group, request.member_id)
                return Outcome(group, decision.records, reply, decision.response, "left")
            interval_ms = settings(group.group_id, "share.assignment.interval.ms")
            decision = self.decisions.heartbeat(group, request, client, self.node.wall_ms(), interval_ms)
        except HeartbeatRefused as refusal:
            reply.send(_refusal(refusal))
            return None
        decision.response.heartbeat_interval = settings(group.group_id, "share.heartbeat.interval.ms")
        self.sessions.restart(
            (group.group_id, request.member_id), settings(group.group_id, "share.session.timeout.ms")
        )
        then = partial(self._initialize, group, decision.initialize)
        return Outcome(group, decision.records, reply, decision.response, then=then)

    def _initialize(self, group: ShareGroup, new: Iterable[Partition], written: bool) -> None:
        if written and new:
            self.persister.initialize(group.group_id, dict.fromkeys(new, -1), group.epoch, self.told, group)

    def group(self, group_id: str, epoch: int) -> ShareGroup:
        """The group; who joins makes a new one. Raises HeartbeatRefused."""
        found = self.groups.get(group_id)
        if found is not None:
            return found
        if epoch == JOIN_EPOCH and not self.registry.other_kind(group_id, SHARE):
            return ShareGroup(group_id)
        words = self.registry.absent(group_id, SHARE, "Group" if epoch == LEAVE_EPOCH else "Share group")
        raise HeartbeatRefused(ErrorCode.GROUP_ID_NOT_FOUND, words)

    def delete(self, group_id: str, done: Callable[[ErrorCode], None]) -> None:
        """Deletes a group without members, and what the share coordinator knows of it; later `done(error)`."""
        self.lanes.run(self.registry.runtime, group_id, self._begin_deletion, group_id, done)

    def _begin_deletion(self, group_id: str, done: Callable[[ErrorCode], None]) -> Outcome | None:
        error = self.registry.status(group_id)
        group = self.groups.get(group_id)
        if error is ErrorCode.NONE and group is None:
            error = ErrorCode.GROUP_ID_NOT_FOUND
        if error is ErrorCode.NONE and group is not None and group.members:
            error = ErrorCode.NON_EMPTY_GROUP
        if error is not ErrorCode.NONE or group is None:
            done(error)
            return None
        gone = sorted({(topic, number) for topic, number in group.assignable()} | {
            (topic, number) for topic, one in group.initializing.items() for number in one.partitions
        })  # fmt: skip
        then = partial(self._delete_state, group_id, gone, done)
        return Outcome(group, self.decisions.begin_deletion(group), then=then)

    def _delete_state(
        self, group_id: str, gone: list[Partition], done: Callable[[ErrorCode], None], written: bool
    ) -> None:
        if not written:
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif gone:
            self.persister.delete(group_id, gone, self._forgotten, (group_id, done))
        else:
            self._forgotten((group_id, done), {})

    def _forgotten(
        self, context: tuple[str, Callable[[ErrorCode], None]], errors: dict[Partition, ErrorCode]
    ) -> None:
        """The share coordinator has forgotten the group's partitions, or not."""
        group_id, done = context
        failed = next((error for error in errors.values() if error is not ErrorCode.NONE), ErrorCode.NONE)
        if failed is not ErrorCode.NONE:
            done(failed)
        else:
            self.lanes.run(self.registry.runtime, group_id, self._end, group_id, done)

    def _end(self, group_id: str, done: Callable[[ErrorCode], None]) -> Outcome | None:
        group = self.groups.get(group_id)
        if group is None or group.members:
            done(ErrorCode.GROUP_ID_NOT_FOUND if group is None else ErrorCode.NON_EMPTY_GROUP)
            return None
        return Outcome(group, r.group_tombstones(group_id), then=partial(self._ended, group, done))

    def _ended(self, group: ShareGroup, done: Callable[[ErrorCode], None], written: bool) -> None:
        if written:
            self.forget(group, "deleted")
        done(ErrorCode.NONE if written else ErrorCode.COORDINATOR_NOT_AVAILABLE)

    # --- what happens by itself -----------------------------------------------------------------

    def _silent(self, key: Key, about: None) -> None:
        self.lanes.run(self.registry.runtime, key[0], self._remove, *key)

    def _remove(self, group_id: str, member_id: str) -> Outcome | None:
        group = self.groups.get(group_id)
        if group is None or member_id not in group.members or (group_id, member_id) in self.sessions.watches:
            return None
        return Outcome(group, self.decisions.remove(group, [member_id]), why="session timeout")

    def told(self, group: ShareGroup, errors: dict[Partition, ErrorCode]) -> None:
        """The share coordinator knows new partitions, or could not be told of them."""
        self.lanes.run(self.registry.runtime, group.group_id, self._take_told, group, errors)

    def _take_told(self, group: ShareGroup, errors: dict[Partition, ErrorCode]) -> Outcome | None:
        if self.groups.get(group.group_id) is not group:
            return None
        well = all(error is ErrorCode.NONE for error in errors.values())
        decide = self.decisions.initialized if well else self.decisions.not_initialized
        return Outcome(group, decide(group, list(errors)))

    def topics_deleted(self, topics: list[uuid.UUID]) -> None:
        """The groups' records name them no longer (GroupMetadataManager.maybeCleanupShareGroupState)."""
        for group_id in list(self.groups):
            self.lanes.run(self.registry.runtime, group_id, self._forget_topics, group_id, topics)

    def _forget_topics(self, group_id: str, topics: list[uuid.UUID]) -> Outcome | None:
        group = self.groups.get(group_id)
        return None if group is None else Outcome(group, self.decisions.topics_deleted(group, topics))

    # --- afterwards -----------------------------------------------------------------------------

    def _finish(self, outcome: Outcome, code: int, in_the_log: bool) -> None:
        """Replays what is in the log, tells and answers."""
        group, now_ms = outcome.group, self.node.wall_ms()
        if in_the_log:
            self.groups.setdefault(group.group_id, group)
            for record in outcome.records:
                self._tell(group, record, outcome.why)
                group.replay(record, now_ms)
            self.tell_state(group)
        written = code == ErrorCode.NONE
        if outcome.reply is not None:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE if in_the_log else group_write_error(code)
            outcome.reply.send(outcome.response if written else m.ShareGroupHeartbeatResponse(error_code=error))
        if outcome.then is not None:
            outcome.then(written)

    def _tell(self, group: ShareGroup, record: Record, why: str) -> None:
        """What a record changes, for the journal."""
        if record.kind == r.MEMBER and record.value is None:
            self.sessions.stop((group.group_id, record.subject))
            self.node.emit(events.MEMBER_LEFT, group=group.group_id, member=record.subject, reason=why)
        elif record.kind == r.MEMBER and record.subject not in group.members:
            self.node.emit(
                events.MEMBER_JOINED, group=group.group_id, member=record.subject, client_id=record.value.client_id,
                instance=None,
            )  # fmt: skip

    def tell_state(self, group: ShareGroup, why: str | None = None) -> None:
        """The journal says it when the group has come to another state."""
        before, after = group.told, group.state
        if before != after:
            group.told = after
            self.node.emit(
                events.GROUP_STATE, group=group.group_id, before=before, after=after, generation=group.epoch,
                reason=why or ("somebody joins" if group.members else "no members"), protocol="simple",
            )  # fmt: skip

    # --- moving ---------------------------------------------------------------------------------

    def loaded(self, group: ShareGroup) -> None:
        """A group was read from the log; its members have a full session from now on."""
        self.groups[group.group_id] = group
        group.told = group.state
        timeout_ms = self.registry.setting(group.group_id, "share.session.timeout.ms")
        for member_id in group.members:
            self.sessions.restart((group.group_id, member_id), timeout_ms)

    def unload(self, partition: int) -> None:
        """Another broker coordinates the groups of a partition from now on."""
        registry = self.registry
        for group in list(self.groups.values()):
            if registry.partition_for(group.group_id) == partition:
                self.forget(group, "coordinator moved")
        self.lanes.give_up([one for one in list(self.lanes.lanes) if registry.partition_for(one) == partition])

    def forget(self, group: ShareGroup, why: str) -> None:
        """The group is not here any more."""
        for member_id in group.members:
            self.sessions.stop((group.group_id, member_id))
        self.groups.pop(group.group_id, None)
        group.gone = True
        self.tell_state(group, why)


def check_request(request: m.ShareGroupHeartbeatRequest) -> None:
    """Whether a heartbeat makes sense by itself. Raises HeartbeatRefused."""
    if not request.member_id or len(request.member_id) > LONGEST_MEMBER_ID:
        raise HeartbeatRefused(ErrorCode.INVALID_REQUEST)
    for name, text in (("MemberId", request.member_id), ("GroupId", request.group_id), ("RackId", request.rack_id)):
        if text is not None and not text.strip():
            raise HeartbeatRefused(ErrorCode.INVALID_REQUEST, f"{name} can't be empty.")
    if request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        raise HeartbeatRefused(ErrorCode.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVE_EPOCH:
        raise HeartbeatRefused(ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid.")


def _refusal(refusal: HeartbeatRefused) -> Any:
    return m.ShareGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)
