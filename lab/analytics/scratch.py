"""Where the simulated runs of a sweep keep their files while they work: one directory that the driver removes.

Tasks that are cancelled are killed, and cannot clean up behind themselves. A driver that is killed cannot either:
each one holds a lock in its directory, and the next one removes the directories whose lock nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "brokerlab-sweep-"
LOCK = "driver.lock"


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory until the block ends. End it behind the session: its tasks write there."""
    _collect(Path(tempfile.gettempdir()))
    home = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(home / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
        os.close(lock)


def _collect(parent: Path) -> None:
    """Remove what killed drivers have left."""
    for left in parent.glob(f"{PREFIX}*/{LOCK}"):
        try:
            lock = os.open(left, os.O_RDWR)
        except OSError:
            continue  # another user's, or gone by now
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its driver lives
        else:
            shutil.rmtree(left.parent, ignore_errors=True)
        finally:
            os.close(lock)
