"""How groups are described whose assignment the broker makes, to tools (KIP-848, KIP-932) and to viewers.

| the group                      | answer                                            |
|--------------------------------|---------------------------------------------------|
| is not of this coordinator     | the coordinator's error; of a share group in words, too |
| is of another kind             | GROUP_ID_NOT_FOUND "Group g is not a share group." |
| does not exist                 | GROUP_ID_NOT_FOUND "Group g not found."           |

Source: GroupMetadataManager.consumerGroupDescribe, shareGroupDescribe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from broker_core.groups.assigned import AssignedGroup
from broker_core.groups.consumer.member import Partition, named
from broker_core.groups.registry import SHARE, GroupRegistry
from broker_core.wire.errors import ErrorCode

Group = TypeVar("Group", bound=AssignedGroup[Any])

GROUP_OPERATIONS = sum(1 << bit for bit in (3, 6, 8, 10, 11))
"""READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: what 4.3 says that everybody may do with a group."""


def described(
    registry: GroupRegistry, groups: Mapping[str, Group], asked: Any, form: Any, kind: str,
    tell: Callable[[Group], Any],
) -> list[Any]:  # fmt: skip
    """What is to be told of each group that is `asked` for, or in its `form` why not; `groups`: those of the kind."""
    found = []
    for group_id in asked.group_ids:
        error, group = registry.status(group_id), groups.get(group_id)
        if error is not ErrorCode.NONE:
            explained = kind == SHARE and error is not ErrorCode.INVALID_GROUP_ID
            found.append(form(group_id=group_id, error_code=error, error_message=error.message if explained else None))
        elif group is None:
            words = registry.absent(group_id, kind)
            found.append(form(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=words))
        else:
            found.append(tell(group))
            if asked.include_authorized_operations:
                found[-1].authorized_operations = GROUP_OPERATIONS
    return found


def observed(
    registry: GroupRegistry, group: AssignedGroup[Any], kind: str, assignor: str, members: list[dict[str, Any]],
    offsets: dict[str, dict[str, int]],
) -> dict[str, Any]:  # fmt: skip
    """A group as plain data, in the form of a classic one: its generation is the group epoch."""
    return {
        "type": kind,
        "state": group.state,
        "generation": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "coordinator": registry.broker_id,
        "partition": registry.partition_for(group.group_id),
        "protocol_type": kind,
        "protocol": assignor,
        "leader": None,
        "members": members,
        "offsets": offsets,
    }


def observed_member(
    group: AssignedGroup[Any], member: Any, names: Mapping[Any, str], instance: str | None,
    revoking: Iterable[Partition],
) -> dict[str, Any]:  # fmt: skip
    """A member of such a group: what it has, what it is about to give back, what it should have."""
    return {
        "id": member.member_id,
        "client_id": member.client_id,
        "instance": instance,
        "host": member.client_host,
        "assignment": named(member.assigned, names),
        "epoch": member.epoch,
        "revoking": named(revoking, names),
        "target": named(group.target(member.member_id), names),
    }
