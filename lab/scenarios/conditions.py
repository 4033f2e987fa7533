"""Conditions on the state of a world, and comparisons: what `when:` and `expect:` are made of.

| condition | its value |
|---|---|
| `leader_of: orders-0` | broker id, -1 without a leader |
| `isr_of: orders-0` | size of the ISR |
| `hw_of: orders-0` | high watermark on the leader |
| `leo_of: orders-0` | log end offset on the leader |
| `leader_epoch_of: orders-0` | leader epoch |
| `controller: any` | broker id of the controller, -1 without one |
| `controller_epoch: any` | epoch of the last controller election |
| `registered: 2` | 1 while broker 2 has its znode, else 0 |
| `acked_by: producer-1` | records acknowledged so far |
| `failed_by: producer-1` | records that failed so far |
| `read_by: consumer-1` | records read so far |
| `state_of: broker-1` | running, paused, stopped |
| `group_state_of`, `members_of`, `lag_of: billing`, `transaction_state_of: sales`, ... | see `looking` |

A neighbour's are named with it: `leader_of: payments/invoices-0`, `registered: payments/2`, `acked_by:
payments/producer-1`, `state_of: payments/broker-1`, `controller: payments`.

`is:` compares: `3`, `">= 3"`, `"!= 1"`, `"50 ± 15"` (35 to 65; `+-` may stand for `±`), `running`, or `changed`:
another value than when the step began to wait, and for leaders and controllers not "nobody".
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker_core.kernel.names import cluster_of
from broker_core.kernel.node import PAUSED, RUNNING, STOPPED
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.neighbour_spec import ANY
from lab.clusters.observe import log_marks
from lab.clusters.roles import split, state_of
from lab.scenarios.looking import GROUP_STATES, LOOKS, TRANSACTION_STATES
from lab.truth import truth_of, truth_of_cluster

_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, "<=": operator.le, "!=": operator.ne, "==": operator.eq, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_ABOUT = re.compile(r"\s*(?:±|\+-)\s*")
CHANGED = "changed"
NOBODY = -1
STATE = "state_of"
STATES = (RUNNING, PAUSED, STOPPED)
WORDS = {STATE: STATES, "group_state_of": GROUP_STATES, "transaction_state_of": TRANSACTION_STATES}
_NUMBER = re.compile(r"[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`sign` and what stands on its right; with `about` anything that is at most so far from it."""

    sign: str
    wanted: Any
    about: float | None = None

    def holds(self, value: Any) -> bool:
        """Whether `value sign wanted`."""
        if value is None:
            return False
        if self.about is not None:
            return bool(abs(value - self.wanted) <= self.about)
        return _SIGNS[self.sign](value, self.wanted)

    def __str__(self) -> str:
        return f"{self.sign} {self.wanted}" if self.about is None else f"{self.wanted} ± {self.about}"


def parts(text: str) -> tuple[str, str] | None:
    """`50 ± 15` -> (50, 15); None of a text without the sign."""
    found = _ABOUT.split(text.strip())
    return (found[0], found[1]) if len(found) == 2 else None


def comparison(value: Any, place: Place) -> Comparison:
    """`3`, `true`, `running`, `">= 3"`, `"50 ± 15"`."""
    if isinstance(value, (bool, int, float)):
        return Comparison("==", value)
    text = checks.text(value, place).strip()
    about = parts(text)
    if about is not None:
        middle, around = (_number(part, text, "±", place) for part in about)
        return Comparison("==", middle, around)
    for sign in _SIGNS:
        if text.startswith(sign):
            return Comparison(sign, _number(text[len(sign) :], text, sign, place))
    return Comparison("==", text)


def _number(text: str, given: str, sign: str, place: Place) -> int | float:
    try:
        number = float(text)
    except ValueError:
        raise SpecError(place, problem("expected_number_behind", given=given, sign=sign)) from None
    return int(number) if number.is_integer() else number


@dataclass(frozen=True, slots=True)
class Condition:
    """`subject of target` compared, or changed."""

    subject: str
    target: str
    compared: Comparison | None

    def value(self, world: World) -> Any:
        """The subject's value now."""
        return value_of(world, self.subject, self.target)

    def holds(self, world: World, before: Any) -> bool:
        """`before`: the value when the wait began."""
        value = self.value(world)
        if self.compared is not None:
            return self.compared.holds(value)
        return value is not None and value != before and value != NOBODY

    def __str__(self) -> str:
        return f"{self.subject} {self.target} {self.compared if self.compared is not None else CHANGED}"


def condition(value: Any, place: Place) -> Condition:
    """Exactly one subject, and `is`."""
    given = checks.mapping(value, place, [*SUBJECTS, "is"], ("is",))
    subjects = [name for name in SUBJECTS if name in given]
    if len(subjects) != 1:
        raise SpecError(place, problem("one_subject", known=list(SUBJECTS), n=len(subjects)))
    subject = subjects[0]
    target = checks.text(str(given[subject]), (*place, subject))
    check_target(subject, target, (*place, subject))
    at = (*place, "is")
    if given["is"] == CHANGED:
        return Condition(subject, target, None)
    return Condition(subject, target, compared_with(subject, given["is"], at))


def compared_with(subject: str, value: Any, place: Place) -> Comparison:
    """What a subject's value can be compared with: states with their words, all else with numbers."""
    found = comparison(value, place)
    if subject in WORDS:
        checks.choice(found.wanted, place, [*WORDS[subject], CHANGED])
    elif not isinstance(found.wanted, bool):
        checks.number(found.wanted, place)
    return found


def check_target(subject: str, target: str, place: Place) -> None:
    """Partitions are named TOPIC-PARTITION, brokers by their number."""
    if subject in OF_PARTITION and not split_ok(target):
        raise SpecError(place, problem("expected_partition", given=target))
    if subject == "believed_by":
        place_of, _, broker = target.partition("@")
        if not split_ok(place_of) or not _NUMBER.fullmatch(broker):
            raise SpecError(place, problem("expected_belief", given=target))
    if subject == "znode" and not target.startswith("/"):
        raise SpecError(place, problem("expected_path", given=target))
    if cluster_of(target) and subject in OF_OWN:
        raise SpecError(place, problem("subject_of_own", key=subject))
    if subject == "registered" and not _NUMBER.fullmatch(target.rpartition("/")[2]):
        raise SpecError(place, problem("expected_broker", given=target))


def split_ok(target: str) -> bool:
    """Whether it reads as TOPIC-PARTITION."""
    name, _, number = target.rpartition("-")
    return bool(name) and _NUMBER.fullmatch(number) is not None


def _leader(world: World, target: str) -> Any:
    state = state_of(world, target)
    return None if state is None else state["leader"]


def _isr(world: World, target: str) -> Any:
    state = state_of(world, target)
    return None if state is None else len(state["isr"])


def _leader_epoch(world: World, target: str) -> Any:
    state = state_of(world, target)
    return None if state is None else state["leader_epoch"]


def _mark(world: World, target: str, mark: str) -> Any:
    """A figure of the leader's replica."""
    state = truth_of(world).partition_state(*split(target))
    marks = {} if state is None else log_marks(world, *split(target))
    return None if state is None or state["leader"] not in marks else marks[state["leader"]][mark]


def _hw(world: World, target: str) -> Any:
    return _mark(world, target, "hw")


def _leo(world: World, target: str) -> Any:
    return _mark(world, target, "leo")


def _controller(world: World, target: str) -> Any:
    truth = truth_of_cluster(world, "" if target == ANY else target)
    found = None if truth is None else truth.controller_id()
    return NOBODY if found is None else found


def _controller_epoch(world: World, target: str) -> Any:
    truth = truth_of_cluster(world, "" if target == ANY else target)
    return None if truth is None else truth.controller_epoch()


def _registered(world: World, target: str) -> Any:
    truth = truth_of_cluster(world, cluster_of(target))
    return None if truth is None else int(int(target.rpartition("/")[2]) in truth.registered())


def _count(world: World, target: str, name: str) -> Any:
    """A counter of a client; of a node that counts no such thing None."""
    node = world.find(target)
    found = getattr(node.machine, name, None) if node is not None else None
    return found if isinstance(found, int) else None


def _acked(world: World, target: str) -> Any:
    return _count(world, target, "acked")


def _failed(world: World, target: str) -> Any:
    return _count(world, target, "failed")


def _read(world: World, target: str) -> Any:
    return _count(world, target, "read")


def _state(world: World, target: str) -> Any:
    node = world.find(target)
    return node.state if node is not None else None


OF_PARTITION = ("leader_of", "isr_of", "hw_of", "leo_of", "leader_epoch_of", "segments_of")
OF_ALL = ("controller", "controller_epoch")
OF_OWN = ("hw_of", "leo_of", "segments_of", "believed_by", "queued_at")
"""What is asked of brokers, and not of the tree: those of neighbours are not looked into."""
_SUBJECTS: dict[str, Callable[[World, str], Any]] = {
    "leader_of": _leader, "isr_of": _isr, "hw_of": _hw, "leo_of": _leo, "leader_epoch_of": _leader_epoch,
    "controller": _controller, "controller_epoch": _controller_epoch, "registered": _registered, "acked_by": _acked,
    "failed_by": _failed, "read_by": _read, STATE: _state, **LOOKS,
}  # fmt: skip
SUBJECTS = tuple(_SUBJECTS)


def value_of(world: World, subject: str, target: str) -> Any:
    """A subject's value now; None when there is no such thing."""
    return _SUBJECTS[subject](world, target)
