"""What no honest member, leader or operator says."""

from __future__ import annotations

import uuid
from typing import Any

from broker_core.broker.handlers.sharing import _malformed
from broker_core.broker.share_partitions import MOST_IN_FLIGHT, _possible
from broker_core.coordinators.lanes import Lanes
from broker_core.sharing.batches import ACQUIRED, AVAILABLE, StateBatch
from broker_core.sharing.sessions import FINAL, INITIAL, ShareSessions
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode as E


def said(*batches: tuple[int, int, list[int]]) -> list[Any]:
    kind = m.ShareAcknowledgeRequest.AcknowledgementBatch
    return [kind(first_offset=first, last_offset=last, acknowledge_types=types) for first, last, types in batches]


def test_acknowledgements_are_refused_as_kafka_does() -> None:
    for well in (said((0, 1 << 62, [1])), said((0, 5, [1]), (5, 7, [1])), said((-1, 3, [2])), said((4, 5, [0, 3]))):
        assert not _malformed(well, False, 2)
    for ill in (
        said((3, 5, [1]), (4, 7, [1])), said((5, 3, [1])), said((-2, 3, [1])), said((0, 0, [])), said((0, 1 << 62, [1, 1])),
        said((0, 0, [-1])), said((0, 0, [5])), said((0, 0, [4])),
    ):  # fmt: skip
        assert _malformed(ill, False, 2)
    assert not _malformed(said((0, 0, [4])), True, 2)
    assert _malformed(said((0, 0, [4])), True, 1)


def test_a_session_ends_whatever_else_the_fetch_names() -> None:
    sessions, name, place = ShareSessions(1), ("g", "m"), (uuid.UUID(int=1), 0)
    assert sessions.resume(name, FINAL, 1, [place], [], False) is E.SHARE_SESSION_NOT_FOUND
    assert sessions.resume(name, INITIAL, 1, [place], [], False) is E.NONE
    assert sessions.resume(name, FINAL, 1, [place], [], False) is E.NONE


def test_states_that_no_leader_wrote_are_not_believed() -> None:
    assert _possible(StateBatch(10, 20, AVAILABLE, 3), 10)
    for one in (
        StateBatch(9, 20, AVAILABLE, 1), StateBatch(20, 10, AVAILABLE, 1), StateBatch(10, 1 << 62, AVAILABLE, 1),
        StateBatch(10, 10 + MOST_IN_FLIGHT, AVAILABLE, 1), StateBatch(10, 10, ACQUIRED, 1), StateBatch(10, 10, 77, 1),
        StateBatch(10, 10, AVAILABLE, -1), StateBatch(10, 10, AVAILABLE, 0x7FFF),
    ):  # fmt: skip
        assert not _possible(one, 10)


class Runtime:
    """A log that answers the first append when it is told to, and all others at once."""

    def __init__(self) -> None:
        self.first: Any = None

    def append(self, key: str, lines: Any, done: Any, context: Any) -> None:
        if self.first is None:
            self.first = done, context
        else:
            done(context, E.NOT_ENOUGH_REPLICAS)


class Written:
    def __init__(self, number: int) -> None:
        self.number = number

    def lines(self) -> list[Any]:
        return [(b"key", None)]


def test_ten_thousand_steps_wait_for_one_write() -> None:
    runtime: Any = Runtime()
    ended: list[int] = []
    lanes = Lanes(lambda outcome, code, in_the_log: ended.append(outcome.number))
    for number in range(10_000):
        lanes.run(runtime, "g", Written, number)
    done, context = runtime.first
    done(context, E.NONE)
    assert ended == list(range(10_000))
    assert not lanes.lanes


def test_a_step_that_comes_of_an_answer_waits_behind_those_who_wait() -> None:
    runtime: Any = Runtime()
    ended: list[int] = []

    def finish(outcome: Written, code: int, in_the_log: bool) -> None:
        ended.append(outcome.number)
        if outcome.number == 0:
            lanes.run(runtime, "g", Written, 9)

    lanes = Lanes(finish)
    for number in range(3):
        lanes.run(runtime, "g", Written, number)
    done, context = runtime.first
    done(context, E.NONE)
    assert ended == [0, 1, 2, 9]
