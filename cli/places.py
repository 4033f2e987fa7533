"""Where the tests and the benchmarks are: in a checkout only."""

from __future__ import annotations

from broker_core.kernel.problems import problem
from cli.errors import CommandError
from lab.places import INSTALLED, ROOT

CHECKOUT = ROOT


def needs_checkout(command: str) -> None:
    """CommandError for what an installed program does not have."""
    if INSTALLED:
        raise CommandError(problem("needs_checkout", name=command), 2)
