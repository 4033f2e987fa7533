"""The pencil box of the glossary's pictures: cells of a log, brokers, clients, arrows, on a sheet of 200 by 88.

A picture is a list of marks, each the text of one SVG element; `sheet` puts them on a page of their own, with colours
for light and dark. There are no words in it but Kafka's own (HW, ISR) and numbers: one picture serves all languages,
and what it shows is said by the term's sentence.

| cell | is |
|---|---|
| `c` | a record that is committed |
| `u` | one that is not yet |
| `x` | one that is lost |
| `d` | one that was deleted |
| `.` | nothing |
| a digit, a capital | a committed record with this in it |
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 200, 88
PITCH = 16  # from one cell to the next
CELL = 14

_CELLS = "--one:#6db9ea;--two:#eda41c;--three:#35c397;--cell:#10151b"
_LIGHT = f"--ink:#131a22;--soft:#5b6775;--bad:#b3261e;--good:#00694e;--accent:#0b5c9e;{_CELLS}"
_DARK = "--ink:#eef2f6;--soft:#a8b4c2;--bad:#ff8d84;--good:#5fd6ac;--accent:#7cc4fa"
_STYLE = f"""
svg{{{_LIGHT}}}
@media (prefers-color-scheme:dark){{svg{{{_DARK}}}}}
text{{font:700 11px system-ui,sans-serif;fill:var(--ink);text-anchor:middle}}
.big{{font-size:15px}}
.in{{fill:var(--cell)}}
.line{{stroke:var(--ink);stroke-width:1.5;fill:none}}
.soft{{stroke:var(--soft);stroke-width:1.2;fill:none}}
.softly{{fill:var(--soft)}}
.dash{{stroke-dasharray:3 2.5}}
.box{{stroke:var(--soft);stroke-width:1.4;fill:none}}
.bold{{stroke:var(--ink);stroke-width:2.6}}
.b1{{fill:var(--one)}} .b2{{fill:var(--two)}} .b3{{fill:var(--three)}}
.bad{{stroke:var(--bad);stroke-width:2;fill:none}}
.good{{stroke:var(--good);stroke-width:2.2;fill:none}}
.accent{{stroke:var(--accent);stroke-width:2;fill:none}}
.badly{{fill:var(--bad)}} .goodly{{fill:var(--good)}} .accently{{fill:var(--accent)}} .inkly{{fill:var(--ink)}}
"""

Mark = str
Marks = Iterable["Mark | Marks"]


def sheet(*marks: Mark | Marks) -> str:
    """A whole SVG document."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f"<style>{_STYLE}</style>{''.join(_flat(marks))}</svg>"
    )


def _flat(marks: Marks) -> Iterable[Mark]:
    for one in marks:
        if isinstance(one, str):
            yield one
        else:
            yield from _flat(one)


# -- strokes --------------------------------------------------------------------------------
def text(x: float, y: float, words: str, style: str = "") -> Mark:
    """Centred at x, standing on y."""
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(words)}</text>'


def path(shape: str, style: str = "line") -> Mark:
    """Any stroke."""
    return f'<path d="{shape}" class="{style}"/>'


def rect(x: float, y: float, width: float, height: float, style: str = "box", round_by: float = 3) -> Mark:
    """A frame, or a filled area."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_by:g}" class="{style}"/>'


def disc(x: float, y: float, radius: float, style: str = "box") -> Mark:
    """A circle."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" class="{style}"/>'


def cross(x: float, y: float, size: float = 5) -> Mark:
    """No, dead, lost."""
    side = 2 * size
    return path(f"M{x - size:g} {y - size:g}l{side:g} {side:g}m{-side:g} 0l{side:g} {-side:g}", "bad")


def tick(x: float, y: float, size: float = 5) -> Mark:
    """Yes."""
    return path(f"M{x - size:g} {y:g}l{size * 0.8:g} {size:g}l{size * 1.4:g} {-2 * size:g}", "good")


def arrow(x1: float, y1: float, x2: float, y2: float, style: str = "line") -> list[Mark]:
    """A way from one point to another; `style` may be `soft`, `line dash`, `bad`, `accent`."""
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    left = (x2 - 6 * dx - 3.5 * dy, y2 - 6 * dy + 3.5 * dx)
    right = (x2 - 6 * dx + 3.5 * dy, y2 - 6 * dy - 3.5 * dx)
    head = path(f"M{left[0]:.1f} {left[1]:.1f}L{x2:g} {y2:g}L{right[0]:.1f} {right[1]:.1f}", style.replace(" dash", ""))
    return [path(f"M{x1:g} {y1:g}L{x2:g} {y2:g}", style), head]


def clock(x: float, y: float, radius: float = 10) -> list[Mark]:
    """Time that passes."""
    return [disc(x, y, radius, "line"), path(f"M{x:g} {y - radius * 0.6:g}V{y:g}h{radius * 0.5:g}")]


def crown(x: float, y: float) -> Mark:
    """The controller's sign, as on the stage."""
    return path(f"M{x - 9:g} {y + 6:g}v-10l5 5l4 -8l4 8l5 -5v10z", "inkly")


# -- things ---------------------------------------------------------------------------------
def cells(x: float, y: float, pattern: str, broker: int = 1) -> list[Mark]:
    """Records side by side; the module's table says what a letter of `pattern` is."""
    marks = []
    for index, kind in enumerate(pattern):
        left = x + index * PITCH
        if kind == ".":
            continue
        if kind in "ux":
            marks.append(rect(left, y, CELL, CELL, "box dash" if kind == "u" else "bad dash", 2))
        elif kind == "d":
            marks.append(rect(left, y, CELL, CELL, "soft dash", 2))
            marks.append(path(f"M{left + 2:g} {y + CELL - 2:g}l{CELL - 4} {4 - CELL}", "soft"))
        else:
            marks.append(rect(left, y, CELL, CELL, f"b{broker}", 2))
            if kind != "c":
                marks.append(text(left + CELL / 2, y + 10.5, kind, "in"))
        if kind == "x":
            marks.append(cross(left + CELL / 2, y + CELL / 2, 3.5))
    return marks


def edge(x: float, y: float, at: int, label: str = "", below: bool = False) -> list[Mark]:
    """A bar in front of cell `at` of cells at x: a high watermark, an end."""
    left = x + at * PITCH - 1
    words = [text(left, y + CELL + 14 if below else y - 6, label)] if label else []
    return [path(f"M{left:g} {y - 3:g}v{CELL + 6}", "line bold"), *words]


def replica(y: float, broker: int, pattern: str, leads: bool = False, x: float = 40) -> list[Mark]:
    """A row of the stage: a star for the leader, the broker's number, its log."""
    sign = text(12, y + 11.5, "★" if leads else "·", "big")
    return [sign, text(27, y + 11, str(broker)), *cells(x, y, pattern, broker)]


def server(x: float, y: float, broker: int, dead: bool = False, width: float = 44) -> list[Mark]:
    """A broker: a box with its colour at the left and its number."""
    stripe = [] if dead else [rect(x, y, 5, 26, f"b{(broker - 1) % 3 + 1}", 1)]
    return [rect(x, y, width, 26, "bad dash" if dead else "box"), *stripe,
            cross(x + width / 2, y + 13, 6) if dead else text(x + width / 2 + 2, y + 17, str(broker))]  # fmt: skip


def client(x: float, y: float, words: str = "", width: float = 40) -> list[Mark]:
    """A producer or a consumer: a pill."""
    return [rect(x, y, width, 22, "line", 11), text(x + width / 2, y + 15, words)]


def page(x: float, y: float, width: float = 30, height: float = 38, style: str = "line") -> list[Mark]:
    """A file or a list."""
    lines = [path(f"M{x + 5:g} {y + 9 + 7 * row:g}h{width - 10:g}", "soft") for row in range(int((height - 10) // 7))]
    return [rect(x, y, width, height, style), *lines]
