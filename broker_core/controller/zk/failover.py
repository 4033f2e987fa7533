"""A broker becomes controller: it reads everything, and then puts right what it finds.

    read   brokers, topics and assignments, partition states, wishes for deletion: one request per
           topic and one per partition, sent behind one another: the time grows with the partitions
    tell   UpdateMetadata to all, so that they know the live brokers before they hear of leaders
    right  replicas on dead brokers leave their ISRs, partitions without leader get an election,
           reassignments and deletions under way go on

From the first read on, watches are set, so that nothing that happens meanwhile is missed: it waits in
the line of events until the start is done. Source: `KafkaController.onControllerFailover`.
"""

from __future__ import annotations

from broker_core.controller.zk.core import ControllerCore
from broker_core.controller.zk.deletion import TopicDeletion
from broker_core.controller.zk.leadership import Leadership
from broker_core.controller.zk.membership import Membership
from broker_core.controller.zk.notifications import Notifications
from broker_core.controller.zk.reassignment import Reassignment
from broker_core.controller.zk.topics import Topics
from broker_core.kernel import events
from broker_core.controller.zk import znodes
from broker_core.metadata.partition import LeaderAndIsr, TopicPartition
from broker_core.controller.zk.znodes import BrokerInfo, TopicInfo
from broker_core.zookeeper import protocol as p


class Failover:
    """The steps between winning the election and being the controller in fact."""

    def __init__(
        self,
        core: ControllerCore,
        membership: Membership,
        topics: Topics,
        deletion: TopicDeletion,
        reassignment: Reassignment,
        leadership: Leadership,
        notifications: Notifications,
    ) -> None:
        self.core = core
        self.membership = membership
        self.topics = topics
        self.deletion = deletion
        self.reassignment = reassignment
        self.leadership = leadership
        self.notifications = notifications

    def begin(self) -> None:
        """Step: read, tell, put right."""
        call = self.core.thread.call
        self.core.store.write([p.Create(znodes.FEATURE, znodes.encode_features())], self._features_stand)
        call(self.notifications.take_down_all)
        call(self.membership.read_brokers, self._brokers_read)
        self.core.store.read([p.GetChildren(znodes.TOPICS)], self._topic_names_read)
        self.core.store.read([p.GetChildren(znodes.DELETE_TOPICS)], self._deletions_read)
        call(self._put_right)

    def _features_stand(self, results: list[p.Result]) -> None:
        """/feature was there already, or has been made by the first controller."""

    # --- read ------------------------------------------------------------------------------------

    def _brokers_read(self, brokers: dict[int, BrokerInfo]) -> None:
        self.core.context.brokers = dict(brokers)
        for broker in brokers:
            self.core.channels.add(broker)

    def _topic_names_read(self, results: list[p.Result]) -> None:
        self.topics.read_topics(sorted(results[0].children), self._topics_read)

    def _topics_read(self, infos: dict[str, TopicInfo]) -> None:
        context = self.core.context
        context.topic_ids = {topic: info.topic_id for topic, info in infos.items()}
        context.assignments = {topic: info.partitions for topic, info in infos.items()}
        self.core.store.read_states(context.partitions(), self._states_read)

    def _states_read(self, states: dict[TopicPartition, LeaderAndIsr]) -> None:
        self.core.context.leadership = states

    def _deletions_read(self, results: list[p.Result]) -> None:
        self.deletion.start(sorted(results[0].children))

    # --- tell and put right ----------------------------------------------------------------------

    def _put_right(self) -> None:
        core, context = self.core, self.core.context
        core.node.emit(
            events.CONTROLLER_LOADED,
            topics=len(context.assignments),
            partitions=len(context.partitions()),
            epoch=context.epoch,
        )
        core.update_metadata(context.live_or_stopping, [])
        for step in (
            core.replicas.start,
            core.partitions.start,
            self.reassignment.resume_all,
            self.deletion.try_deletions,
            self.leadership.election_wished,
            self.leadership.start_checks,
        ):
            core.thread.call(step)
