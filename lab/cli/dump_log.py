"""`dump-log`: what stands in the files of a partition directory."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from lab.cli.errors import CommandError


def dump_log(arguments: argparse.Namespace) -> int:
    """Exit code 0 when every file could be read and nothing in it was damaged."""
    for name in arguments.files:
        if not Path(name).is_file():
            raise CommandError(f"{name}: no such file", 2)
    code: int = importlib.import_module("broker_core.log.dump").dump_files(
        arguments.files, deep=arguments.deep, as_json=arguments.json)
    return code
