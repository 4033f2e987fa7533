"""What is not modelled, as a page of the lab: `docs/not-modelled.md` in the reader's language, without the network.

The text is Markdown of the plainest kind: headings, paragraphs, tables, `code`. Anything else would show as written.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET

from web.language import language_of
from web.messages import catalogue

DOCS = Path(__file__).resolve().parents[2] / "docs"
CODE = re.compile(r"`([^`]+)`")


def inline(text: str) -> SafeString:
    """Text with `code`, escaped."""
    return mark_safe(CODE.sub(r"<code>\1</code>", escape(text)))


def cells(line: str) -> list[SafeString]:
    """The cells of a table's row."""
    return [inline(cell.strip()) for cell in line.strip().strip("|").split("|")]


def blocks(text: str) -> list[dict[str, Any]]:
    """Headings, paragraphs and tables: `{"kind": h1 | h2 | p, "text"}` or `{"kind": "table", "head", "rows"}`."""
    found: list[dict[str, Any]] = []
    for part in re.split(r"\n{2,}", text.strip()):
        lines = part.split("\n")
        if part.startswith("|"):
            found.append({"kind": "table", "head": cells(lines[0]), "rows": [cells(line) for line in lines[2:]]})
        elif part.startswith("#"):
            marks, _, title = part.partition(" ")
            found.append({"kind": f"h{len(marks)}", "text": inline(title)})
        else:
            found.append({"kind": "p", "text": inline(" ".join(lines))})
    return found


@cache
def told(language: str) -> list[dict[str, Any]]:
    """The page in a language; in English where there is no other."""
    own = DOCS / f"not-modelled.{language}.md"
    return blocks((own if own.is_file() else DOCS / "not-modelled.md").read_text("utf-8"))


@require_GET
def not_modelled(request: HttpRequest) -> HttpResponse:
    """The page."""
    language = language_of(request)
    context = {"language": language, "blocks": told(language), "words": catalogue(language)["page"]}
    return render(request, "limits.html", context)
