"""A lab with a finished run, served over REST, for tests of what Spark does for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conftest import PATIENCE_S, free_ports
from tests.web.rest import Answer, Caller

from lab.clusters.spec import run_from_dict
from lab.experiments.run import run_scenario
from lab.live import LiveLab
from lab.scenarios import grammar
from web.api.models import ENDED
from web.api.spark import spark

SHORT = {
    "scenario": "short", "seed": 7, "cluster": {"brokers": 3, "preset": "teaching", "link_delay_ms": 1},
    "topics": [{"name": "orders", "partitions": 1, "replication_factor": 3}],
    "clients": [{"name": "producer-orders", "kind": "producer", "topic": "orders", "rate": 50, "size": 50}],
    "duration": "2s",
}


def serve(home: Path) -> Iterator[Caller]:
    """Until the test module ends; then no worker is left."""
    from web import server

    lab = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}}), home)
    lab.start()
    run_scenario(grammar.from_dict(SHORT), out=home / "runs" / "0777")
    listener = server.listen("127.0.0.1", 0)
    started = threading.Event()
    built = server.build(lab, listener, lambda url: started.set())
    thread = threading.Thread(target=built.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert started.wait(PATIENCE_S)
    yield Caller(built.url)
    built.should_exit = True
    thread.join(30)
    lab.stop()
    assert spark.pid is None, "the worker has ended with the server"


def refused(answer: Answer, status: int, place: str | None, words: str) -> None:
    assert (answer.status, answer.json.get("place")) == (status, place), answer
    assert answer.media == "application/problem+json"
    assert words in answer.json["detail"]


def until_ended(rest: Caller, name: str, kind: str = "replays", seconds: float = 150) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while (found := rest.get(f"{kind}/{name}").json)["state"] not in ENDED and time.monotonic() < deadline:
        time.sleep(0.2)
    return found
