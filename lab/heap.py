"""How a process that executes worlds treats its heap.

A world makes and drops hundreds of small objects for each record and hardly ever a cycle, so Python's
search for cycles finds nothing and costs a tenth of the time: it is made after 50,000 new objects instead
of 700, and no longer looks at what is there already (modules, classes, a cluster that has started).

What is in memory of the logs' ends comes and goes, and answers of all sizes come and go beside it. Python
and the allocator of the C library have each a heap of their own, and would keep the room of both for ever.

A broker that has died is one large cycle. Python would find it after a quarter of an hour of a busy lab: whoever gives
memory back looks for it before. That takes the longer the more partitions there are, so only after such a death.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

NEW_OBJECTS = 50_000
_settled = False


def settle() -> None:
    """What has been loaded and built by now stays until the process ends. The second time there is what has ended
    since the first: a cluster is full of cycles, and frozen it would stay, too. (`gc.get_freeze_count` would tell which
    time it is by counting all that is frozen.)"""
    global _settled
    if _settled:
        gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, 20, 20)
    _settled = True


def trim(cycles: bool = False) -> None:
    """What nobody uses of the C library's heap goes back to the machine, where that library can (malloc_trim(3)); with
    `cycles` also what nobody but itself knows, of all that came after `settle`."""
    if cycles:
        gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return


@contextmanager
def unsearched() -> Iterator[None]:
    """Inside nobody searches for cycles: for work that makes a million objects, and drops or keeps them together."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


@cache
def settle_executor() -> None:
    """The same, once, in a Python process of Spark's, when its first task has loaded what all of them need: it searches
    the whole heap for cycles after each task, which takes longer than to decode 64 MB where numba is loaded."""
    settle()
