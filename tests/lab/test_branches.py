"""A live run can be forked at any moment; the fork goes its own way and is executed again byte for byte."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.branch import Branch, BranchError
from lab.checkers.flights import Wanted
from lab.checkers.receipt import receipt_of
from lab.clusters.spec import run_from_dict
from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.live import LiveLab
from lab.open_runs import MAX_BRANCHES
from lab.recall import recall
from lab.scenarios import grammar
from lab.snapshots.shelf import Head
from tests.conftest import PATIENCE_S, free_ports


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LiveLab]:
    cluster = {"preset": "teaching", "port": free_ports(3)}
    found = LiveLab(run_from_dict({"cluster": cluster, "seed": 3}), tmp_path / "data")
    found.start()
    yield found
    found.stop()


def done(branch: Branch, command: dict[str, Any]) -> dict[str, Any]:
    answer = branch.submit(command).result(PATIENCE_S)
    assert answer.get("ok"), answer
    return answer


def state(branch: Branch) -> dict[str, Any]:
    return json.loads(branch.snapshot().result(PATIENCE_S)[1])["state"]


def wait_for_leader(branch: Branch, topic: str, end: int = 0) -> dict[str, Any]:
    """The first partition, once it has a leader whose log has come to `end`."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        partition = state(branch)["topics"].get(topic, {}).get("partitions", {}).get("0", {})
        leader = str(partition.get("leader", -1))
        if leader in partition.get("logs", {}) and partition["logs"][leader]["hw"] >= end:
            return partition
        time.sleep(0.02)
    raise AssertionError("no leader")


def test_a_fork_begins_before_the_kill_and_goes_on_without_it(lab: LiveLab, tmp_path: Path) -> None:
    main = lab.main
    done(main, {"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 3})
    leader = wait_for_leader(main, "orders")["leader"]
    done(main, {"do": "produce", "topic": "orders", "value": "one"})
    killed = done(main, {"do": "kill", "broker": leader})["seq"]
    with pytest.raises(BranchError, match="there is no open run 9999"):
        lab.fork("9999", seq=1).result(PATIENCE_S)

    fork = lab.branch(lab.fork(main.run_id, seq=killed - 1).result(20))
    assert fork.clock()["paused"] and fork.clock()["seq"] == killed - 1
    assert state(fork)["brokers"][str(leader)]["state"] == "running"
    assert state(main)["brokers"][str(leader)]["state"] == "stopped"

    other = leader % 3 + 1
    done(fork, {"do": "kill", "broker": other})
    done(fork, {"do": "time", "speed": 100})
    done(fork, {"do": "time", "speed": "play"})
    deadline = time.monotonic() + PATIENCE_S
    while other in wait_for_leader(fork, "orders")["isr"] and time.monotonic() < deadline:
        time.sleep(0.02)
    assert wait_for_leader(fork, "orders")["leader"] == leader
    history = fork.history(5).result(PATIENCE_S)
    assert history["seq"] <= 5 or history["seq"] == fork.seen.keyframes[0].seq
    assert json.loads(history["snap"])["state"]["brokers"]
    directory = fork.files.path
    lab.close_branch(fork.run_id).result(PATIENCE_S)
    assert verify(directory).same

    reopened = lab.branch(lab.open_run(directory.name).result(20))
    assert state(reopened)["brokers"][str(other)]["state"] == "stopped"


def test_a_long_stretch_between_two_keyframes_comes_page_by_page(lab: LiveLab, monkeypatch: pytest.MonkeyPatch) -> None:
    main = lab.main
    done(main, {"do": "create_topic", "topic": "orders", "partitions": 3, "replication_factor": 3})
    wait_for_leader(main, "orders")
    done(main, {"do": "time", "speed": "pause"})
    end = main.world.seq
    whole = main.history(0).result(PATIENCE_S)
    frame = json.loads(whole["snap"])
    rows = json.loads(whole["ev"])
    assert whole["whole"] and whole["last"] == rows[-1][0] and len(rows) > 40 and frame["state"]["brokers"]
    monkeypatch.setattr("lab.branch.HISTORY_ROWS", 10)
    page, paged = main.history(0).result(PATIENCE_S), []
    while True:
        paged += json.loads(page["ev"])
        if page["whole"]:
            break
        assert 10 <= len(json.loads(page["ev"])) < len(rows)
        page = main.history(0, page["last"]).result(PATIENCE_S)
        assert page["snap"] == "null"
    assert paged == rows and paged[-1][0] <= end


def test_the_live_run_is_executed_again_after_a_restart_on_its_own_disks(lab: LiveLab, tmp_path: Path) -> None:
    done(lab.main, {"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 3})
    wait_for_leader(lab.main, "orders")
    done(lab.main, {"do": "produce", "topic": "orders", "value": "one"})
    wait_for_leader(lab.main, "orders", end=1)
    lab.stop()
    again = LiveLab(lab.spec, lab.data)
    again.start()
    try:
        assert wait_for_leader(again.main, "orders")["logs"]["1"]["leo"] == 1
    finally:
        again.stop()
    for run in ("0001", "0002"):
        verdict = verify(lab.data / "runs" / run)
        assert verdict.same, verdict


def both_receipts(branch: Branch) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The one that is kept, and what the files say at the same moment."""
    branch.tell_disks()
    return branch.receipt(), receipt_of(branch.files.path)


def test_values_that_a_lab_wrote_in_an_earlier_life_do_not_count_in_the_next_one(tmp_path: Path) -> None:
    spec = {"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 3}
    load = {"kind": "producer", "topic": "orders", "rate": 500, "count": 100}
    for life in (1, 2):
        lab = LiveLab(run_from_dict(spec), tmp_path / "data")
        lab.start()
        try:
            if life == 1:
                done(lab.main, {"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 3})
            wait_for_leader(lab.main, "orders", end=100 * (life - 1))
            done(lab.main, {"do": "start_client", "name": "producer-orders", **load})
            settings = {"auto.offset.reset": "earliest", "group.id": f"readers-{life}"}
            reader = {"kind": "consumer", "topic": "orders", "settings": settings}
            done(lab.main, {"do": "start_client", "name": "consumer-orders", **reader})
            wait_for_leader(lab.main, "orders", end=100 * life)
            deadline = time.monotonic() + PATIENCE_S
            while (found := receipt_of(lab.main.files.path))["read"] < 100 and time.monotonic() < deadline:
                lab.main.ask(lab.main.files.flush, lab.main.world).result(PATIENCE_S)
            kept, judged = lab.main.ask(both_receipts, lab.main).result(PATIENCE_S)
            assert kept == judged
        finally:
            lab.stop()
        assert [found[name] for name in ("acked", "read", "lost", "duplicated", "reordered")] == [100, 100, 0, 0, 0]
        assert verify(lab.data / "runs" / f"000{life}").same


def test_runs_that_were_only_opened_make_room_for_others_and_those_that_went_on_stay(lab: LiveLab) -> None:
    source = "cluster: {brokers: 1, preset: teaching}\nduration: 1s\n"
    run_scenario(grammar.parse(source, "tiny.yaml"), out=lab.data / "runs" / "0900")
    names = [lab.open_run("0900").result(30) for _ in range(MAX_BRANCHES - 1)]
    assert len(lab.branches) == MAX_BRANCHES and names[0] in lab.branches
    gone_on, watched = lab.branch(names[0]), lab.branch(names[1])
    done(gone_on, {"do": "stop_all_faults"})
    watched.subscribe(print)
    last = lab.open_run("0900").result(30)
    assert last in lab.branches and names[2] not in lab.branches
    assert names[0] in lab.branches and names[1] in lab.branches and len(lab.branches) == MAX_BRANCHES
    for name in [name for name in lab.branches if name not in (lab.run_id, names[0])]:
        lab.branch(name).subscribe(print)
    with pytest.raises(BranchError, match="runs are open; close one first"):
        lab.open_run("0900").result(30)


def test_a_lab_that_starts_again_with_its_seed_gives_new_topics_ids_of_their_own(tmp_path: Path) -> None:
    spec = {"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 3}
    for topic in ("orders", "carts"):
        lab = LiveLab(run_from_dict(spec), tmp_path / "data")
        lab.start()
        try:
            done(lab.main, {"do": "create_topic", "topic": topic, "partitions": 1, "replication_factor": 3})
            wait_for_leader(lab.main, topic)
        finally:
            lab.stop()
    ids = {path.parent.name: path.read_text() for path in (tmp_path / "data" / "broker-1").rglob("partition.metadata")}
    assert ids.keys() == {"orders-0", "carts-0"}
    assert ids["orders-0"] != ids["carts-0"]


def test_keyframes_take_no_more_room_than_what_happens(lab: LiveLab) -> None:
    """Behind the first one a keyframe is due when the events behind the last one outweigh the state."""
    branch = lab.main

    def kept() -> list[tuple[int, int, int]]:
        return [(frame.t_us, frame.offset, frame.size) for frame in branch.seen.keyframes]

    deadline = time.monotonic() + PATIENCE_S
    done(branch, {"do": "create_topic", "topic": "orders", "partitions": 3, "replication_factor": 1})
    done(branch, {"do": "start_client", "name": "producer-busy", "kind": "producer", "topic": "orders", "rate": 200})
    done(branch, {"do": "time", "speed": 10})
    while len(frames := branch.ask(kept).result(PATIENCE_S)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(frames) >= 3
    for (t, offset, size), (next_t, next_offset, _) in pairwise(frames):
        assert next_t - t >= 5_000_000 and next_offset - offset >= size
    assert all(orjson.loads(frame.text("x", 1))["t"] == frame.t_us and len(frame.packed) < frame.size / 2 for frame in branch.seen.keyframes[:3])


def test_a_step_says_how_far_it_went_when_nothing_changed(lab: LiveLab) -> None:
    branch = lab.main
    done(branch, {"do": "time", "speed": "pause"})
    before = branch.world.now_us
    quiet = done(branch, {"do": "time", "speed": "step_state"})
    assert quiet["nothing_for_us"] == branch.world.now_us - before > 59_000_000
    done(branch, {"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 3})
    assert "nothing_for_us" not in done(branch, {"do": "time", "speed": "step_state"})
    assert "nothing_for_us" not in done(branch, {"do": "time", "speed": "play"})


def busy(lab: LiveLab, monkeypatch: pytest.MonkeyPatch) -> Branch:
    """The live branch under a load, until there are some snapshots of it."""
    monkeypatch.setattr("lab.snapshots.keeper.FIRST_S", 0.02)
    monkeypatch.setattr("lab.snapshots.keeper.BEHIND_S", 0.02)
    main, deadline = lab.main, time.monotonic() + 3 * PATIENCE_S
    done(main, {"do": "create_topic", "topic": "orders", "partitions": 3, "replication_factor": 3})
    done(main, {"do": "start_client", "name": "producer-busy", "kind": "producer", "topic": "orders", "rate": 50})
    done(main, {"do": "start_client", "name": "producer-short", "kind": "producer", "topic": "orders", "count": 5})
    while len(main.keeper.shelf.numbers()) < 2:
        assert time.monotonic() < deadline and not main.keeper.over
        time.sleep(0.05)
    done(main, {"do": "time", "speed": "pause"})
    return main


def assert_message_is_found_from_a_snapshot(branch: Branch, head: Head) -> None:
    """The same one as when the run is executed from its beginning."""
    rows = [json.loads(line) for line in (branch.files.path / "journal.jsonl").read_bytes()[head.journal :].splitlines()]
    row = next(row for row in rows if row[3] == "request_sent" and row[0] > head.seq)
    params = row[5]
    wanted = Wanted(row[0], row[2], params["to"], params["api"], params["version"], params["correlation"], False)
    assert recall(branch.files.path, wanted, keeper=branch.keeper) == recall(branch.files.path, wanted)


def test_a_fork_of_a_busy_run_begins_at_a_snapshot_and_is_the_same_as_from_the_beginning(
    lab: LiveLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = busy(lab, monkeypatch)
    second = main.keeper.shelf.head(main.keeper.shelf.numbers()[1])
    assert second is not None
    target = second.seq + 50
    fork = lab.branch(lab.fork(main.run_id, seq=target).result(PATIENCE_S))
    assert fork.files.past is not None and fork.files.past.sizes["journal.jsonl"] == second.journal
    assert fork.world.seq == target and fork.seen.keyframes and fork.seen.keyframes[0].seq < second.seq
    again = lab.branch(lab.fork(fork.run_id, t_us=second.t_us - 1).result(PATIENCE_S))
    assert again.world.now_us == second.t_us - 1 and again.files.past is not None
    assert_message_is_found_from_a_snapshot(main, second)
    assert json.loads(fork.history(5).result(PATIENCE_S)["snap"])["run"] == fork.run_id

    monkeypatch.setattr("lab.snapshots.keeper.Keeper.take", lambda *_: None)
    slow = lab.branch(lab.fork(main.run_id, seq=target).result(3 * PATIENCE_S))
    assert slow.files.past is None
    assert fork.clock()["t"] == slow.clock()["t"] and state(fork) == {**state(slow)}
    assert fork.ask(fork.monitor.lights).result(5) == slow.ask(slow.monitor.lights).result(5)
    paths = [branch.files.path for branch in (fork, slow, again)]
    for branch in (fork, slow, again):
        lab.close_branch(branch.run_id).result(PATIENCE_S)
        branch.files.wait()
        branch.keeper.wait(PATIENCE_S)
    assert (paths[0] / "journal.jsonl").read_bytes() == (paths[1] / "journal.jsonl").read_bytes()
    for path in (paths[0], paths[2]):
        verdict = verify(path)
        assert verdict.same, verdict
        assert not (path / "snapshots").exists()


def test_a_fork_that_nobody_waits_for_any_more_leaves_nothing(lab: LiveLab, monkeypatch: pytest.MonkeyPatch) -> None:
    main = lab.main
    monkeypatch.setattr("lab.open_runs.SLICE_S", 0.0)  # it takes many slices
    answer = lab.fork(main.run_id, seq=main.world.seq)
    deadline = time.monotonic() + PATIENCE_S
    while not list((lab.data / "runs").glob("*-*/inputs.bin")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert answer.cancel()
    while list((lab.data / "runs").glob("*-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(lab.branches) == [main.run_id] and not list((lab.data / "runs").glob("*-*"))
