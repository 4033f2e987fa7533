"""The texts that stand on their own: whole in both languages, short, and each leads on."""

from __future__ import annotations

import re

import pytest

from lab.glossary.basics import basics, parse
from lab.scenarios.reading import ScenarioError

LONGEST = 620  # characters of a paragraph
ONE = "- text: record\n  title: {en: R, ko: 레코드}\n  paragraphs: [{en: T., ko: 글.}]\n  terms: [%s]\n  lessons: [%s]\n"


def test_the_texts_are_those_that_a_newcomer_asks_for() -> None:
    assert [text.id for text in basics()] == ["record", "topic", "partition", "isr", "metadata", "broker", "names", "around"]


def test_each_text_is_told_in_both_languages_in_short_paragraphs_and_leads_on() -> None:
    for text in basics():
        assert 2 <= len(text.paragraphs) <= 3 and text.terms and text.lessons, text.id
        for paragraph in (text.title, *text.paragraphs):
            assert all(len(one) <= LONGEST for one in paragraph.values()), text.id
            assert re.search("[가-힣]", paragraph["ko"]) and not re.search("[가-힣]", paragraph["en"]), text.id


@pytest.mark.parametrize(("term", "lesson", "place"), [("recrod", "acks-1", "[0].terms[0]"), ("record", "acks-7", "[0].lessons[0]")])
def test_a_link_that_leads_nowhere_is_named_with_its_line(term: str, lesson: str, place: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        parse(ONE % (term, lesson))
    assert refused.value.where == place and "basics.yaml:" in str(refused.value)
