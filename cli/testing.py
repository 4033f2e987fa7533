"""`test`: pytest in two calls: a browser's event loop and asynchronous tests cannot share a process.

Each call has a worker for each core (pytest-xdist), and one more where there is memory for it: a test waits for Java or
for a client, and a page for a third of its time, for a picture or for its lab. Each worker has a data directory of its
own (in memory, where there is room) and, in the first call, a browser. `tests/spreading.py` deals out the tests, what
takes longest first.
Tests marked `slow` are left out of the everyday run and belong to `--all` and to CI, where they come last, so that it
may run out of time for them (`tests/time_box.py`); those marked `every` ask of one lesson or seed more what CI asks of
a sample (`tests/sampling.py`), and belong to `--all` alone. The end of the output says what took longest, and what was
tried again because a program that is not ours had failed (`tests/outside.py`).
`pictures`: the gallery (`tests/browser/gallery.py`), in a process of its own, too.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from cli import spent
from cli.places import CHECKOUT, needs_checkout

NO_TESTS_COLLECTED = 5
MEMORY = "/dev/shm"
MEMORY_BYTES = 4 << 30  # free in memory, before the tests put their files there: some 3 GB
PAGE_BYTES = 4 << 30  # of a worker with its browser and its labs: 2 GB, and as much again for what they write
PROGRAM_BYTES = 6 << 30  # of a worker without: 1 GB, Spark with another Java or two beside it, and what they write
WORKERS = 4
PARTS = (
    ("The page in a browser", "browser", ("tests/browser",)),
    ("Everything but the browser", "not browser", ("--ignore", "tests/browser", "tests")),
)
"""Each process of a part reads the tests that it may have to run: not those of the other part."""
_OUTCOMES = ("passed", "failed", "skipped", "xfailed", "xpassed", "error", "errors", "again")


def test(arguments: argparse.Namespace) -> int:
    """Exit code 0 only when every test passed or was skipped for a reason."""
    needs_checkout("test")
    if arguments.pytest:
        return _pytest(arguments.pytest)[0]
    in_ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
    also = "" if arguments.all else " and not every" if in_ci else " and not every and not slow"
    total: Counter[str] = Counter()
    failed = False
    rows: list[dict[str, Any]] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="brokerlab-tests-shared-", dir=_memory()) as shared:
        for title, marks, where in PARTS:
            print(f"== {title} ==", flush=True)
            options = ["-m", marks + also, "-rs", "-q", *where]
            more = {"BROKERLAB_SHARED": shared, **({"BROKERLAB_EVERY": "1"} if arguments.all else {})}
            pages = marks == "browser"
            memory = _memory(programs=not pages)
            code, counts, spent_here = _pytest(options, _workers(pages), memory, more)
            rows += spent_here
            total += counts
            failed = failed or code not in (0, NO_TESTS_COLLECTED)
    for line in spent.told(rows):
        print(line)
    bad = total["failed"] + total["errors"] or int(failed)
    again = f", {total['again']} tried again" if total["again"] else ""
    minutes = (time.monotonic() - began) / 60
    print(f"Total: {total['passed']} passed, {bad} failed, {total['skipped']} skipped{again}, {minutes:.1f} minutes")
    if not arguments.all:
        left = "one more of what was asked of a sample" if in_ci else "the slow ones"
        print(f"Without {left}: brokerlab test --all runs them, too.")
    if arguments.learn and not failed:
        spent.learn(rows)
    return 1 if failed or not total["passed"] else 0


def _workers(pages: bool = False) -> int:
    """As many as cores, and one more where that many have room: now and then each waits for a browser or for Java."""
    workers = max(1, min(os.cpu_count() or 1, WORKERS))
    room = (workers + 1) * (PAGE_BYTES if pages else PROGRAM_BYTES)
    return workers + 1 if workers > 1 and _room() >= room else workers


def _memory(programs: bool = False) -> str | None:
    """A file system in memory with room; with `programs` one that they may be started from, with room for themselves,
    too. On the disk of a busy machine one fsync may take half a minute, for which a live lab and its page stand still,
    and tests of whole labs take twice as long, with four times the work of the kernel."""
    try:
        barred = programs and os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
        there = not barred and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES
    except OSError:
        return None
    return MEMORY if there and _room() >= (4 if programs else 2) * MEMORY_BYTES else None


def _room() -> int:
    """Bytes of memory that are free, of those that this container may have."""
    try:
        found = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return 0
    return min(int(found[1]) * 1024 if found else 0, _limit())


def _limit() -> int:
    """Bytes of memory that this container may have; as many as one likes where nothing says so."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            return int(Path("/sys/fs/cgroup", name).read_text())
        except (OSError, ValueError):  # the other version of control groups; "max"
            continue
    return sys.maxsize


def _pytest(
    options: list[str], workers: int = 1, memory: str | None = None, more: dict[str, str] | None = None
) -> tuple[int, Counter[str], list[dict[str, Any]]]:
    """Run pytest with data directories of its own (in `memory`, with all that the tests write), `more` in its
    environment and its output passed on; exit code, counts of its last line, what the tests have cost."""
    last = ""
    with tempfile.TemporaryDirectory(prefix="brokerlab-tests-", dir=memory) as data:
        os.chmod(data, 0o711)  # PostgreSQL's own user comes through to what is his
        lines = Path(data) / "spent.jsonl"
        environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "BROKERLAB_DATA": data, "BROKERLAB_SPENT": str(lines)}
        environment |= more or {}
        if memory:
            environment["TMPDIR"] = data
        command = [sys.executable, "-m", "pytest", *options]
        if workers > 1:
            command += ["--dist", "loadfile"]
            for worker in range(workers):
                command += ["--tx", f"popen//env:BROKERLAB_DATA={data}/{worker}"]
        pytest = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, text=True)
        assert pytest.stdout is not None
        for line in pytest.stdout:
            print(line, end="", flush=True)
            if re.search(r"\d+ (passed|failed|skipped|deselected|errors?)\b.* in ", line):
                last = line
        code = pytest.wait()
        rows = spent.read(lines)
    counts = Counter({("errors" if word == "error" else word): int(number)
                      for number, word in re.findall(r"(\d+) (\w+)", last) if word in _OUTCOMES})
    return code, counts, rows


def pictures(arguments: argparse.Namespace) -> int:
    """All states of the page as PNG files; the gallery's exit code."""
    needs_checkout("pictures")
    options = ["--only", arguments.only]
    options += ["--language", arguments.language] if arguments.language else []
    options += ["--scenes", arguments.scenes] if arguments.scenes else []
    options += [os.path.abspath(arguments.directory)] if arguments.directory else []
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    return subprocess.call([sys.executable, "-m", "tests.browser.gallery", *options], cwd=CHECKOUT, env=environment)
