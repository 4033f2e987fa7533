"""Reading YAML with lines: plain data, and for each key the line that it stands in.

Aliases are refused: a few lines of them can stand for gigabytes. A key that is there twice is refused,
because YAML would silently take the later one. What is left takes as long as it is large: the text, the values in
it, how deep they lie in one another and the digits of a number are bounded, and the parser is libyaml's.
"""

from __future__ import annotations

from typing import Any

import yaml

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import Problem, problem
from lab.clusters import checks
from lab.clusters.checks import Place

LONGEST = 1_000_000
MOST_VALUES = 50_000
"""Keys count as well. The longest scenario that comes with the lab has 700."""
DEEPEST = 64
LONGEST_PLAIN = 200
"""Characters of what is not a text: the time that a number takes grows with the square of its digits."""
_Parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT = "tag:yaml.org,2002:str"


class ScenarioError(Refusal, ValueError):
    """A scenario file that is not one: `file:line: key: what was expected`; line 0: there is no file to have lines."""

    def __init__(self, file: str, line: int, place: str, what: Problem) -> None:
        super().__init__(what, place)
        self.file = file
        self.line = line

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.place}: {self.reason}" if self.place else f"{where}: {self.reason}"

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[str, int, str, Problem]]:
        return type(self), (self.file, self.line, self.place, self.problem)


class _Refused(yaml.composer.ComposerError):
    """YAML that is YAML, and not taken here."""

    def __init__(self, what: Problem, at: yaml.Event | yaml.Node) -> None:
        mark: Any = at.start_mark
        super().__init__(None, None, what["code"], mark)
        self.what = what


class _Loader(yaml.composer.Composer, _Parser):  # type: ignore[valid-type, misc]
    """Plain data only, without aliases, within the bounds."""

    def __init__(self, source: str) -> None:
        _Parser.__init__(self, source)
        yaml.composer.Composer.__init__(self)
        self.values = self.depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise _Refused(problem("yaml_aliases"), event)
        self.values += 1
        if self.values > MOST_VALUES:
            raise _Refused(problem("yaml_values", most=MOST_VALUES), event)
        if self.depth == DEEPEST:
            raise _Refused(problem("nested_too_deeply"), event)
        self.depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.tag != _TEXT and len(node.value) > LONGEST_PLAIN:
            raise _Refused(problem("yaml_long_value", n=len(node.value)), node)
        try:
            return super().construct_object(node, deep)
        except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError):
            what = problem("yaml_no_value", given=str(node.value)[:40], kind=node.tag.rpartition(":")[2])
            raise _Refused(what, node) from None


def read(source: str, file: str) -> tuple[yaml.Node | None, Any]:
    """(tree with lines, plain data) of a YAML text; raises ScenarioError."""
    if len(source) > LONGEST:
        raise ScenarioError(file, 1, "", problem("too_long", n=len(source), most=LONGEST))
    loader = None
    try:
        loader = _Loader(source)
        tree = loader.get_single_node()
        document = None if tree is None else loader.construct_document(tree)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.what if isinstance(error, _Refused) else problem("not_yaml", why=str(error.problem))
        raise ScenarioError(file, mark.line + 1 if mark else 1, "", what) from None
    except (yaml.YAMLError, ValueError) as error:  # what no YAML may hold, as a surrogate
        raise ScenarioError(file, 1, "", problem("not_yaml", why=str(error))) from None
    finally:
        if loader is not None:
            loader.dispose()
    if tree is not None:
        _no_key_twice(tree, (), file)
    return tree, document


def value(text: str) -> Any:
    """One value as YAML has it: 3, true, 5s; raises ScenarioError."""
    return read(text, "value")[1]


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
                raise ScenarioError(file, key.start_mark.line + 1, checks.shown(at), problem("key_twice", key=name))
            seen[name] = None
            _no_key_twice(value, at, file)
