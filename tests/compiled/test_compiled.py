"""The recipe of the compiled core: what it compiles is there, and a wheel is used only where it fits."""

from __future__ import annotations

import ast
import importlib
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.drivers import native
from compiled import sources, wheel

TREES = {path: ast.parse(path.read_text()) for path in sorted((sources.CHECKOUT / sources.CORE).rglob("*.py"))}


def test_each_module_of_the_recipe_is_there_once() -> None:
    found = sources.modules()
    assert len(found) == len(set(found))
    assert [name for name in found if not (sources.CHECKOUT / name).is_file()] == []


def test_the_bases_of_a_compiled_class_are_compiled_too() -> None:
    """A native class cannot lie on top of one that Python made, unless it is an ordinary one itself."""
    ordinary = sources.ordinary([*TREES.values()])
    chosen = {sources.CHECKOUT / name for name in sources.modules()}
    made = {node.name: path for path, tree in TREES.items() for node in tree.body if isinstance(node, ast.ClassDef)}
    missing = [
        f"{node.name} of {path.name} stands on {base}"
        for path in chosen for node in TREES[path].body if isinstance(node, ast.ClassDef) and node.name not in ordinary
        for base in sources.bases(node) if base in made and base not in sources.PYTHONS_OWN and made[base] not in chosen
        and not sources.bases(next(n for n in TREES[made[base]].body if getattr(n, "name", "") == base)) & sources.NO_NATIVE
    ]  # fmt: skip
    assert missing == []


def test_what_stands_on_a_compiled_class_is_compiled_too() -> None:
    """Its own attributes would be missing in a pickle. Real disks are never in one."""
    ordinary = sources.ordinary([*TREES.values()])
    chosen = {sources.CHECKOUT / name for name in sources.modules()}
    native_ones = {node.name for path in chosen for node in TREES[path].body if isinstance(node, ast.ClassDef)
                   and node.name not in ordinary and not sources.bases(node) & sources.NO_NATIVE}  # fmt: skip
    left = [f"{node.name} of {path.name}" for path in [*TREES, *sorted((sources.CHECKOUT / "lab").rglob("*.py"))]
            if path not in chosen and "drivers" not in path.parts
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ClassDef) and sources.bases(node) & native_ones]  # fmt: skip
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
    zipfile.ZipFile(wheel.write(tmp_path, tmp_path)).extractall(tmp_path / "installed")
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


def test_the_switch_turns_it_off(a_wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.SWITCH, "0")
    assert not native.install()
