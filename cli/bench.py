"""`bench`: hands over to the benchmarks, which stand beside the code, not in it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from cli.places import CHECKOUT, needs_checkout


def bench(arguments: argparse.Namespace) -> int:
    """Exit code 0 when everything could be measured."""
    needs_checkout("bench")
    command = [sys.executable, "-P", "-m", "benchmarks"]
    command += [arguments.name] if arguments.name else []
    command += ["--quick"] if arguments.quick else []
    command += ["--json"] if arguments.json else []
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode
