"""`python -m cli COMMAND`: what the start script runs."""

from __future__ import annotations

import gc
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # until a command begins: Ctrl-C ends it without a word
gc.disable()  # until a command has loaded what it needs: nothing that is loaded goes away again

from cli.parser import main  # noqa: E402


def run() -> int:
    """What the command `brokerlab` of an installed package runs."""
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
