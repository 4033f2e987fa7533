"""`latency`, `startup` and `laden`: how long one record takes, and how long the first one, also behind many others."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks import load
from benchmarks.results import Result, median, percentile
from benchmarks.sides import CHECKOUT, OURS, Kafka, Ours, OursKRaft, both, kafka_is_there, running, wait_for_ports

VIEWERS = 10
LADEN_RECORDS, LADEN_SIZE = 180_000, 10_000


def latency(quick: bool) -> Iterator[Result]:
    """One record at a time with acks=all: p50 and p99, ours also with viewers of the page."""
    records = 500 if quick else 3_000
    found: dict[str, list[float]] = {}
    with both(web=True) as sides:
        for side in sides:
            load.make_topic(side.bootstrap, "bench-latency", 1)
            load.settle()
            found[side.name] = load.latencies(side.bootstrap, "bench-latency", records)
        ours = sides[0]
        assert isinstance(ours, Ours)
        with viewers(ours.page_port):
            found["watched"] = load.latencies(ours.bootstrap, "bench-latency", records)
    kafka = found.get("Kafka")
    for name, case in (("ours", ""), ("watched", f", {VIEWERS} viewers")):
        for share, goal in ((0.5, None), (0.99, 10.0)):
            yield Result("latency", f"p{share * 100:.0f}{case}", "ms", percentile(found[name], share),
                         percentile(kafka, share) if kafka else None, False, goal)


@contextlib.contextmanager
def viewers(port: int) -> Iterator[None]:
    """Ten viewers of the page, in another process."""
    command = [sys.executable, "-m", "benchmarks.viewers", str(port), str(VIEWERS)]
    process = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        if process.stdout.readline().strip() != "attached":
            raise load.LoadError("the viewers could not attach")
        yield
    finally:
        process.stdin.close()
        process.wait(30)


def startup(quick: bool) -> Iterator[Result]:
    """Seconds from the command to the first acked record, on directories that are there already."""
    sides: list[Ours | Kafka] = [Ours(web=True), OursKRaft(web=True), *([Kafka()] if kafka_is_there() else [])]
    seconds: dict[str, float] = {}
    for side in sides:
        with running(side):
            load.make_topic(side.bootstrap, "bench-start", 1)
            load.first_ack(side.bootstrap, "bench-start")
            seconds[side.name] = median([_start_again(side) for _ in range(1 if quick else 3)])
    for name, more in OURS.items():
        yield Result("startup", f"command to first ack{more}", "s", seconds[name], seconds.get("Kafka"), False, 10.0)


def laden(quick: bool) -> Iterator[Result]:
    """Seconds from the command to the first acked record on empty disks, and on three that hold 5 GiB together."""
    times = 1 if quick else 5
    with running(Ours()) as side:
        load.make_topic(side.bootstrap, "bench-start", 1)
        load.first_ack(side.bootstrap, "bench-start")
        empty = median([_start_again(side) for _ in range(times)])
        load.make_topic(side.bootstrap, "bench-laden")
        load.produce(side.bootstrap, "bench-laden", LADEN_SIZE, LADEN_RECORDS // (10 if quick else 1), "all")
        full = median([_start_again(side) for _ in range(times)])
        assert isinstance(side, Ours)
        size = sum(path.stat().st_size for path in side.directory.glob("broker-*/**/*.log")) / 2**30
    yield Result("laden", "empty", "s", empty, None, False)
    yield Result("laden", f"{size:.1f} GiB", "s", full, None, False)
    yield Result("laden", "longer by", "s", full - empty, None, False, 1.0)


def _start_again(side: Ours | Kafka) -> float:
    side.stop()
    load.settle()
    started = time.perf_counter()
    side.launch_again()
    wait_for_ports(side.ports[:1])
    load.first_ack(side.bootstrap, "bench-start")
    return time.perf_counter() - started
