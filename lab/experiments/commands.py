"""The commands `run`, `validate`, `verify`, `pack` and `unpack`. Exit codes: 0 as expected, 1 not, 2 invalid."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from broker_core.kernel.problems import problem, told
from lab.checkers.receipt import COUNTS
from lab.experiments.directory import DirectoryError
from lab.experiments.packing import ENDING, Pack, PackError
from lab.experiments.packing import unpack as open_pack
from lab.experiments.run import RunError, RunResult, run_scenario
from lab.experiments.verify import Verdict
from lab.experiments.verify import verify as verify_directory
from lab.scenarios import grammar, trace
from lab.scenarios.grammar import Scenario, ScenarioError

MET, NOT_MET, INVALID = 0, 1, 2
PLACES = 3
NAMED = 30
_HEADS = {"at_risk": "at risk"}


def run(
    scenario: str, *, seed: int | None = None, live: bool = False, out: str | None = None, as_json: bool = False,
    variant: str | None = None, cluster: Mapping[str, Any] | None = None,
) -> int:  # fmt: skip
    """Run a scenario by file or name and print its receipt. `cluster`: keys in place of those of its cluster."""
    try:
        checked = grammar.load(scenario, variant, cluster)
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


def verify(given: str, *, as_json: bool = False) -> int:
    """Execute a recorded run again, in its directory or as a pack, and name all that is not as it should be."""
    path = Path(given)
    try:
        with tempfile.TemporaryDirectory(prefix="brokerlab-opened-") as home:
            if path.is_file():
                path = Path(home) / "run"
                _opened(given, path)
            verdict = verify_directory(path)
    except PackError as error:  # a pack that is not whole vouches for nothing
        _print_error(error, as_json)
        return NOT_MET
    except DirectoryError as error:
        return _invalid(error, as_json)
    if as_json:
        print(json.dumps({"dir": given, **verdict.to_dict()}))
    else:
        _print_verdict(verdict)
    return MET if verdict.same else NOT_MET


def pack(directory: str, out: str | None = None, *, as_json: bool = False) -> int:
    """A run as one file, with a hash over everything."""
    path = Path(directory)
    target = Path(out) if out is not None else Path(f"{path.resolve().name}{ENDING}")
    try:
        found = Pack.of(path)
        size = found.write(target)
    except OSError as error:
        return _invalid(DirectoryError(problem("not_writable", path=str(target), why=error.strerror)), as_json)
    except DirectoryError as error:
        return _invalid(error, as_json)
    manifest = found.manifest
    facts = {"file": str(target), "bytes": size, "files": len(manifest["files"]), "sha256": manifest["sha256"]}
    print(json.dumps(facts) if as_json else f"{target}: {size:,} bytes, sha256 {manifest['sha256']}")
    return MET


def unpack(file: str, out: str | None = None, *, as_json: bool = False) -> int:
    """Open a pack into a directory, if all of it is as it was packed."""
    target = Path(out) if out is not None else Path(Path(file).name.removesuffix(ENDING))
    try:
        manifest = _opened(file, target)
    except (DirectoryError, PackError) as error:
        return _invalid(error, as_json)
    facts = {"dir": str(target), "run": manifest["run"], "sha256": manifest["sha256"]}
    print(json.dumps(facts) if as_json else f"{target}: run {facts['run']}, sha256 {facts['sha256']}")
    return MET


def _opened(file: str, target: Path) -> dict[str, Any]:
    try:
        source = open(file, "rb")
    except OSError as error:
        raise DirectoryError(problem("not_readable", path=file, why=error.strerror)) from None
    with source:
        return open_pack(source, target)


def lessons(*, as_json: bool = False) -> int:
    """List the lab's scenarios with what they teach, and the features that have none yet."""
    found = trace.trace()
    if as_json:
        print(json.dumps(found))
        return MET
    for group in found["subjects"]:
        print(group["title"]["en"])
        for name in group["scenarios"]:
            one = found["scenarios"][name]
            holds = " ".join(one["generations"])
            print(f"  {name:36} {holds:16} {' '.join(one['rows']):22} {one['title'].get('en', '')}")
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
        print(f"note: {told(note)}")
    for key, wanted in scenario.expect.items():
        failed = next((told(one) for one in result.unmet if one["params"].get("key") == key), None)
        print(f"{'not met' if failed else 'met    '}  {failed or f'{key} {wanted}'}")
    for one in result.unmet:
        if one["code"] == "at_step":
            print(f"not met  {told(one)}")
    _print_lesson(scenario, result)
    _print_generation(scenario)
    speed = result.virtual_s / result.wall_s if result.wall_s else 0
    print(f"{result.virtual_s:.1f} s of the cluster's time in {result.wall_s:.1f} s ({speed:.0f} x)")
    print(f"run: {result.directory}")


def _print_lesson(scenario: Scenario, result: RunResult) -> None:
    """The right answer to the prediction, why, and what else can be tried."""
    lesson = scenario.lesson
    if lesson.predict is not None and result.prediction is not None:
        answer = lesson.predict.choices[result.prediction].text.get("en", "")
        print(f"{lesson.predict.ask.get('en', '')}  -> {answer}")
    if lesson.predict is not None and result.answer is not None:
        print(f"{lesson.predict.ask.get('en', '')}  -> {result.answer}")
    if result.moment is not None:
        print(f"the moment that mattered: {result.moment['t_us'] / 1e6:.3f} s, event {result.moment['seq']}")
    others = [name for name in scenario.variants if name != result.variant]
    if others:
        print(f"also: {', '.join(f'--variant {name}' for name in others)}")


def _print_generation(scenario: Scenario) -> None:
    """What is different in the generation that it was run in, and in which others it can be run."""
    differs = scenario.generations.get(scenario.generation, {}).get("en", "")
    if differs:
        print(f"with {scenario.generation}: {differs.strip()}")
    others = [name for name in scenario.generations if name != scenario.generation]
    if others:
        print(f"also: {', '.join(f'--controller {name}' for name in others)}")


def _table(result: RunResult) -> str:
    rows = [(name, counts) for name, counts in sorted(result.receipt.producers.items())]
    rows.append(("all", result.receipt.total))
    width = max(len(name) for name, _ in rows)
    heads = [*COUNTS[:-1], *(COUNTS[-1:] if result.receipt.total.removed else ())]
    lines = [f"  {'':{width}}  {' '.join(f'{_HEADS.get(head, head):>10}' for head in heads)}"]
    for name, counts in rows:
        told = counts.to_dict()
        lines.append(f"  {name:{width}}  {' '.join(f'{_figure(told[head]):>10}' for head in heads)}")
    return "\n".join(lines)


def _figure(count: int | None) -> str:
    return "not known" if count is None else f"{count:,}"


def _place(place: dict[str, Any]) -> str:
    where = f"in {place['topic']}-{place['partition']}"
    if "last_read" in place:
        return f"{place['reader']} {where} from {place['last_read']} to {place['offset']} ({place['test']})"
    if "last_acked" in place:
        return f"{place['process']} {where} from {place['last_acked']} to {place['offset']}"
    value = f"{place['producer']}:{place['number']}" if "producer" in place else repr(place["text"])
    offset = f" offset {place['offset']}" if place["offset"] is not None else ""
    more = place.get("test") or (f"whole on {place['copies']} disks" if "copies" in place else "")
    return f"{value} {where}{offset}" + (f" ({more})" if more else "")


def _print_verdict(verdict: Verdict) -> None:
    if verdict.same:
        print(f"the same: {verdict.events} events, byte for byte, and all that they have led to")
        return
    print("not the same:")
    for one in verdict.differences[:NAMED]:
        print(f"  {told(one)}")
    if len(verdict.differences) > NAMED:
        print(f"  and {len(verdict.differences) - NAMED} more, all with --json")


def _print_error(error: Exception, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"error": str(error)}))
    else:
        print(f"brokerlab: {error}", file=sys.stderr)


def _invalid(error: Exception, as_json: bool) -> int:
    _print_error(error, as_json)
    return INVALID
