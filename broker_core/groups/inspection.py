"""ListGroups, DescribeGroups, and the groups as viewers see them."""

from __future__ import annotations

from typing import Any

from broker_core.groups.describing import GROUP_OPERATIONS
from broker_core.groups.group import Group
from broker_core.groups.member import Member
from broker_core.groups.registry import CLASSIC, CONSUMER, SHARE, GroupRegistry
from broker_core.groups.states import GroupState
from broker_core.groups.sync import readable_assignment
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

OLD_GROUP_OPERATIONS = sum(1 << bit for bit in (3, 6, 8))
"""READ, DELETE, DESCRIBE: without an authorizer everybody may do all that a group knows (KIP-430), in 3.9."""
NOT_FOUND_VERSION = 6
"""From this version on DescribeGroups says GROUP_ID_NOT_FOUND (KIP-1043); before, the group was shown as Dead."""


class InspectionHandler:
    """Answers ListGroups and DescribeGroups."""

    def __init__(self, registry: GroupRegistry) -> None:
        self.registry = registry

    def list_groups(self, request: m.ListGroupsRequest) -> m.ListGroupsResponse:
        """Groups of this broker; filters by state (KIP-518, any case) and by type (KIP-848)."""
        if not self.registry.runtime.active:
            return m.ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, groups=[])
        states = [state.lower() for state in request.states_filter or ()]
        types = [kind.lower() for kind in request.types_filter or ()]
        registry = self.registry
        rows = [(one.group_id, one.protocol_type or "", one.state.value, CLASSIC) for one in registry.groups.values()]
        rows += [(one.group_id, CONSUMER, one.state, CONSUMER) for one in registry.consumer_groups.values()]
        rows += [(one.group_id, SHARE, one.state, SHARE) for one in registry.share_groups.values()]
        groups = [
            m.ListGroupsResponse.ListedGroup(
                group_id=group_id, protocol_type=protocol, group_state=state, group_type=kind
            )
            for group_id, protocol, state, kind in rows
            if (not states or state.lower() in states) and (not types or kind in types)
        ]
        loading = bool(self.registry.runtime.loading)
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if loading else ErrorCode.NONE
        if loading and self.registry.rewritten:
            groups = []  # 3.9 lists what it knows already
        return m.ListGroupsResponse(error_code=error, groups=groups)

    def describe_groups(self, request: m.DescribeGroupsRequest, api_version: int) -> m.DescribeGroupsResponse:
        """State and members of each group asked for."""
        groups = [self.describe(group_id, api_version) for group_id in request.groups]
        if request.include_authorized_operations:
            for group in groups:
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = GROUP_OPERATIONS if self.registry.rewritten else OLD_GROUP_OPERATIONS
        return m.DescribeGroupsResponse(groups=groups)

    def describe(self, group_id: str, api_version: int) -> m.DescribeGroupsResponse.DescribedGroup:
        """One group; metadata and assignments are shown while it is Stable. In 4.3 what a member had stays to be seen
        until the next generation has its shares."""
        error = self.registry.status(group_id, empty_id_allowed=True)
        group = self.registry.groups.get(group_id)
        if error is not ErrorCode.NONE:
            return m.DescribeGroupsResponse.DescribedGroup(error_code=error, group_id=group_id)
        if group is None:
            absent = m.DescribeGroupsResponse.DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
            if api_version >= NOT_FOUND_VERSION:
                absent.error_code = ErrorCode.GROUP_ID_NOT_FOUND
                absent.error_message = self.registry.absent(group_id, CLASSIC)
            return absent
        stable = group.state is GroupState.STABLE
        shares = stable or self.registry.rewritten
        return m.DescribeGroupsResponse.DescribedGroup(
            error_code=ErrorCode.NONE,
            group_id=group_id,
            group_state=group.state.value,
            protocol_type=group.protocol_type or "",
            protocol_data=(group.protocol or "") if stable else "",
            members=[_described(group, member, stable, shares) for member in group.members.values()],
        )


def _described(
    group: Group, member: Member, stable: bool, shares: bool
) -> m.DescribeGroupsResponse.DescribedGroupMember:
    return m.DescribeGroupsResponse.DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol) if stable and group.protocol is not None else b"",
        member_assignment=member.assignment if shares else b"",
    )


def observe(registry: GroupRegistry) -> dict[str, dict[str, Any]]:
    """All classic groups of this broker by id, sorted, as plain data for viewers."""
    return {group_id: _observed(registry, registry.groups[group_id]) for group_id in sorted(registry.groups)}


def _observed(registry: GroupRegistry, group: Group) -> dict[str, Any]:
    offsets: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(group.offsets.committed):
        offsets.setdefault(topic, {})[str(partition)] = group.offsets.committed[(topic, partition)].offset
    return {
        "state": group.state.value,
        "generation": group.generation,
        "coordinator": registry.broker_id,
        "partition": registry.partition_for(group.group_id),
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "leader": group.leader,
        "members": [
            {
                "id": member.member_id,
                "client_id": member.client_id,
                "instance": member.instance_id,
                "host": member.client_host,
                "assignment": readable_assignment(group, member.assignment),
            }
            for member in group.members.values()
        ],
        "offsets": offsets,
    }
