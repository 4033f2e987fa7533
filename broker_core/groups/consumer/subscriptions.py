"""Which topics a group wants, and what they look like now.

When the topics of a group change (one is created, deleted, gets more partitions), the group needs a new assignment.
How they looked when the last one was made is kept as one number, a hash over them in the order of their names:

    orders (id, 3 partitions, their racks), payments (...)  ->  metadata_hash -4473761933366016851

The hash is only ever compared with one of this program; Kafka's is another function (XXH3) of the same things, so a
coordinator of the other kind that finds it makes one more epoch and nothing else.
Source: Utils.computeGroupHash (4.1).
"""

from __future__ import annotations

import hashlib
import struct
import uuid
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, Protocol

from broker_core.coordinators.pattern import Pattern


class TopicShape(NamedTuple):
    """A topic as assignments see it; `racks`: of each partition's replicas."""

    topic_id: uuid.UUID
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()


class TopicsPort(Protocol):
    """The cluster's topics, as this broker knows them."""

    @property
    def version(self) -> int:
        """Grows when anything changes."""
        ...

    def shape(self, topic: str) -> TopicShape | None:
        """None for a topic that does not exist."""
        ...

    def names(self) -> list[str]:
        """All topics."""
        ...

    def names_by_id(self) -> dict[uuid.UUID, str]:
        """Id -> name of all topics."""
        ...


class NoTopics:
    """A cluster without topics."""

    version = 0

    def shape(self, topic: str) -> TopicShape | None:
        return None

    def names(self) -> list[str]:
        return []

    def names_by_id(self) -> dict[uuid.UUID, str]:
        return {}


def shapes(topics: TopicsPort, names: Iterable[str]) -> dict[str, TopicShape]:
    """Those that exist, in the order of their names."""
    found = {name: topics.shape(name) for name in sorted(names)}
    return {name: shape for name, shape in found.items() if shape is not None}


def metadata_hash(found: dict[str, TopicShape]) -> int:
    """A signed 64-bit number; 0 for no topics."""
    if not found:
        return 0
    digest = hashlib.blake2b(digest_size=8)
    for name, shape in found.items():
        digest.update(repr((name, shape.topic_id.hex, shape.partitions, shape.racks)).encode())
    return int(struct.unpack(">q", digest.digest())[0])


@lru_cache(maxsize=256)
def compiled(text: str) -> Pattern:
    """The pattern of a subscription. Raises InvalidPattern."""
    return Pattern(text)


def matching(topics: TopicsPort, text: str) -> tuple[str, ...]:
    """The topics that a pattern matches, sorted. Internal ones are no exception, as they were to patterns that a client
    resolves (`exclude.internal.topics`)."""
    pattern = compiled(text)
    return tuple(name for name in sorted(topics.names()) if pattern.matches(name))
