"""The recipe of the compiled core: what it compiles is there, and a wheel is used only where it fits."""

from __future__ import annotations

import ast
import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import pytest

from broker_core.drivers import native
from compiled import build, sources, wheel


@cache
def trees() -> dict[Path, ast.Module]:
    """Of all files of the core; not read by a worker that only collects this file."""
    return {path: ast.parse(path.read_text()) for path in sorted((sources.CHECKOUT / sources.CORE).rglob("*.py"))}


def test_each_module_of_the_recipe_is_there_once() -> None:
    found = sources.modules()
    assert len(found) == len(set(found))
    assert [name for name in found if not (sources.CHECKOUT / name).is_file()] == []


def test_the_bases_of_a_compiled_class_are_compiled_too() -> None:
    """A native class cannot lie on top of one that Python made, unless it is an ordinary one itself."""
    ordinary = sources.ordinary([*trees().values()])
    chosen = {sources.CHECKOUT / name for name in sources.modules()}
    made = {node.name: path for path, tree in trees().items() for node in tree.body if isinstance(node, ast.ClassDef)}
    missing = [
        f"{node.name} of {path.name} stands on {base}"
        for path in chosen for node in trees()[path].body if isinstance(node, ast.ClassDef) and node.name not in ordinary
        for base in sources.bases(node) if base in made and base not in sources.PYTHONS_OWN and made[base] not in chosen
        and not sources.bases(next(n for n in trees()[made[base]].body if getattr(n, "name", "") == base)) & sources.NO_NATIVE
    ]  # fmt: skip
    assert missing == []


def test_what_stands_on_a_compiled_class_is_compiled_too() -> None:
    """Its own attributes would be missing in a pickle. Real disks are in that of a lab that sleeps only; a class of the
    same file may have the name of a compiled one."""
    ordinary = sources.ordinary([*trees().values()])
    chosen = {sources.CHECKOUT / name for name in sources.modules()}
    native_ones = {node.name for path in chosen for node in trees()[path].body if isinstance(node, ast.ClassDef)
                   and node.name not in ordinary and not sources.bases(node) & sources.NO_NATIVE}  # fmt: skip
    left = [f"{node.name} of {path.name}" for path in [*trees(), *sorted((sources.CHECKOUT / "lab").rglob("*.py"))]
            if path not in chosen and "drivers" not in path.parts
            for classes in [[node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]]
            for node in classes if sources.bases(node) & native_ones - {one.name for one in classes}]  # fmt: skip
    assert left == []


def test_the_marked_copy_has_the_lines_of_the_sources(tmp_path: Path) -> None:
    sources.copy_to(tmp_path)
    for name in sources.modules():
        copy, source = (tmp_path / name).read_text(), (sources.CHECKOUT / name).read_text()
        assert copy.count("\n") == source.count("\n")
        where = [[(node.name, node.lineno) for node in ast.walk(ast.parse(text))
                  if isinstance(node, ast.ClassDef | ast.FunctionDef)]
                 for text in (copy, source)]
        assert where[0] == where[1], name


@pytest.fixture
def a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed wheel with the right tables and no library behind them."""
    zipfile.ZipFile(wheel.write(tmp_path, tmp_path, native.digest(sources.modules()))).extractall(tmp_path / "installed")
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, native.WHEEL, raising=False)
    monkeypatch.delenv(native.SWITCH, raising=False)
    importlib.invalidate_caches()
    yield tmp_path / "installed" / native.WHEEL / "__init__.py"
    sys.modules.pop(native.WHEEL, None)


def test_a_wheel_of_these_sources_is_used(a_wheel: Path) -> None:
    assert native.install()
    finder = sys.meta_path[0]
    assert Path(finder.find_spec("broker_core.kernel.world").origin).parent == a_wheel.parent / "broker_core" / "kernel"
    assert finder.find_spec("broker_core.kernel.events") is None


def test_a_wheel_of_other_sources_is_left_alone(a_wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = a_wheel.read_text()
    a_wheel.write_text(text.replace(native.digest(sources.modules()), "0" * 32))
    before = list(sys.meta_path)
    assert not native.install()
    assert sys.meta_path == before
    monkeypatch.setenv(native.SWITCH, "1")
    with pytest.raises(ImportError, match="made of other sources"):
        native.install()


def test_a_worker_of_sparks_with_the_sources_in_an_archive_does_without(a_wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "brokerlab.zip"
    archive.touch()
    monkeypatch.setattr(native, "digest", partial(native.digest, home=archive))
    assert not native.install()


def test_the_switch_turns_it_off(a_wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.SWITCH, "0")
    assert not native.install()


RUN = """
import hashlib, pickle, sys
from benchmarks.simulation import run, settled
found = hashlib.sha256()
world = settled(found.update, load=True)
run(world, 2)
again = pickle.loads(pickle.dumps(world))
assert again.now_us == world.now_us
world.journal.flush()
first, later = found.copy(), hashlib.sha256()
again.journal.sink, world.journal.sink = later.update, found.update
rest = hashlib.sha256()
world.journal.sink = rest.update
run(world, 1)
run(again, 1)
world.journal.flush()
again.journal.flush()
assert rest.digest() == later.digest()
compiled = sorted(name for name, module in sys.modules.items() if name.startswith("broker_core.")
                  and (getattr(module, "__file__", "") or "").endswith(".so"))
print(first.hexdigest(), rest.hexdigest(), len(compiled))
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    shutil.which("gcc") is None or not (Path(sysconfig.get_path("include")) / "Python.h").is_file(),
    reason="no C compiler, or no headers of Python",
)
def test_a_world_of_compiled_parts_writes_the_same_journal_also_from_a_pickle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel alone: all of it takes longer to compile."""
    some = {package: sources.COMPILED[package] for package in ("kernel",)}
    monkeypatch.setattr(sources, "COMPILED", some)
    of = native.digest(sources.modules())
    made = wheel.write(tmp_path, build.build(tmp_path / "build", sources.modules()), of)
    zipfile.ZipFile(made).extractall(tmp_path / "installed")
    said = []
    for switch in ("0", "1"):
        environment = os.environ | {native.SWITCH: switch, "PYTHONPATH": f"{tmp_path / 'installed'}:{sources.CHECKOUT}"}
        done = subprocess.run([sys.executable, "-P", "-c", RUN], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split())
    assert said[0][:2] == said[1][:2]
    assert [row[2] for row in said] == ["0", str(len(sources.modules()))]
