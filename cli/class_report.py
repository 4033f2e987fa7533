"""`class-report`: what a class has made of its exercises and lessons, asked with Spark."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_core.kernel.problems import LANGUAGES, problem
from cli.errors import INTERRUPTED, CommandError
from cli.replay import clear, make_directory, progress, text_table
from cli.spark import with_session
from cli.words import Words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def class_report(arguments: argparse.Namespace) -> int:
    """Exit code 0 when answered, 1 when the work broke off, 2 for a file that is no export and for missing Java or
    PySpark, 130 when interrupted."""
    try:
        from lab.analytics import classes
    except ImportError as error:
        raise CommandError(problem("no_package", name=str(error.name)), 2) from None
    words: Words = arguments.words
    at = LANGUAGES.index(words.language)
    out = Path(arguments.out) if arguments.out else None
    found: list[dict[str, Any]] = []
    if out is not None:
        make_directory(out)

    def ask(spark: SparkSession) -> None:
        for answer in classes.replay(spark, arguments.files, out):
            found.append(classes.plain(answer))
            if not arguments.json:
                clear()
                table = text_table(answer.columns, answer.rows, answer.count, words=words)
                print(f"\n{classes.QUESTIONS[answer.name].title[at]}\n{table}", flush=True)

    if not arguments.json:
        progress(words.say("replay.starts"), 0, 1)
    try:
        with_session("brokerlab class-report", arguments.master, ask)
    except KeyboardInterrupt:
        what = problem("questions_interrupted", n=len(found), most=len(classes.QUESTIONS))
        raise CommandError(what, INTERRUPTED) from None
    finally:
        clear()
    if arguments.json:
        print(json.dumps(found, default=str))
    elif out is not None:
        print("\n" + words.say("replay.report", path=out / classes.REPORT))
    return 0
