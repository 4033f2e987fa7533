"""`sweep`: a scenario over a grid of settings and seeds, whole worlds inside Spark's tasks."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_core.kernel.problems import LANGUAGES, Problem, problem
from broker_core.kernel.problems import told as in_language
from cli.errors import INTERRUPTED, CommandError, of_option
from cli.replay import clear, make_directory, progress, text_table
from cli.spark import with_session
from cli.words import Words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lab.analytics.grid import Cell
    from lab.analytics.tally import Tally


def sweep(arguments: argparse.Namespace) -> int:
    """Exit code 0 when every run could be carried out, 1 when one failed or was left open, 2 for a wrong grid or no
    Spark, 130 when interrupted: then the runs that were through are told as always, the others as left open."""
    try:
        from lab.analytics import grid, sweep, sweep_report, tally
        from lab.analytics.errors import AnalyticsError, trouble as what_was
        from lab.analytics.scratch import scratch
    except ImportError as error:
        raise CommandError(problem("no_package", name=str(error.name)), 2) from None
    out, words = Path(arguments.out) if arguments.out else None, arguments.words
    try:
        cells = grid.cells(arguments.scenario, grid.parse_grid(arguments.grid))
        seeds = grid.parse_seeds(arguments.seeds)
    except AnalyticsError as error:
        raise CommandError(of_option(error), 2) from None
    if out is not None:
        make_directory(out)
        with written(out):
            sweep.write_cells(cells, out)

    total = len(cells) * len(seeds)
    count = tally.Tally(total, None)
    stopped: Problem | None = None

    def compute(spark: SparkSession) -> list[dict[str, Any]]:
        count.box = tally.letter_box(spark)
        with told(count, words if not arguments.json else None):
            frame = sweep.sweep(spark, arguments.scenario, cells, seeds, out, count.box, home)
            rows, trouble = sweep.carry_out(frame, count)
        if trouble is not None:
            rows += sweep.left_open(arguments.scenario, cells, seeds, out, rows, what_was(trouble))
        return rows

    if not arguments.json:
        progress(words.say("replay.starts"), 0, 1)
    try:
        with scratch() as home:
            results = with_session("brokerlab sweep", arguments.master, compute)
    except KeyboardInterrupt:
        count.look()
        results = list(count.rows)
        stopped = problem("runs_interrupted", n=len(results), most=total)
        if not results:
            raise CommandError(stopped, INTERRUPTED) from None
        results += sweep.left_open(arguments.scenario, cells, seeds, out, results, problem("interrupted"))
    finally:
        clear()
    summary = sweep.summarise(cells, results)
    failed = sweep_report.failures(results)
    if out is not None:
        with written(out):
            sweep_report.write(out, cells, summary, results)
    if arguments.json:
        print(json.dumps({"cells": summary, "failed": failed}))
    else:
        show(cells, summary, results, out, words)
    if stopped:
        print(f"brokerlab: {in_language(stopped, arguments.speaks)}", file=sys.stderr)
        return INTERRUPTED
    return 1 if failed else 0


@contextmanager
def written(out: Path) -> Iterator[None]:
    """Results go below `out`; raises CommandError when they cannot."""
    try:
        yield
    except OSError as error:
        path, why = str(error.filename or out), str(error.strerror)
        raise CommandError(problem("not_readable_file", path=path, why=why), 2) from None


@contextmanager
def told(count: Tally, words: Words | None) -> Iterator[None]:
    """How many runs are done, on a terminal, while they are computed."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.5):
            count.look()
            if words is not None:
                progress(words.say("sweep.runs"), min(len(count.rows), count.total - 1), count.total)

    looking = threading.Thread(target=look, daemon=True)
    if words is not None:
        looking.start()
    try:
        yield
    finally:
        ended.set()
        if words is not None:
            looking.join()


def show(
    cells: list[Cell], summary: list[dict[str, Any]], results: list[dict[str, Any]], out: Path | None, words: Words
) -> None:  # fmt: skip
    """For a terminal: heat map, cells, failures."""
    from lab.analytics import sweep_report
    from lab.analytics.words import ENGLISH, KOREAN

    of_answers = (ENGLISH, KOREAN)[LANGUAGES.index(words.language)]
    heat_map, failed = sweep_report.text(cells, summary, words=of_answers), sweep_report.failures(results, of_answers)
    columns = [name for name in summary[0] if name != "open"]
    print(f"{heat_map}\n\n{text_table(columns, summary, len(summary), len(summary), words=words)}")
    if failed:
        print(f"\n{words.say('sweep.failed')}\n  " + "\n  ".join(failed))
    if out is not None:
        print("\n" + words.say("replay.report", path=out / "sweep.html"))
        print(words.say("sweep.cells", path=out / "cells"))
