"""The page about scenarios has every word of the grammar."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.house.sources import CHECKOUT
from tests.shared_runs import run_once

from lab.clusters.spec import PROTECTIONS
from lab.clusters.vocabulary import _TARGET, KINDS
from lab.scenarios import grammar, variants
from lab.scenarios.conditions import SUBJECTS
from lab.scenarios.expectations import KINDS as EXPECTATIONS
from lab.scenarios.expectations import PRODUCER, RECEIPT
from lab.scenarios.steps import STEP_KEYS


@cache
def page() -> str:
    return (CHECKOUT / "docs" / "scenarios.md").read_text()


def rows(head: str) -> dict[str, str]:
    """The table with this head: first cell -> the rest of its row."""
    lines = page().split(head, 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return {cells[1].strip(): "|".join(cells[2:]) for line in lines if len(cells := line.split("|")) > 2}


def named(head: str) -> dict[str, str]:
    """Each word in backticks of the first column -> its row."""
    return {word: row for cell, row in rows(head).items() for word in re.findall(r"`([\w.]+)", cell)}


@pytest.mark.parametrize("name", KINDS)
def test_every_command_and_its_keys_are_in_the_page(name: str) -> None:
    found = named("| command | keys | what happens |")
    assert name in found
    kind, told = KINDS[name], found[name].split("|")[0]
    own = [key for key in kind.keys if kind.one_of != tuple(_TARGET) or key not in _TARGET]
    if told.strip().startswith("the same"):
        own = [key for key in own if key not in KINDS["disk_full"].keys]
    assert [key for key in own if not re.search(rf"\b{key}\b", told)] == []
    assert ("a process" in told or "the same" in told) == (kind.one_of == tuple(_TARGET))


def test_the_page_has_no_command_that_is_none() -> None:
    assert [name for name in named("| command | keys | what happens |") if name not in KINDS] == []


def test_every_condition_is_in_the_page_and_no_other() -> None:
    assert list(named("| condition | compares |")) == list(SUBJECTS)


@pytest.mark.parametrize("word", [*STEP_KEYS, "check", "do", *grammar.KEYS, *_TARGET, *PROTECTIONS])
def test_every_key_of_the_grammar_is_in_the_page(word: str) -> None:
    assert re.search(rf"\b{re.escape(word)}\b", page())


@pytest.mark.parametrize("kind", EXPECTATIONS)
def test_every_kind_of_expectation_is_in_the_page(kind: str) -> None:
    table = "\n".join(f"{cell} {row}" for cell, row in rows("| key | figure |").items())
    assert re.search(rf"`{kind}\b", table) or kind in SUBJECTS


@pytest.mark.parametrize(("key", "figures"), [("`receipt.lost`", RECEIPT), ("`receipt.producers.NAME.acked`", PRODUCER)])
def test_every_figure_of_the_receipt_is_in_the_page_and_no_other(key: str, figures: tuple[str, ...]) -> None:
    told = rows("| key | figure |")[key].split("(what each")[0]
    assert sorted(re.findall(r"`(\w+)`", told)) == sorted(figures)


def test_the_screen_can_take_away_each_protection() -> None:
    source = (CHECKOUT / "static" / "model" / "fork.js").read_text()
    listed = source.split("PROTECTIONS = [", 1)[1].split("]", 1)[0]
    assert re.findall(r'"(\w+)"', listed) == list(PROTECTIONS)


def test_the_lessons_that_come_with_the_lab_stand_with_their_titles_variants_and_generations() -> None:
    found = rows("| file | shows | variants | holds in |")
    for name in grammar.names():
        scenario = grammar.load(name)
        assert found[name].split("|")[0].strip() == scenario.title["en"]
        assert found[name].split("|")[1].strip() == ", ".join(variants.names(scenario.document))
        assert found[name].split("|")[2].strip() == ", ".join(scenario.generations)
    assert list(found) == grammar.names()


def test_the_example_at_the_top_is_what_the_command_prints() -> None:
    total = run_once("acks-1").receipt.total
    example = page().split("```")[1]
    names = re.search(r"^ +(acked .*)$", example, re.MULTILINE)
    row = re.search(r"^  all +([\d, ]+)$", example, re.MULTILINE)
    assert names is not None and row is not None
    printed = dict(zip(names[1].replace("at risk", "at_risk").split(), (int(cell.replace(",", "")) for cell in row[1].split()), strict=True))
    assert printed == {name: figure for name, figure in total.to_dict().items() if name in printed}
    assert {"acked", "read", "lost", "unread"} <= printed.keys()
