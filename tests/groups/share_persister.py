"""A share coordinator as tests play it: it answers when it is told to."""

from __future__ import annotations

from typing import Any

from broker_core.groups.consumer.member import Partition
from broker_core.wire.errors import ErrorCode as E


class Persister:
    """What it has been asked, the first first."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[Partition], Any, Any]] = []

    def initialize(self, group_id: str, starts: dict[Partition, int], epoch: int, done: Any, context: Any) -> None:
        self.asked.append(("initialize", list(starts), done, context))

    def delete(self, group_id: str, partitions: list[Partition], done: Any, context: Any) -> None:
        self.asked.append(("delete", partitions, done, context))

    def answer(self, error: E = E.NONE) -> list[Partition]:
        _, partitions, done, context = self.asked.pop(0)
        done(context, dict.fromkeys(partitions, error))
        return partitions
