"""Plots as SVG, drawn here: bars, spans of time, a heat map. No script, no font, nothing to load.

Every mark carries its figures as a tooltip (`<title>`), and a text for readers who do not see it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import floor, log10
from typing import Any
from unicodedata import east_asian_width

from lab.analytics.words import ENGLISH, Words

COLOURS = ("#1565c0", "#ef6c00", "#2e7d32", "#6a1b9a", "#00838f", "#795548")
RED = "#c62828"
_RED_COLUMNS = frozenset(("lost", "lost_records"))
_RED_REASONS = frozenset(("unclean",))
"""What breaks a promise is red, and nothing else but time in which nothing could be written."""
_WIDTH, _LEFT, _ROW = 860, 260, 18
_WIDEST = 420
"""What labels may take of the width at most; `_LEFT` is the least."""
_AXIS = 26
"""What the axis takes above the bars."""
MOST = 40
"""Rows of bars, and lines of stretches, that a plot has at most."""
STRETCHES = 10 * MOST
"""Stretches that are looked at for them, the longest."""
Row = Mapping[str, Any]


def figure(value: Any) -> str:
    """A number as people read it: 12,345 · 0.5 · 3.47."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _svg(height: int, title: str, parts: Sequence[str]) -> str:
    return (f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}"'
            f' xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>')


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def width_of(text: str) -> float:
    """About how wide a text of size 12 is; letters of Korean are square."""
    return sum(12.0 if east_asian_width(letter) in "WF" else 7.4 for letter in text)


def _margin(labels: Iterable[str]) -> float:
    """Room on the left in which the widest label fits, or almost all of it."""
    return min(max([_LEFT, *(width_of(label) + 16 for label in labels)]), _WIDEST)


def _label(x: float, y: float, text: str) -> str:
    """A label in front of `x`; one that does not fit ends with an ellipsis and has the whole text as its tooltip."""
    shown = text
    while width_of(shown) > x:
        shown = shown.removesuffix("…")[:-1] + "…"
    tip = f"<title>{escape(text)}</title>" if shown != text else ""
    return _text(x, y, shown, "end").replace("</text>", f"{tip}</text>")


def _box(x: float, y: float, width: float, height: float, colour: str, tip: str) -> str:
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" fill="{colour}">'
            f"<title>{escape(tip)}</title></rect>")


def colour_of(name: str, place: int, row: Row | None = None) -> str:
    """The colour of the bars of a column, the `place`-th of its plot; of a row of elections by its reason."""
    is_red = name in _RED_COLUMNS or (row is not None and row.get("reason") in _RED_REASONS)
    return RED if is_red else COLOURS[place % len(COLOURS)]


def legend(names: Sequence[str], words: Words = ENGLISH) -> str:
    return " ".join(f'<span class="key"><i style="background:{colour_of(name, index)}"></i>'
                    f"{escape(words.heading(name))}</span>" for index, name in enumerate(names))


def label_of(row: Row, labels: Sequence[str], words: Words = ENGLISH) -> str:
    """What a row is about."""
    return " ".join(str(words.value(name, row[name])) for name in labels)


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """A key that sorts names as people do: acks-2 before acks-10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return tuple((part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)


def telling(kind: str, rows: Sequence[Row], labels: Sequence[str], values: Sequence[str]) -> tuple[list[Row], int]:
    """The rows that a plot draws, in their order, and of how many bars or lines it can choose: the largest bars, the
    lines whose stretches are the longest."""
    if kind == "bars":
        largest = sorted(range(len(rows)), key=lambda at: -max(float(rows[at][name] or 0) for name in values))[:MOST]
        return [rows[at] for at in sorted(largest)], len(rows)
    begin, end = values
    last = max((row[end] or row[begin] for row in rows), default=0)
    length: dict[str, float] = {}
    for row in rows:
        name = label_of(row, labels)
        length[name] = length.get(name, 0) + (last if row[end] is None else row[end]) - row[begin]
    chosen = set(sorted(length, key=lambda name: -length[name])[:MOST])
    return [row for row in rows if label_of(row, labels) in chosen], len(length)


def columns_of(rows: Sequence[Row], values: Sequence[str]) -> Sequence[str]:
    """The columns that bars are drawn of: not those that are nowhere above 0, unless there is no other."""
    return [name for name in values if any(row[name] for row in rows)] or values[:1]


def bars(
    title: str, rows: Sequence[Row], labels: Sequence[str], values: Sequence[str], words: Words = ENGLISH,
) -> str:  # fmt: skip
    """Horizontal bars, a group for each row, below an axis."""
    values = columns_of(rows, values)
    largest = max((float(row[name] or 0) for row in rows for name in values), default=0.0) or 1.0
    height = _ROW - 4 if len(values) == 1 else 9
    group = len(values) * height + 8
    parts = []
    names = [label_of(row, labels, words) for row in rows]
    left = _margin(names)
    for index, (row, label) in enumerate(zip(rows, names)):
        top = index * group + _AXIS
        parts.append(_label(left - 8, top + len(values) * height / 2 + 4, label))
        for place, name in enumerate(values):
            value = row[name]
            width = float(value or 0) / largest * (_WIDTH - left - 90)
            y = top + place * height
            tip = f"{label} · {words.heading(name)}: {figure(value)}"
            parts.append(_box(left, y, width, height - 1, colour_of(name, place, row), tip))
            parts.append(_text(left + width + 4, y + height - 1, figure(value), size=9 if len(values) > 1 else 11))
    unit = words.axis(values[0])
    return _svg(len(rows) * group + _AXIS + 4, f"{title} ({unit})", [*_axis(left, largest, unit), *parts])


def _axis(left: float, largest: float, unit: str) -> list[str]:
    """A line above the bars, with round numbers, and the unit behind them."""
    long, y = _WIDTH - left - 90, _AXIS - 6
    step = _round_step(largest)
    parts = [f'<line x1="{left:.1f}" y1="{y}" x2="{left + long:.1f}" y2="{y}" stroke="#9e9e9e"/>']
    at = 0.0
    while at <= largest * 1.001:
        x = left + at / largest * long
        parts.append(f'<line x1="{x:.1f}" y1="{y - 4}" x2="{x:.1f}" y2="{y}" stroke="#9e9e9e"/>')
        parts.append(_text(x, y - 7, figure(round(at, 9) if step < 1 else int(at)), "middle", 10))
        at += step
    return [*parts, _text(_WIDTH - 4, y - 7, unit, "end", 10)]


def _round_step(largest: float) -> float:
    """1, 2 or 5 times a power of ten, of which at most five fit."""
    power = 10.0 ** floor(log10(largest / 5)) if largest > 0 else 1.0
    return next(power * times for times in (1, 2, 5, 10) if largest / (power * times) <= 5.0)


def spans(
    title: str, rows: Sequence[Row], labels: Sequence[str], values: Sequence[str], words: Words = ENGLISH,
) -> str:  # fmt: skip
    """Stretches of virtual time, a line for each label; `values` are the columns of begin and end in microseconds."""
    begin, end = values
    last = max((float(row[end] or row[begin]) for row in rows), default=0.0) * 1.05 or 1.0
    lines: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        lines.setdefault(label_of(row, labels, words), []).append(row)
    left = _margin(lines)
    scale = (_WIDTH - left - 20) / last
    parts = []
    for index, (label, stretches) in enumerate(lines.items()):
        y = index * _ROW + _AXIS
        parts.append(_label(left - 8, y + 11, label))
        parts.append(_box(left, y + 6, last * scale, 1, "#9e9e9e", label))
        for row in stretches:
            until = row[end] if row[end] is not None else last
            cause = f" · {words.value('cause', row['cause'])}" if "cause" in row else ""
            tip = f"{label}{cause}: {row[begin] / 1e6:.3f} s - {until / 1e6:.3f} s"
            parts.append(_box(left + row[begin] * scale, y, (until - row[begin]) * scale, 13, RED, tip))
    parts += [_text(left + last * scale * part / 4, _AXIS - 12, f"{last * part / 4e6:.1f} s", "middle", 10)
              for part in range(5)]
    return _svg(len(lines) * _ROW + _AXIS + 4, title, parts)


def heat_map(
    title: str, columns: Sequence[str], rows: Sequence[str], cells: Mapping[tuple[str, str], tuple[float, str]],
) -> str:  # fmt: skip
    """A cell for each (row, column): its value gives the colour, its text is written in it."""
    largest = max((value for value, _ in cells.values()), default=0.0) or 1.0
    left = _margin(rows)
    width = (_WIDTH - left) / max(1, len(columns))
    parts = [_text(left + (index + 0.5) * width, 16, name, "middle") for index, name in enumerate(columns)]
    for line, row in enumerate(rows):
        y = 24 + line * 34
        parts.append(_label(left - 8, y + 21, row))
        for index, column in enumerate(columns):
            if (row, column) not in cells:
                continue
            value, text = cells[row, column]
            shade = round(245 - 170 * value / largest)
            colour = f"rgb(245,{shade},{shade})" if value else "rgb(223,240,223)"
            parts.append(_box(left + index * width + 1, y, width - 2, 32, colour, f"{row} · {column}: {text}"))
            parts.append(_text(left + (index + 0.5) * width, y + 21, text, "middle"))
    return _svg(30 + 34 * len(rows), title, parts)


DRAW = {"bars": bars, "spans": spans}
