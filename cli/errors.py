"""What goes wrong before or while a command runs, told in one line."""

from __future__ import annotations

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import Problem, problem

INTERRUPTED = 130
"""The exit code of what Ctrl-C has ended: 128 and the number of SIGINT."""


class CommandError(Refusal):
    """Ends a command with one line on standard error, in the viewer's language, and an exit code that is not 0."""

    def __init__(self, what: Problem, code: int = 1) -> None:
        super().__init__(what)
        self.code = code


def of_option(error: Refusal) -> Problem:
    """What is wrong with the value of an option: `--seeds expected ...`."""
    return problem("option_is", name=error.where, what=error.problem) if error.where else error.problem
