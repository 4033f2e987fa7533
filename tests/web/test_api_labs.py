"""Labs beside the process's own, over REST: begun, told apart, kept for the next start, ended; and what is refused."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from lab.sleeping import FILE
from tests.conftest import PATIENCE_S, free_ports
from tests.web.live_rest import Rest, refused, rest
from tests.web.rest import Caller
from web import server
from web.live.labs import APART, Described, Labs, NoRoom, labs

__all__ = ["rest"]
SMALL = {"brokers": 1, "preset": "teaching", "controller": "kraft"}


@pytest.fixture
def room(rest: Rest, tmp_path: Path) -> Iterator[int]:
    """The server has room for two more labs; the first port of the first place."""
    first = free_ports(APART + 4)
    server.hold(2, tmp_path / "labs", "127.0.0.1", first - APART)
    yield first
    for name in list(labs.known):
        rest.delete(f"labs/{name}")
    server.hold(0, tmp_path, "127.0.0.1", 0)


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_server_without_room_begins_no_lab(rest: Rest) -> None:
    refused(rest.post("labs", {"name": "mine"}), 409, None, "room for 0 labs")
    found = rest.get("labs").json
    assert (found["total"], found["room"], found["resting"]) == (1, 0, [])


def test_two_labs_have_ports_topics_and_runs_of_their_own_until_they_are_ended(
    rest: Rest, room: int, tmp_path: Path
) -> None:
    begun = rest.post("labs", {"name": "mine", "cluster": SMALL, "seed": 5})
    assert begun.status == 201, begun
    assert (begun.json["id"], begun.json["seed"], begun.json["bootstrap"]) == ("mine", 5, f"127.0.0.1:{room}")
    other = rest.post("labs", {"name": "other", "cluster": SMALL})
    assert other.status == 201, other
    assert other.json["bootstrap"] == f"127.0.0.1:{room + APART}" and listening(room) and listening(room + APART)
    assert rest.post("labs/mine/commands", {"do": "create_topic", "topic": "mine", "partitions": 1}).status == 200
    wanted = {"when": {"leader_of": "mine-0", "is": 1}}
    assert rest.post("labs/mine/waits", wanted).json["met"]
    topics = {name: set(rest.get(f"labs/{name}/snapshot").json["state"]["topics"]) for name in ("lab", "mine", "other")}
    assert "mine" in topics["mine"] and "mine" not in topics["other"] | topics["lab"]
    codes = [row[5].get("topic") for row in rest.get("labs/mine/events?codes=leader_elected").json["items"]]
    assert codes == ["mine"] and not rest.get("labs/other/events?codes=leader_elected").json["items"]
    fork = rest.post("labs/mine/forks?wait=30", {})
    assert fork.status == 201 and fork.json["run"] in rest.get("labs/mine").json["open"]
    assert fork.json["run"] not in rest.get("labs/other").json["open"]
    refused(rest.post("labs", {"name": "third", "cluster": SMALL}), 409, None, "room for 2 labs")
    assert rest.delete("labs/mine").status == 204
    assert not listening(room) and not (tmp_path / "labs" / "mine").exists()
    refused(rest.get("labs/mine"), 404, "lab", "no lab mine")
    assert rest.get("labs").json["room"] == 1


def test_a_lab_of_before_rests_until_it_is_started_and_has_what_was_written(
    rest: Rest, room: int, tmp_path: Path
) -> None:
    assert rest.post("labs", {"name": "kept", "cluster": SMALL, "owner": "mina"}).json["owner"] == "mina"
    assert rest.post("labs/kept/commands", {"do": "create_topic", "topic": "orders", "partitions": 1}).status == 200
    assert rest.post("labs/kept/waits", {"when": {"leader_of": "orders-0", "is": 1}}).json["met"]
    labs.end()
    # As at a start: Django refuses its database to a thread with a running event loop.
    starting = threading.Thread(target=server.hold, args=(2, tmp_path / "labs", "127.0.0.1", room - APART))
    starting.start()
    starting.join(PATIENCE_S)
    assert rest.get("labs").json["resting"] == ["kept"] and not listening(room)
    for path in ("labs/kept", "labs/kept/snapshot"):
        refused(rest.get(path), 409, "lab", "kept rests")
    assert rest.get("labs").json["resting"] == ["kept"] and not listening(room)
    started = rest.post("labs/kept/start", {})
    assert started.status == 200 and started.json["bootstrap"] == f"127.0.0.1:{room}", started
    refused(rest.post("labs/nobody/start", {}), 404, "lab", "no lab nobody")
    assert started.json["owner"] == "mina"
    assert "orders" in rest.get("labs/kept/snapshot").json["state"]["topics"]
    found = rest.get("labs").json
    assert (found["resting"], [one["id"] for one in found["items"]]) == ([], ["lab", "kept"])


def test_below_its_own_address_a_lab_has_page_socket_and_all_of_rest(rest: Rest, room: int) -> None:
    assert rest.post("labs", {"name": "mine", "cluster": SMALL}).status == 201
    assert rest.post("labs/mine/commands", {"do": "create_topic", "topic": "mine", "partitions": 1}).status == 200
    own = Caller(f"{rest.url}labs/mine/")
    run = own.get("labs").json["items"][0]["run"]
    assert [one["id"] for one in own.get("labs").json["items"]] == ["mine", "lab"]
    job = own.post("scenarios/acks-1/run", {"seed": 1}).json
    while job["state"] not in ("done", "failed"):
        job = own.get(f"jobs/{job['id']}?wait=30").json
    assert job["state"] == "done" and own.get(f"runs/{job['run']}/receipt").json["lost"] > 0
    names = [one["run"] for one in own.get("runs").json["items"]]
    assert names == [job["run"], run]
    assert own.get(f"runs/{run}").json["finished"] is False
    assert [one["run"] for one in rest.get("runs").json["items"]] != names
    refused(rest.get(f"runs/{job['run']}"), 404, "run")
    with urllib.request.urlopen(f"{rest.url}labs/mine/", timeout=PATIENCE_S) as answer:
        page = answer.read().decode()
    assert f'"run":"{run}"' in page and '"mine":' in page and 'value="/labs/mine/"' in page
    with connect(rest.url.replace("http", "ws") + "labs/mine/live/", origin=rest.url.rstrip("/")) as socket:
        socket.send(json.dumps({"k": "hello", "run": "", "epoch": 0, "last": 0}))
        snapshot = json.loads(socket.recv(timeout=PATIENCE_S))
    assert "mine" in snapshot["state"]["topics"]


def asleep(rest: Rest, name: str) -> bool:
    """Whether it has come to that; to look does not wake it."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if rest.get(f"labs/{name}").json["asleep"]:
            return True
        time.sleep(0.05)
    return False


def test_a_lab_that_nobody_needs_sleeps_and_page_rest_and_a_client_wake_it(
    rest: Rest, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rest.post("labs", {"name": "mine", "cluster": SMALL}).status == 201
    assert rest.post("labs/mine/commands", {"do": "create_topic", "topic": "mine", "partitions": 1}).status == 200
    assert rest.post("labs/mine/waits", {"when": {"leader_of": "mine-0", "is": 1}}).json["met"]
    monkeypatch.setattr(labs, "idle_s", 0.01)
    assert asleep(rest, "mine")
    before = rest.get("labs/mine").json
    found = next(one for one in rest.get("labs").json["items"] if one["id"] == "mine")
    assert (found["run"], found["t"], found["asleep"]) == (before["run"], before["t"], True)
    state = rest.get("labs/mine/snapshot").json
    assert state["run"] == before["run"] and state["seq"] >= before["seq"] and "mine" in state["state"]["topics"]
    assert state["t"] - before["t"] < 5_000_000 * PATIENCE_S
    assert asleep(rest, "mine")
    monkeypatch.setattr(labs, "idle_s", 1.0)
    with urllib.request.urlopen(f"{rest.url}labs/mine/", timeout=PATIENCE_S) as answer:
        assert f'"run":"{before["run"]}"' in answer.read().decode()
    assert asleep(rest, "mine")
    with socket.create_connection(("127.0.0.1", room), PATIENCE_S) as client:
        client.sendall(bytes.fromhex("0000000a 0012 0000 00000007 ffff"))  # ApiVersions, version 0
        assert client.recv(8)[4:] == (7).to_bytes(4, "big")
        assert not rest.get("labs/mine").json["asleep"]
    assert rest.get("labs/mine").json["run"] == before["run"]


def test_a_lab_whose_sleep_was_damaged_starts_anew_on_its_disks(rest: Rest, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rest.post("labs", {"name": "mine", "cluster": SMALL}).status == 201
    assert rest.post("labs/mine/commands", {"do": "create_topic", "topic": "mine", "partitions": 1}).status == 200
    run = rest.get("labs/mine").json["run"]
    monkeypatch.setattr(labs, "idle_s", 0.01)
    assert asleep(rest, "mine")
    monkeypatch.setattr(labs, "idle_s", 1000.0)
    (labs.home / "mine" / FILE).write_bytes(b"no sleep")
    state = rest.get("labs/mine/snapshot")
    assert state.status == 200 and state.json["run"] != run
    assert rest.post("labs/mine/waits", {"when": {"leader_of": "mine-0", "is": 1}}).json["met"]


def test_an_address_of_no_lab_has_no_page_and_no_socket_and_rest_says_why(rest: Rest) -> None:
    other = Caller(f"{rest.url}labs/nobody/")
    refused(other.get("runs"), 404, "lab", "no lab nobody")
    refused(other.post("scenarios/acks-1/run", {}), 404, "lab", "no lab nobody")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{rest.url}labs/nobody/", timeout=PATIENCE_S)
    with connect(rest.url.replace("http", "ws") + "labs/lab/live/", origin=rest.url.rstrip("/")) as socket:
        socket.send(json.dumps({"k": "hello", "run": "", "epoch": 0, "last": 0}))
        assert json.loads(socket.recv(timeout=PATIENCE_S))["k"] == "snap"
    with pytest.raises(InvalidStatus):
        connect(rest.url.replace("http", "ws") + "labs/nobody/live/", origin=rest.url.rstrip("/"))


def test_a_lab_may_take_what_its_limits_say_and_no_more(rest: Rest, room: int) -> None:
    limits = {"brokers": 1, "records": 50}
    refused(rest.post("labs", {"name": "mine", "cluster": {**SMALL, "brokers": 2}, "limits": limits}), 422,
            "cluster.brokers", "1 brokers at most")  # fmt: skip
    begun = rest.post("labs", {"name": "mine", "cluster": SMALL, "limits": limits})
    assert begun.status == 201 and begun.json["limits"].items() >= limits.items()
    assert rest.post("labs/mine/commands", {"do": "create_topic", "topic": "mine", "partitions": 1}).status == 200
    load = {"do": "start_client", "kind": "producer", "topic": "mine"}
    assert rest.post("labs/mine/commands", {**load, "name": "producer", "rate": 30}).status == 200
    refused(rest.post("labs/mine/commands", {**load, "name": "producer-2", "rate": 30}), 422, "rate", "would be 60")
    faster = {"do": "set_client", "name": "producer", "set": {"rate": 51}}
    refused(rest.post("labs/mine/commands", faster), 422, "set.rate", "50 records a second")
    refused(rest.post("labs/mine/commands", {"do": "add_broker"}), 422, "do", "1 brokers at most")
    assert rest.post("labs/mine/commands", {"do": "stop_client", "name": "producer"}).status == 200
    deadline = time.monotonic() + PATIENCE_S  # it is asked to stop; that it hears of it takes the world a step
    while (answer := rest.post("labs/mine/commands", {**load, "name": "producer-2", "rate": 30})).status == 422:
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
    assert answer.status == 200


def test_what_cannot_be_begun_is_refused_with_its_place_and_leaves_nothing(rest: Rest, room: int) -> None:
    refused(rest.post("labs", {"name": "lab"}), 409, "name", "already")
    refused(rest.post("labs", {"name": "Mine!"}), 422, "name")
    refused(rest.post("labs", {"name": "mine", "cluster": {"port": 9092}}), 422, "cluster.port")
    refused(rest.post("labs", {"name": "mine", "cluster": {"settings": {"num.partitions": "x"}}}), 422, "cluster.settings.num.partitions")
    for name in ("log.dirs", "log.dir"):
        given = {"settings": {name: "data,/../../elsewhere"}}
        refused(rest.post("labs", {"name": "mine", "cluster": given}), 422, f"cluster.settings.{name}", "..")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", room))
        taken.listen()
        refused(rest.post("labs", {"name": "mine", "cluster": SMALL}), 503, None, str(room))
    refused(rest.delete("labs/lab"), 409, "lab", "ends with the process")
    refused(rest.delete("labs/nobody"), 404, "lab")
    assert rest.get("labs").json["room"] == 2


def test_a_start_with_less_room_keeps_the_labs_of_before_and_begins_none(tmp_path: Path) -> None:
    found = Labs()
    found.open(2, tmp_path, "127.0.0.1", 0, [Described(name, place, {}, 1) for name, place in (("b", 2), ("c", 3), ("d", 4))])
    assert found.room == 0 and found.resting() == ["b", "c", "d"]
    with pytest.raises(NoRoom):
        found.described("e", {}, 1)


def test_a_lab_is_of_todays_generation_unless_its_description_says_otherwise(tmp_path: Path) -> None:
    found = Labs()
    found.open(4, tmp_path, "127.0.0.1", 0, [])
    given = [{}, {"controller": "zookeeper"}, {"era": "3.9"}, {"ensemble": 3}]
    kinds = [found._spec(found.described(f"lab-{number}", one, 1)).cluster.controller for number, one in enumerate(given)]
    assert kinds == ["kraft", "zookeeper", "zookeeper", "zookeeper"]
    assert found._spec(Described("of-before", 5, {"brokers": 1}, 1)).cluster.controller == "zookeeper"


def test_no_resting_lab_starts_beyond_the_room_of_this_start(tmp_path: Path) -> None:
    found = Labs()
    found.open(0, tmp_path, "127.0.0.1", 0, [Described("kept", 1, SMALL, 1)])
    with pytest.raises(NoRoom):
        asyncio.run(found.start("kept"))
    assert found.resting() == ["kept"] and not found.running


def test_a_resting_lab_that_is_ended_while_somebody_waits_for_it_is_not_begun(tmp_path: Path) -> None:
    async def ended_meanwhile() -> None:
        found = Labs()
        found.open(1, tmp_path, "127.0.0.1", 0, [Described("kept", 1, SMALL, 1)])
        async with found._turn:  # another lab is being begun
            ending = asyncio.create_task(found.remove("kept"))
            await asyncio.sleep(0)
            asking = asyncio.create_task(found.start("kept"))
            await asyncio.sleep(0)
        await ending
        try:
            assert await asking is None and not found.running
        finally:
            found.end()

    asyncio.run(ended_meanwhile())
