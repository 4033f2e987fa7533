"""Reading YAML with lines: plain data, and for each key the line that it stands in.

Aliases are refused: a few lines of them can stand for gigabytes. A key that is there twice is refused,
because YAML would silently take the later one.
"""

from __future__ import annotations

from typing import Any

import yaml

from lab.clusters import checks
from lab.clusters.checks import Place

LONGEST = 1_000_000


class ScenarioError(ValueError):
    """A scenario file that is not one: `file:line: key: what was expected`; line 0: there is no file to have lines."""

    def __init__(self, file: str, line: int, place: str, reason: str) -> None:
        where = f"{file}:{line}" if line else file
        super().__init__(f"{where}: {place}: {reason}" if place else f"{where}: {reason}")
        self.file = file
        self.line = line
        self.place = place
        self.reason = reason


class _Loader(yaml.SafeLoader):
    """Plain data only, without aliases."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", event.start_mark)
        return super().compose_node(parent, index)


def read(source: str, file: str) -> tuple[yaml.Node | None, Any]:
    """(tree with lines, plain data) of a YAML text; raises ScenarioError."""
    if len(source) > LONGEST:
        raise ScenarioError(file, 1, "", f"{len(source)} characters, expected at most {LONGEST}")
    try:
        tree = yaml.compose(source, Loader=_Loader)
        document = yaml.load(source, Loader=_Loader)
    except RecursionError:
        raise ScenarioError(file, 1, "", "nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ScenarioError(file, mark.line + 1 if mark else 1, "", f"not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ScenarioError(file, 1, "", f"not YAML: {error}") from None
    if tree is not None:
        _no_key_twice(tree, (), file)
    return tree, document


def line_of(tree: yaml.Node | None, place: Place) -> int:
    """The line of a place, or of the innermost part of it that is there."""
    line = 1
    node = tree
    for part in place:
        found: tuple[yaml.Node, yaml.Node] | None = None
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == str(part)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = (node.value[part], node.value[part])
        if found is None:
            break
        line = found[0].start_mark.line + 1
        node = found[1]
    return line


def _no_key_twice(node: yaml.Node, place: Place, file: str) -> None:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _no_key_twice(item, (*place, index), file)
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, None] = {}
        for key, value in node.value:
            name = str(key.value)
            at = (*place, name)
            if name in seen:
                raise ScenarioError(file, key.start_mark.line + 1, checks.shown(at), f"key {name!r} is there twice")
            seen[name] = None
            _no_key_twice(value, at, file)
