"""Bullets under the word Invariants in a docstring are sentences that must hold. Each one is looked at in worlds that run
(`tests/claims/looks_*.py`), or names the test that asserts it (`tests/claims/elsewhere.py`).

A look is registered under the type and the sentence itself, so neither changes without the other:

    @holds(Partition, "log start <= high watermark <= log end")
    def _(partition, memory): return partition.log.log_start_offset <= ...

`memory` is a dict of that one object, for what never goes back. Other bullets of a class explain a name: `name`: what it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from tests.house.sources import name, product, tree

Look = Callable[[Any, dict[str, Any]], bool]
LOOKS: dict[type, list[tuple[str, str, Look]]] = {}
"""By the type of the objects that are looked at: (whose docstring, the sentence, the look)."""
_BULLET = re.compile(r"\s*[*-] (.*)")
_NAMED = re.compile(r"`[^`]+`|\w+(, \w+)*:")


def place_of(kind: type) -> str:
    """As `place` of `bullets` has it: module:Class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def holds(kind: type, sentence: str, where: str = "") -> Callable[[Look], Look]:
    """The look asserts this bullet of the type's docstring; `where`: it stands in that of another class or of a module."""

    def register(look: Look) -> Look:
        LOOKS.setdefault(kind, []).append((where or place_of(kind), sentence, look))
        return look

    return register


def bullets() -> dict[str, list[str]]:
    """Every sentence under the word Invariants, by where it stands."""
    found: dict[str, list[str]] = {}
    for place, text in _docstrings():
        if sentences := _below_heading(text):
            found[place] = sentences
    return found


def unnamed() -> list[str]:
    """Bullets of classes that neither stand under the word nor explain a name."""
    found = []
    for place, text in _docstrings():
        above = re.split(r"^ *Invariants$", text, maxsplit=1, flags=re.MULTILINE)[0]
        lines = [match[1] for line in above.split("\n") if (match := _BULLET.match(line))]
        found += [f"{place}: {line}" for line in lines if ":" in place and not _NAMED.match(line)]
    return found


@cache
def _docstrings() -> list[tuple[str, str]]:
    """Of each module and each of its classes: where it stands, the text."""
    found = []
    for path in product():
        module = name(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        classes = [node for node in tree(path).body if isinstance(node, ast.ClassDef)]
        found += [(module, ast.get_docstring(tree(path))), *((f"{module}:{one.name}", ast.get_docstring(one)) for one in classes)]
    return [(place, text) for place, text in found if text]


def _below_heading(text: str) -> list[str]:
    _, _, below = ("\n" + text).partition("\nInvariants\n")
    found: list[str] = []
    for line in below.split("\n"):
        if match := _BULLET.match(line):
            found.append(match[1].strip())
        elif not line.strip() or not line.startswith(" "):
            break
        elif found:
            found[-1] += " " + line.strip()
    return found
