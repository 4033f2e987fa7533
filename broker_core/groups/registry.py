"""Which groups this broker coordinates, and how their records get into the log.

The coordinator of a group is the leader of one partition of `__consumer_offsets`:

    partition = abs(hash(group)) % offsets.topic.num.partitions      Java's String.hashCode, abs = & 0x7fffffff
    "my-group" -> hashCode -1906497762 -> & 0x7fffffff = 240985886 -> % 50 = 36

So every client finds the same broker, groups spread over all brokers, and when the leader of the
partition moves, the groups move with it: the new leader reads the partition's log from its start.

    elected  -> loading: COORDINATOR_LOAD_IN_PROGRESS -> owned: answers
    resigned -> neither: NOT_COORDINATOR, members look for the coordinator again

Decide, then replay: a handler writes records and keeps its answer until they are committed; committed
offsets change only by `GroupOffsets.replay`, here and while loading. Membership itself is soft state
(a heartbeat is not written down): a group's record holds each finished generation, and a coordinator
that takes over starts from that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker_core.groups import schema
from broker_core.groups.group import Group
from broker_core.groups.ports import GroupLogPort
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.records.batch import encode_batch
from broker_core.wire.errors import ErrorCode

OFFSETS_TOPIC = "__consumer_offsets"

KeyValue = tuple[bytes, bytes | None]


def java_string_hash(text: str) -> int:
    """Java's String.hashCode: h = 31 h + unit over the UTF-16 units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for position in range(0, len(units), 2):
        value = (31 * value + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def partition_for(group_id: str, partitions: int) -> int:
    """The partition of `__consumer_offsets` whose leader coordinates the group."""
    return (java_string_hash(group_id) & 0x7FFFFFFF) % partitions


class GroupRegistry:
    """The groups in memory, by the partition that they come from.

    - `owned` and `loading` have no partition in common.
    - `epochs[p]` is the highest leader epoch heard of for p: news of older ones is ignored.
    """

    def __init__(self, node: Node, broker_id: int, config: Mapping[str, Any], log: GroupLogPort) -> None:
        self.node = node
        self.broker_id = broker_id
        self.config = config
        self.log = log
        self.active = True
        self.groups: dict[str, Group] = {}
        self.owned: dict[int, None] = {}
        self.loading: dict[int, None] = {}
        self.epochs: dict[int, int] = {}

    # --- whose group is it ----------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        """The group's partition; before the topic exists, with the number of partitions that it will get."""
        count = self.log.partition_count() or int(self.config["offsets.topic.num.partitions"])
        return partition_for(group_id, count)

    def status(self, group_id: str | None, empty_id_allowed: bool = False) -> ErrorCode:
        """NONE, or why this broker does not answer for the group. An empty id is only for offsets kept by hand."""
        if group_id is None or (group_id == "" and not empty_id_allowed):
            return ErrorCode.INVALID_GROUP_ID
        if not self.active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        partition = self.partition_for(group_id)
        if partition in self.loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NONE if partition in self.owned else ErrorCode.NOT_COORDINATOR

    def get_or_create(self, group_id: str) -> Group:
        """The group; a new one is Empty."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = Group(group_id, GroupState.EMPTY, self.node.wall_ms())
        return group

    def accept_epoch(self, partition: int, epoch: int) -> bool:
        """Remembers the leader epoch; False when a newer one is known."""
        if epoch < self.epochs.get(partition, epoch):
            return False
        self.epochs[partition] = epoch
        return True

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
        now_ms = self.node.wall_ms()
        batch = encode_batch([(now_ms, key, value, ()) for key, value in records])
        self.log.append(self.partition_for(group.group_id), batch, done, context)

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
