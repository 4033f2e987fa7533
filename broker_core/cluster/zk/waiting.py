"""Requests that are answered when this broker's metadata cache shows their effect.

CreateTopics writes znodes and is done; the topic can be used only when the controller has found it,
elected leaders and told everybody. So the answer waits until the cache of the broker that was asked
shows a leader for every new partition (or no trace of a deleted topic), at most as long as the request
allows: REQUEST_TIMED_OUT then means "written, not yet seen". Kafka: `DelayedCreatePartitions`,
`DelayedDeleteTopics`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker_core.kernel.node import Node, Timer
from broker_core.metadata.cache import MetadataCache
from broker_core.wire.errors import ErrorCode

Done = Callable[[Any, Any], None]


@dataclass(slots=True)
class _Waiting:
    """`counts`: topic -> partitions that must have a leader, 0: must be gone. `results`: its part of the answer."""

    counts: dict[str, int]
    results: dict[str, Any]
    response: Any
    done: Done
    context: Any
    timer: Timer | None = None


class MetadataWaits:
    """Answers that wait for this broker's cache."""

    def __init__(self, node: Node, cache: MetadataCache) -> None:
        self.node = node
        self.cache = cache
        self._waiting: list[_Waiting] = []

    def answer(
        self, counts: dict[str, int], results: dict[str, Any], timeout_ms: int, response: Any, done: Done, context: Any
    ) -> None:
        """Answer when the topics are as wished; those that are not in time get REQUEST_TIMED_OUT."""
        waiting = _Waiting(counts, results, response, done, context)
        if not self._pending(waiting) or timeout_ms <= 0:
            self._finish(waiting)
            return
        waiting.timer = self.node.after(timeout_ms * 1000, self._timed_out, waiting)
        self._waiting.append(waiting)

    def metadata_updated(self) -> None:
        """The cache has changed."""
        ready = [each for each in self._waiting if not self._pending(each)]
        self._waiting = [each for each in self._waiting if each not in ready]
        for waiting in ready:
            self._finish(waiting)

    def _timed_out(self, waiting: _Waiting) -> None:
        self._waiting.remove(waiting)
        self._finish(waiting)

    def _finish(self, waiting: _Waiting) -> None:
        if waiting.timer is not None:
            waiting.timer.cancel()
        for topic in self._pending(waiting):
            fresh = type(waiting.results[topic])()
            for name in fresh.FIELDS:
                if name not in ("name", "topic_id"):
                    setattr(waiting.results[topic], name, getattr(fresh, name))
            waiting.results[topic].error_code = ErrorCode.REQUEST_TIMED_OUT
            waiting.results[topic].error_message = None
        waiting.done(waiting.context, waiting.response)

    def _pending(self, waiting: _Waiting) -> list[str]:
        return [topic for topic, count in waiting.counts.items() if not self._reached(topic, count)]

    def _reached(self, topic: str, count: int) -> bool:
        if count == 0:
            return not self.cache.contains(topic)
        return all(self.cache.leader(topic, number) is not None for number in range(count))
