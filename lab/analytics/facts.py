"""run.json of some runs: what each says of itself, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from broker_core.kernel.problems import problem
from lab.analytics.errors import AnalyticsError, kept
from lab.analytics.places import RUN, RunPlace
from lab.experiments.directory import DirectoryError, FormatError, read_facts

Hurt = tuple[str, int, str | None, int | None, str, int, str]
"""A row of the table `damages`."""


def facts_of(runs: Iterable[RunPlace]) -> tuple[dict[str, dict[str, Any]], list[Hurt]]:
    """The facts by run (none of disks without a journal), and rows for `damages`: a file that cannot be read, and a
    recording that ended before its run did. Raises AnalyticsError for a run of another format."""
    facts: dict[str, dict[str, Any]] = {}
    hurt: list[Hurt] = []
    for run in runs:
        facts[run.name] = {}
        if run.journal is None:
            continue
        try:
            facts[run.name] = read_facts(run.journal)
        except FormatError as error:
            raise AnalyticsError(error.problem) from None
        except DirectoryError as error:
            hurt.append((run.name, -1, None, None, RUN, 0, kept(error.problem)))
        broken = facts[run.name].get("broken")
        if broken is not None:
            hurt.append((run.name, -1, None, None, RUN, 0, kept(problem("recording_ended", why=broken))))
    return facts, hurt


def row_of(run: RunPlace, facts: dict[str, Any]) -> tuple[Any, ...]:
    """A row of the table `runs`."""
    receipt = facts.get("receipt")
    return (
        run.name, facts.get("name"), facts.get("kind", "disks"), facts.get("seed"), str(run.journal or run.disks),
        facts.get("end_us"), None if receipt is None else orjson.dumps(receipt).decode(), orjson.dumps(facts).decode(),
    )  # fmt: skip
