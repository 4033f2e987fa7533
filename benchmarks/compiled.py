"""What a compiled core would bring: the simulation with `broker_core` as C, beside the same with Python.

    python -m benchmarks.compiled DIRECTORY

mypyc (of the mypy package) compiles a copy of the sources in DIRECTORY, which then stands before the checkout
on the path of a process that measures. Needs a C compiler and Python's headers, and some minutes of the
processor. An experiment: nothing of it is used by the product.

What the copy has that the sources have not: exceptions and one dictionary are marked as ordinary classes,
since mypyc cannot inherit from most of Python's own.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.results import median

CHECKOUT = Path(__file__).resolve().parent.parent
SLICE_S, SLICES = 2, 40
ORDINARY = "@mypyc_attr(native_class=False)"
INTERPRETED = (
    "drivers/",  # sockets and files: a simulated world has none
    "wire/messages", "wire/reading", "wire/writing", "wire/plain", "wire/summary", "wire/source",  # make code
    "wire/catalog", "wire/errors", "kio_schemas", "stored_schemas", "_apis.py",  # tables, read once
    *(f"metadata/configs_{name}" for name in (
        "broker", "controller", "groups", "log", "network", "replication", "security", "tiered", "topic",
    )),
)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Exit code 0 when both sides wrote the same journal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiled")
    parser.add_argument("directory", type=Path, help="new or empty; the compiled core stays there")
    directory = parser.parse_args(arguments).directory.absolute()
    if directory.exists() and any(directory.iterdir()):
        parser.error(f"{directory} is not empty")
    if shutil.which("gcc") is None:
        parser.error("there is no C compiler (gcc)")
    copy_sources(directory)
    command = [sys.executable, "-c", "from benchmarks.compiled import build; build()"]
    subprocess.run(command, cwd=directory, env=os.environ | {"PYTHONPATH": str(CHECKOUT)}, check=True)
    sides: dict[str, list[dict[str, Any]]] = {"interpreted": [], "compiled": []}
    for _ in range(3):
        sides["interpreted"].append(_measured(str(CHECKOUT)))
        sides["compiled"].append(_measured(f"{directory}{os.pathsep}{CHECKOUT}"))
    speeds = {side: median([run["speed"] for run in runs]) for side, runs in sides.items()}
    for side, speed in speeds.items():
        print(f"{side:<12} {speed:6.1f} virtual s/s")
    print(f"{speeds['compiled'] / speeds['interpreted']:.2f} x")
    same = len({run["journal"] for runs in sides.values() for run in runs}) == 1
    print("the journals are the same" if same else "the journals DIFFER")
    return 0 if same else 1


# -- building ---------------------------------------------------------------------------------------
def copy_sources(directory: Path) -> None:
    """`broker_core` with its such classes marked; line numbers stay."""
    texts = {path: path.read_text() for path in sorted((CHECKOUT / "broker_core").rglob("*.py"))}
    classes = [node for text in texts.values() for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    ordinary = {"Exception", "OSError", "AssertionError", "LookupError", "ValueError", "dict[int, str]"}
    while more := {c.name for c in classes if c.name not in ordinary and ordinary & {ast.unparse(b) for b in c.bases}}:
        ordinary |= more
    for path, text in texts.items():
        copy = directory / path.relative_to(CHECKOUT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_marked(text, ordinary))


def _marked(text: str, ordinary: set[str]) -> str:
    lines, found = text.split("\n"), False
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name in ordinary:
            lines[node.lineno - 2], found = ORDINARY, True  # an empty line stands before each class
    if found:
        place = lines.index("from __future__ import annotations")
        lines[place] += "; from mypy_extensions import mypyc_attr"
    return "\n".join(lines)


def build() -> None:
    """C of the sources in the current directory, and libraries of that."""
    from mypyc.build import mypycify  # only here: it is no package of the product

    sources = [str(path) for path in sorted(Path("broker_core").rglob("*.py")) if path.name != "__init__.py"]
    compiled = [name for name in sources if not any(part in name for part in INTERPRETED)]
    modules = mypycify(
        ["--config-file", str(CHECKOUT / "pyproject.toml"), *sources], only_compile_paths=compiled, opt_level="1",
        debug_level="0", multi_file=True, group_name="core",
    )  # fmt: skip
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(module, [pool.submit(_object, module, source) for source in module.sources]) for module in modules]
        for module, objects in jobs:
            library = module.name.replace(".", "/") + sysconfig.get_config_var("EXT_SUFFIX")
            subprocess.run(["gcc", "-shared", *(one.result() for one in objects), "-o", library], check=True)


def _object(module: Any, source: str) -> str:
    made = str(Path(source).with_suffix(".o"))
    include = [f"-I{place}" for place in (*module.include_dirs, sysconfig.get_path("include"))]
    command = ["gcc", "-DNDEBUG", "-fwrapv", "-fPIC", *module.extra_compile_args, *include, "-c", source, "-o", made]
    subprocess.run(command, check=True)
    return made


# -- measuring --------------------------------------------------------------------------------------
def _measured(path: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-c", "from benchmarks.compiled import measure; measure()"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure() -> None:
    """Prints the speed of the best slices (whatever else runs only slows some down) and the journal's fingerprint."""
    from benchmarks.simulation import run, settled
    from lab import heap

    journal = hashlib.sha256()
    world = settled(journal.update, load=True)
    heap.settle()
    speeds = []
    for _ in range(SLICES):
        started = time.process_time()
        run(world, SLICE_S)
        speeds.append(SLICE_S / (time.process_time() - started))
    world.journal.flush()
    print(json.dumps({"speed": sorted(speeds)[SLICES * 3 // 4], "journal": journal.hexdigest()}))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
