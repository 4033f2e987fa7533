"""A command of the admin client that takes several questions: what one answer says decides what is asked next.

| what comes | what follows |
|---|---|
| an answer | the next question |
| none, or an error that may pass | after the backoff the first question again: leaders may be others now |
| another error | the end: `fail` |
| `default.api.timeout.ms` is over | the end: TIMEOUT, `fail` |

Only one of the questions changes anything. Once that one went out without an answer (`call.unanswered`) nobody knows
what came of it, and `info` stands for `fail`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from broker_core.clients.admin_requests import AdminCall
from broker_core.clients.connections import Connections, error_of
from broker_core.clients.metadata import Metadata
from broker_core.clients.settings import AdminSettings
from broker_core.kernel.node import Node
from broker_core.kernel.problems import Problem
from broker_core.wire.errors import ErrorCode


class Admin(Protocol):
    """What the admin client lends to it."""

    node: Node
    connections: Connections
    metadata: Metadata
    settings: AdminSettings

    def any_broker(self) -> str | None: ...
    def is_nowhere(self, call: AdminCall) -> bool: ...
    def unheard(self, dest: str) -> None: ...
    def later(self, then: Callable[[], None]) -> None: ...
    def end(self, call: AdminCall, kind: str, error: str, message: str, own: Problem | None = None) -> None: ...


class AdminQuestions:
    """One such command under way, mostly about a topic."""

    def __init__(self, admin: Admin, call: AdminCall, topic: str = "") -> None:
        self.admin = admin
        self.call = call
        self.topic = topic

    def start(self) -> None:
        """From the first question on."""
        if self.admin.node.now_us() >= self.call.deadline_us:
            self.admin.end(self.call, self._kind, "TIMEOUT", "")
            return
        if self.topic:
            self.admin.metadata.add_topic(self.topic)
        self._begin()

    def _begin(self) -> None:
        """The first question."""
        raise NotImplementedError

    @property
    def _kind(self) -> str:
        """Of an end that is none to be glad about."""
        return "info" if self.call.unanswered else "fail"

    def _ask(
        self, dest: str, api: int, body: Any, then: Callable[[Any], None], patience_ms: int | None = None
    ) -> None:
        self.admin.connections.call(dest, api, body, self._answered, (dest, then), patience_ms)

    def _ask_any(self, api: int, body: Any, then: Callable[[Any], None]) -> None:
        """A broker that answers."""
        dest = self.admin.any_broker()
        if dest is None:
            self._again()
        else:
            self._ask(dest, api, body, then)

    def _answered(self, context: tuple[str, Callable[[Any], None]], response: Any) -> None:
        dest, then = context
        if response is None:
            self.admin.unheard(dest)
            self._again()
        else:
            then(response)

    def _failed(self, code: int, message: str | None = None) -> bool:
        """Whether the answer is an error: one that may pass, or the end."""
        error = error_of(code)
        if error == ErrorCode.NONE:
            return False
        if error.retriable:
            self._again()
        else:
            self._refuse(error, message or "")
        return True

    def _refuse(self, error: ErrorCode, message: str = "", own: Problem | None = None) -> None:
        self.admin.end(self.call, self._kind, error.name, message, own)

    def _again(self) -> None:
        self.admin.metadata.request_update()
        self.admin.later(self.start)
