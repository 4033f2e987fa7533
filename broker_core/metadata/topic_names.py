"""What a topic may be called.

| name | verdict |
|---|---|
| orders.eu_1 | legal |
| "" · "." · ".." | illegal |
| 250 characters | illegal: directories are called NAME-PARTITION and file names end at 255 |
| order$ | illegal: ASCII letters and digits, ".", "_", "-" only |
| __cluster_metadata | INVALID_REQUEST: a quorum's log is no topic (`KafkaApis.handleCreateTopicsRequest`) |
| hello.kafka next to hello_kafka | refused: metric names write "." as "_" and would collide |

Source: `org.apache.kafka.common.internals.Topic`.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.metadata.errors import RequestError
from broker_core.wire.errors import ErrorCode

MAX_LENGTH = 249
LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
GROUP_METADATA_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
SHARE_GROUP_STATE_TOPIC = "__share_group_state"
CLUSTER_METADATA_TOPIC = "__cluster_metadata"
INTERNAL_TOPICS = (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_GROUP_STATE_TOPIC)


def is_internal(topic: str) -> bool:
    return topic in INTERNAL_TOPICS


def problem_with(topic: str) -> str | None:
    """What is wrong with a name, in Kafka's words; None when it is legal."""
    if not topic:
        return "the empty string is not allowed"
    if topic in (".", ".."):
        return f"'{topic}' is not allowed"
    if len(topic) > MAX_LENGTH:
        return f"the length of '{topic}' is longer than the max allowed length {MAX_LENGTH}"
    if not all(character in LEGAL for character in topic):
        return f"'{topic}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def validate(topic: str) -> None:
    """Raises RequestError INVALID_TOPIC_EXCEPTION."""
    problem = problem_with(topic)
    if problem is not None:
        raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")


def collides(one: str, other: str) -> bool:
    """Whether two names differ only in "." and "_"."""
    return one.replace(".", "_") == other.replace(".", "_")


def validate_new(topic: str, existing: Iterable[str]) -> None:
    """A legal name that exists neither itself nor as a twin, and is not that of a quorum's log. Raises RequestError."""
    if topic == CLUSTER_METADATA_TOPIC:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {topic} is prohibited.")
    validate(topic)
    twins = sorted(other for other in existing if collides(topic, other))
    if topic in twins:
        raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' already exists.")
    if twins:
        message = f"Topic '{topic}' collides with existing topics: {', '.join(twins)}"
        raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
