"""Every sentence that a person reads, in English and Korean.

Seven JSON files a language: `page` (labels, buttons, hints), `desk` (the same for runs, scenarios and
receipts), `lesson` (what is watched and predicted), `inspect` (for the inspector and the levers), `spark`
(for replays, sweeps and rolling figures) and `learn` (for the glossary and the path through the lessons),
which join `page`, and `story` (what each journal event says and why it happens). The server alone uses
`access`, `exercises`, `people`, `quizzes`,
`problems` (titles of what REST refuses with; what is wrong itself is told by
`broker_core.kernel.problems`) and `api`. JSON needs no compiler on the learner's machine, the same file
serves the server's first rendering, the browser and node's tests, and a test compares the two languages key
by key.

A sentence has holes: `{broker|broker}` is the parameter `broker` shown by the filter `broker`.
Korean particles that depend on the sound before them stand as `{이/가}`; `static/i18n` chooses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from broker_core.kernel import problems
from lab.glossary.catalogue import told

LANGUAGES = ("en", "ko")


@cache
def catalogue(language: str) -> dict[str, Any]:
    """{"language", "page": {key: text}, "story": {code: {"say", "why"}}, "problems": {...}, "terms": [...]}.

    `problems`: the sentence of each code of a problem, which journal and answers carry (`kernel.problems`).
    `terms`: the words of the glossary, which the page marks in its texts.
    """
    if language not in LANGUAGES:
        language = "en"
    directory = Path(__file__).parent
    found: dict[str, Any] = {"language": language}
    for part in ("page", "story"):
        found[part] = json.loads((directory / f"{part}.{language}.json").read_text(encoding="utf-8"))
    for part in ("desk", "lesson", "inspect", "spark", "learn"):
        found["page"] |= json.loads((directory / f"{part}.{language}.json").read_text(encoding="utf-8"))
    found["problems"] = problems.catalogue(language)
    found["terms"] = told(language)
    return found


@cache
def words_of(part: str, language: str) -> dict[str, Any]:
    """One of the files that the server alone uses: `access` (the page that asks for a token), `exercises` (its pages),
    `problems` (what REST refuses with), `api` and `api_values` (the page of operations)."""
    name = f"{part}.{language if language in LANGUAGES else LANGUAGES[0]}.json"
    found: dict[str, Any] = json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return found


def said(words: Mapping[str, Any], key: str, **values: Any) -> str:
    """A text with its parameters. With `n` it is that of `key.1` for one, else of `key.n`, where there are such:
    languages count in their own ways ("3 students", "학생 3명")."""
    if "n" in values:
        counted = [*([f"{key}.1"] if values["n"] == 1 else []), f"{key}.n"]
        key = next((one for one in counted if one in words), key)
    text = str(words[key])
    return text.format(**values) if values else text


@cache
def catalogue_text(language: str) -> str:
    """The catalogue as compact JSON."""
    return json.dumps(catalogue(language), ensure_ascii=False, separators=(",", ":"))
