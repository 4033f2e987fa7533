"""What both kinds of cluster have in common, and `cluster()`, which makes either.

A condition is one of a scenario (docs/scenarios.md): `wait(isr_of="orders-0", is_=3)`, `value(leader_of="orders-0")`.
Times are seconds, and the cluster's own where nothing else is said.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Self

from broker_core.kernel.errors import Refusal
from broker_core.kernel.events import REGISTRY, TRANSITION
from broker_core.kernel.journal import Row
from broker_core.kernel.problems import told
from lab.client.errors import Refused
from lab.client.levers import Levers
from lab.scenarios.conditions import CHANGED, Condition, check_target, condition
from lab.testing.described import described


class Event(NamedTuple):
    """A row of the journal."""

    seq: int
    t_us: int
    node: str
    code: str
    cause: int
    params: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.t_us / 1e6:10.3f}  {self.node:14}  {REGISTRY[self.code].line(self.params)}"


class Cluster(Levers):
    """A running cluster; `directory` holds what the run leaves, as long as it is open or where it was asked for."""

    directory: Path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """`127.0.0.1:40001,127.0.0.1:40002`: what clients are given."""

    @property
    @abstractmethod
    def now_s(self) -> float:
        """The cluster's time."""

    @abstractmethod
    def run(self, seconds: float) -> None:
        """Let so much of the cluster's time pass."""

    @abstractmethod
    def close(self) -> None:
        """Stop all of it; what was temporary is gone."""

    @abstractmethod
    def events(self, codes: str | Iterable[str] | None = None, since: int = 0) -> list[Event]:
        """Events behind number `since`, of some codes, as far as they are still in memory (40,000)."""

    @abstractmethod
    def receipt(self) -> dict[str, Any]:
        """What was acknowledged, read, lost up to now (docs/scenarios.md); clients from outside stand in `outside`."""

    @abstractmethod
    def value(self, **subject: Any) -> Any:
        """What a condition's subject is now: `value(leader_of="orders-0")`. Raises Refused."""

    def wait(self, *, is_: Any = CHANGED, within: float = 60, before: Any = None, **subject: Any) -> Any:
        """Until something is so; its value then.

        `is_`: 3, ">= 3", "running", or "changed": another value than `before`, or than that of now. Raises NotMet when
        it did not become so within so many seconds of the cluster's time, Refused for what is no condition.
        """
        try:
            wanted = condition({**subject, "is": is_}, ())
        except Refusal as error:
            refuse(error)
        return self._wait_for(wanted, int(within * 1_000_000), before)

    @abstractmethod
    def _wait_for(self, wanted: Condition, within_us: int, before: Any) -> Any: ...

    def story(self, last: int = 30) -> str:
        """The last turning points, a line each: what a failed test wants to tell."""
        return "\n".join(map(str, self.events(TRANSITIONS)[-last:]))


TRANSITIONS = frozenset(name for name, code in REGISTRY.items() if code.level == TRANSITION)


def chosen(rows: Iterable[Row], codes: str | Iterable[str] | None, since: int) -> list[Event]:
    """Rows as events."""
    wanted = None if codes is None else {codes} if isinstance(codes, str) else set(codes)
    return [Event(*row) for row in rows if row[0] > since and (wanted is None or row[3] in wanted)]


def subject_of(given: dict[str, Any]) -> tuple[str, str]:
    """The one subject and its target. Raises Refused."""
    try:
        found = condition({**given, "is": CHANGED}, ())
        check_target(found.subject, found.target, ())
    except Refusal as error:
        refuse(error)
    return found.subject, found.target


def refuse(error: Refusal, error_code: str | None = None) -> NoReturn:
    """As the exception that all of the lab's callers know."""
    what = error.problem
    raise Refused(told(what), what["code"], dict(what["params"]), error.where, error_code=error_code) from None


def cluster(
    brokers: int | Sequence[Any] = 3, *, simulated: bool = False, speed: float = 1.0,
    directory: Path | str | None = None, **description: Any,
) -> Cluster:  # fmt: skip
    """A started cluster: `controller`, `controllers`, `topics`, `settings`, `preset`, `seed` as in `described`.

    `simulated`: in virtual time, without ports. `speed`: virtual seconds per second, on ports. `directory`: where the
    run stays; without one it is gone at the end. Raises Refused.
    """
    from lab.testing.ports import PortCluster
    from lab.testing.simulated import SimulatedCluster

    given = {"brokers": brokers if isinstance(brokers, int) else list(brokers), **description}
    home = None if directory is None else Path(directory)
    try:
        if simulated:
            return SimulatedCluster(described(**given), home)
        return PortCluster(given, home, speed)
    except Refusal as error:
        refuse(error)
