"""Labs in processes of their own: pages, sockets and REST notice nothing; labs of a process that dies come back."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, free_ports
from tests.web.live_rest import Rest, refused, rest
from tests.web.rest import Caller
from tests.web.school import student
from websockets.sync.client import connect

from lab.client import Lab
from lab.experiments.verify import verify
from web import server
from web.hosted import Held
from web.live import anew, wire_names
from web.live.labs import APART, labs
from web.live.pipes import CAPACITY, Pipe, PipeClosed
from web.live.remote import LabUnreachable, RemoteLab

__all__ = ["rest"]
SMALL = {"brokers": 1, "preset": "teaching", "controller": "kraft"}
STARTS_S = 4 * PATIENCE_S
"""A process that holds labs loads all of the web first."""


@pytest.fixture
def room(rest: Rest, tmp_path: Path) -> Iterator[int]:
    """Room for two labs, in one process; the first port of the first place."""
    first = free_ports(APART + 4)
    server.hold(2, tmp_path / "labs", "127.0.0.1", first - APART, hosts=1)
    yield first
    for name in list(labs.known):
        rest.delete(f"labs/{name}")
    assert labs.hosts is not None
    processes = [host.process for host in labs.hosts.running]
    server.hold(0, tmp_path, "127.0.0.1", 0)
    for process in processes:
        process.kill()
        process.wait(PATIENCE_S)


def test_a_lab_of_another_process_is_as_one_of_this_and_comes_back_when_that_dies(rest: Rest, room: int) -> None:
    begun = rest.post("labs", {"name": "mine", "cluster": SMALL, "owner": "mina"})
    assert begun.status == 201, begun
    assert (begun.json["bootstrap"], begun.json["owner"]) == (f"127.0.0.1:{room}", "mina")
    assert rest.post("labs/mine/commands", {"do": "create_topic", "topic": "mine", "partitions": 1}).status == 200
    assert rest.post("labs/mine/waits", {"when": {"leader_of": "mine-0", "is": 1}}).json["met"]
    refused(rest.post("labs", {"name": "wrong", "cluster": {"brokers": 99}}), 422, "cluster.brokers")
    own = Caller(f"{rest.url}labs/mine/")
    assert [one["id"] for one in own.get("labs").json["items"]] == ["mine"]
    assert [one["run"] for one in own.get("runs").json["items"]] == [begun.json["run"]]
    assert own.get(f"runs/{begun.json['run']}/receipt").json["lost"] == 0
    a_script_has_its_runs_and_branches(rest)
    knows_its_student(rest, "mine")
    with urllib.request.urlopen(f"{rest.url}labs/mine/", timeout=PATIENCE_S) as answer:
        assert '"mine":' in answer.read().decode()
    with connect(rest.url.replace("http", "ws") + "labs/mine/live/", origin=rest.url.rstrip("/")) as page:
        page.send(json.dumps({"k": "hello", "run": "", "epoch": 0, "last": 0}))
        assert "mine" in json.loads(page.recv(timeout=PATIENCE_S))["state"]["topics"]
        page.send(json.dumps({"k": "cmd", "id": 1, "do": "create_topic", "topic": "more", "partitions": 1}))
        assert said(page, "ack")["ok"]
        assert labs.hosts is not None
        labs.hosts.running[0].process.kill()
        snapshot = said(page, "snap")
        assert snapshot["run"] != begun.json["run"] and {"mine", "more"} <= set(snapshot["state"]["topics"])
    assert rest.get("labs/mine").json["bootstrap"] == f"127.0.0.1:{room}"
    assert rest.delete("labs/mine").status == 204
    assert not answers(room)
    refused(rest.get("labs/mine"), 404, "lab", "no lab mine")


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def stays_away(name: str) -> None:
    """A lab whose process has ended is not started anew."""


def until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + STARTS_S
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_process_all_of_whose_labs_sleep_starts_anew_and_they_wake_in_it_as_they_fell_asleep(
    rest: Rest, room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert labs.hosts is not None
    labs.hosts.order["idle_s"] = 1.0
    for name in ("mine", "other"):
        assert rest.post("labs", {"name": name, "cluster": SMALL}).status == 201
    load = {"do": "start_client", "name": "producer", "kind": "producer", "topic": "mine", "rate": 200}
    for command in ({"do": "create_topic", "topic": "mine", "partitions": 1}, load, {"do": "kill", "broker": 1}):
        assert rest.post("labs/mine/commands", command).status == 200
    process = labs.hosts.running[0]
    so_far = process.renewed  # it may have been quick, before the second lab was there
    number, ports = process.process.pid, (room, room + APART)
    until(lambda: process.renewed > so_far)
    assert process.process.poll() is None and process.process.pid == number
    before = rest.get("labs/mine").json
    assert before["asleep"] and rest.get("labs/other").json["asleep"]
    for name, port in zip(("mine", "other"), ports, strict=True):  # a client wakes one lab; the other has no broker
        with socket.socket() as client:
            client.settimeout(PATIENCE_S)
            assert (client.connect_ex(("127.0.0.1", port)) == 0) is (name == "other")
            if name == "other":
                client.sendall(bytes.fromhex("0000000a 0012 0000 00000007 ffff"))  # ApiVersions, version 0
                assert client.recv(8)[4:] == (7).to_bytes(4, "big")
    assert rest.post("labs/mine/commands", {"do": "restart", "broker": 1}).status == 200
    assert rest.post("labs/mine/waits", {"when": {"leader_of": "mine-0", "is": 1}}).json["met"]
    after = rest.get("labs/mine").json
    assert (after["run"], after["bootstrap"]) == (before["run"], before["bootstrap"]) and after["seq"] > before["seq"]
    until(lambda: rest.get("labs/mine/snapshot").status == 200 and answers(room))  # to look keeps it awake meanwhile
    assert answers(room + APART)
    assert rest.delete("labs/other").status == 204
    assert not answers(room + APART)
    home = tmp_path / "labs" / "mine" / "runs" / before["run"]
    assert labs.hosts.running == [process]
    monkeypatch.setattr(labs.hosts, "lost", stays_away)
    process.pipe.close()  # the process stops its labs in order, and the run is whole
    process.process.wait(STARTS_S)
    assert verify(home).differences == []


def test_a_process_that_cannot_start_anew_goes_on_and_a_client_wakes_its_lab(
    rest: Rest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = free_ports(APART + 4)
    server.hold(1, tmp_path / "labs", "127.0.0.1", first - APART, idle_s=0.01)
    try:
        assert rest.post("labs", {"name": "mine", "cluster": SMALL}).status == 201
        until(lambda: rest.get("labs/mine").json["asleep"])
        monkeypatch.setattr(labs, "idle_s", 1000.0)
        asked: list[anew.Kept] = []

        def full(pipe: int, kept: anew.Kept) -> None:
            asked.append(kept)
            raise OSError(errno.ENOSPC, "No space left on device")

        async def ask() -> dict[str, object]:
            ours, theirs = socket.socketpair()
            pipe, web = Pipe(ours), Pipe(theirs)
            await pipe.start()
            await web.start()
            return await Held(pipe).anew(1)

        monkeypatch.setattr(anew, "start_anew", full)
        assert asyncio.run(ask()) == {"anew": False}
        assert [described.name for described, _ in asked[0].labs] == ["mine"] and rest.get("labs/mine").json["asleep"]
        with socket.create_connection(("127.0.0.1", first), PATIENCE_S):
            until(lambda: not rest.get("labs/mine").json["asleep"])
    finally:
        rest.delete("labs/mine")
        server.hold(0, tmp_path, "127.0.0.1", 0)


def knows_its_student(rest: Rest, lab: str) -> None:
    """Below the address of a lab of another process, too, people are asked about where they are known."""
    code = rest.post("classes", {"title": "Hosts"}).json["code"]
    heron = student(rest.url.rstrip("/"), code, "heron")
    labs.known[lab] = replace(labs.known[lab], owner=f"{code}/1")
    own = f"/labs/{lab}/api"
    assert heron.get(f"{own}/me").json["name"] == "heron"
    assert heron.post(f"{own}/me/lessons", {"name": "acks-1", "grade": "right"}).json == {"results": {"acks-1": "right"}}
    assert heron.post(f"{own}/quizzes/answers", {"question": "acks-1.prediction", "answer": 50}).json["grade"] == "right"
    assert heron.get("/api/me/questions").json["results"].keys() == {"acks-1.prediction"}
    look = {"lab": f"/labs/{lab}", "run": None, "lesson": None, "t_us": None, "playing": False, "speed": 1}
    assert Caller(f"{rest.url}labs/{lab}/").post(f"classes/{code}/lead", look).status == 200
    assert heron.get(f"{own}/me/lead").json["look"] == heron.get("/api/me/lead").json["look"] == look
    labs.known[lab] = replace(labs.known[lab], owner="mina")
    assert rest.delete(f"classes/{code}").status == 204


def said(page: object, kind: str) -> dict[str, object]:
    """The next message of a kind."""
    deadline = time.monotonic() + STARTS_S
    while time.monotonic() < deadline:
        found = json.loads(page.recv(timeout=STARTS_S))  # type: ignore[attr-defined]
        if isinstance(found, dict) and found["k"] == kind:
            return found
    raise AssertionError(f"no {kind} came")


def a_script_has_its_runs_and_branches(rest: Rest) -> None:
    """Named beside the server's address, as below its own: not the server's own runs of the same numbers."""
    lab = Lab(rest.url, lab="mine", frames=False)
    lab.start_client("producer-mine", kind="producer", topic="mine", rate=100)
    lab.wait(acked_by="producer-mine", is_=">= 1")
    assert lab.receipt()["acked"] > 0
    branch = lab.fork()
    assert branch.about["id"] == "mine" and branch.branch in branch.about["open"]
    branch.close()
    lab.stop_client("producer-mine")


def test_a_pipe_carries_calls_one_way_and_batches_to_all_that_watch_the_other_until_an_end_is_gone() -> None:
    async def talk() -> None:
        ours, theirs = socket.socketpair()
        web, host = Pipe(ours), Pipe(theirs)
        await web.start()
        await host.start()
        own, other = await web.new_channel("brokerlab"), await web.new_channel("brokerlab")
        assert own != other
        await web.send("calls", {"to": own, "body": b"\xff\x00"})
        call = await host.receive("calls")
        await host.send(call["to"], {"value": call["body"]})
        assert await web.receive(own) == {"value": b"\xff\x00"}
        for channel in (own, other):
            await web.group_add("mine", channel)
        await host.group_send("mine", {"n": 1})
        assert [await web.receive(channel) for channel in (own, other)] == [{"n": 1}, {"n": 1}]
        await web.group_discard("mine", other)
        for number in range(CAPACITY + 5):  # nobody reads: what is too much is dropped, and the numbers say so
            await host.group_send("mine", {"n": number})
        await host.send("last", {})
        await web.receive("last")
        assert [(await web.receive(own))["n"] for _ in range(CAPACITY)] == list(range(CAPACITY))
        waiting = asyncio.create_task(web.receive(own))
        await asyncio.sleep(0)
        host.close()
        with pytest.raises(PipeClosed):
            await waiting
        with pytest.raises(PipeClosed):
            await web.send("calls", {})

    asyncio.run(talk())


def test_a_process_of_this_server_that_is_busy_is_waited_for_and_one_that_has_ended_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those elsewhere get `PATIENCE_S`: nobody would notice that they are gone."""
    monkeypatch.setattr(wire_names, "PATIENCE_S", 0.01)

    async def ask() -> None:
        ours, theirs = socket.socketpair()
        web, host = Pipe(ours), Pipe(theirs)
        await web.start()
        await host.start()
        lab = RemoteLab("mine", web, patience_s=PATIENCE_S)
        late = asyncio.wrap_future(lab.call("facts", None))
        call = await host.receive(wire_names.calls("mine"))
        await asyncio.sleep(0.1)
        assert call["stale_s"] > PATIENCE_S, "it is carried out as late as that"
        await host.send(call["to"], {"n": call["n"], "value": {"seq": 1}})
        assert await late == {"seq": 1}
        never = asyncio.wrap_future(lab.call("facts", None))
        await host.receive(wire_names.calls("mine"))
        host.close()
        with pytest.raises(LabUnreachable):
            await asyncio.wait_for(never, PATIENCE_S / 2)
        lab.close()

    asyncio.run(ask())
