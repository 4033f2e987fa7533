"""A text builder for Python functions that are made at run time: lines, indentation, and the names they use.

What differs between the versions of a message is known when the program starts; a function with that
knowledge written out as straight-line code is an order of magnitude quicker than one that follows a schema.
The text comes from schemas alone, which are part of the program.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from broker_core.wire.schema import FORMATS

LETTERS = FORMATS | {"bool": "?", "uuid": "16s"}  # types of a fixed size


class Source:
    """Lines of one function, and the objects (packers, classes, defaults) that they refer to by name."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = dict(scope)
        self._lines: list[str] = []
        self._indent = 0
        self._names = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    def open(self, text: str) -> None:
        """A line that starts a block."""
        self.line(text)
        self._indent += 1

    def close(self, blocks: int = 1) -> None:
        self._indent -= blocks

    def name(self, prefix: str) -> str:
        """A name that this function does not use yet."""
        self._names += 1
        return f"{prefix}{self._names}"

    def constant(self, prefix: str, value: Any) -> str:
        """The name under which the function finds `value`."""
        name = self.name(prefix)
        self.scope[name] = value
        return name

    def packing(self, letters: str, method: str) -> str:
        """The name of `pack` or `unpack_from` for a run of big-endian values."""
        name = f"{method}_{letters.replace('16s', 'U').replace('?', 'B_')}"
        self.scope[name] = getattr(struct.Struct(">" + letters), method)
        return name

    def function(self, name: str, place: str) -> Callable[..., Any]:
        code = compile(self.text() + "\n", f"<{place}>", "exec")
        exec(code, self.scope)  # made from schemas only, never from anything received
        made: Callable[..., Any] = self.scope[name]
        return made

    def text(self) -> str:
        return "\n".join(self._lines)
