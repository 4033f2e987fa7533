"""Patterns of subscriptions: what they match, what they refuse, and that none of them takes long."""

from __future__ import annotations

import re

import pytest

from broker_core.coordinators.pattern import InvalidPattern, Pattern

TEXTS = ["", "a", "b", "ab", "abc", "abcd", "abab", "aaa", "orders", "orders-1", "orders-12", "a.b", "a_b", "x]y", "A", "9", "-", "^"]
PATTERNS = [
    "", "a", "ab", "a|b", "a||b", "(ab)+", "(?:ab)*c?", "a*", "a+?", "a{2}", "a{2,}", "a{0,2}", "a{0}", ".", "..", ".*", "[a-c]+", "[^a-c]",
    "[]x]y?", "[^]]", "[a-]", r"\w+", r"\W", r"\d", r"\D+", r"orders(-\d{1,2})?", "^a", "a$", "^$", "^^a$$", "a^", "$a", "(a|ab)(c|bcd)", r"a\.b",
    r"[\w.]+", r"[\d-]", "(a(b(c)?)?)?", "x*",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_what_the_slow_one_matches(pattern: str) -> None:
    ours, theirs = Pattern(pattern), re.compile(pattern, re.ASCII)
    assert [one for one in TEXTS if ours.matches(one)] == [one for one in TEXTS if theirs.fullmatch(one)]


def test_posix_classes_which_python_lacks() -> None:
    assert Pattern("[[:alpha:]_]+").matches("ab_c") and not Pattern("[[:alpha:]]+").matches("a1")
    assert Pattern("[[:^digit:]]").matches("a") and not Pattern("[[:^digit:]]").matches("1")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("t(", "missing closing )"), ("a)", "regexp/syntax: internal error"), ("*a", "missing argument to repetition operator"),
     ("a**", "invalid nested repetition operator"), ("[a", "missing closing ]"), ("[b-a]", "invalid character class range"),
     ("a\\", "trailing backslash at end of expression"), ("\\1", "invalid escape sequence"), ("a{5,2}", "invalid repeat count"),
     ("a{2000}", "invalid repeat count"), ("(?=a)", "invalid or unsupported Perl syntax"), ("(?P<n", "invalid named capture"),
     ("[[:foo:]]", "invalid character class range"), ("(" * 500, "missing closing )")],
)  # fmt: skip
def test_what_is_no_pattern_is_refused_in_the_words_of_kafkas_re2(pattern: str, message: str) -> None:
    with pytest.raises(InvalidPattern, match=re.escape(message)):
        Pattern(pattern)


def test_a_pattern_has_what_re2_has() -> None:
    assert Pattern(r"(?i)ORDERS").matches("orders") and Pattern(r"\Qa.b\E").matches("a.b")
    assert Pattern(r"\p{Hangul}+").matches("주문") and Pattern(r"\bx\b").matches("x")


def test_a_pattern_that_would_take_forever_takes_a_few_steps_for_each_character() -> None:
    """`re` would need 2^200 of them."""
    evil = Pattern("(a+)+b")
    assert not evil.matches("a" * 200) and evil.matches("a" * 200 + "b")


def test_a_pattern_too_large_is_refused() -> None:
    with pytest.raises(InvalidPattern, match="too large"):
        Pattern("(a{1000}|b)" * 100)
