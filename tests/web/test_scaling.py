"""Several web processes for one lab, against a real Redis and a real PostgreSQL that the tests start."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CHECKOUT, PATIENCE_S, StartedLab, free_ports, missing
from tests.exercises.test_grading import SMALL
from tests.web.rest import Caller
from tests.web.school import Visitor, student
from tests.web.servers import postgres_program, postgres_server, redis_server
from websockets.sync.client import ClientConnection, connect

from lab.quizzes.reading import all_questions
from web.settings import _channel_layers


@dataclass
class Process:
    """A web process that serves viewers of a lab elsewhere."""

    page: str
    process: subprocess.Popen[str]

    @property
    def rest(self) -> Caller:
        return Caller(self.page)


@pytest.fixture
def redis(require_program: Callable[[str], str], require_module: Callable[[str], None]) -> Iterator[str]:
    require_module("channels_redis")
    with redis_server(require_program("redis-server")) as url:
        yield url


@pytest.fixture
def postgres(require_module: Callable[[str], None]) -> Iterator[str]:
    require_module("psycopg")
    initdb, server = postgres_program("initdb"), postgres_program("postgres")
    if initdb is None or server is None:
        missing("PostgreSQL's server")
    with postgres_server(str(initdb), str(server)) as url:
        yield url


@pytest.fixture
def run_viewers(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """`run_viewers(REDIS_URL=...)`: `python -m web.viewers` on a free port."""
    running: list[Process] = []

    def run(**environment: str) -> Process:
        data = tmp_path / f"viewers-{len(running)}"
        given = os.environ | {"PYTHONPATH": str(CHECKOUT), "BROKERLAB_DATA": str(data)} | environment
        process = subprocess.Popen([sys.executable, "-P", "-m", "web.viewers", "--port", str(free_ports(1))],
                                   env=given, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        running.append(Process(process.stdout.readline().strip().removeprefix("Page: "), process))
        return running[-1]

    yield run
    for one in running:
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(PATIENCE_S) == 0


@contextmanager
def view(page: str) -> Iterator[ClientConnection]:
    """A viewer that has said hello."""
    with connect(page.replace("http", "ws") + "live/", origin=page.rstrip("/"), max_size=None) as socket:
        socket.send(json.dumps({"k": "hello", "run": None, "epoch": None, "last": None}))
        yield socket


def messages(socket: ClientConnection, seconds: float = PATIENCE_S) -> Iterator[dict[str, Any]]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = json.loads(socket.recv(timeout=seconds))
        yield from found if isinstance(found, list) else [found]
    raise AssertionError("what was waited for did not come")


def snapshot(socket: ClientConnection) -> dict[str, Any]:
    return next(message for message in messages(socket) if message["k"] == "snap")


def rows_until(socket: ClientConnection, code: str, known: int) -> list[list[Any]]:
    """Rows behind `known` up to the first of this code; no delta may leave a hole."""
    rows: list[list[Any]] = []
    for message in messages(socket):
        if message["k"] != "d":
            continue
        assert message["from"] <= known, "a viewer would have to resync"
        rows += [row for row in message["ev"] if row[0] > known]
        known = max(known, message["to"])
        if any(row[2] == code for row in rows):
            return rows
    raise AssertionError


def start(run_lab: Callable[..., StartedLab], monkeypatch: pytest.MonkeyPatch, **environment: str) -> StartedLab:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return run_lab("--preset", "teaching", web=True)


@pytest.mark.slow
def test_two_web_processes_show_one_lab_and_share_one_database(
    redis: str, postgres: str, run_lab: Callable[..., StartedLab], run_viewers: Callable[..., Process],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    lab = start(run_lab, monkeypatch, REDIS_URL=redis, DATABASE_URL=postgres)
    host, other = Caller(lab.page), run_viewers(REDIS_URL=redis, DATABASE_URL=postgres)

    with view(lab.page) as here, view(other.page) as there:
        seen_here, seen_there = snapshot(here), snapshot(there)
        assert seen_there["run"] == seen_here["run"]
        assert seen_there["state"]["brokers"].keys() == {"1", "2", "3"}
        there.send(json.dumps({"k": "cmd", "id": 5, "do": "create_topic", "topic": "orders", "partitions": 1}))
        rows_here = rows_until(here, "leader_elected", seen_here["seq"])
        rows_there = rows_until(there, "leader_elected", seen_there["seq"])
        led = next(row for row in rows_here if row[2] == "leader_elected")
        assert led[5]["topic"] == "orders"
        assert next(row for row in rows_there if row[2] == "leader_elected")[0] == led[0]

    with view(other.page) as there:
        seq = snapshot(there)["seq"]
        there.send(json.dumps({"k": "ask", "id": 6, "what": "fork", "seq": seq, "commands": [{"do": "kill", "broker": 1}]}))
        fork = next(message for message in messages(there) if message["k"] == "ack")
        assert fork["ok"] and fork["parent"] == seen_here["run"], fork
        there.send(json.dumps({"k": "hello", "run": fork["run"], "epoch": 1, "last": None}))
        forked = next(one for one in messages(there) if one["k"] == "snap" and one["run"] == fork["run"])
        assert forked["state"]["brokers"]["1"]["state"] == "stopped"
        there.send(json.dumps({"k": "cmd", "id": 7, "do": "kill", "broker": 2}))
        rows_until(there, "process_ended", forked["seq"])
        there.send(json.dumps({"k": "ask", "id": 8, "what": "close", "name": fork["run"]}))
        assert next(one for one in messages(there) if one["k"] == "snap")["run"] == seen_here["run"]

    assert other.rest.get("labs").json["items"][0]["run"] == host.get("labs").json["items"][0]["run"]
    state = other.rest.get("labs/lab/snapshot").json["state"]
    leader = state["topics"]["orders"]["partitions"]["0"]["leader"]
    killed = other.rest.post("labs/lab/commands", {"do": "kill", "broker": leader}).json
    assert killed["ok"]
    assert host.get("labs/lab/snapshot").json["state"]["brokers"][str(leader)]["state"] == "stopped"
    refused = other.rest.post("labs/lab/commands", {"do": "kill", "broker": 9})
    assert (refused.status, refused.json["place"]) == (422, "broker")
    assert other.rest.get(f"labs/lab/events?since={killed['seq'] - 1}").json["items"][0][2] == "command"
    the_whole_of_rest_is_there(host, other.rest)

    job = host.post("scenarios/acks-all/run", {"seed": 5}).json
    done = job
    while done["state"] in ("queued", "running"):
        done = other.rest.get(f"jobs/{job['id']}?wait=30").json
    assert (done["state"], done["result"]["receipt"]["lost"]) == ("done", 0), done
    assert [one["id"] for one in other.rest.get("jobs").json["items"]] == [job["id"]]
    assert not list(lab.data.rglob("*.sqlite3"))


@pytest.mark.slow
def test_how_far_a_fork_has_come_is_told_in_the_other_process_too(
    redis: str, run_lab: Callable[..., StartedLab], run_viewers: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    start(run_lab, monkeypatch, REDIS_URL=redis)
    other = run_viewers(REDIS_URL=redis)
    for command in ({"do": "create_topic", "topic": "orders", "partitions": 1},
                    {"do": "start_client", "name": "producer-orders", "kind": "producer", "topic": "orders", "rate": 100},
                    {"do": "time", "speed": 10}):  # fmt: skip
        assert other.rest.post("labs/lab/commands", command).json["ok"], command
    while other.rest.get("labs/lab/snapshot").json["t"] < 30_000_000:
        time.sleep(0.2)
    other.rest.post("labs/lab/commands", {"do": "time", "speed": "pause"})
    clock = other.rest.get("labs/lab/snapshot").json
    with view(other.page) as there:
        snapshot(there)
        there.send(json.dumps({"k": "ask", "id": 9, "what": "fork", "seq": clock["seq"], "t": clock["t"]}))
        shares = []
        for message in messages(there, 90):
            if message["k"] == "progress":
                shares.append(message["share"])
            if message["k"] == "ack":
                assert message["ok"], message
                break
    assert shares == sorted(shares)
    assert any(0 < share <= 1 for share in shares), shares


def the_whole_of_rest_is_there(host: Caller, other: Caller) -> None:
    """What needs the world or its directory is answered by the host, whoever is asked."""
    run = host.get("labs").json["items"][0]["run"]
    for path in ("runs", f"runs/{run}", "labs/lab/runs", "labs/lab/inspect?of=partition&name=orders-0",
                 "labs/lab/topics/orders/records", "scenarios", "settings?name=min.insync"):  # fmt: skip
        assert other.get(path).status == host.get(path).status == 200, path
    assert other.get(f"runs/{run}/receipt").json["run"] == run
    assert other.get(f"runs/{run}/scenario").media == "application/yaml"
    journal = other.get(f"runs/{run}/journal").body
    assert journal and host.get(f"runs/{run}/journal").body.startswith(journal)
    refused = other.get("runs/9999", Accept_Language="ko")
    assert (refused.status, refused.json["detail"]) == (404, "실행 9999는 없습니다")
    brokers = host.get("labs/lab/snapshot").json["state"]["brokers"]
    victim = next(one for one, facts in brokers.items() if facts["state"] == "running")
    branch = other.post("labs/lab/forks?wait=30", {"commands": [{"do": "kill", "broker": int(victim)}]})
    assert branch.status == 201, branch
    name = branch.json["run"]
    assert other.get(f"labs/lab/snapshot?run={name}").json["state"]["brokers"][victim]["state"] == "stopped"
    assert other.post(f"labs/lab/commands?run={name}", {"do": "time", "speed": "play"}).json["paused"] is False
    assert other.delete(f"labs/lab/runs/{name}").status == 204


@pytest.mark.slow
def test_who_sends_to_redis_without_end_stops_when_it_is_cancelled(redis: str) -> None:
    from channels_redis.core import RedisChannelLayer

    layer = RedisChannelLayer(**_channel_layers(redis)["processes"]["CONFIG"])

    async def send_without_end() -> None:
        while True:
            await layer.group_send("brokerlab.somewhere", {"type": "batch"})

    async def cancel_many() -> None:
        for number in range(100):
            task = asyncio.create_task(send_without_end())
            await asyncio.sleep(0.01 + number / 50_000)
            task.cancel()
            ended, _ = await asyncio.wait([task], timeout=PATIENCE_S)
            assert ended, number
        await layer.close_pools()

    asyncio.run(cancel_many())


@pytest.mark.slow
def test_viewers_elsewhere_survive_a_new_host_and_a_redis_that_was_away(
    require_program: Callable[[str], str], require_module: Callable[[str], None], tmp_path: Path,
    run_lab: Callable[..., StartedLab], run_viewers: Callable[..., Process], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    require_module("channels_redis")
    port = free_ports(1)
    stack = ExitStack()
    with redis_server(require_program("redis-server"), port) as url:
        lab = start(run_lab, monkeypatch, REDIS_URL=url)
        other = run_viewers(REDIS_URL=url)
        socket = stack.enter_context(view(other.page))
        before = snapshot(socket)
    away = get_page(other.page, "ko")
    assert (away[0], "지금은 실험실에 연결할 수 없습니다" in away[1]) == (503, True)
    refused = other.rest.get("labs/lab/snapshot")
    assert (refused.status, refused.json["type"]) == (503, "/api/problems#host-away")
    with redis_server(require_program("redis-server"), port), stack:
        deadline = time.monotonic() + PATIENCE_S
        while (again := other.rest.get("labs/lab/snapshot")).status != 200 and time.monotonic() < deadline:
            time.sleep(0.2)
        known = again.json["seq"]
        Caller(lab.page).post("labs/lab/commands", {"do": "create_topic", "topic": "again", "partitions": 1})
        next(message for message in messages(socket) if tells_of_a_leader(message, "again", known))
        lab.stop()
        run_lab("--preset", "teaching", web=True, data=lab.data)
        fresh = next(one for one in messages(socket) if one["k"] == "snap" and one["run"] != before["run"])
        assert "again" in fresh["state"]["topics"]


def get_page(url: str, language: str) -> tuple[int, str]:
    request = urllib.request.Request(url, headers={"Accept-Language": language})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def tells_of_a_leader(message: dict[str, Any], topic: str, known: int) -> bool:
    """Whether it has an election behind `known`, or is a snapshot in which the topic has a leader: after an outage one may
    be taken when all is over."""
    if message["k"] == "snap":
        partitions = message["state"]["topics"].get(topic, {}).get("partitions", {})
        return any(one["leader"] >= 0 for one in partitions.values())
    return message["k"] == "d" and any(row[0] > known and row[2] == "leader_elected" for row in message["ev"])


def test_viewers_without_redis_say_what_is_missing() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "REDIS_URL"}
    done = subprocess.run([sys.executable, "-P", "-m", "web.viewers"], env=environment | {"PYTHONPATH": str(CHECKOUT)},
                          capture_output=True, text=True, check=False)
    assert (done.returncode, "REDIS_URL" in done.stderr) == (2, True)


def a_class_from_beginning_to_end(rest: Caller) -> None:
    """Joined, grouped, handed out, judged, asked, exported, deleted: each table of `web.people` is written and read."""
    made = rest.post("teachers", {"name": "Ada \u00e9"}).json
    code = rest.post("classes", {"title": "Systems"}).json["code"]
    assert rest.post(f"classes/{code}/tasks", {"document": {**SMALL, "seeds": [1, 1]}}).status == 200
    first, second = (student(rest.url.rstrip("/"), code, name) for name in ("otter", "수달"))
    assert Visitor(rest.url.rstrip("/")).join(code, "OTTER").status == 422
    assert rest.post(f"classes/{code}/groups", {"size": 2}).json["groups"][0]["students"] == [1, 2]
    assert first.post("/api/me/hints", {"exercise": "small"}).json["price"] == 4
    handed = first.post("/api/me/hand-ins", {"exercise": "small", "set": {"acks": "all", "least": "2"}}).json
    deadline = time.monotonic() + 2 * PATIENCE_S
    while handed["state"] in ("queued", "running") and time.monotonic() < deadline:
        handed = first.get(f"/api/me/hand-ins/{handed['id']}?wait=10").json
    assert (handed["state"], handed["points"]) == ("passed", 6)
    assert first.get("/api/me/hand-ins/%00").status == 404
    assert second.post("/api/me/lessons", {"name": "acks-1", "grade": "wrong"}).json["results"] == {"acks-1": "wrong"}
    question = next(one for one in all_questions().values() if one.way == "choices")
    assert second.post("/api/quizzes/answers", {"question": question.name, "answer": 0}).status == 200
    assert rest.post(f"classes/{code}/poll", {"question": question.name}).status < 300
    assert second.post("/api/me/poll", {"answer": 0}).status < 300
    found = rest.get(f"classes/{code}/export").json
    assert [one["points"] for one in found["students"]] == [6, 0] and len(found["polls"][0]["answers"]) == 1
    assert list(found["students"][1]["questions"]) == [question.name]
    assert "수달" in rest.get(f"classes/{code}/grades.csv").body.decode("utf-8-sig")
    assert rest.delete(f"classes/{code}").status == 204 and first.get("/api/me").status == 401
    assert rest.get("teachers").json["items"][0]["name"] == made["name"]


@pytest.mark.slow
def test_a_class_lives_in_postgresql_and_a_lab_goes_on_while_its_database_is_away(
    require_module: Callable[[str], None], run_lab: Callable[..., StartedLab], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    require_module("psycopg")
    initdb, server = postgres_program("initdb"), postgres_program("postgres")
    if initdb is None or server is None:
        missing("PostgreSQL's server")
    with postgres_server(str(initdb), str(server)) as url:
        lab = start(run_lab, monkeypatch, DATABASE_URL=url)
        rest = Caller(lab.page)
        assert rest.get("jobs").json == {"items": [], "total": 0}
        a_class_from_beginning_to_end(rest)
    refused = rest.get("jobs", Accept_Language="ko")
    assert (refused.status, refused.json["type"]) == (503, "/api/problems#no-database")
    assert refused.json["title"] == "데이터베이스가 응답하지 않습니다"
    assert rest.post("scenarios/acks-all/run", {"seed": 5}).status == 503
    assert rest.get("labs/lab/snapshot").status == 200
    assert rest.post("labs/lab/commands", {"do": "create_topic", "topic": "still", "partitions": 1}).json["ok"]
    assert get_page(lab.page, "en")[0] == 200


@pytest.mark.parametrize(("variable", "value", "words"), [
    ("DATABASE_URL", "postgresql://lab@127.0.0.1:1/lab", "the database lab on 127.0.0.1:1 cannot be used"),
    ("DATABASE_URL", "mysql://lab", "expected postgresql://"),
    ("REDIS_URL", "127.0.0.1:6379", "expected redis://"),
])  # fmt: skip
def test_an_address_that_cannot_be_used_is_told_in_one_line_before_the_page_is_announced(
    variable: str, value: str, words: str, tmp_path: Path, require_module: Callable[[str], None]
) -> None:
    require_module("psycopg")
    first = free_ports(2)
    command = [sys.executable, "-P", "-m", "cli", "up", "--data", str(tmp_path), "--brokers", "1",
               "--kafka-port", str(first), "--port", str(first + 1)]  # fmt: skip
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(CHECKOUT), variable: value}, timeout=60,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert words in done.stderr
