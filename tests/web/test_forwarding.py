"""The gate and the way to the host, without a network: bodies that are too slow or too many, answers that are too large."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from web import guard
from web.guard import Guard
from web.live import forwarding

POST = {"type": "http", "method": "POST", "path": "/api/labs/lab/commands", "query_string": b"", "scheme": "http",
        "client": ("127.0.0.1", 5), "headers": [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/json")]}  # fmt: skip


async def reads_all(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers once it has the whole body."""
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.request":
        await guard.send_answer(send, 200, [], b"")


async def asked(gate: Guard, receive: Any) -> tuple[int, dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await gate(POST, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"] or b"{}")


async def never() -> dict[str, Any]:
    return await asyncio.Event().wait()  # type: ignore[return-value]


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_S", 0.01)
    status, problem = asyncio.run(asked(Guard(reads_all), never))
    assert (status, problem["type"], problem["place"]) == (408, "/api/problems#too-slow", "body")


def test_many_large_bodies_at_once_are_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "LARGEST_TOGETHER", 25)
    gate = Guard(reads_all)

    async def scenario() -> list[int]:
        go = asyncio.Event()

        def body() -> Any:
            pieces = iter([{"type": "http.request", "body": b"x" * 10, "more_body": True},
                           {"type": "http.request", "body": b""}])  # fmt: skip
            first: list[bool] = []

            async def receive() -> dict[str, Any]:
                if first:
                    await go.wait()
                first.append(True)
                return next(pieces)

            return receive

        waiting = [asyncio.create_task(asked(gate, body())) for _ in range(3)]
        await asyncio.sleep(0)
        while gate.held.size < 20:
            await asyncio.sleep(0)
        go.set()
        return sorted([(await one)[0] for one in waiting])

    assert asyncio.run(scenario()) == [200, 200, 429]
    assert gate.held.size == 0


def call(**more: Any) -> dict[str, Any]:
    return {"method": "GET", "path": "/api/commands", "query": "", "headers": [], "body": b"", "may": "act", **more}


def test_a_request_that_was_carried_over_is_answered_as_if_it_had_come_here() -> None:
    found = asyncio.run(forwarding.answered(call(), "http://127.0.0.1:8000/"))
    assert found["status"] == 200 and json.loads(found["body"])["items"][0]["do"]
    none = asyncio.run(forwarding.answered(call(path="/api/nowhere", headers=[["accept-language", "ko"]]), ""))
    assert (none["status"], json.loads(none["body"])["title"]) == (404, "그런 주소가 없습니다")


def test_an_answer_that_does_not_fit_says_whom_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "MOST", 100)
    found = asyncio.run(forwarding.answered(call(), "http://10.0.0.5:8000/"))
    problem = json.loads(found["body"])
    assert (found["status"], problem["type"], problem["host"]) == (501, "/api/problems#ask-the-host", "http://10.0.0.5:8000/")


@pytest.mark.parametrize(("path", "query", "seconds"), [
    ("/api/labs", "", 10.0), ("/api/labs/lab/events", "wait=20", 30.0), ("/api/jobs/1", "wait=x", 10.0),
    ("/api/labs/lab/forks", "wait=5", 15.0), ("/api/runs/0001/verify", "", 130.0),
])  # fmt: skip
def test_the_host_gets_as_long_as_the_request_may_take(path: str, query: str, seconds: float) -> None:
    assert forwarding.patience({"path": path, "query": query}) == seconds
