"""Topics appear, grow and change their settings: what the controller hears from /brokers/topics.

Somebody (the broker that got CreateTopics) has written /brokers/topics/orders with the assignment.
The watch on /brokers/topics rings; the controller reads what is new and takes each partition through
its states:

    partition  NonExistent -> New -> Online     first leader and ISR are written, LeaderAndIsr is sent
    replica    NonExistent -> New -> Online

A topic's own znode is watched, too: when partitions are added there, the same happens to those.
"""

from __future__ import annotations

from broker_core.controller.elections import Strategy
from broker_core.controller.state_machines import PartitionState, ReplicaState
from broker_core.controller.zk.core import ControllerCore
from broker_core.controller.zk.reassignment import Reassignment
from broker_core.controller.zk import znodes
from broker_core.metadata.partition import TopicPartition
from broker_core.controller.zk.znodes import TopicInfo
from broker_core.zookeeper import protocol as p


class Topics:
    """The children of /brokers/topics and their data."""

    def __init__(self, core: ControllerCore, reassignment: Reassignment) -> None:
        self.core = core
        self.reassignment = reassignment

    # --- the list --------------------------------------------------------------------------------

    def topics_changed(self) -> None:
        """Event: the children of /brokers/topics changed."""
        self.core.store.read([p.GetChildren(znodes.TOPICS)], self._names_read)

    def _names_read(self, results: list[p.Result]) -> None:
        known = self.core.context.assignments
        names = sorted(results[0].children)
        for topic in [topic for topic in known if topic not in names]:
            self.core.zk.forget(znodes.topic_path(topic))
            self.core.context.remove_topic(topic)
        self.read_topics([topic for topic in names if topic not in known], self._created)

    def read_topics(self, topics: list[str], method: object) -> None:
        """Step: read assignments and ids, leaving a watch on each; then `method({topic: TopicInfo})`."""
        for topic in topics:
            self.core.zk.on_change(znodes.topic_path(topic), self._topic_rang)
        ops: list[p.Operation] = [p.GetData(znodes.topic_path(topic)) for topic in topics]
        self.core.store.read(ops, self._topics_read, topics, method)

    def _topics_read(self, topics: list[str], method: object, results: list[p.Result]) -> None:
        infos = {
            topic: TopicInfo.decode(result.data) for topic, result in zip(topics, results, strict=True) if result.ok
        }
        self.core.thread.call(method, infos)  # type: ignore[arg-type]

    def _created(self, infos: dict[str, TopicInfo]) -> None:
        context = self.core.context
        for topic, info in infos.items():
            context.topic_ids[topic] = info.topic_id
            context.assignments[topic] = info.partitions
        self.start_partitions([(topic, number) for topic, info in infos.items() for number in info.partitions])

    def start_partitions(self, partitions: list[TopicPartition]) -> None:
        """Step: take new partitions to Online."""
        if not partitions:
            return
        core = self.core
        replicas = [(*each, broker) for each in partitions for broker in core.context.replicas(each)]
        core.partitions.change(partitions, PartitionState.NEW)
        core.replicas.change(replicas, ReplicaState.NEW)
        core.partitions.change(partitions, PartitionState.ONLINE, Strategy.OFFLINE)
        core.replicas.change(replicas, ReplicaState.ONLINE)

    # --- one topic -------------------------------------------------------------------------------

    def _topic_rang(self, kind: str, path: str) -> None:
        if kind == p.NODE_DATA_CHANGED:
            self.core.thread.put_once(self.topic_changed, path.rpartition("/")[2])

    def topic_changed(self, topic: str) -> None:
        """Event: the data of /brokers/topics/T changed."""
        if topic in self.core.context.assignments:
            self.read_topics([topic], self._changed)

    def _changed(self, infos: dict[str, TopicInfo]) -> None:
        context = self.core.context
        for topic, info in infos.items():
            known = context.assignments.get(topic)
            if known is None or topic in context.deleting:
                continue
            added = [number for number in info.partitions if number not in known]
            for number in added:
                known[number] = info.partitions[number]
            self.start_partitions([(topic, number) for number in added])
