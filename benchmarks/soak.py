"""`soak`: two hours of a lab under 2,000 records a second, with a broker killed each minute.

The lab's own clock runs `SPEED` times as fast as the wall's. Each minute of it begins with the death of a broker, which
comes back a quarter of a minute later; in its second half, while both clocks go alike, an outside client writes one
record at a time. What is to stay flat: memory of the process, journal and processor's time for a minute, what the
outside client waits. Told are the medians of the first and of the last quarter, and how much the last one has grown. A
receipt judges the stretches between two elections, of which there are more and more: it is to be there in a moment at
any age.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import psutil

from benchmarks import load
from benchmarks.results import Result, median, percentile
from benchmarks.sides import BROKERS, free_ports
from lab.branch import Branch
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab

RATE = 2_000
SPEED = 4.0
MINUTES, QUICK_MINUTES = 120, 8
BACK_S, PROBE_S, MINUTE_S = 15, 40, 60
PROBES = 100
GROWTH = 1.1
TOPIC_SETTINGS = {"retention.ms": "300000", "segment.bytes": "16777216"}
BROKER_SETTINGS = {"log.retention.check.interval.ms": "30000"}
FIGURES = {"memory": "MiB", "journal for a minute": "MiB", "processor for a minute": "s", "receipt": "ms",
           "one record p50": "ms", "one record p99": "ms", "acked in a minute": "records", "directory": "MiB"}
FLAT = ("memory", "journal for a minute", "processor for a minute", "one record p50", "one record p99")
MOMENT_MS = 100.0


def soak(quick: bool) -> Iterator[Result]:
    """Figures of the first quarter, of the last one, and their ratio."""
    minutes = QUICK_MINUTES if quick else MINUTES
    with tempfile.TemporaryDirectory(prefix="brokerlab-soak-") as home:
        cluster = {"preset": "teaching", "port": free_ports(BROKERS), "settings": BROKER_SETTINGS}
        lab = LiveLab(run_from_dict({"cluster": cluster, "seed": 1}), Path(home), speed=SPEED)
        bootstrap = lab.start().bootstrap
        try:
            rows = list(_minutes(lab.main, Path(home), bootstrap, minutes))
        finally:
            lab.stop()
    quarter = max(1, minutes // 4)
    for name, unit in FIGURES.items():
        first = median([row[name] for row in rows[:quarter]])
        last = median([row[name] for row in rows[-quarter:]])
        yield Result("soak", f"{name}, minutes 1..{quarter}", unit, first, None, False)
        goal = MOMENT_MS if name == "receipt" else None
        yield Result("soak", f"{name}, last {quarter}", unit, last, None, False, goal)
        if name in FLAT:
            yield Result("soak", f"{name}, grown", "times", last / first, None, False, GROWTH)


def _minutes(main: Branch, home: Path, bootstrap: str, minutes: int) -> Iterator[dict[str, float]]:
    """The figures of each minute of the lab's time."""
    _do(main, {"do": "create_topic", "topic": "orders", "partitions": 6, "replication_factor": 3,
               "configs": TOPIC_SETTINGS})
    _do(main, {"do": "create_topic", "topic": "probe", "partitions": 1, "replication_factor": 3})
    _do(main, {"do": "start_client", "name": "producer-orders", "kind": "producer", "topic": "orders", "rate": RATE,
               "settings": {"linger.ms": "5"}})
    _do(main, {"do": "start_client", "name": "consumer-orders", "kind": "consumer", "topic": "orders"})
    us = psutil.Process()
    for minute in range(minutes):
        before, start_us = _counted(main), main.clock()["t"]
        broker = minute % BROKERS + 1
        _do(main, {"do": "kill", "broker": broker})
        _until(main, start_us + BACK_S * 1_000_000)
        _do(main, {"do": "restart", "broker": broker})
        _until(main, start_us + PROBE_S * 1_000_000)
        _do(main, {"do": "time", "speed": 1})
        waited = load.latencies(bootstrap, "probe", PROBES)
        _do(main, {"do": "time", "speed": SPEED})
        receipt_ms = main.ask(_receipt_ms, main).result(60)
        _until(main, start_us + MINUTE_S * 1_000_000)
        after = _counted(main)
        yield {
            **{name: after[name] - before[name] for name in after}, "receipt": receipt_ms,
            "memory": us.memory_info().rss / 2**20, "directory": _size(home),
            "one record p50": median(waited), "one record p99": percentile(waited, 0.99),
        }  # fmt: skip


def _do(main: Branch, command: dict[str, Any]) -> None:
    answer = main.submit(command).result(120)
    assert answer.get("ok"), answer


def _until(main: Branch, t_us: int) -> None:
    while main.clock()["t"] < t_us:
        time.sleep(0.02)


def _counted(main: Branch) -> dict[str, float]:
    """What only grows."""
    state = orjson.loads(main.snapshot().result(60)[1])["state"]
    acked = state["clients"]["producer-orders"].get("acked", 0)
    main.ask(main.files.flush, main.world).result(60)
    return {"acked in a minute": acked, "journal for a minute": main.files.journal_size() / 2**20,
            "processor for a minute": time.process_time()}


def _receipt_ms(main: Branch) -> float:
    began = time.perf_counter()
    main.receipt()
    return 1000 * (time.perf_counter() - began)


def _size(home: Path) -> float:
    """MiB on disk."""
    found = 0
    for path in home.rglob("*"):
        try:
            found += path.stat().st_blocks * 512 if path.is_file() else 0
        except FileNotFoundError:
            continue
    return found / 2**20
