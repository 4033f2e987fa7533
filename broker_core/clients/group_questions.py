"""What an operator's command about a group's offsets asks first: who coordinates the group, and of what kind is it?

    who coordinates the group?       FindCoordinator       any broker
    has it members?                  DescribeGroups        its coordinator
    is it a share group?             ShareGroupDescribe    its coordinator, where it is no group of consumers (KIP-932)

Offsets of a share group are asked for, altered and deleted by other requests than those of consumers.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.admin_questions import Admin, AdminQuestions
from broker_core.clients.admin_requests import MOVE_ON_MS, AdminCall
from broker_core.kernel.names import broker_node
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

GROUP = 0
DEAD = "Dead"


class GroupQuestions(AdminQuestions):
    """One such command under way; `partitions`: how many the topic has, or the one that was named."""

    def __init__(self, admin: Admin, call: AdminCall, group: str, topic: str, partition: int | None = None) -> None:
        super().__init__(admin, call, topic)
        self.group = group
        self.partition = partition
        self.coordinator = ""
        self.shared = False
        self.partitions: list[int] = []

    def _begin(self) -> None:
        admin, call = self.admin, self.call
        count, dest = admin.metadata.partition_count(self.topic), admin.any_broker()
        if admin.is_nowhere(call):
            self._refuse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif dest is None or not count:
            self._again()
        else:
            self.partitions = [*range(count)] if self.partition is None else [self.partition]
            body = m.FindCoordinatorRequest(key_type=GROUP, key=self.group, coordinator_keys=[self.group])
            self._ask(dest, ApiKey.FIND_COORDINATOR, body, self._coordinator_found, MOVE_ON_MS)

    def _coordinator_found(self, response: Any) -> None:
        found = response.coordinators[0] if response.coordinators else response
        if self._failed(found.error_code, getattr(found, "error_message", None)):
            return
        self.coordinator = broker_node(found.node_id)
        self._ask(
            self.coordinator, ApiKey.DESCRIBE_GROUPS, m.DescribeGroupsRequest(groups=[self.group]), self._described
        )

    def _described(self, response: Any) -> None:
        group = response.groups[0]
        if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:  # from version 6 on, which brokers with share groups have
            body = m.ShareGroupDescribeRequest(group_ids=[self.group])
            self._ask(self.coordinator, ApiKey.SHARE_GROUP_DESCRIBE, body, self._described_as_shared)
        elif not self._failed(group.error_code):
            self._in_state(group.group_state)

    def _described_as_shared(self, response: Any) -> None:
        group = response.groups[0]
        if group.error_code != ErrorCode.GROUP_ID_NOT_FOUND and self._failed(group.error_code):
            return
        self.shared = group.error_code == ErrorCode.NONE
        self._in_state(group.group_state if self.shared else DEAD)

    def _in_state(self, state: str) -> None:
        """The group is known: what comes next?"""
        raise NotImplementedError
