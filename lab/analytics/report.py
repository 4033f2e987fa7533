"""One HTML file that shows the answers: plots, tables, a sentence of reading, in English and Korean.

It loads nothing: style and plots stand in it. The language is chosen by two radio buttons and style alone. A
table that is wider than the window scrolls, with a shadow at the edge behind which it goes on.
"""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Protocol

from lab.analytics.charts import DRAW, MOST, columns_of, figure, legend, telling
from lab.analytics.queries import QUERIES
from lab.analytics.recorded import told
from lab.analytics.summary import COLUMNS, Figures, total
from lab.analytics.words import ENGLISH, KOREAN, Text

ROWS = 100
RANGES = 20
"""Ranges of lost offsets that a report shows; all of them can be taken from it as a file."""
_BAD = frozenset(("lost", "lost_records", "unclean"))
LONG = 40
"""Letters from which on a value in a table may be broken into lines."""
_STYLE = """
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1400px;margin:2rem auto;padding:0 1rem}
section>:not(.wide,dl){max-width:900px}
svg{width:100%;height:auto}svg text{fill:currentColor}table{border-collapse:collapse;font-size:13px;margin:.5rem 0}
td,th{border:1px solid #8888;padding:2px 6px;text-align:left}td{white-space:nowrap}
td.n{text-align:right;font-variant-numeric:tabular-nums}td.long{white-space:normal;overflow-wrap:anywhere;min-width:16rem}
.key i{display:inline-block;width:10px;height:10px;margin:0 4px 0 10px}code,pre{font-size:13px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}dt{margin-top:.5rem}dd{margin-left:1rem}
nav a{margin-right:1rem;white-space:nowrap}
.wide,.plot{overflow:auto;max-height:24rem}.wide thead th{position:sticky;top:0;background:Canvas}
.wide tr.all td{font-weight:600;border-bottom:2px solid #8888}td.bad{color:#c62828;font-weight:600}
.wide{background:linear-gradient(to left,Canvas 1rem,#0000) right/2rem 100% no-repeat local,
linear-gradient(to left,#8888,#0000) right/1rem 100% no-repeat}
[lang=ko]{word-break:keep-all}
#en:checked~main [lang=ko],#ko:checked~main [lang=en]{display:none}p.doc{opacity:.75;font-size:13px}
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows that a query gave (at most `ROWS` of them) and how many there are. `drawn`: what a plot takes when there
    are more. `missing`: what some runs have not recorded, so that they cannot answer. `ranges`: neighbouring offsets as
    one row, the longest first; of what was lost."""

    name: str
    columns: list[str]
    rows: list[dict[str, Any]]
    count: int
    drawn: list[dict[str, Any]] | None = None
    missing: list[dict[str, str]] = field(default_factory=list)
    ranges: list[dict[str, Any]] | None = None


class Asked(Protocol):
    """What a report says of a question."""

    @property
    def title(self) -> Text: ...

    @property
    def reading(self) -> Text: ...

    @property
    def explained(self) -> Text: ...

    @property
    def chart(self) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None: ...


def both(text: Text, tag: str = "span") -> str:
    """The same text in both languages, of which one is shown."""
    return f'<{tag} lang="en">{escape(text[0])}</{tag}><{tag} lang="ko">{escape(text[1])}</{tag}>'


def table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], first: Mapping[str, Any] | None = None) -> str:
    """Rows below their headings; `first` stands above them, set apart."""
    head = "".join(f'<th title="{escape(name)}">{both((ENGLISH.heading(name), KOREAN.heading(name)))}</th>'
                   for name in columns)
    body = "" if first is None else f'<tr class="all">{"".join(_cell(name, first.get(name)) for name in columns)}</tr>'
    body += "".join("<tr>" + "".join(_cell(name, row.get(name)) for name in columns) + "</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(column: str, value: Any) -> str:
    english, korean = (figure(words.value(column, value)) for words in (ENGLISH, KOREAN))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    is_bad = column in _BAD and value
    kind = ' class="n bad"' if is_bad else ' class="n"' if number else ' class="long"' if len(english) > LONG else ""
    text = escape(english) if english == korean else both((english, korean))
    return f"<td{kind}>{text}</td>"


def _plot(query: Asked, answer: Answer) -> str:
    """The plot of an answer in both languages, and how much of the answer it shows when that is not all."""
    assert query.chart is not None
    kind, labels, values = query.chart
    rows, of = telling(kind, answer.rows if answer.drawn is None else answer.drawn, labels, values)
    if kind == "bars":
        of = answer.count
    parts = []
    for words, language, title in zip((ENGLISH, KOREAN), ("en", "ko"), query.title):
        columns = columns_of(rows, values) if kind == "bars" else ()
        named = f"<p>{legend(columns, words)}</p>" if len(columns) > 1 else ""
        drawn = DRAW[kind](title, rows, labels, values, words)
        parts.append(f'<div lang="{language}">{named}<div class="plot" tabindex="0">{drawn}</div></div>')
    notes = []
    if of > MOST:
        largest = ("the largest", "가장 큰 것들") if kind == "bars" else ("the longest", "가장 긴 것들")
        notes.append((f"{MOST} of {of:,} shown: {largest[0]}.", f"{of:,}개 중 {MOST}개를 그렸습니다: {largest[1]}."))
    if kind != "bars" and answer.drawn is not None:
        told = len(answer.drawn)
        notes.append((f"Of {answer.count:,} stretches the longest {told:,} were looked at.",
                      f"구간 {answer.count:,}개 중 가장 긴 {told:,}개만 보았습니다."))
    return "".join([*parts, *(f'<p class="doc">{both(note)}</p>' for note in notes)])


def section(answer: Answer, asked: Asked | None = None) -> str:
    """One answer: title, plot, reading, table; `asked`: of a question that is none about runs."""
    query = asked or QUERIES[answer.name]
    parts = [f'<section id="{answer.name}"><h2>{both(query.title)}</h2>']
    parts += [f'<p class="missing">{both(sentence)}</p>' for sentence in told(answer.missing)]
    if not answer.rows and not answer.missing:
        parts.append(f"<p>{both(('Nothing.', '없음.'))}</p>")
    elif answer.rows:
        if query.chart is not None:
            parts.append(_plot(query, answer))
        parts.append(f"<p>{both(query.reading)}</p>")
        parts.append(_folded(answer, query) if answer.ranges is None else _ranges(answer, answer.ranges))
        if answer.count > len(answer.rows) and answer.ranges is None:
            more = answer.count - len(answer.rows)
            parts.append(f"<p>{both((f'and {more:,} more', f'그 밖에 {more:,}개'))}</p>")
    parts.append(f'<p class="doc"><code>{answer.name}</code> {both(query.explained)}</p></section>')
    return "".join(parts)


def _folded(answer: Answer, query: Asked) -> str:
    """The rows; below a plot they are there when asked for."""
    rows = table(answer.columns, answer.rows)
    if query.chart is None:
        return rows
    count = len(answer.rows)
    named = both((f"Table, {count:,} rows" if count > 1 else "Table, 1 row", f"표, {count:,}행"))
    return f"<details><summary>{named}</summary>{rows}</details>"


def _contents(answers: Sequence[Answer]) -> str:
    """Where each answer stands, and of which there is nothing to say."""
    told = [one for one in answers if one.rows or one.missing]
    links = " ".join(f'<a href="#{one.name}">{both(QUERIES[one.name].title)} ({one.count:,})</a>' for one in told)
    empty = [QUERIES[one.name].title for one in answers if one not in told]
    english, korean = (", ".join(title[at] for title in empty) for at in (0, 1))
    silent = f"<p>{both((f'Nothing to tell about: {english}.', f'해당 없음: {korean}.'))}</p>" if empty else ""
    return f"<nav>{links}</nav>{silent}"


def _ranges(answer: Answer, ranges: Sequence[Mapping[str, Any]]) -> str:
    """The longest ranges of offsets as a table, and all of them as a file that stands in the page."""
    names = ("run", "label", "topic", "partition", "offsets", "records", "test")
    shown = [{**row, "offsets": span(row["first_offset"], row["last_offset"])} for row in ranges[:RANGES]]
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(ranges[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(ranges)
    content = b64encode(lines.getvalue().encode()).decode()
    link = f'<a download="{answer.name}.csv" href="data:text/csv;base64,{content}">{answer.name}.csv</a>'
    few, all_, records = min(RANGES, len(ranges)), len(ranges), answer.count
    said = (f"{records:,} records in {all_:,} ranges of offsets; the longest {few} are shown. All of them: ",
            f"레코드 {records:,}개, 오프셋 범위 {all_:,}개 중 긴 것부터 {few}개입니다. 전체: ")
    return f'{table(names, shown)}<p>{both(said)}{link}</p>'


def span(first: int | None, last: int | None) -> str:
    """`7`, `7 – 12`; of records that never had an offset a dash."""
    return "–" if first is None else f"{first:,}" if first == last else f"{first:,} – {last:,}"


def overview(runs: Sequence[str], figures: Figures) -> str:
    """What each run comes to, all of them together first."""
    if not figures:
        return ""
    columns = [name for name in COLUMNS if name == "run" or any(row.get(name) is not None for row in figures.values())]
    losing = sum(bool(row.get("lost")) for row in figures.values())
    title = both(("Runs at a glance", "실행 한눈에 보기"))
    english = (f"{len(runs):,} runs; records were lost in {losing:,} of them. How long: the longest time without an"
               " acknowledgement.")
    korean = (f"실행 {len(runs):,}개 중 {losing:,}개에서 레코드가 유실되었습니다."
              " 길이는 확인 응답이 없던 가장 긴 시간입니다.")
    said = both((english, korean))
    rows = [{"run": run, **figures.get(run, {})} for run in runs]
    first = {"run": "Σ", **total(figures)} if len(rows) > 1 else None
    return f'<section id="runs"><h2>{title}</h2><p>{said}</p>{table(columns, rows, first)}</section>'


def page(title: Text, sections: Sequence[str]) -> str:
    """The whole file."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title[0])} · {escape(title[1])}</title><style>{_STYLE}</style></head><body>"
        '<input type="radio" name="language" id="en" checked><label for="en">English</label> '
        '<input type="radio" name="language" id="ko"><label for="ko">한국어</label>'
        f"<main><h1>{both(title)}</h1>{''.join(sections)}</main></body></html>"
    )


def in_language(content: bytes, language: str) -> bytes:
    """The file with another language chosen; English is when it is written."""
    if language == "en":
        return content
    chosen = content.replace(b'id="en" checked', b'id="en"', 1)
    return chosen.replace(f'id="{language}"'.encode(), f'id="{language}" checked'.encode(), 1)


def write(path: Path, answers: Sequence[Answer], runs: Sequence[str], figures: Figures | None = None) -> None:
    """The report of a replay; `figures`: of each run (`summary`)."""
    named = ", ".join(runs[:5]) + (f" +{len(runs) - 5}" if len(runs) > 5 else "")
    title = (f"Replay of {named}", f"재생: {named}")
    told = [section(answer) for answer in answers if answer.rows or answer.missing]
    parts = [overview(runs, figures or {}), _contents(answers), *told]
    path.write_text(page(title, parts), encoding="utf-8")
