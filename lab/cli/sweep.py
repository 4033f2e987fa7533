"""`sweep`: a scenario over a grid of settings and seeds, whole worlds inside Spark's tasks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lab.cli.errors import CommandError


def sweep(arguments: argparse.Namespace) -> int:
    """Exit code 0 when every run could be carried out, 1 when one failed, 2 for a wrong grid or no Spark."""
    try:
        from lab.analytics import grid, session, sweep, sweep_report
        from lab.analytics.errors import AnalyticsError
    except ImportError as error:
        raise CommandError(f"{error.name} is not installed: pip install -r requirements/spark.txt", 2) from None
    spark = None
    out = Path(arguments.out) if arguments.out else None
    try:
        cells = grid.cells(arguments.scenario, grid.parse_grid(arguments.grid))
        seeds = grid.parse_seeds(arguments.seeds)
        spark = session.start("brokerlab sweep", arguments.master)
        if out is not None:
            sweep.write_cells(cells, out)
        results = [row.asDict() for row in sweep.sweep(spark, arguments.scenario, cells, seeds, out).collect()]
    except AnalyticsError as error:
        raise CommandError(str(error), 2) from None
    finally:
        if spark is not None:
            session.stop(spark)
    summary = sweep.summarise(cells, results)
    failed = sweep_report.failures(results)
    if out is not None:
        sweep_report.write(out, cells, summary, results)
    if arguments.json:
        print(json.dumps({"cells": summary, "failed": failed}))
    else:
        show(sweep_report.text(cells, summary), summary, failed, out)
    return 1 if failed else 0


def show(heat_map: str, summary: list[dict[str, object]], failed: list[str], out: Path | None) -> None:
    """For a terminal: heat map, cells, failures."""
    from lab.cli.replay import text_table

    columns = [name for name in summary[0] if name != "open"]
    print(f"{heat_map}\n\n{text_table(columns, summary, len(summary), len(summary))}")
    if failed:
        print("\nfailed:\n  " + "\n  ".join(failed))
    if out is not None:
        print(f"\nreport: {out / 'sweep.html'}\nscenarios of the cells: {out / 'cells'}")
