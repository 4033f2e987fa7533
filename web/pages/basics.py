"""What a record, a topic, a partition is: texts for whoever has never seen Kafka, as a page of its own.

`/basics/` needs no script and no running cluster; `/basics/#isr` is one text. Terms lead to the glossary, lessons
into the lab, a link below each text to its questions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from lab.glossary.basics import basics as all_texts
from lab.glossary.catalogue import terms
from lab.quizzes.reading import heading_of
from lab.scenarios import grammar
from web.language import language_of
from web.messages import catalogue


@require_GET
def basics(request: HttpRequest) -> HttpResponse:
    """The page."""
    language = language_of(request)
    context = {"language": language, "words": catalogue(language)["page"], "about": "basics",
               "texts": _told(language)}  # fmt: skip
    return render(request, "basics.html", context)


@cache
def _told(language: str) -> list[dict[str, Any]]:
    names = {term.id: term.wording[language].name for term in terms()}
    return [
        {"id": text.id, "title": text.title[language], "paragraphs": [one[language] for one in text.paragraphs],
         "terms": [{"id": term, "name": names[term]} for term in text.terms], "quiz": heading_of(text.id),
         "lessons": [{"name": name, "title": grammar.load(name).title[language]} for name in text.lessons]}
        for text in all_texts()
    ]  # fmt: skip
