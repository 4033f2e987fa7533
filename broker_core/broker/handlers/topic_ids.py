"""Topics by id: what newer requests name them by, so that a topic made anew under an old name is another one (KIP-516).

    Produce 13, OffsetCommit 10, OffsetFetch 10      topic_id, and no name

Behind the handlers a topic has its name. One whose id this broker does not know (yet) has none: UNKNOWN_TOPIC_ID makes
its client look at the metadata again. Source: KafkaApis.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

FIRST_PRODUCE, FIRST_OFFSETS = 13, 10
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_ID


def name_topics(broker: Broker, topics: Iterable[Any]) -> None:
    """Each gets its name, or "" when its id is unknown."""
    for topic in topics:
        topic.name = broker.cache.topic_names.get(topic.topic_id, "")


def unknown_topics(topics: Iterable[Any]) -> list[Any]:
    """Those that got no name."""
    return [topic for topic in topics if not topic.name]


def answer_by_id(asked: Iterable[Any], answers: Iterable[Any]) -> list[Any]:
    """The answers about topics that have a name, with the ids by which they were asked for."""
    ids = {topic.name: topic.topic_id for topic in asked}
    kept = [one for one in answers if one.name]
    for one in kept:
        one.topic_id = ids[one.name]
    return kept
