"""Runs as files: packed for the way, and taken in from elsewhere.

A pack comes as the body itself (`application/gzip`), so a form of another site cannot send one. It is larger than
other bodies may be: the guard counts what comes, Django keeps it in a file, and it is opened a piece at a time.
The operations stand beside those of `runs`, whose address one of them shares.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from broker_core.kernel.problems import problem
from lab.experiments.directory import RUN, DirectoryError
from lab.experiments.packing import ENDING, Pack, PackError, unpack
from web.api import answers_runs, schemas
from web.api.asking import answer, flushed, run_directory, runs_directory
from web.api.problems import Problem
from web.api.runs import router
from web.api.work import claim_run

GZIP = "application/gzip"
LARGEST = 2 * 1024 * 1024 * 1024
"""Bytes of a pack when it is opened."""
GATHERED = 256 * 1024
Problems = schemas.Problem
BODY = {"requestBody": {"required": True, "content": {GZIP: {"schema": {"type": "string", "format": "binary"}}}}}


@router.get(
    "/runs/{run}/pack", response={200: schemas.Thing, **dict.fromkeys((404, 409, 501, 503, 504), Problems)},
    summary="A run that has ended as one file, with a hash over everything",
)
async def pack(request: HttpRequest, run: str) -> StreamingHttpResponse:
    """A tar archive, compressed with gzip; its first file, `manifest.json`, has the SHA-256 of each other one and of
    all (`sha256`, the ETag, too). `POST runs` and `./brokerlab unpack` open it, `./brokerlab verify` vouches for it."""
    path = run_directory(run)
    if await flushed(run):
        raise Problem(409, problem("run_goes_on", run=run), "run")
    found = await asyncio.to_thread(Pack.of, path)
    response = StreamingHttpResponse(_pieces(found), content_type=GZIP)
    response["Content-Disposition"] = f'attachment; filename="brokerlab-{run}{ENDING}"'
    response["ETag"] = f'"{found.manifest["sha256"]}"'
    response["X-Accel-Buffering"] = "no"
    return response


async def _pieces(found: Pack) -> AsyncIterator[bytes]:
    """Each made in a worker thread."""
    pieces = found.pieces()

    def gathered() -> bytes:
        content = bytearray()
        for piece in pieces:
            content += piece
            if len(content) >= GATHERED:
                break
        return bytes(content)

    while content := await asyncio.to_thread(gathered):
        yield content


@router.post(
    "/runs", response={201: answers_runs.Unpacked, **dict.fromkeys((403, 409, 413, 415, 422, 429, 501, 503), Problems)},
    summary="Take in a run that was packed elsewhere", openapi_extra=BODY,
)
async def take_in(request: HttpRequest) -> HttpResponse:
    """The body is the file of `GET runs/RUN/pack` or `./brokerlab pack`. It becomes a run of this lab under the next
    number, if all of it is as it was packed; `packed_as` is what it was called. 422 says what does not fit."""
    home = runs_directory()
    path = await asyncio.to_thread(claim_run, home)
    try:
        manifest = await asyncio.to_thread(unpack, request, path, LARGEST)
    except (PackError, DirectoryError) as error:
        raise Problem(422 if isinstance(error, PackError) else 409, error.problem, "body") from None
    finally:
        await asyncio.to_thread(_only_runs, path)
    response = answer({"run": path.name, "packed_as": manifest["run"], "sha256": manifest["sha256"]}, 201)
    response["Location"] = f"{request.META.get('SCRIPT_NAME', '')}/api/runs/{path.name}"
    return response


def _only_runs(path: Path) -> None:
    """What broke off leaves nothing."""
    if not (path / RUN).is_file():
        shutil.rmtree(path, ignore_errors=True)
