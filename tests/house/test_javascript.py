"""The page's modules can be read: no long lines, no long functions, no line that describes a whole tree of elements.

A line that is long because of one literal (the path of an icon, a command to copy) is left as it is: cut, it could be
neither read nor searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.sources import CHECKOUT, files, name

LONGEST_LINE = 160
LONGEST_FUNCTION = 50
ELEMENTS = re.compile(r'\bh\("')
MOST_ELEMENTS = 2  # described in one line: one, and what it holds
DEEPEST = 4  # elements within elements in one expression: what is deeper has a name of its own
COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)
BRACKET = re.compile(r"\bh\(|[()]")
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\})*`')
ONE_LITERAL = 100
NODE = re.compile(r"(?<!-)\b(?:broker|controller|zookeeper|machine)-(?:\$\{|\(|\[|\\d|[\"'`])")
BEGINS = re.compile(
    r"( *)(?:export )?(?:default )?(?:async )?(?:function\b.*|(?:static |get |set )?#?\w+\(.*\) |(?:const|let) \w+ = .*=> )\{$"
)


def _modules() -> list[Path]:
    return [path for path in files(".js", ".mjs") if path.is_relative_to(CHECKOUT / "static")]


def _is_one_literal(line: str) -> bool:
    return max(map(len, LITERAL.findall(line)), default=0) >= ONE_LITERAL


def _long_lines(text: str) -> Iterator[int]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE and not _is_one_literal(line):
            yield number


def _crowded_lines(text: str) -> Iterator[int]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(ELEMENTS.findall(line)) > MOST_ELEMENTS:
            yield number


def _deepest(text: str) -> int:
    """How many elements a description in this text holds within each other."""
    deepest, open_ones = 0, list[str]()
    for bracket in BRACKET.findall(COMMENT.sub("", LITERAL.sub('""', text))):
        if bracket != ")":
            open_ones.append(bracket)
            deepest = max(deepest, open_ones.count("h("))
        elif open_ones:
            open_ones.pop()
    return deepest


def _functions(text: str) -> Iterator[tuple[int, int]]:
    """(first line, lines) of each function whose brace ends a line: it ends where a brace stands in its column."""
    lines = text.splitlines()
    for first, line in enumerate(lines):
        if begins := BEGINS.match(line):
            end = next((at for at in range(first + 1, len(lines)) if lines[at].startswith(begins[1] + "}")), len(lines))
            yield first + 1, end - first + 1


def test_no_line_is_too_long_to_be_read() -> None:
    long = [f"{name(path)}:{number}" for path in _modules() for number in _long_lines(path.read_text())]
    assert not long, "\n".join(long)


def test_no_function_is_too_long_to_be_understood() -> None:
    long = [f"{name(path)}:{first}: {lines} lines" for path in _modules() for first, lines in _functions(path.read_text())
            if lines > LONGEST_FUNCTION]  # fmt: skip
    assert not long, "\n".join(long)


def test_no_line_describes_more_elements_than_a_reader_can_follow() -> None:
    crowded = [f"{name(path)}:{number}" for path in _modules() for number in _crowded_lines(path.read_text())]
    assert not crowded, "give the parts lines, or names, of their own:\n" + "\n".join(crowded)
    assert list(_crowded_lines('h("p", {}, h("b", {}));\nh("p", {}, h("b", {}), h("i", {}));\npath("a", h)')) == [2]


def test_no_description_is_nested_deeper_than_a_reader_can_follow() -> None:
    deep = [f"{name(path)}: {depth} elements within each other" for path in _modules() if (depth := _deepest(path.read_text())) > DEEPEST]
    assert not deep, "give the inner ones names:\n" + "\n".join(deep)
    assert _deepest('h("p", {}, f(h("b", {},\n  // h(\n  words.t(`(${x}h(`))), h("i", {}))') == 2


def test_what_processes_are_called_is_written_and_read_in_one_module() -> None:
    """As in Python, where it is `broker_core.kernel.names`."""
    own = [f"{name(path)}: {found}" for path in _modules() if path.parts[-2:] != ("model", "names.js")
           for found in NODE.findall(COMMENT.sub("", path.read_text()))]  # fmt: skip
    assert not own, "ask static/model/names.js:\n" + "\n".join(own)
    assert NODE.findall('`broker-${id}` "zookeeper-" /^controller-(\\d+)/ /^machine-\\d+$/') and not NODE.findall("--broker-${n}")


def test_a_long_line_and_a_long_function_would_be_found() -> None:
    arguments = ", ".join(f"argument{number}" for number in range(20))
    body = "\n".join(f"  line({number});" for number in range(LONGEST_FUNCTION))
    text = f'h("div", {{}}, {arguments});\nconst path = "{"M" * 200}";\nexport function long(view) {{\n{body}\n}}\n'
    assert list(_long_lines(text)) == [1] and list(_functions(text)) == [(3, LONGEST_FUNCTION + 2)]
    for line in ("  async load({ a }) {", "const f = (a) => {", "  #at(x) {", "  get size() {", "function* all() {"):
        assert list(_functions(f"{line}\n  x;\n{BEGINS.match(line)[1]}}}\n")) == [(1, 3)], line  # type: ignore[index]


def test_the_styles_know_two_weights_and_four_sizes_none_below_eleven_and_a_half_pixels() -> None:
    sheets = {path.name: path.read_text() for path in files(".css") if path.is_relative_to(CHECKOUT / "static")}
    sizes = dict(re.findall(r"--(small|text|read|title): ([\d.]+)px", sheets["tokens.css"]))
    assert len(sizes) == 4 and min(map(float, sizes.values())) == 11.5
    assert f"SMALL = {sizes['small']};" in (CHECKOUT / "static/draw/letters.js").read_text()
    points = set(re.findall(r"font(?:-size)?:[^;]*?\b([\d.]+)pt", sheets.pop("paper.css")))
    assert len(points) == 4, points
    for sheet, text in sheets.items():
        assert set(re.findall(r"font(?:-weight)?: ?([1-9]00)\b", text)) <= {"400", "700"}, sheet
        told = re.findall(r"font-size: ([^;}]+)|font: (?:[1-9]00 )?([^;} /]+)", text)
        assert {one or other for one, other in told} <= {f"var(--{name})" for name in sizes} | {"inherit", "var(--read) !important"}, sheet
