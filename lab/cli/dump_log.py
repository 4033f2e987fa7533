"""`dump-log`: what stands in the files of a partition directory."""

from __future__ import annotations

import argparse
from pathlib import Path

from broker_core.log.dump import dump_files
from lab.cli.errors import CommandError


def dump_log(arguments: argparse.Namespace) -> int:
    """Print each file's lines, as JSON one object a line. Exit code 2 when a file cannot be read."""
    for name in arguments.files:
        if not Path(name).is_file():
            raise CommandError(f"{name}: no such file", 2)
    try:
        for line in dump_files(arguments.files, arguments.deep, arguments.json):
            print(line)
    except PermissionError as error:
        raise CommandError(f"{error.filename}: {error.strerror}", 2) from None
    return 0
