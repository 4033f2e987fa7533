"""What is not modelled, as a page: complete in both languages, escaped, without a script."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from web.messages import LANGUAGES
from web.pages.limits import blocks, not_modelled, told


def test_both_languages_say_the_same_number_of_things() -> None:
    shapes = [[(one["kind"], len(one.get("rows", ()))) for one in told(language)] for language in LANGUAGES]
    assert shapes[0] == shapes[1]
    assert sum(rows for _, rows in shapes[0]) >= 12 and {"h1", "h2", "p", "table"} == {kind for kind, _ in shapes[0]}


@pytest.mark.parametrize(("language", "title"), [("en", "What is not modelled"), ("ko", "모델에 없는 것")], ids=LANGUAGES)
def test_the_page_is_in_the_readers_language_and_leads_to_rest(language: str, title: str) -> None:
    answer = not_modelled(RequestFactory().get("/not-modelled/", headers={"accept-language": language}))
    page = answer.content.decode()
    assert answer.status_code == 200 and f"<h1>{title}</h1>" in page
    assert "<code>cleanup.policy=compact</code>" in page and 'href="/api/docs"' in page
    assert "<script" not in page and "http://" not in page and "https://" not in page


def test_text_is_escaped_and_code_is_code() -> None:
    assert blocks("a <b> & `c<d>`")[0]["text"] == "a &lt;b&gt; &amp; <code>c&lt;d&gt;</code>"
    assert blocks("| x | y |\n|---|---|\n| 1 | |")[0] == {"kind": "table", "head": ["x", "y"], "rows": [["1", ""]]}
