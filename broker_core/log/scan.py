"""Walking over batch headers in a `.log` file without reading the records.

Headers are read through a window of 4 KiB, so small batches cost one read for many; a large
batch is jumped over.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import File
from broker_core.records.errors import CorruptRecordError
from broker_core.records.header import HEADER_SIZE, LOG_OVERHEAD, SMALLEST_SIZE, Batch, BatchHeader, read_header

WINDOW = 4096
_LENGTH = Struct(">i")


def headers_from(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each whole batch between `position` and `end`.

    Stops in front of a batch that is not wholly there; raises CorruptRecordError at nonsense.
    """
    window, start = file.read(position, min(WINDOW, end - position)), position
    while position + SMALLEST_SIZE <= end:
        at = position - start
        if at + HEADER_SIZE > len(window) and start + len(window) < end:
            window, start, at = file.read(position, min(WINDOW, end - position)), position, 0
        try:
            size: int = _LENGTH.unpack_from(window, at + 8)[0] + LOG_OVERHEAD
            if size >= SMALLEST_SIZE and position + size > end:
                return
            header = read_header(window, at)
        except CorruptRecordError as error:
            raise CorruptRecordError(error.what, problem("at_file_byte", path=file.path, position=position)) from None
        yield position, header
        position += size


def batches_from(file: File, position: int, end: int) -> Iterator[Batch]:
    """Each whole batch between `position` and `end`, with its bytes; `Batch.position` is in the file."""
    for at, header in headers_from(file, position, end):
        yield Batch(header, file.read(at, header.size), at)


def find_batch(file: File, offset: int, position: int, end: int) -> tuple[int, BatchHeader] | None:
    """The first batch from `position` on that ends at or behind `offset`."""
    for at, header in headers_from(file, position, end):
        if header.last_offset >= offset:
            return at, header
    return None
