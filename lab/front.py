"""A lab for those who know no branches: what they ask is asked of the live one."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from broker_core.kernel.world import World
from lab.branch import Branch
from lab.feed import Subscriber


class LiveFront:
    """`main` is the live branch."""

    main: Branch

    @property
    def world(self) -> World:
        return self.main.world

    @property
    def run_id(self) -> str:
        return self.main.run_id

    @property
    def epoch(self) -> int:
        return self.main.epoch

    @property
    def ended(self) -> bool:
        return self.main.ended

    def view(self) -> dict[str, Any]:
        return self.main.view()

    def story(self, seq: int) -> Future[str]:
        return self.main.story(seq)

    def history(self, seq: int, after: int = 0) -> Future[dict[str, Any]]:
        return self.main.history(seq, after)

    def submit(self, command: dict[str, Any]) -> Future[dict[str, Any]]:
        return self.main.submit(command)

    def snapshot(self) -> Future[tuple[int, str]]:
        return self.main.snapshot()

    def inspect(self, what: str, name: str) -> Future[dict[str, Any]]:
        return self.main.inspect(what, name)

    def clock(self) -> dict[str, Any]:
        return self.main.clock()

    def subscribe(self, subscriber: Subscriber) -> int:
        return self.main.subscribe(subscriber)

    def unsubscribe(self, token: int) -> None:
        self.main.unsubscribe(token)

    def events_since(self, seq: int) -> Future[str | None]:
        return self.main.events_since(seq)
