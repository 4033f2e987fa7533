"""DescribeTopicPartitions (75): topics a page at a time, with their eligible leader replicas (KIP-966).

An answer has at most 2,000 partitions (`max.request.partition.size.limit`; the client may ask for fewer) and, where
there are more, the place at which the next one begins:

    limit 2   orders 0 1 2, payments 0     ->  orders 0 1            next: orders 2
    cursor orders 2                        ->  orders 2, payments 0

Topics are told in the order of their names, those before the cursor's are left out. Without a list: all of them.
Source: DescribeTopicPartitionsRequestHandler, KRaftMetadataCache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.broker.handlers.metadata import TOPIC_OPERATIONS
from broker_core.metadata.topic_names import is_internal, problem_with
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

Described = m.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic


def handle(broker: Broker, context: RequestContext) -> None:
    """Answer with one page."""
    request = context.body
    asked = [one.name for one in request.topics]
    start = ("", 0) if request.cursor is None else (request.cursor.topic_name, request.cursor.partition_index)
    if (asked and start[0] and start[0] not in asked) or start[1] < 0:
        refused = [_topic(broker, name, ErrorCode.INVALID_REQUEST) for name in asked]
        context.respond(m.DescribeTopicPartitionsResponse(topics=refused, next_cursor=None))
        return
    names = sorted(name for name in dict.fromkeys(asked or broker.cache.topics) if name >= start[0])
    most: int = broker.config["max.request.partition.size.limit"]
    context.respond(_page(broker, names, bool(asked), start, max(min(most, request.response_partition_limit), 1)))


def _page(broker: Broker, names: list[str], named: bool, start: tuple[str, int], left: int) -> Any:
    """`left`: how many partitions have room; `named`: who is not there is told so."""
    page = m.DescribeTopicPartitionsResponse(topics=[], next_cursor=None)
    for name in names:
        if not left:
            page.next_cursor = m.DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=0)
            break
        first = start[1] if name == start[0] else 0
        count = broker.cache.partition_count(name)
        if count is None:
            if named:
                wrong = problem_with(name) is not None
                error = ErrorCode.INVALID_TOPIC_EXCEPTION if wrong else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                page.topics.append(_known(broker, name, error, range(0)))
            continue
        numbers = range(first, min(count, first + left))
        page.topics.append(_known(broker, name, ErrorCode.NONE, numbers))
        left -= len(numbers)
        if numbers.stop < count and len(numbers):
            cursor = m.DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=numbers.stop)
            page.next_cursor = cursor
            break
    return page


def _topic(broker: Broker, name: str, error: ErrorCode) -> Any:
    return Described(name=name, error_code=int(error), is_internal=is_internal(name), partitions=[])


def _known(broker: Broker, name: str, error: ErrorCode, numbers: range) -> Any:
    topic = _topic(broker, name, error)
    topic.topic_id = broker.cache.topic_ids.get(name, topic.topic_id)
    topic.topic_authorized_operations = TOPIC_OPERATIONS
    topic.partitions = [broker.cache.describe_partition(name, number, broker.listener) for number in numbers]
    return topic
