"""The directory of a lab, looked at before anything starts."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from cli.errors import CommandError

LOCK = "lock"


def claimable(directory: Path) -> None:
    """Make the directory; CommandError when it cannot be written or a lab runs in it already."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with open(directory / LOCK, "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CommandError(f"another Brokerlab runs in {directory}; stop it or choose another with --data") from None
    except FileExistsError:
        raise CommandError(f"{directory} is a file; --data names a directory") from None
    except OSError as error:
        raise CommandError(f"cannot write to {directory}: {os.strerror(error.errno or 0)}") from None
