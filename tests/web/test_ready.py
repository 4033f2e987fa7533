"""The process that has loaded what work needs: workers come from it, and none outlives whoever asked for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.conftest import PATIENCE_S

from lab.scenarios import grammar
from lab.snapshots.keeper import KEY
from web.api import ready, work


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[ready.Ready]:
    found = ready.Ready()
    monkeypatch.setattr(work, "ready", found)
    yield found
    found._end()


def lesson(name: str, out: Path) -> dict[str, Any]:
    return {"do": "scenario", "name": name, "document": grammar.load(name).document, "out": str(out), "key": KEY.hex()}


def workers_of(process: int) -> list[psutil.Process]:
    return [one for one in psutil.Process(process).children() if one.status() != psutil.STATUS_ZOMBIE]


async def left_of(process: int) -> list[psutil.Process]:
    """Whoever of them does not go; a worker's files are closed first, and with the last of them it goes."""
    deadline = time.monotonic() + PATIENCE_S
    while (left := workers_of(process)) and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    return left


def test_workers_come_from_one_process_and_one_that_has_died_is_made_anew(own: ready.Ready, tmp_path: Path) -> None:
    async def both(run: str) -> list[Any]:
        asked = (work.in_process(lesson("commit-order", tmp_path / run / name)) for name in ("0001", "0002"))
        return await asyncio.gather(*asked, work.in_process({"do": "verify", "path": "/nowhere"}), return_exceptions=True)

    one, other, failed = asyncio.run(both("first"))
    assert one["passed"] and other["receipt"] == one["receipt"] and isinstance(failed, work.WorkFailed)
    assert own._process is not None and asyncio.run(left_of(own._process.pid)) == []
    before = own._process
    before.kill()
    before.wait()
    assert asyncio.run(both("second"))[0]["receipt"] == one["receipt"]
    assert own._process is not None and own._process.pid != before.pid


def test_a_worker_that_nobody_waits_for_any_more_ends(own: ready.Ready, tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def given_up() -> list[psutil.Process]:
        doing = asyncio.ensure_future(work.in_process(lesson("rolling-move", tmp_path / "0001"), lambda said: begun.set()))
        await begun.wait()
        assert own._process is not None and len(workers_of(own._process.pid)) == 1
        doing.cancel()
        await asyncio.wait([doing])
        return await left_of(own._process.pid)

    assert asyncio.run(given_up()) == []


def test_a_worker_whose_orders_are_closed_already_is_left_without_a_complaint(own: ready.Ready) -> None:
    """As when it ends in the very pass of the loop in which whoever asked goes away."""
    complaints: list[Any] = []

    async def left() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with own.worker() as begun:
            begun.orders.close()
        await asyncio.sleep(0)

    asyncio.run(left())
    assert complaints == []
