"""The WebSocket against the product's own server: hello, snapshot, deltas, resync, commands, slow viewers."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from typing import Any

from tests.conftest import PATIENCE_S
import pytest
from tests.web.conftest import Served
from uvicorn.protocols.utils import ClientDisconnected
from broker_core.kernel.problems import problem
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from web.live.consumer import LabConsumer

EVENT = (1000, "broker-1", "process_paused", 0, {})


def dial(served: Served, **more: Any) -> ClientConnection:
    more.setdefault("origin", served.url.rstrip("/"))
    return connect(served.url.replace("http", "ws") + "live/", **more)


def get(socket: ClientConnection, kind: str) -> dict[str, Any]:
    """The next message of a kind; a list of deltas counts as one delta with all rows."""
    while True:
        found = json.loads(socket.recv(timeout=PATIENCE_S))
        if isinstance(found, list):
            found = {**found[0], "to": found[-1]["to"], "ev": [row for one in found for row in one["ev"]]}
        if found["k"] == kind:
            return found


def hello(served: Served, socket: ClientConnection, last: int = 0) -> None:
    socket.send(json.dumps({"k": "hello", "run": served.lab.run_id, "epoch": served.lab.epoch, "last": last}))


def test_a_new_viewer_gets_a_snapshot_and_then_what_happens(served: Served) -> None:
    with dial(served) as socket:
        hello(served, socket)
        snap = get(socket, "snap")
        assert (snap["v"], snap["seq"], snap["run"]) == (1, 0, "recorded")
        assert snap["state"]["brokers"]["3"]["port"] == 9094
        served.lab.play(EVENT)
        delta = get(socket, "d")
        assert delta["ev"] == [[1, 0, "process_paused", "broker-1", 0, {}]]
        assert (delta["from"], delta["to"], delta["t0"]) == (0, 1, 1000)


def test_a_viewer_that_says_what_it_knows_gets_only_what_it_missed(served: Served) -> None:
    served.lab.play(EVENT, (2000, "broker-1", "process_resumed", 0, {}))
    with dial(served) as socket:
        hello(served, socket, last=1)
        delta = get(socket, "d")
        assert [row[2] for row in delta["ev"]] == ["process_resumed"]
        assert (delta["from"], delta["to"], delta["t0"], delta["ev"][0][1]) == (1, 2, 0, 2000)


def test_what_is_no_longer_in_memory_comes_as_a_snapshot(served: Served) -> None:
    served.lab.play(EVENT)
    served.lab.forgotten = True
    with dial(served) as socket:
        hello(served, socket, last=1)
        assert get(socket, "snap")["seq"] == 1


def test_a_viewer_of_another_run_gets_a_snapshot(served: Served) -> None:
    served.lab.play(EVENT)
    with dial(served) as socket:
        socket.send(json.dumps({"k": "hello", "run": "older", "epoch": 1, "last": 1}))
        assert get(socket, "snap")["run"] == "recorded"


def test_after_a_gap_a_resync_brings_the_missing_events(served: Served) -> None:
    with dial(served) as socket:
        hello(served, socket)
        get(socket, "snap")
        served.lab.play(EVENT)
        assert get(socket, "d")["to"] == 1
        served.lab.lose((2000, "broker-2", "process_paused", 0, {}))
        socket.send(json.dumps({"k": "resync", "last": 1}))
        assert [row[3] for row in get(socket, "d")["ev"]] == ["broker-2"]


def test_each_delta_continues_the_one_before(served: Served) -> None:
    with dial(served) as socket:
        hello(served, socket)
        last = get(socket, "snap")["seq"]
        for _ in range(5):
            served.lab.play(EVENT)
            delta = get(socket, "d")
            assert delta["from"] <= last < delta["to"]
            last = delta["to"]


def test_a_silent_second_brings_a_heartbeat_with_the_clusters_time(served: Served) -> None:
    with dial(served) as socket:
        hello(served, socket)
        get(socket, "snap")
        assert get(socket, "hb").items() >= {"seq": 0, "t": 0, "speed": 1.0, "paused": False}.items()


def test_a_second_page_hears_of_a_pause_at_once_while_events_go_on(served: Served) -> None:
    with dial(served) as socket:
        hello(served, socket)
        get(socket, "snap")
        served.lab.play(EVENT)
        get(socket, "d")
        served.lab.paused = True
        served.lab.play(EVENT)
        assert get(socket, "d")["to"] == 2
        assert json.loads(socket.recv(timeout=10)).items() >= {"k": "hb", "paused": True}.items()


def test_a_command_reaches_the_lab_and_is_acknowledged(served: Served) -> None:
    with dial(served) as socket:
        hello(served, socket)
        socket.send(json.dumps({"k": "cmd", "id": 7, "do": "kill", "broker": 1}))
        ack = get(socket, "ack")
        assert (ack["id"], ack["ok"], served.lab.commands) == (7, True, [{"do": "kill", "broker": 1}])


def test_a_refused_command_says_why_and_where(served: Served) -> None:
    served.lab.refuse = problem("no_broker", broker=9)
    with dial(served) as socket:
        socket.send(json.dumps({"k": "cmd", "id": 1, "do": "kill", "broker": 9}))
        assert get(socket, "ack").items() >= {"ok": False, "problem": {"code": "no_broker", "params": {"broker": 9}}, "place": "do"}.items()


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", '"x"', "{}", '{"k":[]}', '{"k":"hello","run":[1]}', '{"k":"hello","run":{}}', '{"k":"hello","run":NaN}',
     '{"k":"ask","what":"fork","seq":0,"t":"x"}', '{"k":"hello","last":1e300}', '{"k":' + "[" * 100_000,
     '{"k":' + "[" * 70 + "]" * 70 + "}", '{"k":"\\ud800"}'],
)  # fmt: skip
def test_a_message_that_makes_no_sense_ends_the_connection(served: Served, text: str) -> None:
    with dial(served) as socket:
        socket.send(text)
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=PATIENCE_S)


def test_a_page_of_another_origin_gets_no_socket(served: Served) -> None:
    with pytest.raises(InvalidStatus), dial(served, origin="http://evil.example"):
        pass


def test_many_viewers_see_the_same(served: Served) -> None:
    with ExitStack() as open_ones:
        sockets = [open_ones.enter_context(dial(served)) for _ in range(10)]
        for socket in sockets:
            hello(served, socket)
            get(socket, "snap")
        served.lab.play(EVENT)
        assert len({json.dumps(get(socket, "d")) for socket in sockets}) == 1


def test_a_viewer_that_does_not_read_is_cut_to_a_resync_and_others_are_not_held_up(served: Served) -> None:
    from web.live.hub import hub
    from web.live.viewer import LIMIT

    big = (1000, "broker-1", "command", 0, {"command": "x" * 200_000})
    with dial(served, max_queue=1) as sleeper, dial(served) as reader:
        for socket in (sleeper, reader):
            hello(served, socket)
            get(socket, "snap")
        for _ in range(60):
            served.lab.play(big)
            assert get(reader, "d")["ev"]
        assert max(viewer.size for viewer in hub.viewers) <= LIMIT + 400_000
        assert sum(viewer.cuts for viewer in hub.viewers) >= 1
        seen = [get_any(sleeper) for _ in range(3)]
        while not any(message["k"] == "snap" for message in seen):
            seen.append(get_any(sleeper))
        assert [message["seq"] for message in seen if message["k"] == "snap"] == [served.lab.seq]


def get_any(socket: ClientConnection) -> dict[str, Any]:
    found = json.loads(socket.recv(timeout=PATIENCE_S))
    return found[-1] if isinstance(found, list) else found


def test_what_is_meant_for_a_viewer_who_has_just_left_is_dropped() -> None:
    async def gone(message: dict[str, Any]) -> None:
        raise ClientDisconnected

    consumer = LabConsumer()
    consumer.base_send = gone
    asyncio.run(consumer.send("{}"))
