"""`brokerlab bench [NAME] [--quick] [--json]`."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from keyword import iskeyword

from benchmarks.results import HEAD, Result

BENCHMARKS = {
    "startup": ("times", "from the command to the first acked record"),
    "laden": ("times", "the same on empty disks and on 5 GiB of segments"),
    "produce": ("throughput", "records a second, acks=all and acks=1, 100 B to 10 KB"),
    "consume": ("throughput", "megabytes a second from the beginning of a topic"),
    "morsels": ("throughput", "megabytes a second of large records, 100 kB asked for at a time"),
    "latency": ("times", "one record at a time, acks=all, also with ten viewers of the page"),
    "memory": ("weight", "resident memory, idle and after load"),
    "idle": ("weight", "CPU without clients"),
    "fidelity": ("fidelity", "how long each fault lasts, with the quorum, done to Apache Kafka 4.3 at the same time"),
    "transactions": ("coordinators", "transactions a second, records of a producer that commits, beside Kafka 4.3"),
    "rebalance": ("coordinators", "until 3, 30, 100 members have settled again, both protocols, beside Kafka 4.3"),
    "offsets": ("coordinators", "a million offsets committed, and loaded by the next coordinator, beside Kafka 4.3"),
    "simulation": ("simulation", "virtual seconds per second"),
    "hops": ("hops", "where the time of a simulated record goes, hop by hop, beside the floor of each"),
    "longest": ("longest", "the longest event of the world: a batch, slices of long work, a topic of 1,000 partitions"),
    "fork": ("forks", "a fork at any moment of an hour-old lab at 500 records a second"),
    "soak": ("soak", "two hours at 2,000 records a second, a broker killed each minute: what grows"),
    "receipt": ("receipts", "the receipt of a live lab by its age, kept as it goes and from its files"),
    "decode": ("spark_decode", "record batches into Spark's rows, beside Parquet and Spark's own Kafka source"),
    "replay": ("spark_replay", "a million records from their directory to answers, beside the same from Parquet"),
    "sweep": ("spark_sweep", "simulated runs a minute, on one core and on two"),
    "session": ("spark_session", "start of Spark, plain, cold and with the archive of classes"),
    "frame": ("screen", "main thread of a browser with 500 messages and 600 partitions"),
    "flood": ("screen", "20,000 events a second in a browser: rate, transitions dropped"),
    "page": ("page", "first paint; main thread idle, with a producer, with an outside client; frames a second"),
    "watched": ("watched", "50 viewers of one lab and a browser: what each gets, what the lab's thread pays"),
    "class": ("classroom", "forty labs with a page and a load each on one server: joining, memory, lessons, sleep"),
    "deaf": ("deaf", "a viewer and a page that stop reading: memory, recovery"),
}


def main(arguments: list[str]) -> int:
    """Exit code 0 when everything could be measured, whether goals were met or not; 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="brokerlab bench")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.name == "list":
        print("\n".join(f"{name:<13} {text}" for name, (_, text) in BENCHMARKS.items()))
        return 0
    if chosen.name is not None and chosen.name not in BENCHMARKS:
        print(f"brokerlab: there is no benchmark {chosen.name}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    return run([chosen.name] if chosen.name else list(BENCHMARKS), quick=chosen.quick, as_json=chosen.json)


def run(names: list[str], *, quick: bool, as_json: bool) -> int:
    """Measure and print as the results come in; what fails is told, and the rest still runs."""
    code, results = 0, []
    if not as_json:
        print(HEAD, flush=True)
    for name in names:
        benchmark: Callable[[bool], Iterator[Result]] = getattr(
            importlib.import_module(f"benchmarks.{BENCHMARKS[name][0]}"), name + "_" * iskeyword(name))
        try:
            for result in benchmark(quick):
                results.append(result)
                if not as_json:
                    print(result.line(), flush=True)
        except Exception as error:
            code = 1
            print(f"{name}: could not be measured: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    if as_json:
        print(json.dumps([result.to_dict() for result in results], indent=1))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
