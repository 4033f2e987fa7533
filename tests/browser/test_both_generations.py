"""Whoever decides is killed by a click, then whoever leads, in what `up` starts and in what it started before KRaft: a successor, a higher
epoch and the time without a controller are seen, and nothing that was acknowledged is lost. In Korean, with kcat writing meanwhile."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages
from tests.conftest import PATIENCE_S

pytestmark = [pytest.mark.clients]
RECORDS = 300
PARTITION = "lab.app.state.topics.orders?.partitions[0]"
CLUSTER = "lab.app.state.cluster"


@pytest.fixture(params=[None, "zookeeper"], ids=["up", "zookeeper"])
def seen(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[tuple[LabPage, str]]:
    pages = open_pages(browser, tmp_path / "lab", "--set", "min.insync.replicas=2", generation=request.param)
    visit: Open = next(pages)
    yield visit("ko"), request.param or "kraft"
    for _ in pages:
        raise AssertionError("one lab only")


def write(seen: LabPage, kcat: str, first: int) -> None:
    text = "".join(f"{number}\n" for number in range(first, first + RECORDS))
    subprocess.run([kcat, "-b", seen.lab.bootstrap, "-t", "orders", "-p", "0", "-P", "-X", "acks=all"],
                   input=text, text=True, check=True, timeout=PATIENCE_S)


def whole(seen: LabPage) -> None:
    seen.wait(f"{PARTITION}?.leader > 0 && {PARTITION}.isr.length === 3")


def kill_and_bring_back(seen: LabPage, broker: int, until: str) -> None:
    seen.page.click(f'[data-do="kill"][data-broker="{broker}"]')
    seen.wait(f"lab.app.state.brokers[{broker}].state === 'stopped'")
    seen.wait(until)
    seen.page.click(f'[data-do="restart"][data-broker="{broker}"]')
    whole(seen)


def voters(seen: LabPage, oracle: Path) -> list[int]:
    """As `kafka-metadata-quorum` describes them."""
    told = subprocess.run(
        [sys.executable, str(oracle), "--newest", "tool", "org.apache.kafka.tools.MetadataQuorumCommand", "--bootstrap-server",
         seen.lab.bootstrap, "describe", "--status"], capture_output=True, text=True, check=True, timeout=2 * PATIENCE_S).stdout  # fmt: skip
    return [int(number) for number in re.findall(r'"id": (\d+)', re.search(r"CurrentVoters:.*", told)[0])]  # type: ignore[index]


def test_the_controller_and_a_leader_are_killed_and_nothing_is_lost(
    seen: tuple[LabPage, str], require_program: Callable[[str], str], require_oracle: Path
) -> None:
    page, generation = seen
    kcat = require_program("kcat")
    page.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    whole(page)
    write(page, kcat, 0)
    if generation == "kraft":
        assert voters(page, require_oracle) == [1, 2, 3]
    controller, epoch = page.value(f"[{CLUSTER}.controller, {CLUSTER}.controller_epoch]")
    kill_and_bring_back(page, controller, f"{CLUSTER}.controller > 0 && {CLUSTER}.controller !== {controller} && {CLUSTER}.controller_epoch > {epoch}")
    page.wait("document.getElementById('story').textContent.includes('동안 컨트롤러가 없었습니다')")
    page.picture(f"both-generations-{generation}-controller")
    write(page, kcat, RECORDS)
    leader = int(page.value(f"{PARTITION}.leader"))
    kill_and_bring_back(page, leader, f"{PARTITION}.leader > 0 && {PARTITION}.leader !== {leader}")
    page.picture(f"both-generations-{generation}-leader")
    read = subprocess.run([kcat, "-b", page.lab.bootstrap, "-t", "orders", "-C", "-e", "-q"], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert read.stdout.split() == [str(number) for number in range(2 * RECORDS)]
    page.page.evaluate("lab.app.desk.show('receipt')")
    page.wait(f"document.querySelector('[data-outside-figure=acked]')?.innerText === '{2 * RECORDS}'")
    assert page.page.inner_text("[data-outside-figure=lost]") == "0"
