"""What a sweep found: a heat map as text and as SVG, the table of cells, the runs that failed.

The first key of the grid names the rows, the second the columns; with more keys the others stand in front of
the row's value. A cell tells how many records were lost a run, and in how many of its runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as parquet

from lab.analytics.charts import heat_map
from lab.analytics.grid import Cell
from lab.analytics.report import both, page, table
from lab.analytics.sweep import SCHEMA
from lab.analytics.words import ENGLISH, KOREAN, Words
from lab.experiments.shown import width_of

Cells = dict[tuple[str, str], tuple[float, str]]
TITLES = {
    "lost": ("Records lost a run (share of runs that lost any)", "실행당 유실 레코드 수 (유실이 있던 실행의 비율)"),
    "duplicated": ("Records duplicated a run", "실행당 중복 레코드 수"),
    "reordered": ("Records reordered a run", "실행당 순서가 뒤바뀐 레코드 수"),
    "mean_gap_s": ("Longest time without an acknowledgement, mean of runs, seconds",
                   "확인 응답이 없던 가장 긴 시간, 실행 평균(초)"),
}


def axes(
    cells: Sequence[Cell], summary: Sequence[Mapping[str, Any]], figure: str, words: Words = ENGLISH
) -> tuple[list[str], list[str], Cells]:  # fmt: skip
    """(columns, rows, cells) of a heat map of one figure."""
    columns: dict[str, None] = {}
    rows: dict[str, None] = {}
    found: Cells = {}
    for cell, facts in zip(cells, summary):
        keys = list(cell.values)
        across = f"{keys[1]}={cell.values[keys[1]]}" if len(keys) > 1 else words.phrase("all seeds")
        down = ", ".join(f"{key}={cell.values[key]}" for key in [*keys[2:], *keys[:1]]) or words.phrase("all")
        columns[across] = rows[down] = None
        value, text = _shown(facts, figure)
        found[down, across] = value, words.phrase(text)
    return list(columns), list(rows), found


def _shown(facts: Mapping[str, Any], figure: str) -> tuple[float, str]:
    if not facts["runs"]:
        return 0.0, "no run"
    if figure.endswith("_s"):
        return (0.0, "-") if facts[figure] is None else (facts[figure], f"{facts[figure]:.2f}")
    value = facts[figure] / facts["runs"]
    share = f" ({facts['runs_with_loss'] / facts['runs']:.0%})" if figure == "lost" else ""
    return value, f"{value:.4g}{share}"


def text(
    cells: Sequence[Cell], summary: Sequence[Mapping[str, Any]], figure: str = "lost", words: Words = ENGLISH
) -> str:  # fmt: skip
    """The heat map for a terminal."""
    columns, rows, found = axes(cells, summary, figure, words)
    left = max(width_of(row) for row in rows)
    widths = [max(width_of(column), *(width_of(found[row, column][1]) for row in rows if (row, column) in found))
              for column in columns]
    lines = [TITLES[figure][words.language], " " * left + _set_right(columns, widths)]
    for row in rows:
        told = [found.get((row, column), (0.0, ""))[1] for column in columns]
        lines.append(row + " " * (left - width_of(row)) + _set_right(told, widths))
    return "\n".join(lines)


def _set_right(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "".join("  " + " " * (width - width_of(text)) + text for text, width in zip(texts, widths))


def failures(results: Sequence[Mapping[str, Any]], words: Words = ENGLISH) -> list[str]:
    """A line for each run that failed, with the command that repeats it. Runs of a cell that failed alike, as those do
    whose task died, share one, and one command."""
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in results:
        if row["error"] is not None:
            alike.setdefault((row["cell"], row["error"]), []).append(row)
    told = []
    for (cell, error), rows in alike.items():
        seeds = ranges([row["seed"] for row in rows])
        word = words.phrase("seed" if len(rows) == 1 else "seeds")
        command = rows[0]["command"] if len(rows) == 1 else _for_all(rows[0]["command"], seeds)
        told.append(f"{cell}, {word} {seeds}: {words.value('error', error)}\n    {command}")
    return told


def _for_all(command: str, seeds: str) -> str:
    """A command for one seed, as a sweep of many."""
    whole = re.sub(r"--seeds? -?\d+$", f"--seeds={seeds}", command)
    return re.sub(r"^\./brokerlab run ", "./brokerlab sweep ", whole)


def ranges(seeds: Sequence[int]) -> str:
    """`1..3,7`: seeds as `--seeds` takes them."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][-1] + 1:
            parts[-1][1:] = [seed]
        else:
            parts.append([seed])
    return ",".join("..".join(map(str, part)) for part in parts)


def write(
    out: Path, cells: Sequence[Cell], summary: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]]
) -> None:  # fmt: skip
    """results.parquet, sweep.json, sweep.html."""
    out.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(list(results), schema=SCHEMA), out / "results.parquet")
    failed = failures(results)
    told = {"cells": list(summary), "failed": failed}
    (out / "sweep.json").write_bytes(orjson.dumps(told, option=orjson.OPT_INDENT_2))
    sections = []
    for figure, title in TITLES.items():
        maps = [f'<div lang="{language}">{heat_map(title[at], *axes(cells, summary, figure, words))}</div>'
                for at, (language, words) in enumerate((("en", ENGLISH), ("ko", KOREAN)))]
        sections.append(f"<section><h2>{both(title)}</h2>{''.join(maps)}</section>")
    columns = [name for name in summary[0] if name != "open"]
    sections.append(f"<section><h2>{both(('Cells', '셀 목록'))}</h2>{table(columns, summary)}</section>")
    sections.append(_commands(summary))
    if failed:
        lines = "".join(f"<li>{both(line, 'pre')}</li>" for line in zip(failed, failures(results, KOREAN)))
        sections.append(f"<section><h2>{both(('Runs that failed', '실패한 실행'))}</h2><ul>{lines}</ul></section>")
    (out / "sweep.html").write_text(page(("Sweep", "스윕"), sections), encoding="utf-8")


def _commands(summary: Sequence[Mapping[str, Any]]) -> str:
    """The command of each cell below its name: no column is wide enough for one."""
    title = both((ENGLISH.heading("open"), KOREAN.heading("open")))
    reading = both(("Each command runs the worst seed of its cell again.",
                    "명령마다 그 셀의 가장 나쁜 시드를 다시 실행합니다."))
    lines = "".join(f"<dt>{escape(facts['cell'])}</dt><dd><pre>{escape(facts['open'])}</pre></dd>"
                    for facts in summary if facts["open"] is not None)
    return f'<section id="open"><h2>{title}</h2><p>{reading}</p><dl>{lines}</dl></section>' if lines else ""
