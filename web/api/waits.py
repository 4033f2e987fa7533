"""Waiting over REST until something is so in an open run: the conditions of scenarios, outside them (`lab.waiting`)."""

from __future__ import annotations

from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from lab.scenarios.conditions import condition
from lab.scenarios.times import duration_us
from lab.waiting import TooManyWaits, Wanted
from web.api import schemas
from web.api.answers_bytes import Closed
from web.api.asking import PATIENCE_S, answer, asked, hosted_run, lab_named
from web.api.problems import Problem

router = Router(tags=["labs"])
MOST_S = 30.0
Wait = Annotated[float, Field(ge=0, le=MOST_S)]
Problems = schemas.Problem


class Waited(Closed):
    """How a wait has ended: whether it is so (`met`), what the value is now and what it was when the wait began, or was
    given as; null: there is no such thing. `gave_up`: which time was over, of the cluster (within) or of the wall clock
    (wait), or that the run has ended; `waited_us`: how much of the cluster's time has passed."""

    met: bool
    value: int | str | None
    before: int | str | None
    seq: int
    t_us: int
    waited_us: int
    gave_up: Literal["within", "wait", "ended"] | None


@router.post(
    "/labs/{lab}/waits",
    response={200: Waited,
              **dict.fromkeys((400, 403, 404, 409, 413, 415, 422, 429, 501, 503, 504), Problems)},
    summary="Wait until something is so",
)
async def wait_for(
    request: HttpRequest, lab: str, wanted: schemas.WaitFor, wait: Wait = MOST_S, run: str | None = None
) -> HttpResponse:  # fmt: skip
    """The answer comes when the condition holds: at once when it does already. `when` is a condition as a step of a
    scenario has it, looked at behind each pass of the clock. `within`: so much of the cluster's time at most, which
    stands while the clock does; `wait`: so many seconds of the wall clock at most. When they are over `met` is false
    and `gave_up` says which. `changed` means another value than `before`, or than that of now. `pause` stops the clock
    at the moment at which it holds."""
    branch = hosted_run(await lab_named(lab), run)
    given = Wanted(
        condition(wanted.when, ("when",)), duration_us(wanted.within, ("within",)), wait, wanted.before, wanted.pause
    )
    try:
        return answer(await asked(branch.wait(given), wait + PATIENCE_S))
    except TooManyWaits as error:
        raise Problem(429, error.problem) from None
