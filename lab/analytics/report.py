"""One HTML file that shows the answers: plots, tables, a sentence of reading, in English and Korean.

It loads nothing: style and plots stand in it. The language is chosen by two radio buttons and style alone. A
table that is wider than the window scrolls, with a shadow at the edge behind which it goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from lab.analytics.charts import DRAW, MOST, figure, legend, telling
from lab.analytics.queries import QUERIES, Query, Text
from lab.analytics.words import ENGLISH, KOREAN

ROWS = 100
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
.wide{overflow-x:auto;background:linear-gradient(to left,Canvas 1rem,#0000) right/2rem 100% no-repeat local,
linear-gradient(to left,#8888,#0000) right/1rem 100% no-repeat}
[lang=ko]{word-break:keep-all}
#en:checked~main [lang=ko],#ko:checked~main [lang=en]{display:none}p.doc{opacity:.75;font-size:13px}
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows that a query gave (at most `ROWS` of them) and how many there are. `drawn`: what a plot takes when there
    are more."""

    name: str
    columns: list[str]
    rows: list[dict[str, Any]]
    count: int
    drawn: list[dict[str, Any]] | None = None


def both(text: Text, tag: str = "span") -> str:
    """The same text in both languages, of which one is shown."""
    return f'<{tag} lang="en">{escape(text[0])}</{tag}><{tag} lang="ko">{escape(text[1])}</{tag}>'


def table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f'<th title="{escape(name)}">{both((ENGLISH.heading(name), KOREAN.heading(name)))}</th>'
                   for name in columns)
    body = "".join("<tr>" + "".join(_cell(name, row[name]) for name in columns) + "</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(column: str, value: Any) -> str:
    english, korean = (figure(words.value(column, value)) for words in (ENGLISH, KOREAN))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = ' class="n"' if number else ' class="long"' if len(english) > LONG else ""
    text = escape(english) if english == korean else both((english, korean))
    return f"<td{kind}>{text}</td>"


def _plot(query: Query, answer: Answer) -> str:
    """The plot of an answer in both languages, and how much of the answer it shows when that is not all."""
    assert query.chart is not None
    kind, labels, values = query.chart
    rows, of = telling(kind, answer.rows if answer.drawn is None else answer.drawn, labels, values)
    if kind == "bars":
        of = answer.count
    parts = []
    for words, language, title in zip((ENGLISH, KOREAN), ("en", "ko"), query.title):
        named = f"<p>{legend(values, words)}</p>" if kind == "bars" and len(values) > 1 else ""
        parts.append(f'<div lang="{language}">{named}{DRAW[kind](title, rows, labels, values, words)}</div>')
    notes = []
    if of > MOST:
        largest = ("the largest", "가장 큰 것들") if kind == "bars" else ("the longest", "가장 긴 것들")
        notes.append((f"{MOST} of {of:,} shown: {largest[0]}.", f"{of:,}개 중 {MOST}개를 그렸습니다: {largest[1]}."))
    if kind != "bars" and answer.drawn is not None:
        told = len(answer.drawn)
        notes.append((f"Of {answer.count:,} stretches the longest {told:,} were looked at.",
                      f"구간 {answer.count:,}개 중 가장 긴 {told:,}개만 보았습니다."))
    return "".join([*parts, *(f'<p class="doc">{both(note)}</p>' for note in notes)])


def section(answer: Answer) -> str:
    """One answer: title, plot, reading, table."""
    query = QUERIES[answer.name]
    parts = [f'<section id="{answer.name}"><h2>{both(query.title)}</h2>']
    if not answer.rows:
        parts.append(f"<p>{both(('Nothing.', '없음.'))}</p>")
    else:
        if query.chart is not None:
            parts.append(_plot(query, answer))
        parts.append(f"<p>{both(query.reading)}</p>{table(answer.columns, answer.rows)}")
        if answer.count > len(answer.rows):
            more = answer.count - len(answer.rows)
            parts.append(f"<p>{both((f'and {more:,} more', f'그 밖에 {more:,}개'))}</p>")
    parts.append(f'<p class="doc"><code>{answer.name}</code> {both(query.explained)}</p></section>')
    return "".join(parts)


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


def write(path: Path, answers: Sequence[Answer], runs: Sequence[str]) -> None:
    """The report of a replay."""
    named = ", ".join(runs[:5]) + (f" +{len(runs) - 5}" if len(runs) > 5 else "")
    title = (f"Replay of {named}", f"재생: {named}")
    path.write_text(page(title, [section(answer) for answer in answers]), encoding="utf-8")
