"""Which modules of the core are compiled, and how mypyc is told of their classes.

mypyc makes *native* classes: attributes lie in a C structure, methods are C functions. What our classes need beyond its
defaults is written above each of them in a copy of the sources, whose line numbers stay:

| class | marked | why |
|---|---|---|
| exceptions, and what is a dict | `native_class=False` | mypyc inherits from few of Python's own |
| all others | `allow_interpreted_subclasses=True` | `__new__` alone makes one without its `__init__`, as pickle does |
"""

from __future__ import annotations

import ast
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
CORE = "broker_core"
ORDINARY = "@mypyc_attr(native_class=False)"
NATIVE = "@mypyc_attr(allow_interpreted_subclasses=True)"
PYTHONS_OWN = {"Exception", "OSError", "AssertionError", "LookupError", "ValueError", "dict[int, str]"}
NO_NATIVE = {"Protocol", "Enum", "IntEnum", "IntFlag", "StrEnum", "NamedTuple", "TypedDict"}
"""Bases whose classes mypyc makes in its own way."""

UNSEEN = ("def __getattr__(name: str) -> Any:", "def __getattr__(name):  # type: ignore")
"""mypyc looks at a module's `__getattr__` before it knows what Any is."""

COMPILED = {
    "kernel": "chunks event_queue inputs journal names network node storage storage_memory storage_table transitions "
              "wall world",
    "wire": "rpc",
    "records": "batch header structure validate varint",
    "log": "epochs facts log_manager offset_index partition_log producers segment stamping tail time_index "
           "transactions",
    "purgatory": "operations timing_wheel",
    "replication": "appending delayed_fetch delayed_produce fetch_session fetcher fetcher_session fetching "
                   "follower_state isr leader_endpoint meters offsets partition reading replica replica_manager",
    "broker": "broker connections pipeline share_fetching stages",
    "broker/handlers": "fetch produce",
    "groups": "delayed",
    "clients": "accumulator connections history idempotence metadata partitioner producer sender "
               "transactional_sender",
}  # fmt: skip
"""The way of a record, from the built-in client into three logs and back: what is worth the compiler's time.

With a class go its base and all that stand on it: pickle takes from a compiled class the attributes that this one
declares, and would lose those of one that Python made of it. That leaves out the machines of the built-in clients: one
of them has two bases, which mypyc cannot give it.
"""


def modules() -> list[str]:
    """Paths of the modules that are compiled, below the checkout."""
    return [f"{CORE}/{package}/{name}.py" for package, names in COMPILED.items() for name in names.split()]


def copy_to(directory: Path) -> None:
    """The core with its classes marked."""
    texts = {path: path.read_text() for path in sorted((CHECKOUT / CORE).rglob("*.py"))}
    own = ordinary([ast.parse(text) for text in texts.values()])
    chosen = set(modules())
    for path, text in texts.items():
        name = path.relative_to(CHECKOUT)
        copy = directory / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        marked = _marked(text, own) if name.as_posix() in chosen else text.replace(*UNSEEN)
        if not copy.exists() or copy.read_text() != marked:
            copy.write_text(marked)


def ordinary(trees: list[ast.Module]) -> set[str]:
    """Names of the classes that come from Python's own, by however many steps."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found = set(PYTHONS_OWN)
    while more := {c.name for c in classes if c.name not in found and found & {ast.unparse(b) for b in c.bases}}:
        found |= more
    return found


def _marked(text: str, own: set[str]) -> str:
    lines, found = text.split("\n"), False
    for node in ast.parse(text).body:
        if not isinstance(node, ast.ClassDef) or bases(node) & NO_NATIVE:
            continue
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        lines[first - 2], found = ORDINARY if node.name in own else NATIVE, True  # an empty line is before a class
    if found:
        place = lines.index("from __future__ import annotations")
        lines[place] += "; from mypy_extensions import mypyc_attr"
    return "\n".join(lines).replace(*UNSEEN)


def bases(node: ast.ClassDef) -> set[str]:
    """Names of what a class stands on."""
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
