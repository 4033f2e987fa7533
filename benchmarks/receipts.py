"""`receipt`: the receipt of a live lab under 500 records a second, kept as it goes, beside the same from its files."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.forks import load
from benchmarks.results import Result, median
from benchmarks.sides import free_ports
from lab.branch import Branch
from lab.checkers.receipt import receipt_of
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab

TIMES = 9


def receipt(quick: bool) -> Iterator[Result]:
    """Milliseconds on the lab's thread, and how many times as long the files take."""
    ages_s = (30, 60, 120) if quick else (180, 540, 1080)
    with tempfile.TemporaryDirectory(prefix="brokerlab-receipts-") as home:
        lab = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 1}), Path(home))
        lab.start()
        try:
            for number, age_s in enumerate(ages_s):
                load(lab.main, age_s, begin=not number)
                yield from _measure(lab.main, age_s)
        finally:
            lab.stop()


def _measure(main: Branch, age_s: int) -> Iterator[Result]:
    took = []
    for _ in range(TIMES):
        took.append(main.ask(_timed, main).result(60))
        time.sleep(0.1)
    main.ask(main.tell_disks).result(60)
    began = time.perf_counter()
    found = receipt_of(main.files.path)
    full = time.perf_counter() - began
    case = f"{age_s} s old, {found['acked']:,} acked"
    yield Result("receipt", f"{case}, kept", "ms", 1000 * median(took), None, False)
    yield Result("receipt", f"{case}, from the files", "ms", 1000 * full, None, False)
    yield Result("receipt", f"{case}, times as long", "", full / median(took), None, True)


def _timed(main: Branch) -> float:
    began = time.perf_counter()
    assert main.receipt() is not None
    return time.perf_counter() - began
