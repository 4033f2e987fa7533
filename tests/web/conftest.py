"""A lab that plays recorded events, and the web before it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from tests.conftest import PATIENCE_S
from tests.web.recorded_lab import RecordedLab
from tests.web.recording import Evening


@dataclass
class Served:
    """A lab, and the address of its page."""

    lab: RecordedLab
    url: str
    evening: Evening | None = None


def run_server(lab: RecordedLab, evening: Evening | None = None) -> Iterator[Served]:
    """Serve `lab` on a free port with the product's own server, in a thread."""
    from web import server

    listener = server.listen("127.0.0.1", 0)
    ready: list[str] = []
    started = threading.Event()
    built = server.build(lab, listener, lambda url: (ready.append(url), started.set()))
    thread = threading.Thread(target=built.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert started.wait(PATIENCE_S)
    yield Served(lab, ready[0], evening)
    built.should_exit = True
    thread.join(10)
    listener.close()


@pytest.fixture
def served() -> Iterator[Served]:
    """An evening with a cluster: topic orders with six partitions."""
    evening = Evening()
    yield from run_server(evening.lab, evening)


@pytest.fixture
def serve() -> Iterator[Callable[[RecordedLab], Served]]:
    """`serve(lab)`: any recorded lab."""
    running: list[Iterator[Served]] = []

    def start(lab: RecordedLab) -> Served:
        running.append(run_server(lab))
        return next(running[-1])

    yield start
    for one in running:
        next(one, None)
