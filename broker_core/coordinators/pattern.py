"""Regular expressions of clients, in time that grows with the text and never explodes.

A member of a group may subscribe a pattern instead of names, and whoever lists transactions may ask for those whose
ids match one (KIP-848, KIP-1152): the whole text must match. The pattern comes from outside, so it must not be able to
stop the broker: Python's `re` tries one way after the other, and `(a+)+b` has 2^n ways through n times "a". RE2 goes
all ways at the same time; Kafka has its Java port (RE2/J), this is Google's own. What is no pattern is refused in the
words of the port: what a client sees is Kafka's answer.
Source: RE2's syntax page; com.google.re2j.Parser for the words.
"""

from __future__ import annotations

import re2

MAX_BYTES = 1 << 20
"""Of memory for one compiled pattern."""
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = MAX_BYTES
_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "regexp/syntax: internal error",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""What RE2 says -> what its Java port says; what is not here both say in the same words."""


class InvalidPattern(ValueError):
    """Not a pattern; the text says why."""


class Pattern:
    """A compiled pattern."""

    def __init__(self, text: str) -> None:
        """Raises InvalidPattern."""
        try:
            self._compiled = re2.compile(text, _OPTIONS)
        except re2.error as error:
            said = error.args[0].decode(errors="replace").partition(": ")[0]
            raise InvalidPattern(_WORDS.get(said, said)) from None

    def matches(self, text: str) -> bool:
        """Whether the whole text is one of those that are meant."""
        return self._compiled.fullmatch(text) is not None
