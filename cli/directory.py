"""The directory of a lab, looked at before anything starts."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from broker_core.kernel.problems import problem
from cli.errors import CommandError

LOCK = "lock"


def claimable(directory: Path) -> None:
    """Make the directory; CommandError when it cannot be written or a lab runs in it already."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with open(directory / LOCK, "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CommandError(problem("runs_already", path=str(directory))) from None
    except FileExistsError:
        raise CommandError(problem("is_a_file", path=str(directory))) from None
    except OSError as error:
        raise CommandError(problem("cannot_write", path=str(directory), why=os.strerror(error.errno or 0))) from None
