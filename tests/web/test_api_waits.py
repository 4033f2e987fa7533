"""Waiting over REST until something is so, and forks that repeat what was done in their parent."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from tests.web.live_rest import Rest, refused, rest

from lab.repeating import later_commands

__all__ = ["rest"]

MOST_S = 30


def waited(rest: Rest, when: dict[str, Any], query: str = "", **more: Any) -> dict[str, Any]:
    """How one wait has ended; one that the machine was too slow for goes on."""
    for _ in range(4):
        answer = rest.post(f"labs/lab/waits?{query}", {"when": when, **more})
        assert answer.status == 200, answer.json
        if answer.json["gave_up"] != "wait" or "wait=" in query:
            break
    return answer.json


def test_what_is_so_already_is_answered_at_once_with_its_value(rest: Rest) -> None:
    found = waited(rest, {"leader_of": "orders-0", "is": ">= 1"})
    assert found["met"] and found["value"] in (1, 2, 3) and found["waited_us"] == 0 and found["gave_up"] is None
    assert found["seq"] <= rest.get("labs/lab").json["seq"]


def test_the_next_leader_is_waited_for(rest: Rest) -> None:
    assert rest.post("labs/lab/commands", {"do": "create_topic", "topic": "led", "partitions": 1}).json["ok"]
    first = waited(rest, {"leader_of": "led-0", "is": ">= 1"})["value"]
    threading.Timer(0.3, rest.post, ["labs/lab/commands", {"do": "kill", "broker": first}]).start()
    found = waited(rest, {"leader_of": "led-0", "is": "changed"}, before=first)
    assert (found["met"], found["before"]) == (True, first) and found["value"] not in (first, -1)
    assert waited(rest, {"state_of": f"broker-{first}", "is": "stopped"})["met"]
    assert rest.post("labs/lab/commands", {"do": "restart", "broker": first}).json["ok"]
    assert waited(rest, {"isr_of": "led-0", "is": 3})["met"]


def test_a_wait_ends_when_so_much_of_the_clusters_time_or_of_ones_own_is_over(rest: Rest) -> None:
    never = {"isr_of": "nothing-0", "is": 1}
    over = waited(rest, never, within="300ms")
    assert (over["met"], over["gave_up"], over["value"]) == (False, "within", None) and over["waited_us"] >= 300_000
    assert rest.post("labs/lab/commands", {"do": "time", "speed": "pause"}).json["paused"]
    stands = waited(rest, never, "wait=0.2", within="1ms")
    assert (stands["gave_up"], stands["waited_us"]) == ("wait", 0), "while the clock stands its time does not pass"
    assert rest.post("labs/lab/commands", {"do": "time", "speed": "play"}).json["ok"]


def test_the_clock_stops_at_the_moment_itself(rest: Rest) -> None:
    fork = rest.post("labs/lab/forks?wait=30", {}).json["run"]
    t_us = rest.get(f"labs/lab/snapshot?run={fork}").json["t"]
    for command in ({"do": "kill", "broker": 1}, {"do": "time", "speed": 20}, {"do": "time", "speed": "play"}):
        assert rest.post(f"labs/lab/commands?run={fork}", command).json["ok"]
    found = waited(rest, {"registered": 1, "is": 0}, f"run={fork}", pause=True)
    now = rest.get(f"labs/lab/snapshot?run={fork}").json
    assert found["met"] and found["t_us"] == now["t"] > t_us and found["seq"] == now["seq"]
    assert now["state"]["time"]["paused"]
    assert rest.delete(f"labs/lab/runs/{fork}").status == 204


def test_a_run_that_is_closed_ends_the_waits_for_it(rest: Rest) -> None:
    fork = rest.post("labs/lab/forks?wait=30", {}).json["run"]
    threading.Timer(0.3, rest.delete, [f"labs/lab/runs/{fork}"]).start()
    found = rest.post(f"labs/lab/waits?run={fork}", {"when": {"registered": 2, "is": 0}})
    assert found.json["gave_up"] == "ended"


@pytest.mark.parametrize(("body", "place"), [
    ({}, "when"), ({"when": {}}, "when"), ({"when": {"leader_of": "orders-0"}}, "when"),
    ({"when": {"leader_of": "orders", "is": 1}}, "when.leader_of"), ({"when": {"leader_of": "orders-²", "is": 1}}, "when.leader_of"),
    ({"when": {"registered": "²", "is": 1}}, "when.registered"), ({"when": {"registered": "9" * 5000, "is": 1}}, "when.registered"),
    ({"when": {"leader_of": "orders-0", "is": "running"}}, "when.is"), ({"when": {"state_of": "broker-1", "is": ">= 3"}}, "when.is"),
    ({"when": {"state_of": "broker-1", "is": "runing"}}, "when.is"), ({"when": {"leader_of": "orders-0", "is": 1}, "within": "soon"}, "within"),
    ({"when": {"leader_of": "orders-0", "isr_of": "orders-0", "is": 1}}, "when"), ({"when": {"controller": "any", "is": 1}, "wait": 1}, "wait"),
])  # fmt: skip
def test_a_wait_that_cannot_be_is_refused_by_its_place(rest: Rest, body: dict[str, Any], place: str) -> None:
    refused(rest.post("labs/lab/waits", body), 422, place)


def test_more_waits_than_a_run_bears_are_refused(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.waiting.MOST", 1)
    fork = rest.post("labs/lab/forks?wait=30", {}).json["run"]
    body = {"when": {"registered": 2, "is": 0}}
    first = threading.Thread(target=rest.post, args=(f"labs/lab/waits?run={fork}&wait=30", body))
    first.start()
    while not rest.lab.branches[fork].waits.open:
        assert first.is_alive()
    refused(rest.post(f"labs/lab/waits?run={fork}&wait=0.1", body), 429, None)
    assert rest.delete(f"labs/lab/runs/{fork}").status == 204
    first.join(MOST_S)
    assert not first.is_alive()


# -- forks that repeat ----------------------------------------------------------------------
def done_later(rest: Rest) -> tuple[str, int, int]:
    """A run in which two things were done behind its beginning: its name, the event before them, and its time then."""
    run = rest.post("labs/lab/forks?wait=30", {}).json["run"]
    seq = rest.get(f"labs/lab/snapshot?run={run}").json["seq"]
    send = f"labs/lab/commands?run={run}"
    assert rest.post(send, [{"do": "time", "speed": 50}, {"do": "time", "speed": "play"}]).json["ok"]
    t_us = rest.get(f"labs/lab?run={run}").json["t"]
    assert rest.post(send, {"do": "kill", "broker": 2}).json["ok"]
    assert waited(rest, {"registered": 2, "is": 0}, f"run={run}")["met"]
    assert rest.post(send, {"do": "restart", "broker": 2}).json["ok"]
    assert waited(rest, {"registered": 2, "is": 1}, f"run={run}", pause=True)["met"]
    return run, seq, t_us


def commands_of(rest: Rest, run: str, seq: int) -> list[tuple[int, str]]:
    rows = rest.get(f"labs/lab/events?run={run}&since={seq}&codes=command&limit=10000").json["items"]
    return [(row[1], row[5]["command"]["do"]) for row in rows]


def behind(rest: Rest, run: str, t_us: int) -> dict[str, Any]:
    """When a run's clock has come to a time, at which it stands then."""
    assert rest.post(f"labs/lab/commands?run={run}", [{"do": "time", "speed": 50}, {"do": "time", "speed": "play"}]).json["ok"]
    assert waited(rest, {"registered": 2, "is": 0}, f"run={run}")["met"]
    return waited(rest, {"registered": 2, "is": 1}, f"run={run}", pause=True)


def test_a_fork_repeats_the_later_commands_of_its_parent_at_their_times(rest: Rest) -> None:
    parent, seq, _ = done_later(rest)
    end = rest.get(f"labs/lab/snapshot?run={parent}").json
    again = rest.post("labs/lab/forks?wait=30", {"run": parent, "seq": seq, "repeat": True}).json
    assert (again["repeats"], again["results"]) == (2, [])
    came = behind(rest, again["run"], end["t"])
    assert came["met"]
    assert commands_of(rest, again["run"], seq) == commands_of(rest, parent, seq), "each at its own time"
    journals = [rest.get(f"runs/{run}/journal").body.splitlines() for run in (parent, again["run"])]
    common = min(map(len, journals))
    assert journals[0][:common] == journals[1][:common], "with nothing else changed it is the same course, byte for byte"
    assert json.loads(journals[0][common - 1])[0] > seq
    other = rest.post("labs/lab/forks?wait=30", {
        "run": parent, "seq": seq, "repeat": True, "commands": [{"do": "kill", "broker": 3}]}).json
    assert behind(rest, other["run"], end["t"])["met"]
    assert [do for _, do in commands_of(rest, other["run"], seq)] == ["kill", "kill", "restart"]
    for run in (other["run"], again["run"], parent):
        assert rest.delete(f"labs/lab/runs/{run}").status == 204
    assert rest.get(f"runs/{other['run']}/verify").json["same"] is True


def test_what_is_repeated_comes_step_by_step_too(rest: Rest) -> None:
    parent, seq, _ = done_later(rest)
    again = rest.post("labs/lab/forks?wait=30", {"run": parent, "seq": seq, "repeat": True}).json["run"]
    wanted = commands_of(rest, parent, seq)[0]
    branch = rest.lab.branches[again]
    assert branch.pump.agenda[0][0] == wanted[0]
    for _ in range(20_000):
        rest.post(f"labs/lab/commands?run={again}", {"do": "time", "speed": "step_state"})
        if branch.world.now_us >= wanted[0] and len(branch.pump.agenda) == 1:
            break
    assert commands_of(rest, again, seq) == [wanted]
    for run in (again, parent):
        assert rest.delete(f"labs/lab/runs/{run}").status == 204


def test_commands_are_found_behind_their_place_in_a_recording(rest: Rest) -> None:
    parent, seq, _ = done_later(rest)
    made = rest.post("labs/lab/forks?wait=30", {"run": parent, "seq": seq}).json
    assert "repeats" not in made
    branch = rest.lab.branches[made["run"]]
    assert branch.rest is not None
    assert [command["do"] for _, command in later_commands(*branch.rest)] == ["kill", "restart"]
    for run in (made["run"], parent):
        assert rest.delete(f"labs/lab/runs/{run}").status == 204
