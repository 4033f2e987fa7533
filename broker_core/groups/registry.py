"""The groups that this broker coordinates, and how their records get into the log.

The coordinator of a group is the leader of its partition of `__consumer_offsets`; which one that is, and how it moves
from leader to leader, is the runtime's (`coordinators.runtime`).

Decide, then replay: a handler writes records and keeps its answer until they are committed; committed
offsets change only by `GroupOffsets.replay`, here and while loading. Membership itself is soft state
(a heartbeat is not written down): a group's record holds each finished generation, and a coordinator
that takes over starts from that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from broker_core.coordinators.runtime import CoordinatorRuntime, KeyValue
from broker_core.groups import schema
from broker_core.groups.group import Group
from broker_core.groups.share.settings import OF_BROKERS
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.groups.consumer.group import ConsumerGroup
    from broker_core.groups.group_offsets import GroupOffsets
    from broker_core.groups.share.group import ShareGroup

CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
"""Kinds of groups, as ListGroups names them."""


class GroupRegistry:
    """The groups in memory: classic ones in `groups`, those of the next generation in `consumer_groups`, share groups
    in `share_groups`; an id is in one of them at most. `overrides`: what is set for a group alone. `rewritten`: this is
    the coordinator that came with KIP-848 (4.3's), which answers a few requests otherwise than the one before (3.9's).
    `runtime` is set when the coordinator is put together."""

    runtime: CoordinatorRuntime

    def __init__(self, node: Node, broker_id: int, config: Mapping[str, Any], rewritten: bool) -> None:
        self.rewritten = rewritten
        self.node = node
        self.broker_id = broker_id
        self.config = config
        self.groups: dict[str, Group] = {}
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        self.share_groups: dict[str, ShareGroup] = {}
        self.overrides: dict[str, dict[str, str]] = {}

    def partition_for(self, group_id: str) -> int:
        """The group's partition of `__consumer_offsets`."""
        return self.runtime.partition_for(group_id)

    def status(self, group_id: str | None, empty_id_allowed: bool = False) -> ErrorCode:
        """NONE, or why this broker does not answer for the group. An empty id is only for offsets kept by hand."""
        if group_id is None or (group_id == "" and not empty_id_allowed):
            return ErrorCode.INVALID_GROUP_ID
        return self.runtime.status(group_id)

    def kinds(self) -> dict[str, Mapping[str, Any]]:
        """The groups of each kind."""
        return {CLASSIC: self.groups, CONSUMER: self.consumer_groups, SHARE: self.share_groups}

    def other_kind(self, group_id: str, kind: str) -> bool:
        """Whether there is such a group, but not of this kind."""
        return any(group_id in groups for other, groups in self.kinds().items() if other != kind)

    def absent(self, group_id: str, kind: str, nobody: str = "Group") -> str:
        """Kafka's words where no group of this kind has the id."""
        other = self.other_kind(group_id, kind)
        return f"Group {group_id} is not a {kind} group." if other else f"{nobody} {group_id} not found."

    def setting(self, group_id: str, name: str) -> int:
        """A setting of a group ("share.session.timeout.ms") within the broker's limits, or the broker's for all."""
        text = self.overrides.get(group_id, {}).get(name)
        for_all, least, most = OF_BROKERS[name]
        config = self.config
        return int(config[for_all]) if text is None else max(int(config[least]), min(int(text), int(config[most])))

    def get_or_create(self, group_id: str) -> Group:
        """The group; a new one is Empty."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = Group(group_id, GroupState.EMPTY, self.node.wall_ms())
        return group

    def all_offsets(self) -> list[tuple[str, GroupOffsets]]:
        """Offsets of each group, of either kind."""
        both: list[Group | ConsumerGroup] = [*self.groups.values(), *self.consumer_groups.values()]
        return [(group.group_id, group.offsets) for group in both]

    # --- state ----------------------------------------------------------------------------------

    def transition(self, group: Group, state: GroupState, reason: str) -> None:
        """The group goes to another state, and the journal says so."""
        before = group.state
        group.transition_to(state, self.node.wall_ms())
        self.node.emit(
            events.GROUP_STATE,
            group=group.group_id,
            before=before.value,
            after=state.value,
            generation=group.generation,
            reason=reason,
            protocol=group.protocol,
        )

    # --- records ----------------------------------------------------------------------------------

    def append(self, group: Group, records: list[KeyValue], done: Callable[[Any, int], None], context: Any) -> None:
        """Writes records of one group as one batch, stamped now; later `done(context, error_code)`."""
        self.runtime.append(group.group_id, records, done, context)

    def write_group(
        self, group: Group, assignment: Mapping[str, bytes], done: Callable[[Any, int], None], context: Any
    ) -> None:
        """Writes the generation down, each member with its share; `done(context, error_code)` as members see it."""
        key = schema.encode_group_key(group.group_id)
        value = schema.encode_group_value(stored_group(group, assignment))
        self.append(group, [(key, value)], done, context)


def stored_group(group: Group, assignment: Mapping[str, bytes]) -> schema.StoredGroup:
    """The group's record: every member must have an assignment, be it empty."""
    members = [
        schema.StoredMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.metadata(group.protocol or ""),
            assignment[member.member_id],
        )
        for member in group.members.values()
    ]
    since = -1 if group.state_since_ms is None else group.state_since_ms
    return schema.StoredGroup(group.protocol_type or "", group.generation, group.protocol, group.leader, since, members)


def group_write_error(code: int) -> int:
    """What a failed write of a generation means to the members that wait for it."""
    return _GROUP_WRITE_ERRORS.get(code, code)


def offset_write_error(code: int) -> int:
    """What a failed write of offsets means to the member that committed them."""
    return _OFFSET_WRITE_ERRORS.get(code, code)


_NOT_WRITTEN: dict[int, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
_GROUP_WRITE_ERRORS: dict[int, ErrorCode] = {
    **_NOT_WRITTEN,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
_OFFSET_WRITE_ERRORS: dict[int, ErrorCode] = {
    **_NOT_WRITTEN,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}
