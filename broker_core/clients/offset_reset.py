"""Where a group goes on, set by hand: `kafka-consumer-groups --reset-offsets --execute`.

    who coordinates the group?       FindCoordinator    any broker
    has it members?                  DescribeGroups     its coordinator     with members it is refused
    how far has it read?             OffsetFetch        its coordinator     for `shift` only
    begin, end, and the time         ListOffsets        the leaders
    go on there                      OffsetCommit       its coordinator     by no member, in no generation

| where | amount | the group goes on |
|---|---|---|
| earliest, latest | | at the first offset that is there, at the high watermark |
| offset | offset | there |
| time | milliseconds since 1970 | at the first record that is as new, else at the high watermark |
| shift | records | so many after (below 0: before) the committed offset |

Beyond the log's borders is none of them: the nearest border counts, as the tool has it. Only the last request changes
anything (see `admin_questions`).

A share group (KIP-932) is no group of consumers, which DescribeGroups says; of it the same is asked in other requests,
as `kafka-share-groups --reset-offsets` does: ShareGroupDescribe, DescribeShareGroupOffsets, AlterShareGroupOffsets.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.admin_questions import Admin
from broker_core.clients.admin_requests import AdminCall
from broker_core.clients.connections import error_of
from broker_core.clients.group_questions import DEAD, GroupQuestions
from broker_core.clients.positions import EARLIEST, LATEST
from broker_core.kernel.names import broker_node
from broker_core.kernel.problems import problem
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

INACTIVE = ("Empty", DEAD)
Question = tuple[str, int, list[int]]  # of a leader: at which timestamp, of which partitions


class OffsetReset(GroupQuestions):
    """One such command under way; `partition` None: all partitions of the topic."""

    def __init__(
        self, admin: Admin, call: AdminCall, group: str, topic: str, partition: int | None, where: str, amount: int
    ) -> None:  # fmt: skip
        super().__init__(admin, call, group, topic, partition)
        self.where = where
        self.amount = amount
        self.committed: dict[int, int] = {}
        self.questions: list[Question] = []
        self.found: dict[tuple[int, int], int] = {}  # (partition, timestamp) -> offset
        self.offsets: dict[int, int] = {}

    def _begin(self) -> None:
        self.committed, self.found = {}, {}
        super()._begin()

    # -- the group --------------------------------------------------------------------------
    def _in_state(self, state: str) -> None:
        if state not in INACTIVE:
            self._refuse(ErrorCode.NON_EMPTY_GROUP, own=problem("group_has_members", group=self.group, state=state))
        elif self.where == "shift" and self.shared:
            shares = m.DescribeShareGroupOffsetsRequest
            named = shares.DescribeShareGroupOffsetsRequestTopic(topic_name=self.topic, partitions=self.partitions)
            of = shares.DescribeShareGroupOffsetsRequestGroup(group_id=self.group, topics=[named])
            body = shares(groups=[of])
            self._ask(self.coordinator, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, body, self._fetched)
        elif self.where == "shift":
            kind = m.OffsetFetchRequest
            topics = [kind.OffsetFetchRequestTopics(name=self.topic, partition_indexes=self.partitions)]
            asked = kind.OffsetFetchRequestGroup(group_id=self.group, member_id=None, member_epoch=-1, topics=topics)
            body = kind(groups=[asked], require_stable=True)
            self._ask(self.coordinator, ApiKey.OFFSET_FETCH, body, self._fetched)
        else:
            self._look()

    def _fetched(self, response: Any) -> None:
        group = response.groups[0]
        if self._failed(group.error_code):
            return
        for answer in (one for topic in group.topics for one in topic.partitions):
            if self._failed(answer.error_code):
                return
            offset = answer.start_offset if self.shared else answer.committed_offset
            if offset < 0:
                place = f"{self.topic}-{answer.partition_index}"
                why = problem("never_committed", group=self.group, partition=place)
                self._refuse(ErrorCode.INVALID_REQUEST, own=why)
                return
            self.committed[answer.partition_index] = offset
        self._look()

    # -- the logs ---------------------------------------------------------------------------
    def _look(self) -> None:
        """Which leader is asked what: no request may name a partition twice, so each timestamp goes by itself."""
        by_leader: dict[int, list[int]] = {}
        for partition in self.partitions:
            by_leader.setdefault(self.admin.metadata.leader(self.topic, partition), []).append(partition)
        if min(by_leader) < 0:
            self._again()
            return
        timestamps = [EARLIEST, LATEST, *([self.amount] if self.where == "time" else [])]
        self.questions = [(broker_node(one), at, of) for one, of in by_leader.items() for at in timestamps]
        self._ask_leader()

    def _ask_leader(self) -> None:
        if not self.questions:
            self._commit()
            return
        dest, timestamp, partitions = self.questions[0]
        kind = m.ListOffsetsRequest
        asked = [
            kind.ListOffsetsPartition(
                partition_index=one, timestamp=timestamp,
                current_leader_epoch=self.admin.metadata.leader_epoch(self.topic, one),
            )
            for one in partitions
        ]  # fmt: skip
        body = kind(
            replica_id=-1, isolation_level=0, topics=[kind.ListOffsetsTopic(name=self.topic, partitions=asked)]
        )
        self._ask(dest, ApiKey.LIST_OFFSETS, body, self._listed)

    def _listed(self, response: Any) -> None:
        _, timestamp, _ = self.questions.pop(0)
        for answer in (one for topic in response.topics for one in topic.partitions):
            if self._failed(answer.error_code):
                return
            self.found[answer.partition_index, timestamp] = answer.offset
        self._ask_leader()

    def _offset(self, partition: int) -> int:
        """Where the group goes on."""
        first, end = self.found[partition, EARLIEST], self.found[partition, LATEST]
        wanted = {"earliest": first, "latest": end, "offset": self.amount}.get(self.where, end)
        if self.where == "time":
            wanted = self.found[partition, self.amount]
            wanted = end if wanted < 0 else wanted
        elif self.where == "shift":
            wanted = self.committed[partition] + self.amount
        return min(max(wanted, first), end)

    # -- the commit -------------------------------------------------------------------------
    def _commit(self) -> None:
        self.offsets = {partition: self._offset(partition) for partition in self.partitions}
        self.call.unanswered = True
        if self.shared:
            self._alter()
            return
        kind = m.OffsetCommitRequest
        partitions = [
            kind.OffsetCommitRequestPartition(
                partition_index=number, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=""
            )
            for number, offset in self.offsets.items()
        ]
        body = kind(
            group_id=self.group, generation_id_or_member_epoch=-1, member_id="", group_instance_id=None,
            topics=[kind.OffsetCommitRequestTopic(name=self.topic, partitions=partitions)],
        )  # fmt: skip
        self._ask(self.coordinator, ApiKey.OFFSET_COMMIT, body, self._committed)

    def _alter(self) -> None:
        """The offsets at which a share group's partitions begin."""
        kind = m.AlterShareGroupOffsetsRequest
        partitions = [
            kind.AlterShareGroupOffsetsRequestPartition(partition_index=number, start_offset=offset)
            for number, offset in self.offsets.items()
        ]
        topics = [kind.AlterShareGroupOffsetsRequestTopic(topic_name=self.topic, partitions=partitions)]
        body = kind(group_id=self.group, topics=topics)
        self._ask(self.coordinator, ApiKey.ALTER_SHARE_GROUP_OFFSETS, body, self._altered)

    def _altered(self, response: Any) -> None:
        self.call.unanswered = False
        if not self._failed(response.error_code, response.error_message):
            self._ended(response.responses)

    def _committed(self, response: Any) -> None:
        self.call.unanswered = False
        self._ended(response.topics)

    def _ended(self, topics: Any) -> None:
        for answer in (one for topic in topics for one in topic.partitions):
            if error_of(answer.error_code) == ErrorCode.UNKNOWN_MEMBER_ID:  # somebody has joined in between
                self._refuse(ErrorCode.NON_EMPTY_GROUP, own=problem("group_joined", group=self.group))
                return
            if self._failed(answer.error_code):
                return
        self.call.what["offsets"] = [[self.topic, number, offset] for number, offset in self.offsets.items()]
        self.admin.end(self.call, "ok", "", "")
