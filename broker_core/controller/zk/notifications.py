"""Two notice boards in the tree where brokers leave a slip for the controller.

    /isr_change_notification/isr_change_N      "I have changed these ISRs": from before AlterPartition
    /log_dir_event_notification/log_dir_event_N "a log directory of mine has failed"

The controller reads the slips, acts, and takes them down. For a failed directory it sends LeaderAndIsr
for all of the broker's replicas: the answer's KAFKA_STORAGE_ERRORs say which ones are lost.
"""

from __future__ import annotations

import json
from typing import Any

from broker_core.controller.state_machines import ReplicaState
from broker_core.controller.zk.core import ControllerCore
from broker_core.controller.zk.membership import Membership
from broker_core.controller.zk import znodes
from broker_core.metadata.partition import LeaderAndIsr, TopicPartition
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p


class Notifications:
    """Slips of brokers, and the answers to LeaderAndIsr that tell of lost directories."""

    def __init__(self, core: ControllerCore, membership: Membership) -> None:
        self.core = core
        self.membership = membership

    def take_down_all(self) -> None:
        """Step: slips from before this controller's time say nothing that it will not read anyway."""
        for board in (znodes.ISR_CHANGES, znodes.LOG_DIR_EVENTS):
            self.core.store.read([p.GetChildren(board)], self._take_down, board)

    def _take_down(self, board: str, results: list[p.Result]) -> None:
        self.core.store.delete_all([f"{board}/{name}" for name in results[0].children])

    def slips_changed(self, board: str) -> None:
        """Event: the children of a board changed."""
        self.core.store.read([p.GetChildren(board)], self._names_read, board)

    def _names_read(self, board: str, results: list[p.Result]) -> None:
        paths = [f"{board}/{name}" for name in results[0].children]
        self.core.store.read([p.GetData(path) for path in paths], self._slips_read, board, paths)

    def _slips_read(self, board: str, paths: list[str], results: list[p.Result]) -> None:
        slips = [result.data for result in results if result.ok]
        if board == znodes.ISR_CHANGES:
            partitions = [each for slip in slips for each in znodes.decode_partition_list(slip)]
            self.core.store.read_states(partitions, self._isrs_read)
        else:
            for broker in dict.fromkeys(int(json.loads(slip)["broker"]) for slip in slips):
                self.core.replicas.change(self.core.context.replicas_on([broker]), ReplicaState.ONLINE)
        self.core.store.delete_all(paths)

    def _isrs_read(self, states: dict[TopicPartition, LeaderAndIsr]) -> None:
        self.core.context.leadership.update(states)
        self.core.update_metadata(self.core.context.live_or_stopping, list(states))

    def leader_and_isr_answered(self, broker: int, errors: dict[TopicPartition, ErrorCode]) -> None:
        """Event: a broker has answered LeaderAndIsr; some of its directories may be lost, or found."""
        context = self.core.context
        known = context.offline_dirs.get(broker, {})
        lost = [each for each, code in errors.items() if code is ErrorCode.KAFKA_STORAGE_ERROR]
        newly_lost = [each for each in lost if each not in known and broker in context.replicas(each)]
        still = {each: None for each in known if errors.get(each) is not ErrorCode.NONE}
        context.offline_dirs[broker] = {**still, **dict.fromkeys(lost)}
        if newly_lost:
            self.core.thread.call(self.membership.replicas_offline, [(*each, broker) for each in newly_lost])


def leader_and_isr_errors(request: Any, response: Any) -> dict[TopicPartition, ErrorCode]:
    """Partition -> error; {} when the broker refused the whole request."""
    if response.error_code != ErrorCode.NONE:
        return {}
    names = {topic.topic_id: topic.topic_name for topic in request.topic_states}
    errors = {
        (names[topic.topic_id], each.partition_index): ErrorCode(each.error_code)
        for topic in response.topics
        if topic.topic_id in names
        for each in topic.partition_errors
    }
    return errors | {
        (each.topic_name, each.partition_index): ErrorCode(each.error_code) for each in response.partition_errors
    }
