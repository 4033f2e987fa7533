"""Cleaned segments take the place of the ones they were made of, so that a crash at any moment leaves one or the other.

| step | a crash behind it leaves | the next start |
|---|---|---|
| 1 written as `.cleaned`, flushed | `.cleaned` beside the old segments | deletes `.cleaned` |
| half of step 2 | `.swap` and `.cleaned` beside the old segments | deletes both (a `.txnindex` may be missing) |
| 2 renamed to `.swap` | `.swap` beside the old segments | goes on: deletes the old ones, steps 3 and 4 |
| 3 old ones renamed to `.deleted` | `.swap`, some old ones perhaps | as after step 2 |
| 4 `.swap` renamed to its final name | the new segment | deletes `.deleted` |

An index that is lost on the way is rebuilt.
(Kafka: `LocalLog.replaceSegments`, `LogLoader.removeTempFilesAndCollectSwapFiles`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_core.kernel.storage import Storage
from broker_core.log.retention import mark_deleted
from broker_core.log.scan import headers_from
from broker_core.log.segment import CLEANED, INDEX, LOG, SWAP, TIME_INDEX, TRANSACTION_INDEX, LogSegment

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog

_FILES = (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX)


def replace_segments(log: PartitionLog, old: Sequence[LogSegment], new: LogSegment, now_ms: int) -> None:
    """Steps 2 to 4. Raises StorageError; the next start then does the rest."""
    new.change_suffix(SWAP)
    for segment in old:
        mark_deleted(log, segment, now_ms, keep_snapshot=segment.base_offset == new.base_offset)
    log.insert_segment(new)
    new.change_suffix("")


def finish_swaps(storage: Storage, directory: str) -> None:
    """At a start: what was `.cleaned` is deleted, what was `.swap` becomes the log."""
    names = storage.list(directory)
    if not any(name.endswith((CLEANED, SWAP)) for name in names):
        return
    unfinished = {int(name[:20]): True for name in names if name.endswith(CLEANED) and name[:20].isdigit()}
    for name in names:
        if name.endswith(CLEANED) or (name.endswith(SWAP) and name[:20].isdigit() and int(name[:20]) in unfinished):
            storage.delete(f"{directory}/{name}")
    names = storage.list(directory)
    for name in names:
        if name.endswith(LOG + SWAP) and name[:20].isdigit():
            _finish(storage, directory, int(name[:20]), names)
    for name in storage.list(directory):
        if name.endswith(SWAP):  # an index whose log has its final name already, or that has none
            path = f"{directory}/{name}"
            final = path.removesuffix(SWAP)
            if storage.exists(f"{directory}/{name[:20]}{LOG}") and not storage.exists(final):
                storage.rename(path, final)
            else:
                storage.delete(path)


def _finish(storage: Storage, directory: str, base: int, names: list[str]) -> None:
    swapped = storage.open(f"{directory}/{base:020d}{LOG}{SWAP}")
    end = base + 1
    for _, header in headers_from(swapped, 0, swapped.size):
        end = header.next_offset
    for name in names:
        if name[:20].isdigit() and name[20:] in _FILES and base <= int(name[:20]) < end:
            storage.delete(f"{directory}/{name}")
    for kind in _FILES:
        path = f"{directory}/{base:020d}{kind}"
        if storage.exists(path + SWAP):
            storage.rename(path + SWAP, path)
