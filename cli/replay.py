"""`replay`: what was lost, how long nothing could be written, and why, asked with Spark."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_core.kernel.problems import LANGUAGES, problem
from lab.experiments.shown import width_of
from cli.errors import INTERRUPTED, CommandError, of_option
from cli.spark import with_session
from cli.words import Words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lab.analytics.report import Answer

WIDEST = 40
PAUSE_S = 10.0
"""Between two lines of progress where there is no terminal."""
_LINE = "\r\x1b[K"


def replay(arguments: argparse.Namespace) -> int:
    """Exit code 0 when answered, 1 when the work broke off, 2 for directories that hold no run, unknown queries and
    missing Java or PySpark, 130 when interrupted."""
    try:
        from lab.analytics import queries
        from lab.analytics import replay as pipeline
        from lab.analytics.errors import AnalyticsError
        from lab.analytics.by_run.sharing import fits
        from lab.analytics.places import find_runs
    except ImportError as error:
        raise CommandError(problem("no_package", name=str(error.name)), 2) from None
    words: Words = arguments.words
    shown = Shown(words)
    out = Path(arguments.out) if arguments.out else None
    found: list[dict[str, Any]] = []
    told = 0
    try:
        names = [queries.find(name).name for name in arguments.query or []]
        much = not fits(find_runs(arguments.directories))
    except AnalyticsError as error:
        raise CommandError(of_option(error), 2) from None
    if out is not None:
        make_directory(out)

    def ask(spark: SparkSession) -> None:
        nonlocal told
        for answer in pipeline.replay(spark, arguments.directories, names, out, None if arguments.json else progress):
            if arguments.json:
                found.append(pipeline.plain(answer))
            else:
                shown.show(answer, bool(names))
            told += 1

    if not arguments.json:
        progress(words.say("replay.starts"), 0, 1)
    try:
        with_session("brokerlab replay", arguments.master, ask, long=much)
    except KeyboardInterrupt:
        total = len(names or queries.QUERIES)
        what = problem("questions_interrupted", n=told, most=total)
        if out is not None:
            what = problem("not_complete", what=what, path=str(out))
        raise CommandError(what, INTERRUPTED) from None
    finally:
        clear()
    if arguments.json:
        print(json.dumps(found, default=str))
        return 0
    if shown.empty:
        print("\n" + words.say("replay.nothing", names=", ".join(map(shown.heading, shown.empty))))
    if out is not None:
        print("\n" + words.say("replay.report", path=out / "report.html"))
    return 0


class Shown:
    """Answers on a terminal, as they come; `empty`: questions whose answer has no row."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.empty: list[str] = []
        self._at = LANGUAGES.index(words.language)

    def heading(self, name: str) -> str:
        """A question: in English its name, by which it can be asked for; elsewhere with its title."""
        from lab.analytics import queries

        return name if not self._at else f"{queries.find(name).title[self._at]} ({name})"

    def show(self, answer: Answer, was_asked_for: bool) -> None:
        """Its table, and what runs have not recorded."""
        from lab.analytics import recorded

        clear()
        if answer.rows or was_asked_for:
            table = text_table(answer.columns, answer.rows, answer.count, words=self.words)
            print(f"\n{self.heading(answer.name)}\n{table}", flush=True)
        elif not answer.missing:
            self.empty.append(answer.name)
        for both in recorded.told(answer.missing):
            print(f"{self.heading(answer.name)}: {both[self._at]}", flush=True)


def make_directory(path: Path) -> None:
    """Where results go, made before Spark starts; raises CommandError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(problem("not_readable_file", path=str(path), why=str(error.strerror)), 2) from None


_said = 0.0


def progress(what: str, done: int, total: int) -> None:
    """On a terminal one line that changes; elsewhere, in a file or a pipe, a line now and then."""
    global _said
    if not sys.stderr.isatty():
        if done and time.monotonic() >= _said + PAUSE_S:
            _said = time.monotonic()
            print(f"{done}/{total} {what}", file=sys.stderr, flush=True)
    else:
        print(f"{_LINE}{done}/{total} {what}", end="" if done < total else _LINE, file=sys.stderr, flush=True)


def clear() -> None:
    """Take the line of progress away."""
    if sys.stderr.isatty():
        print(_LINE, end="", file=sys.stderr, flush=True)


def text_table(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], count: int, most: int = 20, *, words: Words
) -> str:  # fmt: skip
    """Columns set apart by two blanks; at most `most` rows. In English headings are the names of the columns, as SQL
    and files have them; other languages have words for them, and for values that are words."""
    from lab.analytics.charts import figure
    from lab.analytics.words import ENGLISH, KOREAN

    of_answers = (ENGLISH, KOREAN)[LANGUAGES.index(words.language)]
    named = of_answers is ENGLISH
    heads = [name if named else of_answers.heading(name) for name in columns]
    said = [[row[name] if named else of_answers.value(name, row[name]) for name in columns] for row in rows[:most]]
    shown = [[figure(value)[:WIDEST] for value in line] for line in said]
    widths = [max(width_of(line[index]) for line in [heads, *shown]) for index in range(len(columns))]
    numeric = [all(isinstance(row[name], int | float | None) for row in rows[:most]) for name in columns]
    lines = [_line(heads, widths, numeric), *(_line(line, widths, numeric) for line in shown)]
    if count > len(shown):
        lines.append("  " + words.say("replay.more", n=f"{count - len(shown):,}"))
    return "\n".join(lines) if rows else "  " + words.say("replay.no_rows")


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    set_right = zip(cells, widths, numeric)
    blanks = ((cell, " " * (width - width_of(cell)), right) for cell, width, right in set_right)
    return "  " + "  ".join(blank + cell if right else cell + blank for cell, blank, right in blanks).rstrip()
