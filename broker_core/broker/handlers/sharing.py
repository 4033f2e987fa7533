"""ShareFetch (78) and ShareAcknowledge (79): what members of share groups ask the leaders (KIP-932).

A fetch may carry acknowledgements, which are dealt with beside it; its answer waits for both. `is_renew_ack`
(KIP-1222): it carries renewals, and fetches nothing, so that they do not wait.

| acknowledgement batches of a partition                  | answer          |
|---------------------------------------------------------|-----------------|
| one that begins before the last one's end, first > last | INVALID_REQUEST |
| neither one type nor one for each record, unknown types | INVALID_REQUEST |
| a renewal without `is_renew_ack`                        | INVALID_REQUEST |

Source: KafkaApis.handleShareFetchRequest, handleShareAcknowledgeRequest of 4.3.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.broker.handlers.leader_hints import add_hints
from broker_core.sharing.partition import AFTER, RENEW, Acknowledged
from broker_core.sharing.records import ShareKey
from broker_core.sharing.sessions import FINAL, Place
from broker_core.wire import messages as m
from broker_core.wire.errors import NONE, ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

LONGEST_MEMBER_ID = 36
RENEWALS_VERSION = 2
Result = tuple[ErrorCode, str | None]
Results = dict[Place, Result]


def fetch(broker: Broker, context: RequestContext) -> None:
    request, kind = context.body, m.ShareFetchResponse
    error = _wrong(broker, request)
    renewal = context.api_version >= RENEWALS_VERSION and request.is_renew_ack
    if error or (renewal and not _fetches_nothing(request)):
        context.respond(kind(error_code=error or ErrorCode.INVALID_REQUEST))
        return
    named = [(topic.topic_id, part.partition_index) for topic in request.topics for part in topic.partitions]
    forgotten = [(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions]
    said = _acknowledgements(request)
    name = request.group_id, request.member_id
    sessions, epoch = broker.share_sessions, request.share_session_epoch
    error = sessions.resume(name, epoch, context.connection.number, named, forgotten, bool(said))
    if error:
        if error is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            broker.node.after(request.max_wait * 1000, context.respond, kind(error_code=error))
        else:
            context.respond(kind(error_code=error))
        return
    state = _Answer(broker, context)
    places = [] if epoch == FINAL or renewal else list(sessions.sessions[name].places)
    _acknowledge_each(broker, request, said, renewal, context.api_version, state.acknowledged)
    keys = [ShareKey(request.group_id, *place) for place in places]
    if keys:
        broker.share_fetching.fetch(request.member_id, keys, request, state.fetched, context.client_id or "")
    else:
        state.fetched({})


class _Answer:
    """The answer to a ShareFetch, when both halves are there."""

    def __init__(self, broker: Broker, context: RequestContext) -> None:
        self.broker = broker
        self.context = context
        self.parts: dict[ShareKey, Any] | None = None
        self.results: Results | None = None

    def fetched(self, parts: dict[ShareKey, Any]) -> None:
        self.parts = parts
        self._send()

    def acknowledged(self, results: Results) -> None:
        self.results = results
        self._send()

    def _send(self) -> None:
        if self.parts is None or self.results is None:
            return
        broker, request, kind = self.broker, self.context.body, m.ShareFetchResponse
        found = {(key.topic_id, key.partition): part for key, part in self.parts.items()}
        for place, (error, message) in self.results.items():
            part = found.get(place)
            if part is None:
                part = kind.PartitionData(partition_index=place[1], records=b"", current_leader=kind.LeaderIdAndEpoch())
                found[place] = part
            part.acknowledge_error_code, part.acknowledge_error_message = error, message
        topics: dict[uuid.UUID, list[Any]] = {}
        for (topic_id, _), part in found.items():
            topics.setdefault(topic_id, []).append(part)
        response = kind(
            acquisition_lock_timeout=_lock_ms(broker, request.group_id),
            responses=[kind.ShareFetchableTopicResponse(topic_id=one, partitions=all_) for one, all_ in topics.items()],
        )  # fmt: skip
        _hint(broker, response, found)
        if request.share_session_epoch == FINAL:
            end_session(broker, (request.group_id, request.member_id))
        self.context.respond(response)


def acknowledge(broker: Broker, context: RequestContext) -> None:
    request, kind = context.body, m.ShareAcknowledgeResponse
    name = request.group_id, request.member_id
    error = _wrong(broker, request) or broker.share_sessions.acknowledge(name, request.share_session_epoch)
    if error:
        context.respond(kind(error_code=error))
        return

    renewal = context.api_version >= RENEWALS_VERSION and request.is_renew_ack
    said = {
        (topic.topic_id, part.partition_index): part.acknowledgement_batches
        for topic in request.topics for part in topic.partitions
    }  # fmt: skip
    _acknowledge_each(broker, request, said, renewal, context.api_version, partial(_acknowledged, broker, context))


def _acknowledged(broker: Broker, context: RequestContext, results: Results) -> None:
    """The answer to a ShareAcknowledge."""
    request, kind = context.body, m.ShareAcknowledgeResponse
    topics: dict[uuid.UUID, list[Any]] = {}
    parts: dict[Place, Any] = {}
    for place, (error, message) in results.items():
        part = parts[place] = kind.PartitionData(
            partition_index=place[1], error_code=error, error_message=message, current_leader=kind.LeaderIdAndEpoch(),
        )  # fmt: skip
        topics.setdefault(place[0], []).append(part)
    response = kind(responses=[
        kind.ShareAcknowledgeTopicResponse(topic_id=one, partitions=all_) for one, all_ in topics.items()
    ])  # fmt: skip
    response.acquisition_lock_timeout = _lock_ms(broker, request.group_id)  # of version 2
    _hint(broker, response, parts)
    if request.share_session_epoch == FINAL:
        end_session(broker, (request.group_id, request.member_id))
    context.respond(response)


def end_session(broker: Broker, name: tuple[str, str]) -> None:
    """What the member still has is released."""
    for place in broker.share_sessions.end(name):
        broker.share_fetching.partitions.release(ShareKey(name[0], *place), name[1])
    if not any(group_id == name[0] for group_id, _ in broker.share_sessions.sessions):
        broker.share_fetching.partitions.group_gone(name[0])


def connection_closed(broker: Broker, connection: int) -> None:
    """Sessions go with their connection."""
    for name in broker.share_sessions.of_connection(connection):
        end_session(broker, name)


def _lock_ms(broker: Broker, group_id: str) -> int:
    return broker.share_fetching.partitions.limits(group_id).lock_us // 1000


def _wrong(broker: Broker, request: Any) -> ErrorCode:
    if broker.share_version() < 1:
        return ErrorCode.UNSUPPORTED_VERSION
    named = request.group_id is not None and request.member_id and len(request.member_id) <= LONGEST_MEMBER_ID
    return NONE if named else ErrorCode.INVALID_REQUEST


def _fetches_nothing(request: Any) -> bool:
    """A request with renewals has to say that it fetches nothing."""
    return not (request.max_bytes or request.min_bytes or request.max_records or request.max_wait)


def _acknowledgements(request: Any) -> dict[Place, list[Any]]:
    return {
        (topic.topic_id, part.partition_index): part.acknowledgement_batches
        for topic in request.topics for part in topic.partitions if part.acknowledgement_batches
    }  # fmt: skip


def _acknowledge_each(
    broker: Broker, request: Any, said: dict[Place, list[Any]], renewal: bool, version: int,
    done: Callable[[Results], None],
) -> None:  # fmt: skip
    """Later, once: `done(result of each partition)`, in the order of the request."""
    gathering = _Gathering(list(said), done)
    if not said:
        done({})
    for place, batches in said.items():
        if _malformed(batches, renewal, version):
            gathering.came(place, ErrorCode.INVALID_REQUEST, None)
            continue
        told = [Acknowledged(one.first_offset, one.last_offset, one.acknowledge_types) for one in batches]
        key = ShareKey(request.group_id, *place)
        broker.share_fetching.partitions.acknowledge(key, request.member_id, told, partial(gathering.came, place))


class _Gathering:
    """Results that come one by one; `done` has them all, in the order of the request."""

    def __init__(self, places: list[Place], done: Callable[[Results], None]) -> None:
        self.places = places
        self.done = done
        self.results: Results = {}

    def came(self, place: Place, error: ErrorCode, message: str | None) -> None:
        self.results[place] = error, message
        if len(self.results) == len(self.places):
            self.done({one: self.results[one] for one in self.places})


def _malformed(batches: list[Any], renewal: bool, version: int) -> bool:
    """Whether something is wrong with acknowledgements by themselves."""
    last = -1
    known = {*AFTER, RENEW} if version >= RENEWALS_VERSION else set(AFTER)
    for one in batches:
        types, count = one.acknowledge_types, one.last_offset - one.first_offset + 1
        if one.first_offset > one.last_offset or one.first_offset < last:
            return True
        if len(types) not in (1, count) or not set(types) <= known or (RENEW in types and not renewal):
            return True
        last = one.last_offset
    return False


def _hint(broker: Broker, response: Any, parts: dict[Place, Any]) -> None:
    """Who leads instead; a leader that nobody asks for is 0, epoch 0."""
    names = broker.cache.topic_names
    wrong = [(names.get(place[0], ""), place[1], part) for place, part in parts.items() if part.error_code]
    for _, _, part in wrong:
        part.current_leader.leader_id = part.current_leader.leader_epoch = -1
    add_hints(broker, response, wrong)
    for _, _, part in wrong:
        if part.current_leader.leader_id < 0:
            part.current_leader.leader_id = part.current_leader.leader_epoch = 0
