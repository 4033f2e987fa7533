"""What takes long, in a process of its own: `python -P -m web.api.worker`, or one that was `--ready` (`web.api.ready`).

One line of JSON comes in on standard input, lines go out on standard output:

```
in   {"do": "scenario", "yaml": "..." or "document": {...}, "name": "acks-1", "variant": "one", "seed": 7,
      "live": false, "out": DIR, "key": hex}         the key: of whoever will open the run (`lab.endings`)
     {"do": "scenario", "parent": DIR, "out": DIR, "key": hex}      the fork of a run that a scenario has left
     {"do": "verify" | "receipt", "path": DIR}
     {"do": "attempt", "document": {...}, "name": "keep-all", "attempt": {"set": {...}, "steps": [...]}, "hints": 1,
      "out": DIR}
     {"do": "hand-in", "document": {...}, "name": "keep-all", "attempt": {...} or "pack": FILE, "hints": 1}
     {"do": ..., "waited": true}        as nice as a lab
     {"do": "beside", "path": DIR, "other": DIR}        two runs of a scenario, one of each generation
out  {"progress": 0.41, "phase": "load", "t_us": 5200000}      a few times a second
     {"result": {...}}  or  {"error": "...", "place": "..."}
```
Standard input stays open as long as somebody waits for the answer: its end ends the process. A scenario
runs exactly as `./brokerlab run` runs it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import orjson

from lab import heap
from lab.checkers import receipt
from lab.clusters.build import memory
from lab.clusters.checks import SpecError
from lab.endings import Shown
from lab.exercises import grading, reading
from lab.experiments import beside, forks
from lab.experiments.comparison import parting
from lab.experiments.directory import DirectoryError, RunDirectory
from lab.experiments.driven import RunError
from lab.experiments.packing import PackError, unpack
from lab.experiments.run import Execution
from lab.experiments.verify import verify
from lab.scenarios import grammar
from lab.snapshots.shelf import version

EVERY_S = 0.2
LOAD_SHARE = 0.85
REAP_S = 5.0
LARGEST_OPENED = 2 * 1024 * 1024 * 1024
"""Bytes of a pack when it is opened."""


def say(**line: Any) -> None:
    """One line for whoever waits."""
    sys.stdout.buffer.write(orjson.dumps(line, default=str) + b"\n")
    sys.stdout.buffer.flush()


def end_with_parent() -> None:
    """Nobody waits any more: end at once."""
    sys.stdin.buffer.read()
    os._exit(3)


def tell_progress(execution: Execution) -> None:
    """Watches the virtual clock of a run from beside it."""
    while True:
        time.sleep(EVERY_S)
        phase, share = progress(execution)
        say(progress=round(share, 3), phase=phase, t_us=execution.world.now_us)


def progress(execution: Execution) -> tuple[str, float]:
    """The phase, and about how much is done; forming and settling take as long as they take."""
    began, now = execution.began_us, execution.world.now_us
    if not began:
        return "form", 0.0
    share = (now - began) / max(1, execution.scenario.duration_us)
    return ("load", share * LOAD_SHARE) if share < 1 else ("settle", LOAD_SHARE)


def run_scenario(request: dict[str, Any]) -> dict[str, Any]:
    """Run a document, or the fork of a run; the receipt stands in the run's directory."""
    scenario = asked_for(request)
    if request.get("seed") is not None:
        scenario.spec.seed = request["seed"]
        scenario.document = {**scenario.document, "seed": request["seed"]}
    files, live, key = RunDirectory(Path(request["out"])), bool(request.get("live")), bytes.fromhex(request["key"])
    execution = Shown(scenario, files, live, memory, key)
    threading.Thread(target=tell_progress, args=(execution,), daemon=True).start()
    result = execution.run()
    if "parent" in request:
        parent = Path(request["parent"])
        parted = parting(parent, execution.files.path)
        execution.files.describe(parent=parent.name, forked_at_seq=parted.seq, forked_at_us=parted.t_us)
    return {**result.to_dict(), "virtual_s": result.virtual_s, "wall_s": round(result.wall_s, 3)}


def asked_for(request: dict[str, Any]) -> grammar.Scenario:
    """The scenario of a request, in its variant."""
    if "parent" in request:
        return forks.fork_of(Path(request["parent"]))
    variant = request.get("variant")
    if "yaml" in request:
        return grammar.parse(request["yaml"], f"{request['name']}.yaml", variant, request.get("cluster"))
    scenario = grammar.from_dict(grammar.with_cluster(request["document"], request.get("cluster")), request["name"])
    return grammar.variant_of(scenario, variant) if variant else scenario


def verify_run(request: dict[str, Any]) -> dict[str, Any]:
    """Execute a run again."""
    return verify(Path(request["path"])).to_dict()


def receipt_of(request: dict[str, Any]) -> dict[str, Any]:
    """Judge the history that is there by now, and what outside clients were told."""
    return receipt.receipt_of(Path(request["path"]))


def beside_each_other(request: dict[str, Any]) -> dict[str, Any]:
    """Two runs of a scenario, one of each generation, executed again and looked at."""
    return beside.beside(Path(request["path"]), Path(request["other"]))


def attempt_at(request: dict[str, Any]) -> dict[str, Any]:
    """Grade an attempt at an exercise; the run of its seed `seed`, or of its first one, stays in `out`."""
    exercise = reading.from_dict(request["document"], request["name"])

    def tell(done: int, most: int) -> None:
        say(progress=round(done / most, 3), phase="load")

    grade = grading.grade(
        exercise, request["attempt"], request["hints"], Path(request["out"]), tell, kept=request.get("seed")
    )
    return {**grade.to_dict(), "why": exercise.why if grade.passed else {}}


def judge_hand_in(request: dict[str, Any]) -> dict[str, Any]:
    """Grade what somebody hands in: an attempt, or a packed run (`pack`), which nobody believes."""
    exercise = reading.from_dict(request["document"], request["name"])

    def tell(done: int, most: int) -> None:
        say(progress=round(done / most, 3), phase="load")

    if "pack" not in request:
        grade = grading.grade(exercise, request["attempt"], request["hints"], tell=tell)
    else:
        with tempfile.TemporaryDirectory(prefix="brokerlab-hand-in-") as home, open(request["pack"], "rb") as pack:
            path = Path(home) / "run"
            unpack(pack, path, LARGEST_OPENED)
            grade = grading.grade_run(exercise, path, request["hints"], tell)
    moment = grade.decisive.moment if grade.decisive is not None else None
    return {**grade.to_dict(), "moment": moment, "why": exercise.why if grade.passed else {}}


NICENESS = 5
KINDS = {
    "scenario": run_scenario, "attempt": attempt_at, "hand-in": judge_hand_in, "verify": verify_run,
    "receipt": receipt_of, "beside": beside_each_other,
}  # fmt: skip


def niceness_of(request: dict[str, Any]) -> int:
    """Labs go before a job, unless it plays one (`live`) or has waited its turn for long (`waited`)."""
    return 0 if request.get("live") or request.get("waited") else NICENESS


def main() -> None:
    """Read the request, do it, answer."""
    request = orjson.loads(sys.stdin.buffer.readline())
    threading.Thread(target=end_with_parent, daemon=True).start()
    os.nice(niceness_of(request))
    heap.settle()
    try:
        result = KINDS[request["do"]](request)
    except SpecError as error:
        say(problem=error.problem, place=error.where)
    except grammar.ScenarioError as error:
        say(problem=error.problem, place=error.place)
    except (RunError, DirectoryError, PackError, beside.NotBeside) as error:
        say(problem=error.problem)
    else:
        say(result=result)
    os._exit(0)


def wait_ready(link: socket.socket) -> None:
    """Become a worker whenever somebody sends the ends of its pipes; end with whoever sends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all of its processes: the lab ends this one
    version()  # of which snapshots are: each worker would read all sources
    heap.settle()
    while True:
        if select.select([link], [], [], REAP_S)[0]:
            given, ends, _, _ = socket.recv_fds(link, 1, 3)
            if not given:
                return
            if os.fork() == 0:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                link.close()
                for number, end in enumerate(ends):
                    os.dup2(end, number)
                    os.close(end)
                main()
            for end in ends:
                os.close(end)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ready"]:
        wait_ready(socket.socket(fileno=int(sys.argv[2])))
    else:
        main()
