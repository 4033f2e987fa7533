"""Deleting a topic takes the co-operation of every broker that has a replica of it.

    1  a znode below /admin/delete_topics says what is wished
    2  UpdateMetadata with leader -2: every cache forgets the topic, clients get UNKNOWN_TOPIC
    3  its replicas go offline, then DeletionStarted: StopReplica with delete
    4  a broker's answer makes its replicas DeletionSuccessful, or DeletionIneligible on an error
    5  all successful: the znodes of the topic go, and the wish itself

A replica on a dead broker cannot delete anything: the others go, then the topic is *ineligible*, its deletion
waits until the broker is back, and it can neither be used nor be created again until then. While one of its
partitions is being reassigned, and for a new controller while a replica is offline, nothing of it goes, and it can
be used. Source: `TopicDeletionManager`, `KafkaController.processTopicDeletion`.
"""

from __future__ import annotations

from typing import Any

from broker_core.controller.state_machines import PartitionState, ReplicaState
from broker_core.controller.zk.context import Replica
from broker_core.controller.zk.core import ControllerCore
from broker_core.kernel import events
from broker_core.controller.zk import znodes
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p


class TopicDeletion:
    """Topics on their way out: `context.deleting`, those that must wait: `context.deletion_ineligible`."""

    def __init__(self, core: ControllerCore) -> None:
        self.core = core

    @property
    def enabled(self) -> bool:
        return bool(self.core.setting("delete.topic.enable", True))

    # --- 1: wishes -------------------------------------------------------------------------------

    def wishes_changed(self) -> None:
        """Event: the children of /admin/delete_topics changed."""
        self.core.store.read([p.GetChildren(znodes.DELETE_TOPICS)], self._wishes_read)

    def _wishes_read(self, results: list[p.Result]) -> None:
        context = self.core.context
        wished = sorted(results[0].children)
        known = [topic for topic in wished if topic in context.assignments]
        refused = [topic for topic in wished if topic not in known] if self.enabled else wished
        self.core.store.delete_all([znodes.delete_topic_path(topic) for topic in refused])
        if self.enabled:
            self.enqueue([topic for topic in known if topic not in context.deleting])

    def start(self, wished: list[str]) -> None:
        """At the start of a controller: the wishes that stand, and what keeps them waiting."""
        context = self.core.context
        if not self.enabled:
            self.core.store.delete_all([znodes.delete_topic_path(topic) for topic in wished])
            return
        context.deleting = {topic: None for topic in wished if topic in context.assignments}
        for topic in context.deleting:
            if self._moving(topic) or any(
                not context.is_online(broker, (name, number)) for name, number, broker in context.replicas_of(topic)
            ):
                context.deletion_ineligible[topic] = None

    def enqueue(self, topics: list[str]) -> None:
        """Step: these topics are to go."""
        for topic in topics:
            self.core.context.deleting[topic] = None
            if self._moving(topic):
                self.core.context.deletion_ineligible[topic] = None
        self.core.thread.call(self.try_deletions)

    def _moving(self, topic: str) -> bool:
        return any(each.being_reassigned for each in self.core.context.assignments[topic].values())

    def resume(self, topics: list[str]) -> None:
        """Step: what kept these topics waiting may be over."""
        waiting = [topic for topic in topics if topic in self.core.context.deleting]
        for topic in waiting:
            self.core.context.deletion_ineligible.pop(topic, None)
        if waiting:
            self.core.thread.call(self.try_deletions)

    # --- 2 and 3 ---------------------------------------------------------------------------------

    def try_deletions(self) -> None:
        """Step: take every topic as far as it can go now."""
        context = self.core.context
        for topic in list(context.deleting):
            states = [context.replica_states.get(replica) for replica in context.replicas_of(topic)]
            if all(state is ReplicaState.DELETION_SUCCESSFUL for state in states):
                self.core.thread.call(self._complete, topic)
            elif ReplicaState.DELETION_STARTED not in states:
                if ReplicaState.DELETION_INELIGIBLE in states:
                    failed = context.replicas_in(topic, ReplicaState.DELETION_INELIGIBLE)
                    self.core.replicas.change(failed, ReplicaState.OFFLINE)
                if topic not in context.deletion_ineligible:
                    self.core.thread.call(self._begin, topic)

    def _begin(self, topic: str) -> None:
        core, context = self.core, self.core.context
        partitions = context.partitions_of(topic)
        if topic not in context.deletion_started:
            core.partitions.change(partitions, PartitionState.OFFLINE)
            core.partitions.change(partitions, PartitionState.NON_EXISTENT)
        context.deletion_started[topic] = None
        core.update_metadata(context.live_or_stopping, partitions)
        dead = [each for each in context.replicas_of(topic) if not context.is_online(each[2], (topic, each[1]))]
        left = context.replicas_in(topic, ReplicaState.DELETION_SUCCESSFUL)
        alive = [each for each in context.replicas_of(topic) if each not in dead and each not in left]
        core.replicas.change(dead, ReplicaState.DELETION_INELIGIBLE)
        core.replicas.change(alive, ReplicaState.OFFLINE)
        core.replicas.change(alive, ReplicaState.DELETION_STARTED)
        if dead:
            context.deletion_ineligible[topic] = None

    # --- 4: answers ------------------------------------------------------------------------------

    def replicas_stopped(self, broker: int, errors: dict[tuple[str, int], ErrorCode]) -> None:
        """Event: a broker has answered StopReplica with delete."""
        deleting = {(*each, broker): code for each, code in errors.items() if each[0] in self.core.context.deleting}
        failed = [replica for replica, code in deleting.items() if code is not ErrorCode.NONE]
        done = [replica for replica, code in deleting.items() if code is ErrorCode.NONE]
        self.replicas_failed(failed)
        self.core.replicas.change(done, ReplicaState.DELETION_SUCCESSFUL)
        self.core.thread.call(self.try_deletions)

    def replicas_failed(self, replicas: list[Replica]) -> None:
        """Step: these replicas cannot be deleted now."""
        if not replicas:
            return
        self.core.replicas.change(replicas, ReplicaState.DELETION_INELIGIBLE)
        for topic in dict.fromkeys(topic for topic, _, _ in replicas):
            self.core.context.deletion_ineligible[topic] = None
        self.core.thread.call(self.try_deletions)

    # --- 5 ---------------------------------------------------------------------------------------

    def _complete(self, topic: str) -> None:
        context = self.core.context
        self.core.zk.forget(znodes.topic_path(topic))
        self.core.replicas.change(context.replicas_of(topic), ReplicaState.NON_EXISTENT)
        partitions = context.partitions_of(topic)
        paths = [znodes.state_path(*each) for each in partitions]
        paths += [znodes.partition_path(*each) for each in partitions]
        paths += [
            znodes.partitions_path(topic),
            znodes.topic_path(topic),
            znodes.config_path("topics", topic),
            znodes.delete_topic_path(topic),
        ]
        self.core.store.delete_all(paths)
        self.core.thread.call(self._forget, topic)

    def _forget(self, topic: str) -> None:
        self.core.context.remove_topic(topic)
        self.core.node.emit(events.TOPIC_DELETED, topic=topic)


def stop_replica_errors(request: Any, response: Any) -> dict[tuple[str, int], ErrorCode]:
    """Partition -> error for all that were to be deleted; an error of the whole answer stands for each."""
    whole = ErrorCode(response.error_code)
    asked = [
        (topic.topic_name, each.partition_index)
        for topic in request.topic_states
        for each in topic.partition_states
        if each.delete_partition
    ]
    single = {(each.topic_name, each.partition_index): ErrorCode(each.error_code) for each in response.partition_errors}
    return {each: whole if whole is not ErrorCode.NONE else single.get(each, ErrorCode.NONE) for each in asked}
