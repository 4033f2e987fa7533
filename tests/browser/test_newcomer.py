"""The first evening of a newcomer: start the lab, attach kcat, write, kill the leader in the browser, count.

Everything is real: the lab is the process that `brokerlab up` starts, kcat writes a thousand records a
second with acks=all, Chromium clicks the button. What was acked can be read, and is there after a restart.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PATIENCE_S, StartedLab

RATE = 1000
SECONDS = 14
FEEDER = f"""
import sys, time
began = time.monotonic()
for number in range({RATE * SECONDS}):
    wait = began + number / {RATE} - time.monotonic()
    if wait > 0:
        sys.stdout.flush()
        time.sleep(wait)
    print(number)
"""


@pytest.fixture
def lab(run_lab: Callable[..., StartedLab], tmp_path: Path) -> Iterator[StartedLab]:
    yield run_lab("--preset", "teaching", data=tmp_path / "lab", web=True, generation=None)


def leader(page: Any) -> tuple[int, int]:
    """(leader, leader epoch) of orders-0 as the page believes; (-1, -1) while there is none."""
    found = page.evaluate("""() => {
        const partition = lab.app.state.topics.orders?.partitions?.["0"];
        return partition ? [partition.leader, partition.leader_epoch] : [-1, -1];
    }""")
    return found[0], found[1]


def wait(page: Any, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)


def read_all(kcat: str, bootstrap: str) -> list[str]:
    found = subprocess.run([kcat, "-b", bootstrap, "-t", "orders", "-C", "-e", "-q"], capture_output=True, text=True,
                           timeout=PATIENCE_S, check=True)
    return found.stdout.split()


def test_nothing_that_was_acked_is_lost_when_the_leader_is_killed_in_the_browser(
    browser: Any, lab: StartedLab, require_program: Callable[[str], str]
) -> None:
    kcat = require_program("kcat")
    page = browser.new_page()
    page.goto(lab.page)
    feeder = subprocess.Popen([sys.executable, "-c", FEEDER], stdout=subprocess.PIPE)
    writer = subprocess.Popen([kcat, "-b", lab.bootstrap, "-t", "orders", "-P", "-X", "acks=all",
                               "-X", "message.timeout.ms=180000"], stdin=feeder.stdout, stderr=subprocess.PIPE, text=True)
    wait(page, lambda: leader(page)[0] > 0)
    page.wait_for_timeout(3000)
    before = leader(page)
    page.click(f'[data-menu="broker:{before[0]}"]')
    page.click('[data-menu-do="kill"]')
    wait(page, lambda: leader(page)[1] > before[1] and leader(page)[0] > 0)
    after = leader(page)
    assert after[0] != before[0]
    story = page.inner_text("body")
    assert str(after[1]) in story
    _, complaints = writer.communicate(timeout=3 * PATIENCE_S)
    assert writer.returncode == 0, complaints  # 0: kcat got an ack for every record
    assert "Delivery failed" not in complaints
    page.close()
    read = read_all(kcat, lab.bootstrap)
    assert sorted(map(int, set(read))) == list(range(RATE * SECONDS))
    assert lab.stop() == 0


def test_what_was_written_is_there_at_the_next_start(
    run_lab: Callable[..., StartedLab], tmp_path: Path, require_program: Callable[[str], str]
) -> None:
    kcat = require_program("kcat")
    first = run_lab(data=tmp_path / "again", generation=None)
    subprocess.run([kcat, "-b", first.bootstrap, "-t", "orders", "-P", "-X", "acks=all"], input="one\ntwo\nthree\n",
                   text=True, check=True, timeout=PATIENCE_S)
    assert first.stop() == 0
    second = run_lab(data=tmp_path / "again", generation=None)
    assert read_all(kcat, second.bootstrap) == ["one", "two", "three"]
