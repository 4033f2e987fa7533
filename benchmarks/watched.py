"""`watched`: a lab under load that 50 viewers and a browser look at.

Everybody gets every event, or a snapshot instead of what he has missed, and that is counted. What the lab's own
thread pays is its CPU time with the viewers less its CPU time without them, at the same load.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil

from benchmarks import load
from benchmarks.browser import browser, page_of, until
from benchmarks.results import Result
from benchmarks.sides import CHECKOUT, Ours, running

VIEWERS = 50
RECORDS_A_SECOND = 2_000


class Threads:
    """CPU seconds of the lab's two threads: the main one serves the web, the other one is the world."""

    def __init__(self, process: psutil.Process) -> None:
        self.process = process
        self.before = self._seconds()
        self.began = time.perf_counter()

    def _seconds(self) -> dict[int, float]:
        return {one.id: one.user_time + one.system_time for one in self.process.threads()}

    def shares(self) -> tuple[float, float]:
        """(world, web), in percent of a core since the beginning."""
        now, took = self._seconds(), time.perf_counter() - self.began
        used = {number: seconds - self.before.get(number, 0.0) for number, seconds in now.items()}
        web = used.pop(self.process.pid)
        return 100 * max(used.values()) / took, 100 * web / took


@contextlib.contextmanager
def viewers(port: int, count: int) -> Iterator[dict[str, Any]]:
    """Viewers in a process of their own; what they have seen stands in the dict afterwards."""
    command = [sys.executable, "-P", "-m", "benchmarks.viewers", str(port), str(count)]
    found: dict[str, Any] = {}
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        if process.stdout.readline().strip() != "attached":
            raise load.LoadError("the viewers could not attach")
        yield found
        process.stdin.close()
        found.update(json.loads(process.stdout.read()))


def write(bootstrap: str, seconds: float) -> int:
    """Records of 100 bytes at a steady rate, all acknowledged."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5, "log_level": 0})
    value, began, sent = load.payload(100), time.monotonic(), 0
    while (now := time.monotonic() - began) < seconds:
        while sent < now * RECORDS_A_SECOND:
            producer.produce("watched", value)
            sent += 1
        producer.poll(0.01)
    if producer.flush(60):
        raise load.LoadError("records were not acknowledged")
    return sent


def watched(quick: bool) -> Iterator[Result]:
    """CPU of both threads without and with viewers; what the viewers and the browser have missed."""
    seconds = 8 if quick else 30
    with running(Ours(web=True)) as lab:
        assert isinstance(lab, Ours)
        load.make_topic(lab.bootstrap, "watched")
        process = lab.processes()[0]
        write(lab.bootstrap, 2)
        alone = Threads(process)
        write(lab.bootstrap, seconds)
        world, web = alone.shares()
        address = f"http://127.0.0.1:{lab.page_port}/"
        with browser() as chromium, page_of(chromium, address) as page, viewers(lab.page_port, VIEWERS) as found:
            first = page.evaluate("lab.feed.last")
            writer = threading.Thread(target=write, args=(lab.bootstrap, seconds))
            watching = Threads(process)
            writer.start()
            while writer.is_alive():
                page.wait_for_timeout(200)
            world_seen, web_seen = watching.shares()
            time.sleep(1)
            until(page, f"lab.feed.last > {first}")
            gaps = page.evaluate("lab.feed.gaps")
    yield from _results(found, gaps, (world, world_seen), (web, web_seen), seconds)


def _results(
    found: dict[str, Any], gaps: int, world: tuple[float, float], web: tuple[float, float], seconds: float
) -> Iterator[Result]:  # fmt: skip
    seen = found["viewers"]
    last = max(one["last"] for one in seen)
    behind = sum(one["last"] < last - 2000 for one in seen)
    case = f"{VIEWERS} viewers and a browser"
    yield Result("watched", "events to each viewer", "events/s", sum(one["events"] for one in seen) / VIEWERS / seconds,
                 None, True)  # fmt: skip
    yield Result("watched", "holes without a resync", "", sum(one["holes"] for one in seen), None, False, 0.0)
    yield Result("watched", "viewers that are behind", "", behind, None, False, 0.0)
    yield Result("watched", "viewers that lost the wire", "", found["lost"], None, False, 0.0)
    yield Result("watched", "counted resyncs", "", sum(one["resyncs"] for one in seen) + gaps, None, False)
    yield Result("watched", "lab's thread, nobody looks", "% of a core", world[0], None, False)
    yield Result("watched", f"lab's thread, {case}", "% of a core", world[1], None, False)
    yield Result("watched", "web's thread, nobody looks", "% of a core", web[0], None, False)
    yield Result("watched", f"web's thread, {case}", "% of a core", web[1], None, False)
