"""Random clusters under random faults. Nothing acked is lost, all comes to rest, and it comes out the same again:
from the beginning, and from a snapshot at any moment.

`BROKERLAB_SWARM_SEEDS=1..500` runs other seeds than the few of every day; `BROKERLAB_SWARM_SEEDS=82` runs one.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from tests.sampling import every

from lab.clusters.brokers import DYNAMIC, STATIC
from lab.clusters.vocabulary import check_command
from lab.experiments.directory import JOURNAL
from lab.experiments.verify import verify
from lab.faults.nemesis import KINDS, OF_DYNAMIC, OF_ENSEMBLE, OF_SEVERAL, kinds_of
from lab.faults.swarm import draw, run_swarm
from lab.scenarios import grammar
from lab.snapshots.agreement import disagreements

FOUND = (2, 8, 9, 13, 25, 69, 77, 82, 153, 241, 294, 356, 1260, 1400, 5102)
VOTERS_MOVE = 18
KRAFT_EVERY_DAY = (1, 8, VOTERS_MOVE, 63, 361)
"""Five voters who stay, five of a dynamic quorum, and a broker that votes while controllers come and go; a broker that is
not registered yet, and a leader of the quorum that has not heard of the next one."""
ENSEMBLE_EVERY_DAY = (2, 4)
TRANSACTIONS_EVERY_DAY = (1,)
MOVES_EVERY_DAY = (1, 2)
REPLACED = 12
"""With workers of a share group: a broker that is paused hands out what it holds when it goes on."""


def seeds() -> list[Any]:
    """Those of the environment, or half of those that once found something."""
    given = os.environ.get("BROKERLAB_SWARM_SEEDS", "")
    if not given:
        return every(FOUND, nth=2, keep=[5102])
    first, _, last = given.partition("..")
    return list(range(int(first), int(last or first) + 1))


@pytest.mark.parametrize("seed", seeds())
def test_a_swarm_loses_nothing_comes_to_rest_and_is_the_same_when_executed_again(seed: int, tmp_path: Path) -> None:
    result = run_swarm(seed, tmp_path / "run")
    assert result.unmet == []
    assert result.receipt.total.acked > 0
    verdict = verify(result.directory)
    assert verdict.same, verdict.reason
    assert disagreements(result.directory, Random(f"snapshot/{seed}"), 1) == []


@pytest.mark.parametrize("seed", KRAFT_EVERY_DAY)
def test_a_swarm_in_kraft_does_so_too(seed: int, tmp_path: Path) -> None:
    result = run_swarm(seed, tmp_path / "run", generation="kraft")
    voters = [orjson.loads(row)[5]["voters"] for row in (result.directory / JOURNAL).read_bytes().splitlines() if b'"quorum_voters"' in row]
    assert (len({*map(tuple, voters)}) > 2) is (seed == VOTERS_MOVE)
    assert result.unmet == []
    assert result.receipt.total.acked > 0
    assert verify(result.directory).same


@pytest.mark.parametrize("seed", ENSEMBLE_EVERY_DAY)
def test_a_swarm_with_an_ensemble_does_so_too(seed: int, tmp_path: Path) -> None:
    result = run_swarm(seed, tmp_path / "run", generation="ensemble")
    assert result.unmet == []
    assert result.receipt.total.acked > 0
    assert verify(result.directory).same


def test_a_leader_of_a_share_partition_that_was_replaced_turns_no_light_red(tmp_path: Path) -> None:
    result = run_swarm(REPLACED, tmp_path / "run", generation="share")
    assert result.unmet == []
    assert verify(result.directory).same


@pytest.mark.parametrize("seed", TRANSACTIONS_EVERY_DAY)
def test_a_swarm_with_transactions_and_groups_of_both_protocols_does_so_too(seed: int, tmp_path: Path) -> None:
    result = run_swarm(seed, tmp_path / "run", generation="transactions")
    assert result.unmet == []
    assert result.receipt.total.acked > 0
    assert verify(result.directory).same
    assert disagreements(result.directory, Random(f"snapshot/{seed}"), 1) == []


@pytest.mark.parametrize("seed", MOVES_EVERY_DAY)
def test_a_swarm_whose_replicas_move_does_so_too(seed: int, tmp_path: Path) -> None:
    result = run_swarm(seed, tmp_path / "run", generation="moves")
    assert result.unmet == []
    assert result.receipt.total.acked > 0
    assert verify(result.directory).same
    assert disagreements(result.directory, Random(f"snapshot/{seed}"), 1) == []


def test_replicas_move_in_both_generations_with_one_directory_and_with_several() -> None:
    seen = set()
    for seed in range(60):
        cluster, other = (grammar.from_dict(draw(seed, one)).spec.cluster for one in ("moves", "zookeeper"))
        assert [broker.id for broker in cluster.brokers] == [broker.id for broker in other.brokers]
        seen.add((cluster.is_kraft, cluster.settings["log.dirs"].count(",")))
    assert seen == {(kraft, more) for kraft in (False, True) for more in (0, 1, 2)}


def test_seeds_with_transactions_draw_every_kind_of_client() -> None:
    kinds, protocols, aborts = set(), set(), set()
    for seed in range(30):
        for client in grammar.from_dict(draw(seed, "transactions")).spec.clients:
            kinds.add((client.kind, bool(client.settings.get("transactional.id"))))
            protocols.add((client.kind, client.settings.get("group.protocol", "classic")))
            aborts.add(client.abort_share)
    assert kinds == {("producer", False), ("producer", True), ("processor", True), ("consumer", False)}
    assert {("consumer", "classic"), ("consumer", "consumer"), ("processor", "classic"), ("processor", "consumer")} <= protocols
    assert aborts == {0, 0.1, 0.5}


def test_a_seed_with_an_ensemble_is_that_of_zookeeper_with_more_servers() -> None:
    sizes = set()
    for seed in range(50):
        cluster, other = (grammar.from_dict(draw(seed, one)).spec.cluster for one in ("ensemble", "zookeeper"))
        assert (len(cluster.brokers), cluster.settings, other.ensemble) == (len(other.brokers), other.settings, 1)
        sizes.add(cluster.ensemble)
    assert sizes == {3, 5} and set(kinds_of(cluster)) - set(kinds_of(other)) == {*OF_SEVERAL, *OF_ENSEMBLE}


def test_a_seed_in_kraft_has_voters_of_each_kind_and_only_faults_that_there_are() -> None:
    own, combined, faults = set(), set(), {}
    for seed in range(200):
        cluster, other = (grammar.from_dict(draw(seed, one)).spec.cluster for one in ("kraft", "zookeeper"))
        assert len(cluster.brokers) == len(other.brokers)
        own.add(cluster.controllers)
        combined.add(0 if cluster.controllers else len(cluster.voters()))
        faults[cluster.quorum] = set(kinds_of(cluster))
    assert own == combined == {0, 1, 2, 3, 4, 5}
    assert faults[STATIC] - set(kinds_of(other)) == set(OF_SEVERAL) and "expire_session" not in faults[STATIC]
    assert faults[DYNAMIC] - faults[STATIC] == set(OF_DYNAMIC)
    for kind in OF_SEVERAL:
        check_command({"do": kind.removeprefix("tree_"), "node": "controller-101"})


def test_each_seed_draws_a_valid_scenario_and_draws_it_again() -> None:
    sizes = set()
    for seed in range(200):
        document = draw(seed)
        assert document == draw(seed)
        sizes.add(len(grammar.from_dict(document).spec.cluster.brokers))
    assert sizes == {1, 2, 3, 4, 5, 7}


def test_the_nemesis_knows_only_commands_that_there_are() -> None:
    own = {"tree_kill", "tree_pause", "client_kill", "swizzle"}
    more = {"partition_link": {}, "delay_link": {"delay_ms": 1}, "drop_link": {"probability": 0.1},
            "bandwidth_link": {"bytes_per_s": 1}, "produce": {"topic": "a", "value": "b"}, "random_halves": {},
            "clock_skew": {"ms": 1}, "slow_disk": {"latency_ms": 5}}  # fmt: skip
    for kind in set(KINDS) - own:
        target = {"between": [1, 2]} if kind.endswith("_link") else {"broker": 1}
        if kind in ("produce", "random_halves"):
            target = {}
        check_command({"do": kind, **target, **more.get(kind, {})})
