"""What the page asks of a run beside commands: the past, one message, what runs differ in.

Each operation is a question of the WebSocket (`web.live.asking`) with another coat: the same code answers both.
"""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field

from lab.checkers.flights import NoMessage
from web.api import answers, answers_bytes, schemas
from web.api.asking import branch_of, hosted, lab_named, raw
from web.api.problems import Problem
from web.live import asking
from web.live.hub import chosen

router = Router(tags=["labs"])
Problems = schemas.Problem
Name = Annotated[str, Field(min_length=1, max_length=100)]
Small = Annotated[int, Field(ge=0, le=1 << 31)]


async def _question(lab: str, run: str | None, message: dict[str, Any]) -> HttpResponse:
    found = hosted(await lab_named(lab))
    branch_of(found, run)
    try:
        return raw(await asking.KINDS[message["what"]](chosen(), chosen().of(run), message, _silent))
    except asking.Refused as error:
        raise Problem(422, error.problem, message["what"]) from None
    except NoMessage as error:
        raise Problem(404, error.problem, "message") from None


async def _silent(share: float) -> None:
    """Progress that a single answer cannot tell."""


@router.get(
    "/labs/{lab}/compare",
    response={200: answers.Outlines, **dict.fromkeys((404, 409, 422, 501, 503, 504), Problems)},
    summary="What open runs differ in",
)
async def compare(
    request: HttpRequest, lab: str, runs: Annotated[list[Name], Query(min_length=1, max_length=4)]
) -> HttpResponse:  # fmt: skip
    """`runs=0001&runs=0001-1`: for each its controller and its partitions, with leader, epoch, ISR, end offset, high
    watermark and a hash of the leader's records: two branches agree on it when they hold the same."""
    found = hosted(await lab_named(lab))
    for run in runs:
        branch_of(found, run)
    return await _question(lab, None, {"what": "outline", "names": runs})


@router.get(
    "/labs/{lab}/history",
    response={200: answers.Past, **dict.fromkeys((404, 409, 422, 501, 503, 504), Problems)},
    summary="The past: a state and what followed it",
)
async def history(
    request: HttpRequest, lab: str, seq: schemas.Seq, after: schemas.Seq = 0, run: str | None = None
) -> HttpResponse:
    """`snap`: the state at a keyframe at or before event `seq` (null when `after` lies behind it). `ev`: the events
    up to the next keyframe, about 20,000 at most; `whole` is false when there are more: ask again with `after` =
    `last`."""
    return await _question(lab, run, {"what": "history", "seq": seq, "after": after})


@router.get(
    "/labs/{lab}/story",
    response={200: answers.StoryTold, **dict.fromkeys((404, 409, 422, 501, 503, 504), Problems)},
    summary="What has happened, without the messages",
)
async def story(request: HttpRequest, lab: str, seq: schemas.Seq, run: str | None = None) -> HttpResponse:
    """The newest state transitions of each kind up to event `seq`, from the run's beginning on: what led to a state is
    found behind minutes of heavy load, too."""
    return await _question(lab, run, {"what": "story", "seq": seq})


@router.get(
    "/labs/{lab}/message",
    response={200: answers_bytes.MessageView, **dict.fromkeys((404, 409, 422, 501, 503, 504), Problems)},
    summary="One message between two nodes, as bytes with its fields", by_alias=True,
)
async def message(
    request: HttpRequest, lab: str, seq: schemas.Seq, api: Name, version: Small, correlation: Small,
    source: Annotated[Name, Query(alias="from")], to: Name, answer: bool = False, run: str | None = None,
) -> HttpResponse:  # fmt: skip
    """The parameters are those of its event in the journal (`request_sent`; `answer`: `response_sent`). A message
    that has arrived is found by executing the run again beside the lab."""
    wanted = {"seq": seq, "from": source, "to": to, "api": api, "version": version, "correlation": correlation}
    return await _question(lab, run, {"what": "message", **wanted, "answer": answer})
