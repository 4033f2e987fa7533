"""`produce`, `consume` and `morsels`: both clusters are up, the sides take turns, the disks are synced between runs."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import load
from benchmarks.results import Result, median
from benchmarks.sides import OURS, Kafka, Ours, alone, both, processor_s

RECORDS = {100: 2_000_000, 1_000: 300_000, 10_000: 30_000}
WARM_UP = 6
MORSEL = 100_000
GOALS = {("all", 100): 4.0, ("all", 1_000): 4.0, ("all", 10_000): 2.0,
         ("1", 100): 1.5, ("1", 1_000): 1.0, ("1", 10_000): 1.0}


def produce(quick: bool) -> Iterator[Result]:
    """Records a second for acks=all and acks=1, three sizes, each generation of ours."""
    with both(generations=True) as sides:
        for side in sides:
            _warm_up(side, 1 if quick else WARM_UP)
        for acks in ("all", "1"):
            for size, full in RECORDS.items():
                records, runs = (full // 5, 1) if quick else (full, 3)
                rates, busy = _take_turns(sides, acks, size, records, runs)
                alone_rate = median([load.ceiling(size, records) for _ in range(runs)])
                for name, more in OURS.items():
                    yield Result("produce", f"acks={acks} {size:,} B{more}", "records/s", rates[name],
                                 rates.get("Kafka"), True, GOALS[acks, size], alone_rate, busy[name])


def _warm_up(side: Ours | Kafka, runs: int) -> None:
    """A Java machine makes quick code of what it has done often: Kafka takes 370,000 records/s at first, twice as many
    after some millions."""
    load.make_topic(side.bootstrap, "bench-warm-up")
    for size in [100] * runs + [1_000]:
        load.produce(side.bootstrap, "bench-warm-up", size, RECORDS[size], "all")
    load.delete_topic(side.bootstrap, "bench-warm-up")


def _take_turns(
    sides: list[Ours | Kafka], acks: str, size: int, records: int, runs: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Of each side: records a second, and cores that it kept busy."""
    rates: dict[str, list[float]] = {side.name: [] for side in sides}
    busy: dict[str, list[float]] = {side.name: [] for side in sides}
    for run in range(-1, runs):
        for side in sides if run % 2 else sides[::-1]:
            topic = f"bench-{acks}-{size}-{run + 1}"
            load.make_topic(side.bootstrap, topic)
            load.settle()
            with alone(side, sides):
                before_s = processor_s(side)
                produced = load.produce(side.bootstrap, topic, size, records if run >= 0 else records // 10, acks)
                used_s = processor_s(side) - before_s
            if run >= 0:
                rates[side.name].append(produced.records_per_second)
                busy[side.name].append(used_s / produced.seconds)
            load.delete_topic(side.bootstrap, topic)
    return _medians(rates), _medians(busy)


def _medians(of: dict[str, list[float]]) -> dict[str, float]:
    return {name: median(found) for name, found in of.items()}


def consume(quick: bool) -> Iterator[Result]:
    """Megabytes a second, records of 1 KB, from the beginning."""
    ours, kafka = _read_in_turns("bench-consume", 1_000, RECORDS[1_000] // (5 if quick else 1), 1 if quick else 3)
    yield Result("consume", "1,000 B", "MB/s", ours, kafka, True, 2.0)


def morsels(quick: bool) -> Iterator[Result]:
    """Megabytes a second of a consumer that asks for 100 kB at a time (librdkafka, `fetch.message.max.bytes`): an
    answer for each record of 500 kB, whose last piece must not wait for an acknowledgement."""
    for size, full in ((10_000, 20_000), (500_000, 2_000)):
        records, runs = (full // 5, 1) if quick else (full, 3)
        ours, kafka = _read_in_turns(f"bench-morsels-{size}", size, records, runs, MORSEL)
        yield Result("morsels", f"{size:,} B", "MB/s", ours, kafka, True, 1.0)


def _read_in_turns(
    topic: str, size: int, records: int, runs: int, fetch_bytes: int = 8 * 1024 * 1024
) -> tuple[float, float | None]:
    """Megabytes a second of ours, and of Kafka where it is there."""
    speeds: dict[str, list[float]] = {}
    with both() as sides:
        for side in sides:
            load.make_topic(side.bootstrap, topic)
            load.produce(side.bootstrap, topic, size, records, "all")
        for run in range(-1, runs):
            for side in sides if run % 2 else sides[::-1]:
                load.settle()
                with alone(side, sides):
                    rate = load.consume(side.bootstrap, topic, records, fetch_bytes=fetch_bytes)
                if run >= 0:
                    speeds.setdefault(side.name, []).append(rate * size / 1e6)
    kafka = speeds.get("Kafka")
    return median(speeds["ours"]), median(kafka) if kafka else None
