"""Regular expressions of subscriptions, in time that grows with the text and never explodes.

A member may subscribe a pattern instead of names, and the coordinator finds the topics that match it as a whole. The
pattern comes from outside, so it must not be able to stop the broker: Python's `re` tries one way after the other, and
`(a+)+b` has 2^n ways through n times "a". Here, as in RE2, all ways go on at the same time:

    a(b|c)*d      0 -a-> 1    1 -b-> 1    1 -c-> 1    1 -d-> 2 (match)
    "abcd"        {0} -a-> {1} -b-> {1} -c-> {1} -d-> {2}       one set of states per character

| syntax | |
|---|---|
| `x` `.` `[a-z_]` `[^0-9]` `[[:alpha:]]` `\\d` `\\w` `\\s` `\\D` `\\W` `\\S` `\\.` | one character |
| `ab` `a\\|b` `(a)` `(?:a)` | one after the other, either, a group |
| `a*` `a+` `a?` `a{2}` `a{2,}` `a{2,5}` and each with `?` behind it | repeated |
| `^` `$` | begin and end |

What RE2 has beyond that (flags, Unicode classes, `\\b`, `\\Q`) is refused as what it does not have (back references,
looking ahead) is. A pattern has at most MAX_STATES states and is at most MAX_LENGTH characters long.
Source: Thompson, "Regular expression search algorithm" (1968); RE2's syntax and its words for errors.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_LENGTH, MAX_STATES, MAX_DEPTH, MAX_REPEAT, MAX_REMEMBERED = 1000, 400, 100, 1000, 10_000
"""The last: steps that a pattern remembers, so that it need not take them again."""
Ranges = tuple[tuple[str, str], ...]

_DIGIT: Ranges = (("0", "9"),)
_WORD: Ranges = (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z"))
_SPACE: Ranges = (("\t", "\n"), ("\f", "\r"), (" ", " "))
_PERL = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_POSIX: dict[str, Ranges] = {
    "alnum": (("0", "9"), ("A", "Z"), ("a", "z")), "alpha": (("A", "Z"), ("a", "z")), "digit": _DIGIT,
    "lower": (("a", "z"),), "upper": (("A", "Z"),), "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "space": _SPACE, "word": _WORD, "xdigit": (("0", "9"), ("A", "F"), ("a", "f")),
}  # fmt: skip
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_COUNTS = re.compile(r"\{(\d{1,6})(,(\d{0,6}))?\}")
_POSIX_CLASS = re.compile(r"\[:(\^?)([a-z]+):\]")


class InvalidPattern(ValueError):
    """Not a pattern; the text says why, in RE2's words."""


class Chars(NamedTuple):
    """One character in (or, negated, in none of) these ranges."""

    ranges: tuple[Chars | tuple[str, str], ...]
    negated: bool = False

    def has(self, char: str) -> bool:
        found = any(one.has(char) if isinstance(one, Chars) else one[0] <= char <= one[1] for one in self.ranges)
        return found != self.negated


class Anchor(NamedTuple):
    """The begin or the end of the text."""

    at_end: bool


class Sequence(NamedTuple):
    parts: list[Node]


class Either(NamedTuple):
    choices: list[Node]


class Repeated(NamedTuple):
    """`most` None: without end."""

    what: Node
    least: int
    most: int | None


Node = Chars | Anchor | Sequence | Either | Repeated


class _Parser:
    """Text -> tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def parse(self) -> Node:
        found = self._either(0)
        if self.at < len(self.text):
            raise InvalidPattern("unexpected )")
        return found

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, expected: str) -> bool:
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def _either(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise InvalidPattern("expression nests too deeply")
        choices = [self._sequence(depth)]
        while self._take("|"):
            choices.append(self._sequence(depth))
        return choices[0] if len(choices) == 1 else Either(choices)

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._one(depth)))
        return Sequence(parts)

    def _repeated(self, what: Node) -> Node:
        counts = self._counts()
        if counts is None:
            return what
        self._take("?")  # which way is tried first makes no difference here
        if self._counts() is not None:
            raise InvalidPattern("invalid nested repetition operator")
        least, most = counts
        if least > MAX_REPEAT or (most is not None and (most > MAX_REPEAT or most < least)):
            raise InvalidPattern("invalid repeat count")
        return Repeated(what, least, most)

    def _counts(self) -> tuple[int, int | None] | None:
        """The repetition that stands here, taken; None for none."""
        for sign, counts in {"*": (0, None), "+": (1, None), "?": (0, 1)}.items():
            if self._take(sign):
                return counts
        found = _COUNTS.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        least = int(found[1])
        return least, least if found[2] is None else int(found[3]) if found[3] else None

    def _one(self, depth: int) -> Node:
        if self._peek() in ("*", "+", "?") or _COUNTS.match(self.text, self.at):
            raise InvalidPattern("missing argument to repetition operator")
        char = self._peek()
        self.at += 1
        if char == "(":
            return self._group(depth)
        if char == "[":
            return self._class()
        if char in ("^", "$"):
            return Anchor(char == "$")
        if char == ".":
            return Chars((("\n", "\n"),), negated=True)
        return self._escape() if char == "\\" else Chars(((char, char),))

    def _group(self, depth: int) -> Node:
        if self._take("?") and not self._take(":"):
            raise InvalidPattern("invalid or unsupported Perl syntax")
        inner = self._either(depth + 1)
        if not self._take(")"):
            raise InvalidPattern("missing closing )")
        return inner

    def _escape(self) -> Chars:
        char = self._peek()
        self.at += 1
        if char == "":
            raise InvalidPattern("trailing backslash at end of expression")
        if char.lower() in _PERL:
            return Chars(_PERL[char.lower()], negated=char.isupper())
        if char in _CONTROL:
            return Chars(((_CONTROL[char], _CONTROL[char]),))
        if char.isascii() and char.isalnum():
            raise InvalidPattern("invalid escape sequence")
        return Chars(((char, char),))

    def _class(self) -> Chars:
        negated = self._take("^")
        ranges: list[Chars | tuple[str, str]] = []
        while not (ranges and self._take("]")):
            if self.at >= len(self.text):
                raise InvalidPattern("missing closing ]")
            named = _POSIX_CLASS.match(self.text, self.at)
            if named is not None:
                if named[2] not in _POSIX:
                    raise InvalidPattern("invalid character class range")
                self.at = named.end()
                ranges.append(Chars(_POSIX[named[2]], negated=bool(named[1])))
            else:
                ranges.append(self._range())
        return Chars(tuple(ranges), negated)

    def _range(self) -> Chars | tuple[str, str]:
        first = self._class_char()
        if isinstance(first, Chars):
            return first
        if self._peek() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return first, first
        self.at += 1
        last = self._class_char()
        if isinstance(last, Chars) or last < first:
            raise InvalidPattern("invalid character class range")
        return first, last

    def _class_char(self) -> Chars | str:
        char = self._peek()
        self.at += 1
        if char != "\\":
            return char
        found = self._escape()
        only = found.ranges[0]
        single = not found.negated and len(found.ranges) == 1 and not isinstance(only, Chars) and only[0] == only[1]
        return str(only[0]) if single else found


class Pattern:
    """A compiled pattern. State number i either takes a character and goes on, or goes on without one.

    - `takes[i]`: the character that it takes, and the state behind it.
    - `follows[i]`: the states that it is as well; an anchor's only where it stands.
    """

    def __init__(self, text: str) -> None:
        """Raises InvalidPattern."""
        if len(text) > MAX_LENGTH:
            raise InvalidPattern("expression is too long")
        self.takes: dict[int, tuple[Chars, int]] = {}
        self.anchors: dict[int, bool] = {}
        self.follows: dict[int, list[int]] = {}
        self._known: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self.size = 1
        self.start = self._compile(_Parser(text).parse(), 0)

    # --- tree -> states, from the end: each part is told what comes behind it ----------------------

    def _state(self) -> int:
        if self.size >= MAX_STATES:
            raise InvalidPattern("expression is too large")
        self.size += 1
        return self.size - 1

    def _compile(self, node: Node, then: int) -> int:
        if isinstance(node, Chars):
            state = self._state()
            self.takes[state] = node, then
            return state
        if isinstance(node, Anchor):
            state = self._state()
            self.anchors[state], self.follows[state] = node.at_end, [then]
            return state
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                then = self._compile(part, then)
            return then
        if isinstance(node, Either):
            state = self._state()
            self.follows[state] = [self._compile(one, then) for one in node.choices]
            return state
        return self._compile_repeated(node, then)

    def _compile_repeated(self, node: Repeated, then: int) -> int:
        if node.most is None:
            loop = self._state()
            self.follows[loop] = [then, self._compile(node.what, loop)]
            then = loop
        else:
            end = then
            for _ in range(node.most - node.least):
                state = self._state()
                self.follows[state] = [end, self._compile(node.what, then)]
                then = state
        for _ in range(node.least):
            then = self._compile(node.what, then)
        return then

    # --- matching ---------------------------------------------------------------------------------

    def matches(self, text: str) -> bool:
        """Whether the whole text is one of those that are meant."""
        states = self._closed({self.start}, at_begin=True)
        for char in text:
            key = states, char
            found = self._known.get(key)
            if found is None:
                takers = [self.takes[one] for one in states if one in self.takes]
                found = self._closed({then for chars, then in takers if chars.has(char)})
                if len(self._known) < MAX_REMEMBERED:
                    self._known[key] = found
            states = found
        return 0 in self._closed(set(states), at_begin=not text, at_end=True)

    def _closed(self, states: set[int], at_begin: bool = False, at_end: bool = False) -> frozenset[int]:
        """These states and all that they are as well."""
        found, open_ = set(states), list(states)
        while open_:
            state = open_.pop()
            anchor = self.anchors.get(state)
            if anchor is not None and not (at_end if anchor else at_begin):
                continue
            for one in self.follows.get(state, ()):
                if one not in found:
                    found.add(one)
                    open_.append(one)
        return frozenset(found)
