"""Processes that answer somebody who waits: as many at once as jobs have places, in places of their own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from web.api import work
from web.api.problems import Problem
from web.api.worker import NICENESS, niceness_of


def test_whoever_waits_for_an_answer_does_not_wait_for_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def quick(request: dict[str, Any]) -> str:
        return "done"

    async def behind_jobs() -> Any:
        found = work.Jobs()
        await found.result({"do": "receipt"}, 60.0)
        assert found._places is not None
        for _ in range(work.AT_ONCE):
            await found._places.acquire()
        return await found.result({"do": "receipt"}, 5.0)

    monkeypatch.setattr(work, "in_process", quick)
    monkeypatch.setattr(work.settings, "HOSTS_LAB", False)
    assert asyncio.run(behind_jobs()) == "done"


def test_never_more_processes_than_places_and_whoever_is_one_too_many_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    under_way, most = 0, 0

    async def slow(request: dict[str, Any]) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(5):
            await asyncio.sleep(0)
        under_way -= 1
        return "done"

    async def many() -> list[Any]:
        found = work.Jobs()
        asking = (found.result({"do": "receipt"}, 60.0) for _ in range(work.WAITING + 3))
        return await asyncio.gather(*asking, return_exceptions=True)

    monkeypatch.setattr(work, "in_process", slow)
    monkeypatch.setattr(work.settings, "HOSTS_LAB", False)
    said = asyncio.run(many())
    assert most == work.AT_ONCE and said.count("done") == work.WAITING
    assert [one.status for one in said if isinstance(one, Problem)] == [429] * 3


def test_labs_go_before_a_job_but_not_before_one_that_has_waited_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(request: dict[str, Any], tell: Any) -> int:
        await asyncio.sleep(0.2)
        return niceness_of(request)

    async def begun() -> None:
        """Its place is free."""

    async def three() -> list[int]:
        found = work.Jobs()
        asking = (found.in_turn({"do": "hand-in"}, begun, print) for _ in range(work.AT_ONCE + 1))
        return await asyncio.gather(*asking)

    monkeypatch.setattr(work, "in_process", slow)
    monkeypatch.setattr(work, "PATIENT_S", 0.1)
    monkeypatch.setattr(work.settings, "HOSTS_LAB", False)
    assert asyncio.run(three()) == [NICENESS] * work.AT_ONCE + [0]
    assert niceness_of({"do": "scenario", "live": True}) == 0
