"""What `run`, `verify` and `lessons` print for people, in their language.

Every line is a code with parameters, as all that the lab tells is; the sentences stand in the catalogues
(`broker_core.kernel.problems`). A text of a lesson that there is in one language only is shown in that one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from broker_core.kernel.problems import Problem, problem, told
from broker_core.kernel.problems.telling import catalogue
from lab.checkers.receipt import COUNTS
from lab.experiments.run import RunResult
from lab.experiments.verify import Verdict
from lab.scenarios.grammar import Scenario

PLACES = 3
NAMED = 30
CELL = 10


def text_of(texts: Mapping[str, str], language: str, otherwise: str = "") -> str:
    """A text of a lesson, English where it is not told in this language."""
    return texts.get(language) or texts.get("en", otherwise)


def width_of(text: str) -> int:
    """Columns of a terminal: a letter of Korean has two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def result_lines(scenario: Scenario, result: RunResult, language: str) -> list[str]:
    """How a run ended: receipt, places, notes, verdict, lesson."""

    def say(what: Problem) -> str:
        return told(what, language)

    title = text_of(scenario.title, language, scenario.name)
    lines = [say(problem("shown_variant", name=title, seed=result.seed, given=result.variant)) if result.variant
             else say(problem("shown_run", name=title, seed=result.seed)), *_table(result, language)]  # fmt: skip
    for anomaly, places in result.receipt.places.items():
        lines += [f"  {_word(anomaly, language)}: {say(_place(place))}" for place in places[:PLACES]]
        if len(places) > PLACES:
            lines.append(f"  {_word(anomaly, language)}: {say(problem('shown_more_places', n=len(places) - PLACES))}")
    lines += [say(problem("shown_note", what=note)) for note in result.notes]
    for key, wanted in scenario.expect.items():
        failed = next((one for one in result.unmet if one["params"].get("key") == key), None)
        met = problem("shown_met", key=key, wanted=str(wanted))
        lines.append(say(met) if failed is None else say(problem("shown_not_met", what=failed)))
    lines += [say(problem("shown_not_met", what=one)) for one in result.unmet if one["code"] == "at_step"]
    lines += _lesson(scenario, result, language) + _generation(scenario, language)
    speed = f"{result.virtual_s / result.wall_s if result.wall_s else 0:.0f}"
    lines.append(say(problem("shown_time", s=f"{result.virtual_s:.1f}", n=f"{result.wall_s:.1f}", given=speed)))
    return [*lines, say(problem("shown_where", path=str(result.directory)))]


def _lesson(scenario: Scenario, result: RunResult, language: str) -> list[str]:
    """The right answer to the prediction, why, and what else can be tried."""
    lines = []
    predict = scenario.lesson.predict
    if predict is not None:
        if result.prediction is not None:
            answer = text_of(predict.choices[result.prediction].text, language)
            lines.append(f"{text_of(predict.ask, language)}  -> {answer}")
        if result.answer is not None:
            lines.append(f"{text_of(predict.ask, language)}  -> {result.answer}")
    if result.moment is not None:
        at = f"{result.moment['t_us'] / 1e6:.3f}"
        lines.append(told(problem("shown_moment", s=at, seq=result.moment["seq"]), language))
    others = [f"--variant {name}" for name in scenario.variants if name != result.variant]
    return [*lines, told(problem("shown_also", known=others), language)] if others else lines


def _generation(scenario: Scenario, language: str) -> list[str]:
    """What is different in the generation that it was run in, and in which others it can be run."""
    differs = text_of(scenario.generations.get(scenario.generation, {}), language)
    others = [f"--controller {name}" for name in scenario.generations if name != scenario.generation]
    lines = [told(problem("shown_generation", name=scenario.generation, words=differs.strip()), language)]
    return lines[: bool(differs)] + ([told(problem("shown_also", known=others), language)] if others else [])


def _table(result: RunResult, language: str) -> list[str]:
    everything = _word("all", language)
    rows = [(name, counts) for name, counts in sorted(result.receipt.producers.items())]
    rows.append((everything, result.receipt.total))
    width = max(width_of(name) for name, _ in rows)
    heads = [*COUNTS[:-1], *(COUNTS[-1:] if result.receipt.total.removed else ())]
    lines = [f"  {'':{width}}  {' '.join(_right(_word(head, language)) for head in heads)}"]
    for name, counts in rows:
        figures = counts.to_dict()
        cells = " ".join(_right(_figure(figures[head], language)) for head in heads)
        lines.append(f"  {name}{' ' * (width - width_of(name))}  {cells}")
    return lines


def _right(text: str) -> str:
    return " " * (CELL - width_of(text)) + text


def _word(name: str, language: str) -> str:
    return catalogue(language).get(f"word.{name}", name)


def _figure(count: int | None, language: str) -> str:
    return _word("not known", language) if count is None else f"{count:,}"


def _place(place: Mapping[str, Any]) -> Problem:
    at, offset = f"{place['topic']}-{place['partition']}", place["offset"]
    if "last_read" in place:
        found = problem("shown_way", name=place["reader"], partition=at, begin=place["last_read"], end=offset)
        return problem("shown_by", what=found, name=place["test"])
    if "last_acked" in place:
        return problem("shown_way", name=place["process"], partition=at, begin=place["last_acked"], end=offset)
    value = f"{place['producer']}:{place['number']}" if "producer" in place else repr(place["text"])
    found = problem("shown_value", name=value, partition=at)
    if offset is not None:
        found = problem("shown_value_at", name=value, partition=at, offset=offset)
    if place.get("test"):
        return problem("shown_by", what=found, name=place["test"])
    return problem("shown_copies", what=found, n=place["copies"]) if "copies" in place else found


def verdict_lines(verdict: Verdict, language: str) -> list[str]:
    """Whether all of a run came out, and what did not."""
    if verdict.same:
        return [told(problem("shown_same", n=verdict.events), language)]
    lines = [told(problem("shown_different"), language)]
    lines += [f"  {told(one, language)}" for one in verdict.differences[:NAMED]]
    if len(verdict.differences) > NAMED:
        lines.append(f"  {told(problem('shown_more', n=len(verdict.differences) - NAMED), language)}")
    return lines
