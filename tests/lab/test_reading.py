"""YAML from anybody: read as any reader would, or refused with its line, and never for long."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.scenarios import grammar, reading
from lab.scenarios.reading import DEEPEST, LONGEST, LONGEST_PLAIN, MOST_VALUES, ScenarioError, read


@pytest.mark.parametrize("name", grammar.names())
def test_what_is_shipped_is_read_as_any_reader_of_yaml_reads_it(name: str) -> None:
    source = grammar.find(name).read_text("utf-8")
    tree, document = read(source, name)
    assert document == yaml.safe_load(source)
    place: tuple[str | int, ...] = ("clients", 0, "topic")
    assert "topic" in source.splitlines()[reading.line_of(tree, place) - 1] or not document.get("clients")


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        ("a: 1\nb: [&x 1, *x]\n", 2, "aliases are not allowed"),
        ("- 1\n" * (MOST_VALUES + 1), MOST_VALUES, f"more than {MOST_VALUES} values"),
        ("? a\n" * (LONGEST // 4), MOST_VALUES // 2 + 1, "more than"),
        ("[" * LONGEST, 1, "nested too deeply"),
        ("- " * (LONGEST // 2), 1, "nested too deeply"),
        ("".join(" " * n + "a:\n" for n in range(1000)), DEEPEST, "nested too deeply"),
        ("\n\nseed: " + "1" * 5000, 3, "5000 characters that is no text"),
        ("seed: 1" + ":0" * LONGEST_PLAIN, 1, "characters that is no text"),
        ("seed: 0x" + "f" * 900_000, 1, "characters that is no text"),
        ("\nseed: 2001-99-99", 2, "'2001-99-99' is no timestamp"),
        ("seed: 2001-12-14t21:59:43.10+99:99", 1, "is no timestamp"),
        ('seed: "\\U99999999"', 1, "invalid Unicode"),
        ("seed: \ud800", 1, "surrogates"),
        ("seed: \0", 1, "control characters"),
        ("seed: 1\nseed: 2", 2, "is there twice"),
        ("a" * (LONGEST + 1), 1, "expected at most"),
    ],
)
def test_what_is_refused_is_named_with_its_line(source: str, line: int, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason) as caught:
        read(source, "mine.yaml")
    assert caught.value.line == line


PIECES = st.sampled_from(
    ["a", "b: ", "- ", "? ", "[", "]", "{", "}", ",", "\n", "  ", "&x ", "*x", "!!int ", "!!binary ", "<<: ", "'", '"',
     "|\n", ">", "#", "%", "2001-13-01", "1:1:1", "0x", "08", "1e9", ".nan", "~", "\\", "\t", "---\n", "...\n", "é", "=", "\x85"]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=3), max_size=25).map("".join))
@settings(max_examples=400, deadline=None)
def test_any_text_is_a_document_or_refused(source: str) -> None:
    try:
        read(source, "mine.yaml")
    except ScenarioError as error:
        assert error.file == "mine.yaml" and 0 < error.line <= source.count("\n") + source.count("\x85") + 3
