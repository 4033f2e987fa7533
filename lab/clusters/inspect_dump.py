"""The dump of a segment of a running broker: the lines of Kafka's DumpLogSegments, a page at a time.

    orders-0@2:00000000000000000000.log         from its first byte
    orders-0@2:00000000000000000000.log:4096    a page that begins with the batch at byte 4096
    orders-0@2:00000000000000000000.index       an index, whole

A page ends behind the batch that fills it; `next` is the byte with which the next one begins, None at the end.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from broker_core.kernel.errors import CommandError, StorageError
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from broker_core.log.dump import batch_lines, dump
from broker_core.log.scan import batches_from
from broker_core.records.errors import RecordsError
from lab.checkers.bytes import NothingThere, find_log

LINES = 200
"""Of a page."""


def dumped(world: World, name: str) -> dict[str, Any]:
    """One page; raises CommandError where there is no such file."""
    where, _, rest = name.rpartition("@")
    broker, _, rest = rest.partition(":")
    file_name, _, begin = rest.partition(":")
    topic, _, number = where.rpartition("-")
    if not topic or not number.isdecimal() or not broker.isdecimal() or not file_name or not (begin or "0").isdecimal():
        raise CommandError(problem("expected_dump_place", given=name), "name")
    try:
        log = find_log(world, topic, int(number), int(broker))
    except NothingThere as error:
        raise CommandError(error.problem, "name") from None
    files = [file for one in log.segments for file in (one.log, one.index.file, one.time_index.file)]
    file = next((one for one in files if one.path.rpartition("/")[2] == file_name), None)
    if file is None:
        raise CommandError(problem("no_segment_file", path=file_name, partition=where, broker=int(broker)), "name")
    facts = {"name": where, "broker": int(broker), "file": file_name, "size": file.size}
    if file_name.endswith(".log"):
        return facts | _page(file, int(begin or 0))
    lines = list(islice(dump(file), LINES + 1))
    return facts | {"begin": 0, "lines": lines[:LINES], "next": None, "cut": len(lines) > LINES}


def _page(file: Any, begin: int) -> dict[str, Any]:
    """Batches from byte `begin` on; of a batch with very many records the first ones."""
    lines: list[str] = []
    place, cut = begin, False
    try:
        for batch in batches_from(file, begin, file.size):
            if len(lines) >= LINES:
                break
            found = list(islice(batch_lines(batch), LINES + 1))
            lines += found[:LINES]
            cut = cut or len(found) > LINES
            place = batch.position + batch.header.size
    except (RecordsError, StorageError) as error:
        return {"begin": begin, "lines": [*lines, f"{file.path} byte {place}: {error}"], "next": None, "cut": cut}
    return {"begin": begin, "lines": lines, "next": place if place < file.size else None, "cut": cut}
