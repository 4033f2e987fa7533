"""`deaf`: viewers that stop reading while the lab goes on, and read again.

One is a socket with a receive buffer of 4 KB that reads nothing, the other one is a page whose script never ends. The
server may hold `viewer.LIMIT` characters for each and no more; whoever reads again gets a snapshot and is up to date.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil
from websockets.sync.client import connect

from benchmarks.browser import browser, page_of, served, until
from benchmarks.results import Result
from benchmarks.screen import COUNT, new_lab, play
from tests.web.recorded_lab import RecordedLab
from web.live.hub import hub
from web.live.viewer import LIMIT

MIB = 2**20
SOCKETS = 10

BUSY = "(ms) => { const end = performance.now() + ms; while (performance.now() < end); }"


def dial(url: str) -> Any:
    """A viewer whose system takes hardly anything for it."""
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect((host, int(port)))
    found = connect(f"ws://{host}:{port}/live/", sock=raw, origin=url.rstrip("/"), max_size=None, max_queue=1,
                    ping_interval=None)  # type: ignore[arg-type]  # fmt: skip
    found.send(json.dumps({"k": "hello", "run": None, "epoch": None, "last": None}))
    return found


def deaf(quick: bool) -> Iterator[Result]:
    """Growth of the server's memory, resyncs counted, time until everybody is up to date again."""
    seconds, lab = (6 if quick else 20), new_lab()
    with browser() as chromium, served(lab) as url, page_of(chromium, url) as page, contextlib.ExitStack() as stack:
        page.evaluate(COUNT)
        play(lab, 1)
        del lab.rows[:]
        sleepers = [stack.enter_context(dial(url)) for _ in range(SOCKETS)]
        watch = Watch()
        player = threading.Thread(target=_play_forgetting, args=(lab, seconds, watch))
        player.start()
        page.evaluate(BUSY, seconds * 1000)
        player.join()
        cuts, started = sum(viewer.cuts for viewer in hub.viewers), time.perf_counter()
        until(page, f"lab.feed.last >= {lab.seq}")
        page_took = time.perf_counter() - started
        for sleeper in sleepers:
            _read_up_to(sleeper, lab.seq)
        took = time.perf_counter() - started
        gaps = page.evaluate("lab.feed.gaps")
    case = f"{SOCKETS} sockets and a page"
    yield Result("deaf", f"{case}: memory", "MiB more", watch.grown_mib, None, False, (SOCKETS + 1) * 3 * LIMIT // MIB)
    yield Result("deaf", "most that waits for one", "MB", watch.largest / 1e6, None, False, LIMIT * 1.1 / 1e6)
    yield Result("deaf", "cut to a resync by the server", "times", cuts, None, False)
    yield Result("deaf", "snapshots instead of events", "in the page", gaps, None, False)
    yield Result("deaf", "the page is up to date after", "s", page_took, None, False)
    yield Result("deaf", "everybody is up to date after", "s", took, None, False, 10.0)


class Watch:
    """The largest that was seen while the lab played."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._before = self._process.memory_info().rss
        self.grown_mib = 0.0
        self.largest = 0

    def look(self) -> None:
        """Now."""
        grown = (self._process.memory_info().rss - self._before) / MIB
        self.grown_mib = max(self.grown_mib, grown)
        self.largest = max(self.largest, *(viewer.size for viewer in list(hub.viewers)))


def _play_forgetting(lab: RecordedLab, seconds: float, watch: Watch) -> None:
    """The recorded lab itself must not grow: what it has played is dropped."""
    for _ in range(int(seconds * 4)):
        play(lab, 0.25)
        del lab.rows[:]
        watch.look()


def _read_up_to(sleeper: Any, seq: int) -> None:
    """Whatever comes, until the last event is known."""
    while True:
        found = json.loads(sleeper.recv(timeout=30))
        for one in found if isinstance(found, list) else [found]:
            if max(one.get("seq", 0), one.get("to", 0)) >= seq:
                return
