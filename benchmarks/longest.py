"""`longest`: how long one event of the world can be, for while it lasts all brokers of a lab stand still.

Each case is the worst that its bounds allow: a batch of as many records of uneven shapes as may stand in it, a record
that is nothing but headers, a slice of a recovery and of a cleaning over batches of one small record; a topic of a
thousand partitions that is made by three brokers on real disks, one of which stops and starts, and deleted.
Milliseconds of the processor; the machine's other programs are left out.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.results import Result
from broker_core.broker.broker import LOADING_BYTES
from broker_core.broker.cleaner_threads import SLICE_BYTES
from broker_core.drivers.files import DiskStorage
from broker_core.kernel.inputs import Command
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.log import LogConfig, PartitionLog
from broker_core.log.cleaner import parts_of
from broker_core.log.cleaning import Cleaning
from broker_core.log.offset_map import OffsetMap
from broker_core.records import RecordsError, ValidationRules, encode_batch, validate_batches
from broker_core.records.batch import assemble
from broker_core.records.compression import NAMES, compress
from broker_core.records.validate import MOST_HEADERS, MOST_RECORDS
from lab import heap
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

NOW = 1_700_000_000_000
GOAL_MS = 100.0
CODECS = (1, 2, 3, 4)
UNEVEN = [(NOW + 70 * (number % 2), b"k" * (number % 5 + 1), b"v" * (number % 7), ()) for number in range(35)]
DECOMPRESSED = 32 * 1024 * 1024
MAP_BYTES = 32 * 1024 * 1024
FORMED_US, SETTLED_US = 10_000_000, 20_000_000


def longest(quick: bool) -> Iterator[Result]:
    """Milliseconds of the longest event of each kind."""
    for codec in CODECS:
        for case, milliseconds in _appends(codec):
            yield Result("longest", f"append, {NAMES[codec]}, {case}", "ms", milliseconds, None, False, GOAL_MS)
    size = LOADING_BYTES * (1 if quick else 3)
    for case, records in (("one-record batches", 1), ("batches of 1,000", 1000)):
        recovery, cleaning = _recovery(records, size), _cleaning(records, size // 2)
        yield Result("longest", f"slice of a recovery, {case}", "ms", recovery, None, False, GOAL_MS)
        yield Result("longest", f"slice of a cleaning, {case}", "ms", cleaning, None, False, GOAL_MS)
    for controller, told in (("zookeeper", "ZooKeeper"), ("kraft", "KRaft")):
        partitions = 600 if quick else 1000
        for case, milliseconds in _topic(controller, partitions):
            yield Result("longest", f"{partitions:,} partitions x 3 {case}, {told}", "ms", milliseconds, None, False,
                         GOAL_MS)  # fmt: skip


def _appends(codec: int) -> Iterator[tuple[str, float]]:
    uneven = encode_batch(list(islice(cycle(UNEVEN), MOST_RECORDS)), compression=codec)
    headers = [("", None)] * (MOST_HEADERS // 64)
    heads = encode_batch([(NOW, b"k", b"", tuple(headers))] * 64, compression=codec)
    rules = ValidationRules(max_message_bytes=DECOMPRESSED, decompressed_bound=DECOMPRESSED)
    yield f"{MOST_RECORDS:,} records", _judged(uneven, rules)
    yield f"{MOST_HEADERS:,} headers", _judged(heads, rules)
    rules.compacted = rules.per_record = True
    yield f"{MOST_RECORDS:,} records, compacted", _judged(uneven, rules)
    yield f"{MOST_HEADERS:,} headers, compacted", _judged(heads, rules)
    nothing = compress(codec, bytes(DECOMPRESSED))
    yield "32 MiB of zeros", _judged(assemble(nothing, 0, -1, codec, 0, NOW, NOW, -1, -1, -1, 1), rules)


def _judged(batch: bytearray, rules: ValidationRules) -> float:
    def judge() -> None:
        try:
            validate_batches(batch, rules, NOW)
        except RecordsError:
            return

    return _milliseconds(judge)


def _milliseconds(act: Callable[[], Any]) -> float:
    began = time.process_time()
    act()
    return 1000 * (time.process_time() - began)


def _written(records: int, size: int, policy: str) -> PartitionLog:
    """A log of so many bytes in batches of so many small records, each with a key of its own."""
    config = LogConfig(cleanup_policy=[policy], segment_bytes=size)
    log, number = PartitionLog(MemoryStorage(), "data/orders-0", "orders", 0, config, NOW), 0
    written = 0
    while written < size - (1 << 20):
        rows = [(NOW, b"%08d" % (number + one), b"v", ()) for one in range(records)]
        data = encode_batch(rows)
        log.append_as_leader(data, 0, NOW)
        number, written = number + records, written + len(data)
    log.update_high_watermark(log.log_end_offset)
    return log


def _recovery(records: int, size: int) -> float:
    log = _written(records, size, "delete")
    again = PartitionLog(log.storage, log.directory, log.topic, log.partition, log.config, NOW, in_slices=True)
    took = []
    while again.opening is not None:
        took.append(_milliseconds(lambda: again.open(LOADING_BYTES)))
    return max(took)


def _cleaning(records: int, size: int) -> float:
    log = _written(records, size, "compact")
    log.roll(NOW)
    parts, took = parts_of(log, NOW), []
    work = Cleaning(log, OffsetMap(MAP_BYTES, 0.9), parts.first_dirty, parts.first_uncleanable, NOW)
    is_done = False
    while not is_done:
        began = time.process_time()
        is_done = work.advance(SLICE_BYTES)
        took.append(1000 * (time.process_time() - began))
    return max(took)


def _topic(controller: str, partitions: int) -> Iterator[tuple[str, float]]:
    """The longest event of the whole cluster while a topic is made, a broker starts again, the topic is deleted."""
    spec = run_from_dict({"cluster": {"brokers": 3, "controller": controller}, "seed": 1})
    with tempfile.TemporaryDirectory() as home:
        world = build_world(spec, lambda node: DiskStorage(Path(home) / node))
        world.run_until(FORMED_US)
        heap.settle()
        made = {"do": "create_topic", "topic": "many", "partitions": partitions, "replication_factor": 3}
        for case, commands in (
            ("made", [made]),
            ("there while a broker stops and starts", [{"do": "stop", "broker": 1}, {"do": "restart", "broker": 1}]),
            ("deleted", [{"do": "delete_topic", "topic": "many"}]),
        ):
            yield case, max(_longest_event(world, command) for command in commands)


def _longest_event(world: World, command: dict[str, Any]) -> float:
    """From a command on, until long after all of it is done."""
    world.inject(Command(command))
    took, until_us, goes_on = [], world.now_us + SETTLED_US, True
    while goes_on:
        began = time.process_time()
        goes_on = world.step(until_us)
        took.append(1000 * (time.process_time() - began))
    return max(took)
