"""A moment of a cluster as a picture: a card for each broker, a row for each partition, a cell for each replica.

| sign | the replica |
|---|---|
| ★ | leads |
| · | is in sync |
| ▽ | is not in sync |

The number is its log end offset; a bar says how far it has come, its dark part what is committed. A broker that does
not run is grey and hatched. The signs are those of the page, so that a picture in a notebook needs no legend.
"""

from __future__ import annotations

from html import escape
from typing import Any

CELL, ROW, HEAD, LEFT, MARGIN = 150, 34, 58, 150, 12
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8860b")
INK, FAINT, GROUND = "#1b1f24", "#6b7280", "#ffffff"
MOST_ROWS = 40


class Picture:
    """SVG as text; a notebook shows it by itself."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<Picture, {len(self.svg)} characters of SVG>"


def picture(state: dict[str, Any]) -> Picture:
    """Of a snapshot's state."""
    brokers = sorted(state["brokers"].values(), key=lambda one: int(one["id"]))
    rows = [(topic, number, one) for topic, found in sorted(state["topics"].items()) if not found["internal"]
            for number, one in sorted(found["partitions"].items(), key=lambda pair: int(pair[0]))]  # fmt: skip
    shown = rows[:MOST_ROWS]
    width = LEFT + CELL * len(brokers) + 2 * MARGIN
    height = HEAD + ROW * len(shown) + 3 * MARGIN + (18 if len(rows) > len(shown) else 0)
    parts = [_card(index, broker, state, height) for index, broker in enumerate(brokers)]
    for row, (topic, number, one) in enumerate(shown):
        y = HEAD + 2 * MARGIN + row * ROW
        parts.append(_text(MARGIN, y + 14, f"{topic}-{number}", weight=700))
        parts.append(_text(MARGIN, y + 27, f"epoch {one['leader_epoch']}, ISR {len(one['isr'])}", FAINT, 10.5))
        parts += [_cell(index, y, broker, one) for index, broker in enumerate(brokers)]
    if len(rows) > len(shown):
        parts.append(_text(MARGIN, height - 8, f"and {len(rows) - len(shown)} more partitions", FAINT))
    title = f"{len(brokers)} brokers at {state['time']['t_us'] / 1e6:.3f} s"
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" font-family="system-ui, sans-serif"><title>{escape(title)}</title>'
        '<defs><pattern id="gone" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<path d="M0 0V6" stroke="#9ca3af" stroke-width="2"/></pattern></defs>'
        f'<rect width="{width}" height="{height}" fill="{GROUND}"/>{"".join(parts)}</svg>'
    )


def _card(index: int, broker: dict[str, Any], state: dict[str, Any], height: int) -> str:
    """A broker, over the height of the picture."""
    x, runs = LEFT + MARGIN + index * CELL, broker["state"] == "running"
    colour = COLOURS[index % len(COLOURS)]
    fill = f"{colour}14" if runs else "url(#gone)"
    told = "controller" if state["cluster"].get("controller") == broker["id"] else broker["state"]
    told = told if broker["registered"] or not runs else "fenced" if broker.get("fenced") else "not registered"
    return (
        f'<rect x="{x}" y="{MARGIN}" width="{CELL - 10}" height="{height - 2 * MARGIN}" rx="8" fill="{fill}"'
        f' fill-opacity="{1 if runs else 0.35}" stroke="{colour if runs else "#9ca3af"}"/>'
        + _text(x + 10, MARGIN + 20, f"broker {broker['id']}", weight=700)
        + _text(x + 10, MARGIN + 36, told, FAINT, 11)
    )


def _cell(index: int, y: int, broker: dict[str, Any], one: dict[str, Any]) -> str:
    """A replica, or nothing where there is none."""
    number = int(broker["id"])
    if number not in one["replicas"]:
        return ""
    marks = one["logs"].get(str(number), {"leo": 0, "hw": 0})
    sign = "★" if one["leader"] == number else "·" if number in one["isr"] else "▽"
    end = max((each["leo"] for each in one["logs"].values()), default=0) or 1
    x, room = LEFT + MARGIN + index * CELL + 10, CELL - 30
    colour = COLOURS[index % len(COLOURS)]
    return (
        _text(x, y + 14, sign, weight=700)
        + _text(x + 16, y + 14, f"{marks['leo']:,}")
        + f'<rect x="{x}" y="{y + 19}" width="{room}" height="5" rx="2" fill="#e5e7eb"/>'
        + f'<rect x="{x}" y="{y + 19}" width="{room * marks["leo"] / end:.1f}" height="5" rx="2" fill="{colour}66"/>'
        + f'<rect x="{x}" y="{y + 19}" width="{room * min(marks["hw"], end) / end:.1f}" height="5" rx="2"'
        f' fill="{colour}"/>'
    )


def _text(x: float, y: float, words: str, colour: str = INK, size: float = 12.5, weight: int = 400) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" font-weight="{weight}">{escape(words)}</text>'
