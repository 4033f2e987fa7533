"""A group forgets where it has got to in a topic: `--delete-offsets` of kafka-consumer-groups and kafka-share-groups.

    who coordinates it, what is it?  (`group_questions`)
    forget the topic                 OffsetDelete, DeleteShareGroupOffsets     its coordinator

Whoever reads next begins where `auto.offset.reset` (of a share group: `share.auto.offset.reset`) says. What a consumer
of the group subscribes to is not forgotten (GROUP_SUBSCRIBED_TO_TOPIC, KIP-496); a share group must have no members at
all (NON_EMPTY_GROUP).
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.group_questions import GroupQuestions
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey


class OffsetDeletion(GroupQuestions):
    """One such command under way."""

    def _in_state(self, state: str) -> None:
        self.call.unanswered = True
        if self.shared:
            shares = m.DeleteShareGroupOffsetsRequest
            named = shares.DeleteShareGroupOffsetsRequestTopic(topic_name=self.topic)
            body = shares(group_id=self.group, topics=[named])
            self._ask(self.coordinator, ApiKey.DELETE_SHARE_GROUP_OFFSETS, body, self._forgotten_by_shares)
            return
        kind = m.OffsetDeleteRequest
        parts = [kind.OffsetDeleteRequestPartition(partition_index=one) for one in self.partitions]
        topics = [kind.OffsetDeleteRequestTopic(name=self.topic, partitions=parts)]
        self._ask(self.coordinator, ApiKey.OFFSET_DELETE, kind(group_id=self.group, topics=topics), self._forgotten)

    def _forgotten_by_shares(self, response: Any) -> None:
        self.call.unanswered = False
        answers = [(response.error_code, response.error_message)]
        self._ended(answers + [(one.error_code, one.error_message) for one in response.responses])

    def _forgotten(self, response: Any) -> None:
        self.call.unanswered = False
        parts = [one for topic in response.topics for one in topic.partitions]
        self._ended([(response.error_code, None)] + [(one.error_code, None) for one in parts])

    def _ended(self, answers: list[tuple[int, str | None]]) -> None:
        if not any(self._failed(code, message) for code, message in answers):
            self.admin.end(self.call, "ok", "", "")
