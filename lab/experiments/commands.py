"""The commands `run`, `validate`, `verify`, `pack` and `unpack`. Exit codes: 0 as expected, 1 not, 2 invalid.

`language`: of what is told to people; JSON is the same in all of them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem, told
from lab.experiments.directory import DirectoryError
from lab.experiments.packing import ENDING, Pack, PackError
from lab.experiments.packing import unpack as open_pack
from lab.experiments.driven import RunError
from lab.experiments.run import run_scenario
from lab.experiments.shown import result_lines, text_of, verdict_lines
from lab.experiments.verify import verify as verify_directory
from lab.scenarios import grammar
from lab.scenarios.grammar import ScenarioError

MET, NOT_MET, INVALID = 0, 1, 2


def run(
    scenario: str, *, seed: int | None = None, live: bool = False, out: str | None = None, as_json: bool = False,
    variant: str | None = None, cluster: Mapping[str, Any] | None = None, language: str = "en",
) -> int:  # fmt: skip
    """Run a scenario by file or name and print its receipt. `cluster`: keys in place of those of its cluster."""
    try:
        checked = grammar.load(scenario, variant, cluster)
        result = run_scenario(checked, seed, live, out)
    except (ScenarioError, DirectoryError) as error:
        return _invalid(error, as_json, language)
    except RunError as error:
        _print_error(error, as_json, language)
        return NOT_MET
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        print("\n".join(result_lines(checked, result, language)))
    return MET if result.passed else NOT_MET


def validate(scenario: str, *, as_json: bool = False, language: str = "en") -> int:
    """Check a scenario file."""
    try:
        checked = grammar.load(scenario)
    except ScenarioError as error:
        return _invalid(error, as_json, language)
    if as_json:
        print(json.dumps({"scenario": checked.name, "valid": True}))
    else:
        valid = problem("shown_valid", name=checked.name, n=len(checked.steps), most=len(checked.expect))
        print(told(valid, language))
    return MET


def verify(given: str, *, as_json: bool = False, language: str = "en") -> int:
    """Execute a recorded run again, in its directory or as a pack, and name all that is not as it should be."""
    path = Path(given)
    try:
        with tempfile.TemporaryDirectory(prefix="brokerlab-opened-") as home:
            if path.is_file():
                path = Path(home) / "run"
                _opened(given, path)
            verdict = verify_directory(path)
    except PackError as error:  # a pack that is not whole vouches for nothing
        _print_error(error, as_json, language)
        return NOT_MET
    except DirectoryError as error:
        return _invalid(error, as_json, language)
    if as_json:
        print(json.dumps({"dir": given, **verdict.to_dict()}))
    else:
        print("\n".join(verdict_lines(verdict, language)))
    return MET if verdict.same else NOT_MET


def pack(directory: str, out: str | None = None, *, as_json: bool = False, language: str = "en") -> int:
    """A run as one file, with a hash over everything."""
    path = Path(directory)
    target = Path(out) if out is not None else Path(f"{path.resolve().name}{ENDING}")
    try:
        found = Pack.of(path)
        size = found.write(target)
    except OSError as error:
        what = problem("not_writable", path=str(target), why=error.strerror)
        return _invalid(DirectoryError(what), as_json, language)
    except DirectoryError as error:
        return _invalid(error, as_json, language)
    manifest = found.manifest
    facts = {"file": str(target), "bytes": size, "files": len(manifest["files"]), "sha256": manifest["sha256"]}
    packed = problem("shown_packed", path=str(target), size=size, given=manifest["sha256"])
    print(json.dumps(facts) if as_json else told(packed, language))
    return MET


def unpack(file: str, out: str | None = None, *, as_json: bool = False, language: str = "en") -> int:
    """Open a pack into a directory, if all of it is as it was packed."""
    target = Path(out) if out is not None else Path(Path(file).name.removesuffix(ENDING))
    try:
        manifest = _opened(file, target)
    except (DirectoryError, PackError) as error:
        return _invalid(error, as_json, language)
    facts = {"dir": str(target), "run": manifest["run"], "sha256": manifest["sha256"]}
    opened = problem("shown_unpacked", path=str(target), run=facts["run"], given=facts["sha256"])
    print(json.dumps(facts) if as_json else told(opened, language))
    return MET


def _opened(file: str, target: Path) -> dict[str, Any]:
    try:
        source = open(file, "rb")
    except OSError as error:
        raise DirectoryError(problem("not_readable", path=file, why=error.strerror)) from None
    with source:
        return open_pack(source, target)


def lessons(*, as_json: bool = False, language: str = "en") -> int:
    """List the lab's scenarios with what they teach, and the features that have none yet."""
    from lab.trace.table import trace  # reads all that teaches: nobody else waits for it

    found = trace()
    if as_json:
        print(json.dumps(found))
        return MET
    for group in found["subjects"]:
        print(text_of(group["title"], language))
        for name in group["scenarios"]:
            one = found["scenarios"][name]
            holds = " ".join(one["generations"])
            print(f"  {name:36} {holds:16} {' '.join(one['rows']):22} {text_of(one['title'], language)}")
    without = [row for row, one in found["rows"].items() if not one["scenarios"]]
    print(told(problem("shown_without", names=without), language))
    return MET


# -- what is wrong --------------------------------------------------------------------------
def _print_error(error: Refusal, as_json: bool, language: str) -> None:
    if as_json:
        print(json.dumps({"error": str(error), "problem": error.problem}))
    else:
        print(f"brokerlab: {_told(error, language)}", file=sys.stderr)


def _told(error: Refusal, language: str) -> str:
    """English as the error has it, with file and line; in another language with the same place before it."""
    where, _, _ = str(error).partition(error.reason)
    return where + told(error.problem, language)


def _invalid(error: Refusal, as_json: bool, language: str) -> int:
    _print_error(error, as_json, language)
    return INVALID
