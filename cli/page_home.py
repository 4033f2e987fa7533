"""Where the page keeps its files: `web/` in the lab's directory, or elsewhere while that disk is full.

A page that cannot write its own files must not end the brokers of its lab.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from cli.words import Words

ROOM_BYTES = 8 * 1024 * 1024


def page_home(data: Path, words: Words) -> Path:
    """The directory whose `web/` the page uses. On a full disk a copy in the system's temporary directory, told."""
    reason = _no_room(data / "web")
    if reason is None:
        return data
    home = Path(tempfile.mkdtemp(prefix="brokerlab-page-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    if (data / "web").is_dir():
        shutil.copytree(data / "web", home / "web", dirs_exist_ok=True)
    print(words.say("up.page_elsewhere", place=data / "web", why=reason, home=home), file=sys.stderr, flush=True)
    return home


def _no_room(directory: Path) -> str | None:
    probe = directory / "probe"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with open(probe, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, ROOM_BYTES)
    except OSError as error:
        return error.strerror or str(error)
    finally:
        probe.unlink(missing_ok=True)
    return None
