"""What clients had done at a moment of the past, and what those had done that have stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from broker_core.kernel.world import World
from lab import figures
from lab.branch import Branch
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.figures import EVERY_US, TURN_US, Figures
from lab.live import LiveLab
from lab.scenarios import grammar
from tests.conftest import free_ports
from tests.worlds import do, run

NAME = "producer-orders"
SOURCE = f"""
cluster: {{brokers: 1, preset: teaching}}
topics: [{{name: orders, partitions: 1, replication_factor: 1}}]
clients: [{{name: {NAME}, kind: producer, topic: orders, rate: 50, settings: {{acks: "1"}}}}]
steps: [{{at: 6s, do: stop_client, name: {NAME}}}]
duration: 8s
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Branch]:
    """A finished run that was opened."""
    data = tmp_path_factory.mktemp("figures") / "data"
    lab = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 3}), data)
    lab.start()
    run_scenario(grammar.parse(SOURCE, "figures.yaml"), out=data / "runs" / "0900")
    branch = lab.branch(lab.open_run("0900").result(60))
    yield branch
    lab.stop()
    assert verify(branch.files.path).same


def past(branch: Branch) -> list[list[Any]]:
    """All rows of the past, from the first keyframe on."""
    rows: list[list[Any]] = []
    for frame in branch.seen.keyframes:
        rows += json.loads(branch.history(frame.seq).result(10)["ev"])
    return rows


def state(branch: Branch) -> dict[str, Any]:
    return json.loads(branch.snapshot().result(10)[1])["state"]


def test_the_past_has_the_counts_of_each_moment(opened: Branch) -> None:
    rows = past(opened)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    counts = [(row[1], row[5]["clients"][NAME]["acked"]) for row in rows if row[2] == "progress" and NAME in row[5]["clients"]]
    busy = [(t, acked) for t, acked in counts if 2_000_000 < t < 6_000_000]
    assert len(busy) >= 12
    for (t, acked), (later, more) in zip(busy, busy[1:], strict=False):
        assert EVERY_US <= later - t < 2 * EVERY_US and 5 <= more - acked <= 25
    assert "progress" not in (opened.files.path / "journal.jsonl").read_text(encoding="utf-8")


def test_a_stopped_client_keeps_its_settings_and_its_last_counts(opened: Branch) -> None:
    client = state(opened)["clients"][NAME]
    sent = sum(row[5]["last_offset"] - row[5]["base_offset"] + 1 for row in past(opened) if row[2] == "log_appended" and row[5]["topic"] == "orders")
    assert (client["state"], client["settings"]["acks"], client["acked"]) == ("stopped", "1", sent) and sent > 100


def test_a_client_that_starts_again_counts_from_nothing(opened: Branch) -> None:
    before = state(opened)["clients"][NAME]["acked"]
    assert opened.submit({"do": "start_client", "name": NAME}).result(10)["ok"]
    again = state(opened)["clients"][NAME]
    assert again["state"] == "running" and again["acked"] < before


def test_old_looks_are_thinned_out_so_that_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "KEPT", 40)
    world = build_world(run_from_dict({"cluster": {"brokers": 1, "preset": "teaching"}, "seed": 1}))
    looked = Figures(world)
    for n in range(400):
        world.now_us = n * EVERY_US
        looked._last = b""  # as if something had moved each time
        looked.look()
    kept = [row[1] for row in looked.rows]
    assert len(kept) <= 40 and kept[0] == 0 and kept[-1] == 399 * EVERY_US
    assert kept == sorted(set(kept)) and kept[-1] - kept[-10] == 9 * EVERY_US


def written_to(rate: int) -> World:
    """One broker, one partition, one producer; each begins with a command."""
    return build_world(run_from_dict({
        "cluster": {"brokers": 1, "preset": "teaching"}, "seed": 3, "topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}],
        "clients": [{"name": NAME, "kind": "producer", "topic": "orders", "rate": rate, "settings": {"acks": "1"}}],
    }))  # fmt: skip


def test_right_before_a_broker_ends_all_that_was_acknowledged_is_counted() -> None:
    world = written_to(rate=100)
    ends: list[Any] = []
    world.journal.transition_watchers.append(lambda row: ends.append(row) if row[3] == "process_ended" else None)
    looked = Figures(world)
    run(world, 3)
    do(world, do="create_topic", topic="orders", partitions=1, replication_factor=1)
    do(world, do="start_client", name=NAME)
    for _ in range(110):
        run(world, 0.02)
        looked.look()
    machine: Any = world.nodes[NAME].machine
    acked = machine.view()["acked"]
    do(world, do="kill", broker=1)
    (end,) = [row for row in ends if row[2] == "broker-1"]
    seq, t_us, _, code, _, figures_then = looked.rows[-1]
    assert (seq, t_us, code) == (end[0] - 1, end[1], "progress")
    assert json.loads(orjson.dumps(figures_then))["clients"][NAME]["acked"] == acked > 100


def test_turns_of_a_story_have_the_figures_of_their_moment_but_not_each_of_a_thousand() -> None:
    world = build_world(run_from_dict({"cluster": {"brokers": 1, "preset": "teaching"}, "seed": 1}))
    looked = Figures(world)
    for n, t_us in enumerate((1_000_000, 1_000_001, 1_000_002, 1_000_001 + TURN_US)):
        looked._last = b""  # as if something had moved each time
        looked._take((10 + n, t_us, "broker-1", "leader_elected", 0, {}))
        looked._take((10 + n, t_us, "broker-1", "segment_rolled", 0, {}))
    assert [(row[0], row[1]) for row in looked.rows] == [(9, 1_000_000), (12, 1_000_001 + TURN_US)]


def test_where_logs_end_is_told_with_the_figures_while_events_are_summed_up() -> None:
    world = written_to(rate=400)
    world.journal.budget = 40
    looked = Figures(world)
    run(world, 3)
    do(world, do="create_topic", topic="orders", partitions=1, replication_factor=1)
    do(world, do="start_client", name=NAME)
    for _ in range(40):
        run(world, 0.1)
        looked.look()
    told = [json.loads(orjson.dumps(row[5])) for row in looked.rows]
    ends = [one["marks"]["orders-0"]["1"][0] for one in told if "orders-0" in one.get("marks", {})]
    assert len(ends) >= 5 and ends == sorted(set(ends)) and ends[-1] >= told[-1]["clients"][NAME]["acked"] - 200
