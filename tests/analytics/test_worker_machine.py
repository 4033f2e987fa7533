"""What a worker does when its virtual machine stops answering: the moments that a kill from outside seldom meets."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from py4j.protocol import Py4JError

from lab.analytics import session, worker


class Ended(BaseException):
    """What stands for the end of the process."""


def unanswered(request: Mapping[str, Any]) -> None:
    """py4j tells a question that was under way like this, whatever broke the connection."""
    raise Py4JError(f"An error occurred while calling {request['id']}")


def refused(*_: object) -> None:
    raise ConnectionRefusedError(111, "Connection refused")


@pytest.fixture
def at_work(monkeypatch: pytest.MonkeyPatch) -> worker.Worker:
    """A worker with a session that has broken."""
    monkeypatch.setattr(session, "tag", lambda *_: None)
    monkeypatch.setattr(session, "untag", refused)
    found = worker.Worker(io.BytesIO(), io.BytesIO())
    found.spark = object()
    found._jobs["replay"] = unanswered
    return found


def told(at_work: worker.Worker) -> list[str]:
    assert isinstance(at_work.sink, io.BytesIO)
    return [orjson.loads(line)["event"] for line in at_work.sink.getvalue().splitlines()]


def test_one_that_is_seen_dead_only_after_its_connection_is_not_a_job_that_failed(
    at_work: worker.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([False, False, True])

    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(worker, "_machine_is_gone", lambda: next(looks, True))
    monkeypatch.setattr("os._exit", end)
    with pytest.raises(Ended, match=str(worker.MACHINE_GONE)):
        at_work._do({"do": "replay", "id": 1})
    assert told(at_work) == ["started"]


def test_one_that_lives_on_but_cannot_be_asked_leaves_a_worker_that_goes_on(
    at_work: worker.Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "GONE_S", 0.1)
    monkeypatch.setattr(worker, "_machine_is_gone", lambda: False)
    for number in (1, 2):
        at_work._do({"do": "replay", "id": number})
    assert told(at_work) == ["started", "failed"] * 2
