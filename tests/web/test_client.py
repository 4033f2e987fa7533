"""The client for scripts and notebooks, against a real server: commands, waits, branches, tables, pictures, runs."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CHECKOUT, PATIENCE_S, free_ports
from tests.web.live_rest import Rest, rest

from lab.client import Busy, Lab, NotAllowed, NotFound, NotMet, Refused, Unreachable
from lab.client.calls import problem_of
from lab.client.frames import framed

__all__ = ["rest"]


@pytest.fixture
def lab(rest: Rest) -> Iterator[Lab]:
    """Tables as lists; all brokers run behind each test."""
    found = Lab(rest.url, frames=False)
    yield found
    found.heal()
    for broker, one in found.state["brokers"].items():
        if one["state"] == "stopped":
            found.restart(int(broker))
    found.wait(isr_of="orders-0", is_=3, within=120)


def test_it_needs_the_standard_library_alone() -> None:
    code = "import sys; import lab.client; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(CHECKOUT)}, text=True, check=True,
                          capture_output=True)
    assert set(done.stdout.split()) - set(sys.stdlib_module_names) <= {"lab", "__main__"}


def test_a_leader_dies_and_the_next_one_is_waited_for(lab: Lab) -> None:
    led = lab.value(leader_of="orders-0")
    begun = lab.about["seq"]
    assert lab.kill(leader_of="orders-0")["node"] == f"broker-{led}"
    now = lab.wait(leader_of="orders-0", within=120)
    assert now not in (led, -1)
    assert lab.wait(leader_of="orders-0", is_=now) == now
    told = lab.events("leader_elected", since=begun, topic="orders")
    assert told[-1]["leader"] == now
    assert told[-1]["t_s"] > 0
    row = next(one for one in lab.partitions() if one["topic"] == "orders")
    assert (row["leader"], led in row["isr"]) == (now, False)


def test_what_is_wrong_is_typed_and_has_code_and_place(lab: Lab, rest: Rest) -> None:
    with pytest.raises(Refused) as caught:
        lab.kill(9)
    assert (caught.value.code, caught.value.place, caught.value.status) == ("no_node", "broker", 422)
    with pytest.raises(Refused) as caught:
        lab.create_topic("orders")
    assert (caught.value.error_code, caught.value.code) == ("TOPIC_ALREADY_EXISTS", "kafka_says")
    with pytest.raises(Refused) as caught:
        lab.wait(leader_off="orders-0")
    assert caught.value.code == "unknown_key"
    with pytest.raises(NotMet) as gave_up:
        lab.wait(isr_of="orders-0", is_=9, within=0.3)
    assert (gave_up.value.gave_up, gave_up.value.value) == ("within", 3)
    with pytest.raises(NotFound) as missing:
        lab.of("9999").receipt()
    assert missing.value.place == "run"
    with pytest.raises(Refused) as korean:
        Lab(rest.url, language="ko").kill(9)
    assert any("가" <= letter <= "힣" for letter in str(korean.value))


def test_statuses_are_told_apart() -> None:
    assert isinstance(problem_of(401, b'{"type": "/api/problems#token", "detail": "who?"}'), NotAllowed)
    assert isinstance(problem_of(503, b"<html>proxy"), Busy)
    with pytest.raises(Unreachable):
        Lab(f"http://127.0.0.1:{free_ports(1)}")


def test_a_branch_goes_another_way(lab: Lab) -> None:
    lab.produce("orders", "before", partition=0)
    with lab.fork() as other:
        assert other.branch
        before = other.value(leo_of="orders-0")
        other.time("play")
        other.produce("orders", "only here", partition=0, headers={"by": "hand"})
        assert other.wait(leo_of="orders-0", is_=f">= {before + 1}") == before + 1
        assert lab.value(leo_of="orders-0") == before
        assert other.branch in str(lab.compare(other))
        last = other.records("orders")[-1]
        assert (last["key"], last["value"], last["headers"]) == (None, "only here", {"by": "hand"})
    with pytest.raises(NotFound):
        other.value(leo_of="orders-0")


def test_events_are_followed_as_they_happen(lab: Lab) -> None:
    heard: list[dict[str, Any]] = []
    begun = lab.about["seq"]
    thread = threading.Thread(target=lambda: heard.extend(lab.follow("topic_created", since=begun, patience=2)))
    thread.start()
    name = f"followed-{time.monotonic_ns()}"
    lab.create_topic(name)
    thread.join(PATIENCE_S)
    assert name in {one["topic"] for one in heard}
    lab.delete_topic(name)


def test_a_moment_is_a_picture(lab: Lab) -> None:
    lab.stop(2)
    lab.wait(state_of="broker-2", is_="stopped", within=120)
    svg = lab.picture()._repr_svg_()
    root = ElementTree.fromstring(svg)
    words = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"broker 1", "broker 2", "broker 3", "orders-0", "stopped"} <= set(words)
    assert words.count("★") == len([one for one in lab.partitions() if not one["topic"].startswith("__")])
    assert "▽" in words
    assert lab._repr_svg_().startswith("<svg")


def test_tables_are_data_frames_where_pandas_is_there(rest: Rest) -> None:
    if importlib.util.find_spec("pandas") is None:
        assert framed([{"a": 1}]) == [{"a": 1}]
        return
    events = Lab(rest.url).events("topic_created")
    assert list(events.columns[:5]) == ["seq", "t_s", "node", "code", "cause"]
    assert (events.code == "topic_created").all()


def test_a_lesson_is_run_with_progress_and_judged(lab: Lab, tmp_path: Path) -> None:
    job = lab.run("acks-1", seed=2)
    states = [(one["state"], one["progress"]) for one in job]
    assert states[-1] == ("done", 1.0)
    run = job.result()
    receipt = run.receipt()
    assert receipt["lost"] > 0
    assert run.passed
    assert run.verify()["same"]
    assert len(run.events("process_ended")) >= 1
    assert any(one["node"] for one in run.events("leader_elected"))
    assert len(run.operations()) > 10
    run.pack(str(tmp_path / "run.tar.gz"))
    assert (tmp_path / "run.tar.gz").stat().st_size > 1000
    assert run.name in {one["run"] for one in lab.runs()}
    with pytest.raises(Refused):
        lab.run({"name": "wrong", "clusters": 3})
    assert any(one["name"] == "acks-1" for one in lab.scenarios())


def test_the_script_of_the_page_about_notebooks_does_what_is_written_there(
    lab: Lab, rest: Rest, capsys: pytest.CaptureFixture[str]
) -> None:
    script = re.findall(r"```python\n(.*?)```", (CHECKOUT / "docs" / "notebook.md").read_text(), re.DOTALL)[0]
    exec(script.replace("http://127.0.0.1:8000", rest.url), {})
    told = capsys.readouterr().out
    assert re.search(r"^[123] led, [123] leads now\nno_node \{.*'broker-9'.*\} broker$", told, re.MULTILINE), told
    lab.wait(isr_of="carts-0", is_=3, within=120)


def test_the_receipt_of_the_live_run(lab: Lab) -> None:
    assert lab.receipt()["lost"] == 0
    assert lab.bootstrap.count(":") == 3
    assert lab.inspect("broker", "2")
