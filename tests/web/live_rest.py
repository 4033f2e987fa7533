"""A real live lab, served by the product's own server, and a caller of its REST API."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.conftest import PATIENCE_S, free_ports
from tests.web.rest import Answer, Caller

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab

PROBLEM = "application/problem+json"


@dataclass
class Rest(Caller):
    """A caller, and the lab that it calls."""

    lab: LiveLab

    def events(self, codes: str, since: int = 0, wait: float = 15) -> list[list[Any]]:
        return self.get(f"labs/lab/events?since={since}&codes={codes}&wait={wait}").json["items"]


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    """Three brokers with the teaching preset, served by the product's own server."""
    from web import server

    spec = run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(4)}, "seed": 3})  # one for a broker that joins
    lab = LiveLab(spec, tmp_path_factory.mktemp("lab"))
    lab.start()
    listener = server.listen("127.0.0.1", 0)
    started = threading.Event()
    built = server.build(lab, listener, lambda url: started.set())
    thread = threading.Thread(target=built.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert started.wait(PATIENCE_S)
    found = Rest(built.url, lab)
    assert found.post("labs/lab/commands", {"do": "create_topic", "topic": "orders", "partitions": 1}).status == 200
    assert found.events("leader_elected")
    yield found
    built.should_exit = True
    thread.join(10)
    lab.stop()


def refused(answer: Answer, status: int, place: str | None, words: str = "") -> dict[str, Any]:
    """A problem detail of this status that names this place."""
    assert (answer.status, answer.media) == (status, PROBLEM), answer
    found: dict[str, Any] = answer.json
    assert (found["status"], found.get("place")) == (status, place), found
    assert words in found.get("detail", ""), found
    return found


def produced(rest: Rest, *values: str) -> list[dict[str, Any]]:
    """Records by hand, and the batches that hold them once the leader has them."""
    end = rest.get("labs/lab/topics/orders/records").json["log_end_offset"]
    commands = [{"do": "produce", "topic": "orders", "key": "k", "value": value} for value in values]
    assert rest.post("labs/lab/commands", commands).json["ok"]
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        page = rest.get(f"labs/lab/topics/orders/records?offset={end}").json
        if page.get("high_watermark") == end + len(values):
            return page["records"]
        time.sleep(0.05)
    raise AssertionError("the records did not come")


def ended(rest: Rest, job: str) -> dict[str, Any]:
    """The job when it has ended, on a slow machine as on a quick one."""
    for _ in range(6):
        found: dict[str, Any] = rest.get(f"jobs/{job}?wait=30").json
        if found["state"] not in ("queued", "running"):
            return found
    raise AssertionError(found)
