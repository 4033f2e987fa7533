"""The commands `run`, `validate` and `verify` of the command line. Exit codes: 0 as expected, 1 not, 2 invalid."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lab.checkers.receipt import Counts
from lab.experiments.directory import DirectoryError
from lab.experiments.run import RunError, RunResult, run_scenario
from lab.experiments.verify import Verdict
from lab.experiments.verify import verify as verify_directory
from lab.scenarios import grammar, trace
from lab.scenarios.grammar import Scenario, ScenarioError

MET, NOT_MET, INVALID = 0, 1, 2
PLACES = 3


def run(
    scenario: str, *, seed: int | None = None, live: bool = False, out: str | None = None, as_json: bool = False,
    variant: str | None = None,
) -> int:  # fmt: skip
    """Run a scenario by file or name and print its receipt."""
    try:
        checked = grammar.load(scenario, variant)
        result = run_scenario(checked, seed, live, out)
    except (ScenarioError, DirectoryError) as error:
        return _invalid(error, as_json)
    except RunError as error:
        _print_error(error, as_json)
        return NOT_MET
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        _print_result(checked, result)
    return MET if result.passed else NOT_MET


def validate(scenario: str, *, as_json: bool = False) -> int:
    """Check a scenario file."""
    try:
        checked = grammar.load(scenario)
    except ScenarioError as error:
        return _invalid(error, as_json)
    if as_json:
        print(json.dumps({"scenario": checked.name, "valid": True}))
    else:
        print(f"{checked.name}: valid, {len(checked.steps)} steps, {len(checked.expect)} expectations")
    return MET


def verify(directory: str, *, as_json: bool = False) -> int:
    """Execute a recorded run again."""
    try:
        verdict = verify_directory(Path(directory))
    except DirectoryError as error:
        return _invalid(error, as_json)
    if as_json:
        print(json.dumps({"dir": directory, "same": verdict.same, "events": verdict.events, "reason": verdict.reason}))
    else:
        _print_verdict(verdict)
    return MET if verdict.same else NOT_MET


def lessons(*, as_json: bool = False) -> int:
    """List the lab's scenarios with what they teach, and the features that have none yet."""
    found = trace.trace()
    if as_json:
        print(json.dumps(found))
        return MET
    for group in found["subjects"]:
        print(group["title"]["en"])
        for name in group["scenarios"]:
            rows = " ".join(found["scenarios"][name]["rows"])
            print(f"  {name:36} {rows:22} {found['scenarios'][name]['title'].get('en', '')}")
    print(f"without a lesson: {' '.join(found['missing'])}")
    return MET


# -- for people -----------------------------------------------------------------------------
def _print_result(scenario: Scenario, result: RunResult) -> None:
    variant = f", variant {result.variant}" if result.variant else ""
    print(f"{scenario.title.get('en', scenario.name)}  (seed {result.seed}{variant})")
    print(_table(result))
    for anomaly, places in result.receipt.places.items():
        for place in places[:PLACES]:
            print(f"  {anomaly}: {_place(place)}")
        if len(places) > PLACES:
            print(f"  {anomaly}: and {len(places) - PLACES} more in run.json")
    for note in result.notes:
        print(f"note: {note}")
    for key, wanted in scenario.expect.items():
        failed = next((text for text in result.unmet if text.startswith(f"{key}:")), None)
        print(f"{'not met' if failed else 'met    '}  {failed or f'{key} {wanted}'}")
    for text in result.unmet:
        if text.startswith("steps["):
            print(f"not met  {text}")
    _print_lesson(scenario, result)
    speed = result.virtual_s / result.wall_s if result.wall_s else 0
    print(f"{result.virtual_s:.1f} s of the cluster's time in {result.wall_s:.1f} s ({speed:.0f} x)")
    print(f"run: {result.directory}")


def _print_lesson(scenario: Scenario, result: RunResult) -> None:
    """The right answer to the prediction, why, and what else can be tried."""
    lesson = scenario.lesson
    if lesson.predict is not None and result.prediction is not None:
        answer = lesson.predict.choices[result.prediction].text.get("en", "")
        print(f"{lesson.predict.ask.get('en', '')}  -> {answer}")
    if result.moment is not None:
        print(f"the moment that mattered: {result.moment['t_us'] / 1e6:.3f} s, event {result.moment['seq']}")
    others = [name for name in scenario.variants if name != result.variant]
    if others:
        print(f"also: {', '.join(f'--variant {name}' for name in others)}")


def _table(result: RunResult) -> str:
    rows = [(name, counts) for name, counts in sorted(result.receipt.producers.items())]
    rows.append(("all", result.receipt.total))
    width = max(len(name) for name, _ in rows)
    head = f"  {'':{width}}  {'acked':>9} {'read':>9} {'lost':>9} {'duplicated':>10} {'reordered':>9}"
    return "\n".join([head, *[f"  {name:{width}}  {_figures(counts)}" for name, counts in rows]])


def _figures(counts: Counts) -> str:
    return (
        f"{counts.acked:>9,} {counts.read:>9,} {counts.lost:>9,} {counts.duplicated:>10,} {counts.reordered:>9,}"
    )


def _place(place: dict[str, Any]) -> str:
    where = f"in {place['topic']}-{place['partition']}"
    if "last_read" in place:
        return f"{place['reader']} {where} from {place['last_read']} to {place['offset']} ({place['test']})"
    if "last_acked" in place:
        return f"{place['process']} {where} from {place['last_acked']} to {place['offset']}"
    value = f"{place['producer']}:{place['number']}" if "producer" in place else repr(place["text"])
    offset = f" offset {place['offset']}" if place["offset"] >= 0 else ""
    return f"{value} {where}{offset}" + (f" ({place['test']})" if "test" in place else "")


def _print_verdict(verdict: Verdict) -> None:
    if verdict.same:
        print(f"the same: {verdict.events} events, byte for byte")
        return
    print(f"not the same: {verdict.reason}")
    if verdict.line:
        print(f"  line {verdict.line}\n  recorded: {verdict.recorded[:400]}\n  executed: {verdict.executed[:400]}")


def _print_error(error: Exception, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"error": str(error)}))
    else:
        print(f"brokerlab: {error}", file=sys.stderr)


def _invalid(error: Exception, as_json: bool) -> int:
    _print_error(error, as_json)
    return INVALID
