"""`python -m compiled DIRECTORY`: the wheel `brokerlab-compiled` of this checkout."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from broker_core.drivers.native import digest
from compiled.build import build
from compiled.sources import modules
from compiled.wheel import write


def main(arguments: list[str]) -> int:
    """Prints where the wheel is."""
    parser = argparse.ArgumentParser(prog="python -m compiled")
    parser.add_argument("directory", type=Path, help="the wheel and, below build/, all that was made on the way")
    directory = parser.parse_args(arguments).directory.absolute()
    if shutil.which("gcc") is None:
        parser.error("there is no C compiler (gcc)")
    of = digest(modules())
    print(write(directory, build(directory / "build"), of))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
