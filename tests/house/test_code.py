"""Rules of the code: size, what the broker core may import, nothing whose order differs between processes."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

from lab.scenarios.grammar import HOME
from tests.house.sources import core, files, name, product, tree

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
BANNED_MODULES = ("time", "threading", "socket", "asyncio", "secrets", "select", "subprocess", "multiprocessing",
                  "concurrent", "tempfile", "shutil", "signal")
BANNED_CALLS = ("hash", "id", "open", "input", "print", "eval", "exec")
BANNED_ATTRIBUTES = {
    "uuid": ("uuid1", "uuid4"),
    "os": ("urandom", "listdir", "scandir", "walk", "environ", "getpid", "getenv"),
    "random": ("random", "randint", "choice", "shuffle", "seed", "randrange", "sample", "uniform", "SystemRandom"),
    "datetime": ("now", "utcnow", "today"),
}
ALLOWED_CALLS = {
    "broker_core/wire/source.py": "exec",  # compiles readers and writers of messages from their schemas
    "broker_core/log/plain_files.py": "open",  # what dump-log reads lies outside of any world
}


def test_no_file_is_longer_than_a_reader_bears():
    long = [f"{name(path)}: {lines} lines" for path in product()
            if (lines := len(path.read_text().splitlines())) > LONGEST_FILE]
    assert not long, "\n".join(long)


def test_no_function_is_longer_than_a_screen():
    long = []
    for path in product():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    long.append(f"{name(path)}:{node.lineno} {node.name}: {lines} lines")
    assert not long, "\n".join(long)


def test_half_of_the_functions_fit_into_a_dozen_lines():
    lengths = [(node.end_lineno or 0) - node.lineno + 1 for path in product() for node in ast.walk(tree(path))
               if isinstance(node, ast.FunctionDef)]
    assert statistics.median(lengths) <= 12


def test_every_module_begins_with_its_chapter():
    bare = [name(path) for path in product() if tree(path).body and not ast.get_docstring(tree(path))]
    assert not bare, "\n".join(bare)


def test_the_broker_core_imports_no_clock_thread_socket_or_event_loop():
    found = [f"{name(path)}:{node.lineno} imports {module}" for path in core() for node in ast.walk(tree(path))
             for module in imported(node) if module.split(".")[0] in BANNED_MODULES]
    assert not found, "\n".join(found)


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def test_the_broker_core_draws_nothing_from_outside_the_world():
    found = []
    for path in core():
        handed_in = inside_functions_with("random", path)
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node not in handed_in \
                    and node.attr in BANNED_ATTRIBUTES.get(node.value.id, ()):
                found.append(f"{name(path)}:{node.lineno} {node.value.id}.{node.attr}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BANNED_CALLS \
                    and ALLOWED_CALLS.get(name(path)) != node.func.id:
                found.append(f"{name(path)}:{node.lineno} {node.func.id}(...)")
            if isinstance(node, ast.ImportFrom) and node.module in BANNED_ATTRIBUTES:
                found += [f"{name(path)}:{node.lineno} from {node.module} import {alias.name}" for alias in node.names
                          if alias.name in BANNED_ATTRIBUTES[node.module]]
    assert not found, "\n".join(found)


def inside_functions_with(argument: str, path: Path) -> dict[ast.AST, None]:
    """Nodes of functions that get something of this name handed in: it is not the module then."""
    functions = [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    return {inner: None for node in functions
            if argument in [one.arg for one in [*node.args.args, *node.args.kwonlyargs]] for inner in ast.walk(node)}


def test_the_broker_core_never_walks_over_a_set():
    found = [f"{name(path)}:{node.lineno}" for path in core() for node in ast.walk(tree(path)) if walks_a_set(node)]
    assert not found, "the order of a set differs between processes:\n" + "\n".join(found)


def walks_a_set(node: ast.AST) -> bool:
    """`for x in {...}`, `[... for x in set(...)]`, `list({...})`: anything that makes an order out of a set."""
    if isinstance(node, ast.For | ast.comprehension):
        return is_set(node.iter)
    return (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple", "iter")
            and bool(node.args) and is_set(node.args[0]))


def is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.Sub | ast.BitXor):
        return is_set(node.left) or is_set(node.right)
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset")
    return called or isinstance(node, ast.Set | ast.SetComp)


def test_no_machine_keeps_a_method_of_its_base_class_for_later():
    """Bound to `self` it is pickled by its name: a snapshot comes back with the method that has overridden it."""
    found = []
    for path in core():
        called = {id(node.func) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)}
        found += [f"{name(path)}:{node.lineno}" for node in ast.walk(tree(path))
                  if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()" and id(node) not in called]
    assert not found, found


def test_labs_and_branches_are_asked_for_nothing_that_they_may_not_have():
    """Above the core there are whole protocols and base classes: nobody asks with `hasattr` what somebody is. What an
    operating system has is another question."""
    above = [path for path in product() if not name(path).startswith("broker_core/")]
    found = [f"{name(path)}:{node.lineno} {ast.unparse(node)}" for path in above
             for node in ast.walk(tree(path)) if is_a_guess(node)]
    assert not found, "\n".join(found)


def is_a_guess(node: ast.AST) -> bool:
    """`hasattr(x, ...)`, or `getattr(x, "name", default)` of a lab, a branch, an operator."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
        return False
    whom = ast.unparse(node.args[0])
    if node.func.id == "getattr" and len(node.args) == 3:
        return whom.rpartition(".")[2] in ("lab", "branch", "operator", "live", "main", "host")
    return node.func.id == "hasattr" and whom != "os"


def test_no_module_is_left_over():
    """Every module of the product is imported by another one, or is an entrance."""
    entrances = ("__init__", "__main__", "asgi", "settings", "bootstrap", "urls", "apps", "wsgi", "plugin")
    mentioned = {word for path in product() for node in ast.walk(tree(path)) for word in mentions(node, path)}
    lonely = [name(path) for path in product()
              if path.stem not in entrances and "migrations" not in path.parts and "management" not in path.parts
              and "templatetags" not in path.parts
              and dotted(path) not in mentioned]
    assert not lonely, "\n".join(lonely)


def test_lessons_stand_apart_from_the_code_that_reads_them():
    """`lab/scenarios` has code, `lab/scenarios/lessons` what it reads; whoever adds a lesson adds it there."""
    mixed = [name(path) for path in files(".yaml", ".yml", ".json")
             if any(name(other).rpartition("/")[0] == name(path).rpartition("/")[0] for other in product())]
    assert [one for one in mixed if one.startswith("lab/scenarios/")] == []
    assert not [name(path) for path in product() if path.is_relative_to(HOME)]
    assert len(list(HOME.glob("*.yaml"))) > 60


def dotted(path: Path) -> str:
    return name(path).removesuffix(".py").replace("/", ".")


def mentions(node: ast.AST, _path: Path) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
        return [node.value, node.value.rpartition(".")[0], f"cli.{node.value}"]
    if isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
        return [f"cli.{node.elts[0].value}"]
    return []
