"""The terms that a newcomer meets, each declared once, in `terms/*.yaml`.

```yaml
section: {en: ..., ko: ...}
terms:
  - term: isr                                            # its id: the address is /glossary/#isr
    en: {name: ISR, also: [in-sync replicas], match: [in sync], text: ...}  # `also`: other names, printed beside it
    ko: {name: ISR, also: [동기화된 복제본], text: ...}  # `match`: other forms, only for finding it in texts
    only: kraft                                          # where one generation of Kafka alone has it
    see: [high-watermark]                                # other terms
    lessons: [acks-1]   settings: [replica.lag.time.max.ms]   metrics: [IsrShrinksPerSec]
```
The page marks terms by itself where they stand in a text (`static/model/terms.js`); each has a picture of its name in
`pictures`. Errors name file, line and key, as those of scenarios do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.metrics_registry import REGISTRY, Metric
from lab.glossary.pictures import PICTURES
from lab.scenarios import grammar
from lab.scenarios.reading import ScenarioError, line_of, read

HOME = Path(__file__).parent / "terms"
LANGUAGES = ("en", "ko")
LINKS = ("see", "lessons", "settings", "metrics")
GENERATIONS = ("zookeeper", "kraft")


@dataclass(frozen=True, slots=True)
class Wording:
    """A term in one language: `also` are other names of it, `match` further forms in which texts have it."""

    name: str
    text: str
    also: tuple[str, ...] = ()
    match: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """All under which it stands in a text, its name first."""
        return (self.name, *self.also, *self.match)


@dataclass(frozen=True, slots=True)
class Term:
    """A term; `see` are ids of other terms, `metrics` last parts of Kafka's names. `only`: the generation of Kafka that
    alone has it."""

    id: str
    wording: dict[str, Wording]
    only: str = ""
    see: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()


@dataclass(slots=True)
class Section:
    """Terms that are read together, in the order in which they explain each other."""

    title: dict[str, str]
    terms: list[Term] = field(default_factory=list)


@cache
def sections() -> tuple[Section, ...]:
    """The whole catalogue; raises ScenarioError."""
    found = tuple(_file(path) for path in sorted(HOME.glob("*.yaml")))
    known = [term.id for section in found for term in section.terms]
    for path, section in zip(sorted(HOME.glob("*.yaml")), found, strict=True):
        for term in section.terms:
            for other in term.see:
                try:
                    checks.choice(other, (term.id, "see"), [one for one in known if one != term.id])
                except SpecError as error:
                    raise ScenarioError(path.name, 0, error.where, error.problem) from None
    return found


def terms() -> Iterator[Term]:
    """All terms, in the order of the page."""
    for section in sections():
        yield from section.terms


def told(language: str) -> list[dict[str, Any]]:
    """What the page marks and shows: `[{id, name, text, words, only, see, lessons}]` in one language."""
    return [
        {"id": term.id, "name": wording.name, "text": wording.text, "words": wording.words, "only": term.only,
         "see": term.see, "lessons": term.lessons}
        for term in terms() for wording in (term.wording[language],)
    ]  # fmt: skip


def metric(name: str) -> Metric | None:
    """Kafka's metric whose name ends so: `UnderReplicatedPartitions`."""
    return next((one for full, one in REGISTRY.items() if full.rpartition("name=")[2] == name), None)


# -- reading --------------------------------------------------------------------------------
def _file(path: Path) -> Section:
    tree, document = read(path.read_text(encoding="utf-8"), path.name)
    try:
        data = checks.mapping(document, (), ["section", "terms"], ["section", "terms"])
        section = Section(_texts(data["section"], ("section",)))
        for index, one in enumerate(checks.items(data["terms"], ("terms",))):
            section.terms.append(_term(one, ("terms", index)))
        return section
    except SpecError as error:
        raise ScenarioError(path.name, line_of(tree, error.place), error.where, error.problem) from None


def _term(value: Any, place: Place) -> Term:
    data = checks.mapping(value, place, ["term", "only", *LANGUAGES, *LINKS], ["term", *LANGUAGES])
    name = checks.choice(data["term"], (*place, "term"), list(PICTURES))
    wording = {language: _wording(data[language], (*place, language)) for language in LANGUAGES}
    links = {link: _names(data.get(link), (*place, link), _known()[link]) for link in LINKS}
    only = checks.choice(data["only"], (*place, "only"), GENERATIONS) if "only" in data else ""
    return Term(name, wording, only, **links)


@cache
def _known() -> dict[str, list[str] | None]:
    """What each kind of link may lead to; terms are known when all files are read."""
    metrics = [full.rpartition("name=")[2] for full in REGISTRY]
    settings = [*BROKER_SETTINGS, *TOPIC_SETTINGS]
    return {"see": None, "lessons": grammar.names(), "settings": settings, "metrics": metrics}


def _wording(value: Any, place: Place) -> Wording:
    data = checks.mapping(value, place, ["name", "also", "match", "text"], ["name", "text"])
    also, match = (_names(data.get(key), (*place, key), None) for key in ("also", "match"))
    name, text = (checks.text(data[key], (*place, key)) for key in ("name", "text"))
    return Wording(name, text, also, match)


def _names(value: Any, place: Place, known: list[str] | None) -> tuple[str, ...]:
    found = []
    for index, one in enumerate(checks.items(value, place)):
        at = (*place, index)
        found.append(checks.text(one, at) if known is None else checks.choice(one, at, known))
    return tuple(found)


def _texts(value: Any, place: Place) -> dict[str, str]:
    data = checks.mapping(value, place, LANGUAGES, LANGUAGES)
    return {language: checks.text(one, (*place, language)) for language, one in data.items()}
