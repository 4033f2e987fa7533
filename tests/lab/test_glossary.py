"""The catalogue of terms: whole in both languages, its links lead somewhere, and lessons' texts have their terms marked."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from tests.conftest import CHECKOUT

from lab.glossary import catalogue
from lab.glossary.drawing import WIDTH
from lab.glossary.pictures import PICTURES
from lab.scenarios import grammar
from lab.scenarios.reading import ScenarioError, read

LONGEST = 190  # characters of a sentence that is read beside a picture
MARK = """
const { Terms } = await import(process.argv[1]);
let given = "";
for await (const piece of process.stdin) given += piece;
const { terms, texts, language } = JSON.parse(given);
const all = new Terms(terms, language);
process.stdout.write(JSON.stringify(texts.map((text) => all.split(text).filter((part) => part.id).map(({ id }) => id))));
"""


def test_every_term_is_declared_once_and_has_a_picture_of_its_own() -> None:
    ids = [term.id for term in catalogue.terms()]
    assert len(ids) == len(set(ids)) and set(ids) == PICTURES.keys()
    assert len(set(PICTURES.values())) == len(PICTURES)


@pytest.mark.parametrize("language", catalogue.LANGUAGES)
def test_no_word_stands_for_two_terms(language: str) -> None:
    words = [word.lower() for term in catalogue.terms() for word in term.wording[language].words]
    assert sorted(word for word in words if words.count(word) > 1) == []


@pytest.mark.parametrize("language", catalogue.LANGUAGES)
def test_a_term_is_told_in_one_short_sentence_or_two(language: str) -> None:
    for term in catalogue.terms():
        text = term.wording[language].text
        assert len(text) <= LONGEST and len(re.findall(r"\.(?=\s|$)", text)) <= 2 and text.endswith("."), (term.id, len(text))
        assert bool(re.search("[가-힣]", text)) == (language == "ko"), term.id


def test_a_term_of_one_generation_of_kafka_leads_to_lessons_of_it() -> None:
    assert {term.id for term in catalogue.terms() if term.only} == {"zookeeper", "ensemble", "znode", "watch", "kraft"}
    for term in catalogue.terms():
        if term.only:
            assert all(term.only in grammar.load(name).generations for name in term.lessons), term.id


def test_every_term_leads_to_a_lesson_in_which_it_is_seen_at_work() -> None:
    assert [term.id for term in catalogue.terms() if not term.lessons] == []


def test_pictures_are_drawings_without_script_or_address() -> None:
    for name, picture in PICTURES.items():
        root = ElementTree.fromstring(picture)
        assert {one.tag.rpartition("}")[2] for one in root.iter()} <= {"svg", "style", "text", "path", "rect", "circle"}, name
        assert "prefers-color-scheme:dark" in picture and "url(" not in picture and len(picture) < 6000, name


def test_a_letter_of_a_picture_is_no_smaller_than_the_scale_allows_where_it_is_shown() -> None:
    units = [int(size) for size in re.findall(r"(?:font-size:|font:\d+ )(\d+)px", next(iter(PICTURES.values())))]
    sheet = (CHECKOUT / "static/css/glossary.css").read_text()
    shown = int(re.findall(r"\.glossary article img \{ width: (\d+)px", sheet)[0])
    assert len(units) == 2 and min(units) * shown / WIDTH >= 11.5


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"lessons": ["acks-7"]}, "terms[0].lessons[0]"), ({"settings": ["acks.all"]}, "terms[0].settings[0]"),
        ({"metrics": ["Leaders"]}, "terms[0].metrics[0]"), ({"term": "nothing"}, "terms[0].term"), ({"ko": {"name": "ISR"}}, "terms[0].ko"),
        ({"see": ["nothing"]}, "isr.see"),
    ],
)  # fmt: skip
def test_a_link_that_leads_nowhere_is_named(change: dict[str, Any], place: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    term = {"term": "isr", "en": {"name": "ISR", "text": "T."}, "ko": {"name": "ISR", "text": "글."}} | change
    (tmp_path / "terms.yaml").write_text(yaml.safe_dump({"section": {"en": "S", "ko": "절"}, "terms": [term]}, allow_unicode=True))
    monkeypatch.setattr(catalogue, "HOME", tmp_path)
    with pytest.raises(ScenarioError) as refused:
        catalogue.sections.__wrapped__()
    assert str(refused.value).startswith("terms.yaml:") and place in str(refused.value)


# -- in the lessons -------------------------------------------------------------------------
def texts_of(value: Any, language: str) -> Iterator[str]:
    """Every text of a document in a language."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key == language and isinstance(one, str):
                yield one
            else:
                yield from texts_of(one, language)
    elif isinstance(value, list):
        for one in value:
            yield from texts_of(one, language)


def shape_of(word: str) -> str:
    return r"\s+".join(re.escape(part) for part in word.split())


def dumb_check(text: str, word: str, language: str) -> bool:
    """Whether a word stands in a text by itself: blanks or marks around it, in Korean one particle more."""
    behind = "[가이은는을를의에로와과도]?" if language == "ko" else ""
    return bool(re.search(rf"(?:^|[\s(]){shape_of(word)}{behind}(?=[\s,;:)!?]|\.\s|\.$|$)", text))


@pytest.mark.parametrize("language", catalogue.LANGUAGES)
def test_every_term_that_a_lesson_uses_is_marked(language: str, require_program: Callable[[str], str]) -> None:
    documents = [read(grammar.find(name).read_text("utf-8"), name)[1] for name in grammar.names()]
    texts = [text for document in documents for text in texts_of(document, language)]
    terms = catalogue.told(language)
    given = json.dumps({"terms": terms, "texts": texts, "language": language}).encode()
    script = [require_program("node"), "--input-type=module", "-e", MARK, "--", str(CHECKOUT / "static/model/terms.js")]
    marked = json.loads(subprocess.run(script, input=given, capture_output=True, check=True, timeout=60).stdout)
    words = sorted(((word, one["id"]) for one in terms for word in one["words"]), key=lambda pair: -len(pair[0]))
    overlooked = []
    for text, found in zip(texts, marked, strict=True):
        assert len(found) == len(set(found))
        left = text
        for word, term in words:
            if dumb_check(left, word, language) and term not in found:
                overlooked.append((term, word, text[:90]))
            left = re.sub(shape_of(word), "·", left, flags=re.IGNORECASE)  # what belongs to a longer word is not the shorter one
    assert overlooked == []
    assert {one for found in marked for one in found} >= {"isr", "leader", "high-watermark", "leader-epoch", "purgatory", "rebalance"}
