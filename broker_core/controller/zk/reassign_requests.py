"""AlterPartitionReassignments and ListPartitionReassignments (KIP-455)."""

from __future__ import annotations

from typing import Any

from broker_core.controller.zk.core import ControllerCore
from broker_core.controller.zk.reassignment import Reassignment
from broker_core.metadata.errors import RequestError
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode


class ReassignRequests:
    """Translates requests into moves of single partitions."""

    def __init__(self, core: ControllerCore, reassignment: Reassignment) -> None:
        self.core = core
        self.reassignment = reassignment

    def alter(self, request: Any, done: Any, context: Any) -> None:
        """Event: begin, change or cancel moves; answered once their first step has been written."""
        responses = [
            m.AlterPartitionReassignmentsResponse.ReassignableTopicResponse(
                name=topic.name, partitions=[self._propose(topic.name, each) for each in topic.partitions]
            )
            for topic in request.topics
        ]
        self.core.thread.call(done, context, m.AlterPartitionReassignmentsResponse(responses=responses))

    def _propose(self, topic: str, wanted: Any) -> Any:
        answer = m.AlterPartitionReassignmentsResponse.ReassignablePartitionResponse
        try:
            self.reassignment.propose((topic, wanted.partition_index), wanted.replicas)
        except RequestError as error:
            message = error.message or error.code.message
            return answer(partition_index=wanted.partition_index, error_code=error.code, error_message=message)
        return answer(partition_index=wanted.partition_index, error_message=None)

    def list(self, request: Any, done: Any, context: Any) -> None:
        """Event: the moves under way, of all partitions or of those asked for."""
        moving = self.core.context.reassigning()
        if request.topics is not None:
            asked = {(topic.name, number): None for topic in request.topics for number in topic.partition_indexes}
            moving = [each for each in moving if each in asked]
        topics: dict[str, list[Any]] = {}
        for topic, number in moving:
            each = self.core.context.assignment((topic, number))
            topics.setdefault(topic, []).append(
                m.ListPartitionReassignmentsResponse.OngoingPartitionReassignment(
                    partition_index=number,
                    replicas=each.replicas,
                    adding_replicas=each.adding,
                    removing_replicas=each.removing,
                )
            )
        found = [
            m.ListPartitionReassignmentsResponse.OngoingTopicReassignment(name=name, partitions=parts)
            for name, parts in topics.items()
        ]
        done(context, m.ListPartitionReassignmentsResponse(error_code=ErrorCode.NONE, topics=found))
