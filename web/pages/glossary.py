"""The glossary as a page of its own: every term with its picture and sentence, and where to read on.

`/glossary/` needs no script and no running cluster; `/glossary/isr.svg` is a term's picture, which the card of a marked
term shows as well. Lessons, settings and metrics lead into the lab: `/#lesson=acks-1`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from lab.clusters.meanings import meaning
from lab.glossary.catalogue import HOME, Term, metric, sections, terms
from lab.glossary.pictures import PICTURES
from lab.quizzes import reading
from lab.scenarios import grammar
from web.language import language_of
from web.messages import catalogue

# A picture brings its own style sheet, and nothing else.
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
KEPT_S = 3600


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    """The page."""
    language = language_of(request)
    context = {"language": language, "words": catalogue(language)["page"], "about": "glossary",
               "sections": _told(language)}  # fmt: skip
    return render(request, "glossary.html", context)


@require_GET
def picture(request: HttpRequest, name: str) -> HttpResponse:
    """A term's picture."""
    if name not in PICTURES:
        raise Http404
    headers = {"Content-Security-Policy": PICTURE_POLICY, "Cache-Control": f"max-age={KEPT_S}"}
    return HttpResponse(PICTURES[name], content_type="image/svg+xml", headers=headers)


@cache
def _told(language: str) -> list[dict[str, Any]]:
    names = {term.id: term.wording[language].name for term in terms()}
    quizzes = [file.stem for file in sorted(HOME.glob("*.yaml"))]
    return [
        {"title": section.title[language], "id": f"section-{index}",
         "quiz": quizzes[index] if reading.of_heading(quizzes[index]).questions else "",
         "terms": [_term(term, language, names) for term in section.terms]}
        for index, section in enumerate(sections())
    ]  # fmt: skip


def _term(term: Term, language: str, names: dict[str, str]) -> dict[str, Any]:
    wording = term.wording[language]
    metrics = [(name, metric(name)) for name in term.metrics]
    return {
        "id": term.id, "name": wording.name, "also": wording.also, "text": wording.text, "only": term.only,
        "see": [{"id": other, "name": names[other]} for other in term.see],
        "lessons": [{"name": name, "title": grammar.load(name).title[language]} for name in term.lessons],
        "settings": [{"name": name, "text": _meaning(name, language)} for name in term.settings],
        "metrics": [{"name": name, "text": getattr(one, language)} for name, one in metrics],
    }  # fmt: skip


def _meaning(setting: str, language: str) -> str:
    return meaning(TOPIC_SETTINGS.get(setting) or BROKER_SETTINGS[setting], language).replace("`", "")
