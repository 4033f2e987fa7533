"""How a broker reaches the share coordinators: whoever leads the share-partition's partition of `__share_group_state`.

Questions of one kind about one group that go to one coordinator travel together. While nobody is coordinator, or it is
still loading, they are asked again, after 1, 2, 4, 8 seconds; then they have failed.

    group coordinator   initialize g: orders-0, orders-1, orders-2
                          orders-0, orders-2 --> broker 1     orders-1 --> broker 3
    NONE, NONE                            NOT_COORDINATOR: 1 s later to broker 2, NONE    done: all are NONE

The internal topic is created when it is first needed. Source: PersisterStateManager, DefaultStatePersister.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.kernel.names import broker_node
from broker_core.metadata.topic_names import SHARE_GROUP_STATE_TOPIC
from broker_core.sharing.records import ShareKey
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

FIRST_BACKOFF_MS, LONGEST_BACKOFF_MS, ATTEMPTS = 1000, 30_000, 5
RETRIABLE = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT,
)  # fmt: skip
Partition = tuple[uuid.UUID, int]
Answers = dict[Partition, Any]
Answered = Callable[[Any, Answers], None]


class Api(NamedTuple):
    """One of the share coordinator's requests: the names of its structs."""

    key: ApiKey
    version: int
    topic: str
    request: Any
    response: Any


def _api(key: ApiKey, version: int, name: str, topic: str) -> Callable[[], Api]:
    return lambda: Api(key, version, topic, getattr(m, f"{name}Request"), getattr(m, f"{name}Response"))


INITIALIZE = _api(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, "InitializeShareGroupState", "InitializeStateData")
READ = _api(ApiKey.READ_SHARE_GROUP_STATE, 0, "ReadShareGroupState", "ReadStateData")
WRITE = _api(ApiKey.WRITE_SHARE_GROUP_STATE, 1, "WriteShareGroupState", "WriteStateData")
DELETE = _api(ApiKey.DELETE_SHARE_GROUP_STATE, 0, "DeleteShareGroupState", "DeleteStateData")
SUMMARIZE = _api(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 1, "ReadShareGroupStateSummary", "ReadStateSummaryData")


class _Question:
    """What is asked about several share-partitions of a group, and what has been answered so far."""

    def __init__(self, api: Api, group_id: str, asked: dict[Partition, Any], done: Answered, context: Any) -> None:
        self.api = api
        self.group_id = group_id
        self.open = asked
        self.answers: Answers = {}
        self.done = done
        self.context = context
        self.attempt = 0
        self.in_flight = 0


class SharePersister:
    """See `groups.share.handler.SharePersister`; leaders of share-partitions use it, too."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def initialize(
        self, group_id: str, starts: dict[Partition, int], epoch: int, done: Any, context: Any
    ) -> None:
        api = INITIALIZE()
        kind = api.request.PartitionData
        asked = {one: kind(partition=one[1], state_epoch=epoch, start_offset=start) for one, start in starts.items()}
        self.ask(api, group_id, asked, _errors, (done, context))

    def delete(self, group_id: str, partitions: list[Partition], done: Any, context: Any) -> None:
        api = DELETE()
        asked = {one: api.request.PartitionData(partition=one[1]) for one in partitions}
        self.ask(api, group_id, asked, _errors, (done, context))

    def ask(self, api: Api, group_id: str, asked: dict[Partition, Any], done: Answered, context: Any) -> None:
        """Later, once: `done(context, the coordinators' part of the answer for each partition)`."""
        self._try(_Question(api, group_id, asked, done, context))

    def _try(self, question: _Question) -> None:
        """Asks whom it concerns."""
        broker, api = self.broker, question.api
        question.attempt += 1
        by_leader: dict[int, list[Partition]] = {}
        for one in question.open:
            leader = self._coordinator(ShareKey(question.group_id, *one))
            if leader is not None:
                by_leader.setdefault(leader, []).append(one)
        question.in_flight = len(by_leader)
        if not by_leader:
            self._again(question)
            return
        timeout_us = int(broker.config["request.timeout.ms"]) * 1000
        for leader, partitions in by_leader.items():
            topics: dict[uuid.UUID, list[Any]] = {}
            for one in partitions:
                topics.setdefault(one[0], []).append(question.open[one])
            kind = getattr(api.request, api.topic)
            told = [kind(topic_id=topic, partitions=parts) for topic, parts in topics.items()]
            request = api.request(group_id=question.group_id, topics=told)
            rpc = broker.rpc("share-state")
            rpc.call(broker_node(leader), api.key, api.version, request, timeout_us, self._answered, question)

    def _coordinator(self, key: ShareKey) -> int | None:
        broker = self.broker
        if not broker.cache.contains(SHARE_GROUP_STATE_TOPIC):
            broker.auto_create_topic(SHARE_GROUP_STATE_TOPIC)
            return None
        assert broker.share_states is not None
        return broker.cache.leader(SHARE_GROUP_STATE_TOPIC, broker.share_states.partition_for(key.name))

    def _answered(self, question: _Question, response: Any) -> None:
        for topic in () if response is None else response.results:
            for part in topic.partitions:
                if part.error_code not in RETRIABLE:
                    question.answers[topic.topic_id, part.partition] = part
                    question.open.pop((topic.topic_id, part.partition), None)
        question.in_flight -= 1
        if not question.in_flight:
            self._again(question)

    def _again(self, question: _Question) -> None:
        """All is answered, or it is asked again after a pause, or it has failed."""
        if question.open and question.attempt < ATTEMPTS:
            pause_ms = min(FIRST_BACKOFF_MS << (question.attempt - 1), LONGEST_BACKOFF_MS)
            self.broker.node.after(pause_ms * 1000, self._try, question)
            return
        for one in question.open:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            kind = question.api.response.PartitionResult
            question.answers[one] = kind(partition=one[1], error_code=error, error_message=error.message)
        question.done(question.context, question.answers)


def _errors(state: tuple[Any, Any], answers: Answers) -> None:
    done, context = state
    done(context, {one: ErrorCode(part.error_code) for one, part in answers.items()})
