"""Texts as pages of the lab, in the reader's language and without the network: what is not modelled
(`docs/not-modelled.md`), and what Kafka's defaults were (`lab.clusters.eras`).

markdown-it-py reads the text as CommonMark with tables. Raw HTML is shown as written, pictures are no pictures, and no
element carries a style: the page's policy allows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lab.clusters import eras
from lab.places import FILES
from web.language import language_of
from web.messages import catalogue

DOCS = FILES / "docs"
READER = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@dataclass(frozen=True, slots=True)
class Page:
    """The text of the first heading, and the whole as HTML that is safe to show."""

    title: str
    html: SafeString


def page_of(text: str) -> Page:
    """Markdown as a page."""
    tokens = READER.parse(text)
    headings = (inside.content for opening, inside in pairwise(tokens) if opening.type == "heading_open")
    for table in (token for token in tokens if token.type == "table_open"):
        table.attrSet("tabindex", "0")  # on a phone it is moved sideways, by keys, too
    for row in _rows(tokens):
        _name_cells(row)
    # The renderer escapes all text, and with html=False no token holds markup of the document.
    return Page(next(headings, ""), mark_safe(READER.renderer.render(tokens, READER.options, {})))


def _rows(tokens: list[Token]) -> Iterator[list[Token]]:
    """The tokens that open and close cells, row by row."""
    row: list[Token] = []
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            yield row
        elif token.tag in ("th", "td"):
            row.append(token)


def _name_cells(row: list[Token]) -> None:
    """A heading cell says what it heads: its column, or as the first of a row that row."""
    for index, token in enumerate(row):
        token.attrs.pop("style", None)
        scope = "col" if token.tag == "th" else "row"
        if token.tag == "th" or index < 2:
            token.tag = "th"
            if token.nesting == 1:
                token.attrSet("scope", scope)


@cache
def told(language: str) -> Page:
    """The page in a language; in English where there is no other."""
    own = DOCS / f"not-modelled.{language}.md"
    return page_of((own if own.is_file() else DOCS / "not-modelled.md").read_text("utf-8"))


@require_GET
def not_modelled(request: HttpRequest) -> HttpResponse:
    """The page."""
    return _shown(request, told)


@cache
def eras_told(language: str) -> Page:
    """The page in a language."""
    return page_of(eras.markdown(language))


@require_GET
def eras_page(request: HttpRequest) -> HttpResponse:
    """Then and now."""
    return _shown(request, eras_told)


def _shown(request: HttpRequest, told_in: Callable[[str], Page]) -> HttpResponse:
    language = language_of(request)
    context = {"language": language, "page": told_in(language), "words": catalogue(language)["page"]}
    return render(request, "limits.html", context)
