"""Whether a run goes on from its snapshots as it went: the same journal and operations, the same verdicts.

    recorded    |----------------------------------------------|
    snapshots         s1             s2              s3              at moments that are drawn
    from each         |--------------------------------------->|     compared with what was recorded

For any run that has ended; `python -m lab.faults` does it with every seed.
"""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path
from random import Random
from typing import Any

from lab.experiments.directory import INPUTS, JOURNAL, OPERATIONS, read_facts
from lab.reexecution import Nobody, Reexecution
from lab.snapshots.maker import DIRECTORY, Differs, Maker
from lab.snapshots.shelf import Head, Shelf

WHOLE_S = 3600.0


def disagreements(path: Path, random: Random, count: int = 3) -> list[str]:
    """What differs, in words; none when all is well. Leaves no snapshots behind."""
    facts = read_facts(path)
    home = path / DIRECTORY
    home.mkdir()
    shelf = Shelf(home, secrets.token_bytes(32))
    try:
        for until_us in sorted(random.randrange(1, facts["end_us"]) for _ in range(count)):
            Maker(path, shelf).run(until_us, WHOLE_S)
        heads = [head for number in shelf.numbers() if (head := shelf.head(number)) is not None]
        return [problem for head in heads for problem in _going_on(path, shelf, head, facts)]
    except Differs as error:
        return [str(error)]
    finally:
        shutil.rmtree(home)


def _going_on(path: Path, shelf: Shelf, head: Head, facts: dict[str, Any]) -> list[str]:
    """From one snapshot to the end of the run."""
    taken = shelf.take(head)
    assert taken is not None
    course, _ = taken
    world, journal, operations = course.world, bytearray(), bytearray()
    world.journal.sink, world.operations.sink = journal.extend, operations.extend
    work = Reexecution(world, path / INPUTS, Nobody(), look=course.figures.look, start=head.inputs)
    while not work.advance(1.0):
        pass
    world.journal.flush()
    course.monitor.finish()
    problems = []
    for name, made, start in ((JOURNAL, journal, head.journal), (OPERATIONS, operations, head.operations)):
        if (path / name).read_bytes()[start:] != made:
            problems.append(f"{name} from the snapshot at {head.t_us} us is another one")
    if "invariants" in facts and course.monitor.lights() != facts["invariants"]["lights"]:
        problems.append(f"invariants from the snapshot at {head.t_us} us say something else")
    return problems
