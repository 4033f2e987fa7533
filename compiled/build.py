"""C of the copied sources, and one library of it with a small one for each module."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from compiled.sources import CHECKOUT, CORE, copy_to, modules

GROUP = "brokerlab"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def build(directory: Path, names: list[str] | None = None) -> Path:
    """Where the libraries of these modules (default: of all) are, below `directory`.

    What has not changed since the last time is not compiled again.
    """
    directory.mkdir(parents=True, exist_ok=True)
    copy_to(directory)
    (directory / "names.json").write_text(json.dumps(names or modules()))
    command = [sys.executable, "-P", "-c", "from compiled.build import generate; generate()"]
    subprocess.run(command, cwd=directory, env=os.environ | {"PYTHONPATH": str(CHECKOUT)}, check=True)
    plan = json.loads((directory / "plan.json").read_text())
    shutil.rmtree(directory / "libraries", ignore_errors=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(module, [pool.submit(_object, directory, module, source) for source in module["sources"]])
                for module in plan]  # fmt: skip
        for module, objects in jobs:
            _library(directory, module["name"], [one.result() for one in objects])
    return directory / "libraries"


def generate() -> None:
    """In a process of its own, in the directory of the copy: C, and `plan.json` of what is to be done with it."""
    from mypyc.build import mypycify  # only here: it is no package of the product

    names = json.loads(Path("names.json").read_text())
    sources = [str(path) for path in sorted(Path(CORE).rglob("*.py"))]
    Path("mypy.toml").write_text(_MYPY)
    extensions = mypycify(
        ["--config-file", "mypy.toml", *sources], only_compile_paths=names, opt_level="1", debug_level="0",
        multi_file=True, group_name=GROUP,
    )  # fmt: skip
    plan = [{"name": one.name, "sources": one.sources, "include": one.include_dirs, "flags": one.extra_compile_args}
            for one in extensions]  # fmt: skip
    Path("plan.json").write_text(json.dumps(plan))


_MYPY = """
[tool.mypy]
python_version = "3.11"
strict = true
[[tool.mypy.overrides]]
module = ["kio.*", "cramjam.*", "crc32c.*", "re2.*"]
ignore_missing_imports = true
follow_imports = "silent"
"""


def _object(directory: Path, module: dict[str, Any], source: str) -> Path:
    """One file of C compiled, unless it and all headers are as they were."""
    made = directory / Path(source).with_suffix(".o")
    known = made.with_suffix(".of")
    include = [f"-I{place}" for place in (*module["include"], sysconfig.get_path("include"))]
    command = ["gcc", "-DNDEBUG", "-fwrapv", "-fPIC", *module["flags"], *include, "-c", source, "-o", str(made)]
    of = hashlib.sha256(json.dumps(command).encode() + (directory / source).read_bytes())
    for header in sorted((directory / "build").glob("*.h")):
        of.update(header.read_bytes())
    if not made.exists() or not known.exists() or known.read_text() != of.hexdigest():
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(command, cwd=directory, check=True)
        known.write_text(of.hexdigest())
    return made


def _library(directory: Path, name: str, objects: list[Path]) -> None:
    library = directory / "libraries" / (name.replace(".", "/") + SUFFIX)
    library.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-shared", *map(str, objects), "-o", str(library)], check=True)
