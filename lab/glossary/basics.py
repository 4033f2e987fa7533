"""Short texts that stand on their own: what a record, a topic, a partition is, for somebody who has never seen Kafka.

```yaml
- text: record                              # its id: the address is /basics/#record
  title: {en: ..., ko: ...}
  paragraphs: [{en: ..., ko: ...}, ...]
  terms: [record, key]                      # of the glossary
  lessons: [three-files]                    # in which it is seen at work
```
The glossary says the same in a sentence; here there is room for why. Errors name file, line and key.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.glossary.pictures import PICTURES
from lab.scenarios import grammar
from lab.scenarios.predictions import texts
from lab.scenarios.reading import ScenarioError, line_of, read

FILE = Path(__file__).parent / "basics.yaml"
KEYS = ("text", "title", "paragraphs", "terms", "lessons")


@dataclass(frozen=True, slots=True)
class Text:
    """One text: each paragraph in every language."""

    id: str
    title: dict[str, str]
    paragraphs: tuple[dict[str, str], ...]
    terms: tuple[str, ...]
    lessons: tuple[str, ...]


@cache
def basics() -> tuple[Text, ...]:
    """All of them, in the order in which they are read."""
    return parse(FILE.read_text(encoding="utf-8"))


def parse(source: str) -> tuple[Text, ...]:
    """Raises ScenarioError."""
    tree, document = read(source, FILE.name)
    try:
        return tuple(_text(one, (index,)) for index, one in enumerate(checks.items(document, ())))
    except SpecError as error:
        raise ScenarioError(FILE.name, line_of(tree, error.place), error.where, error.problem) from None


def _text(value: Any, place: Place) -> Text:
    data = checks.mapping(value, place, KEYS, KEYS)
    paragraphs = checks.items(data["paragraphs"], (*place, "paragraphs"))
    return Text(
        checks.text(data["text"], (*place, "text")),
        texts(data["title"], (*place, "title")),
        tuple(texts(one, (*place, "paragraphs", index)) for index, one in enumerate(paragraphs)),
        _chosen(data["terms"], (*place, "terms"), list(PICTURES)),
        _chosen(data["lessons"], (*place, "lessons"), grammar.names()),
    )


def _chosen(value: Any, place: Place, known: list[str]) -> tuple[str, ...]:
    return tuple(checks.choice(one, (*place, index), known) for index, one in enumerate(checks.items(value, place)))
