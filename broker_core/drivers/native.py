"""The core as C, where somebody has installed the wheel `brokerlab-compiled` (made by `python -m compiled`).

| BROKERLAB_COMPILED | the wheel                                                      |
|--------------------|----------------------------------------------------------------|
| 0                  | is left alone                                                  |
| not set            | is used if it was made of just these sources                   |
| 1                  | must be there and of these sources, or nothing can be imported |

A compiled module is found in front of the `.py` beside it, by name. Whoever imports it sees hardly a difference: its
classes have no `__dict__`, and what it calls of its own cannot be replaced from outside.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

WHEEL = "brokerlab_compiled"
SWITCH = "BROKERLAB_COMPILED"
_HOME = Path(__file__).resolve().parent.parent.parent


def digest(names: Iterable[str], home: Path = _HOME) -> str:
    """Of the sources of these modules (`broker_core/kernel/world.py`)."""
    found = hashlib.blake2b(digest_size=16)
    for name in names:
        found.update(name.encode() + b"\0" + (home / name).read_bytes() + b"\0")
    return found.hexdigest()


def install() -> bool:
    """Have the compiled modules imported from now on; whether there are any that fit."""
    wanted = os.environ.get(SWITCH, "")
    if wanted == "0":
        return False
    try:
        wheel = importlib.import_module(WHEEL)
        fits: bool = digest(wheel.SOURCES) == wheel.DIGEST
    except (ImportError, OSError):  # not installed; no sources, or in an archive, as a worker of Spark's has them
        fits = False
    if fits:
        sys.meta_path.insert(0, _Finder(Path(wheel.__path__[0]), wheel.LIBRARIES))
    elif wanted == "1":
        raise ImportError(f"{WHEEL} is not installed, or was made of other sources (python -m compiled)")
    return fits


class _Finder(MetaPathFinder):
    def __init__(self, home: Path, names: Iterable[str]) -> None:
        self.libraries = {name: home / (name.replace(".", "/") + EXTENSION_SUFFIXES[0]) for name in names}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        library = self.libraries.get(fullname)
        if library is None:
            return None
        return spec_from_file_location(fullname, library)
