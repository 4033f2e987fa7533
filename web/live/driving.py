"""Steps of a scenario in a branch that goes on with the wall clock: what a fork's other course is made of.

A step comes when its time has come or its condition holds. The branch's clock decides, so a paused branch
waits, and one at a tenth of the speed takes ten times as long. The commands are recorded as any others.
"""

from __future__ import annotations

import asyncio
from typing import Any

from lab.branch import Branch, BranchError
from lab.scenarios.steps import Step

LOOK_SECONDS = 0.02
_running: dict[asyncio.Task[None], None] = {}


def drive(branch: Branch, steps: list[Step], began_us: int) -> None:
    """Carry the steps out one after another while the branch is open."""
    task = asyncio.create_task(_drive(branch, steps, began_us))
    _running[task] = None
    task.add_done_callback(lambda done: _running.pop(done, None))


async def _drive(branch: Branch, steps: list[Step], began_us: int) -> None:
    try:
        for step in steps:
            if not await _come(branch, step, began_us):
                return
            if step.command:
                await asyncio.wrap_future(branch.submit(step.command))
    except BranchError:
        return


async def _come(branch: Branch, step: Step, began_us: int) -> bool:
    """Wait for a step; False when its condition did not come true in time, or the branch has ended."""
    start = branch.world.now_us
    if step.when is None:
        due = began_us + step.at_us if step.at_us is not None else start + (step.after_us or 0)
        while not branch.ended and branch.world.now_us < due:
            await asyncio.sleep(LOOK_SECONDS)
        return not branch.ended
    before: Any = await asyncio.wrap_future(branch.ask(step.when.value, branch.world))
    while not branch.ended and branch.world.now_us <= start + step.within_us:
        if await asyncio.wrap_future(branch.ask(step.when.holds, branch.world, before)):
            return True
        await asyncio.sleep(LOOK_SECONDS)
    return False
