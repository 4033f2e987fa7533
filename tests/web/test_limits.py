"""What is not modelled, as a page: complete in both languages, escaped, without a script."""

from __future__ import annotations

import re

import pytest
from django.test import RequestFactory

from lab.clusters.eras import differences
from lab.exercises import reading
from lab.exercises.levers import Lever
from web.messages import LANGUAGES, words_of
from web.pages.exercises import then
from web.pages.limits import eras_page, not_modelled, page_of, told


def test_both_languages_say_the_same_number_of_things() -> None:
    shapes = [re.findall(r"<(h1|h2|p|table|tr)[ >]", told(language).html) for language in LANGUAGES]
    assert shapes[0] == shapes[1]
    assert shapes[0].count("tr") >= 12 and {"h1", "h2", "p", "table", "tr"} == set(shapes[0])


@pytest.mark.parametrize(("language", "title"), [("en", "What is not modelled"), ("ko", "모델에 없는 것")], ids=LANGUAGES)
def test_the_page_is_in_the_readers_language_and_leads_to_rest(language: str, title: str) -> None:
    answer = not_modelled(RequestFactory().get("/not-modelled/", headers={"accept-language": language}))
    page = answer.content.decode()
    assert answer.status_code == 200 and f"<h1>{title}</h1>" in page and f"<title>{title}</title>" in page
    assert "<code>--ensemble 3</code>" in page and 'href="/api/docs"' in page
    assert "<script" not in page and "http://" not in page and "https://" not in page and "style=" not in page


@pytest.mark.parametrize(("language", "title"), [("en", "Then and now"), ("ko", "예전과 지금")], ids=LANGUAGES)
def test_the_page_of_eras_has_each_difference_in_the_readers_language(language: str, title: str) -> None:
    page = eras_page(RequestFactory().get("/eras/", headers={"accept-language": language})).content.decode()
    assert f"<h1>{title}" in page
    assert page.count("<tr>") == len(differences()) + 1
    assert all(one.why[language].split("'")[0] in page for one in differences())


def test_beside_a_lever_stands_what_it_was_and_since_when_it_is_what_it_is() -> None:
    words = words_of("exercises", "ko")
    acks, copies = Lever("acks", ("clients", "a", "settings", "acks")), Lever("copies", ("topics", "t", "replication_factor"))
    lag = Lever("lag", ("cluster", "settings", "replica.lag.time.max.ms"))
    found = reading.load("lose-what-was-promised")
    found.start = {"clients": [{"name": "a", "kind": "producer"}]}
    assert then(acks, found, words) == {"values": "2.x: 1 · 3.9: all · 4.3: all", "since": "3.0부터 (KIP-679)"}
    assert then(lag, found, words) == {"values": "2.x: 10000 · 3.9: 30000 · 4.3: 30000", "since": "2.5부터 (KIP-537)"}
    assert then(copies, found, words) is None


def test_text_is_escaped_and_code_is_code() -> None:
    assert page_of("a <b> & `c<d>`").html == "<p>a &lt;b&gt; &amp; <code>c&lt;d&gt;</code></p>\n"


@pytest.mark.parametrize("text", ["<script>x</script>", "a <img src=x onerror=y> b", "[x](javascript:alert)", "![x](y.png)"])
def test_nothing_of_the_text_becomes_markup_that_acts(text: str) -> None:
    assert not re.search(r"<(script|img)|href=.javascript", page_of(text).html)


def test_cells_that_head_say_what_and_alignment_needs_no_style() -> None:
    html = page_of("| x | y |\n|---|--:|\n| 1 | a \\| b |").html.replace("\n", "")
    assert '<th scope="col">x</th><th scope="col">y</th>' in html
    assert '<th scope="row">1</th><td>a | b</td>' in html
