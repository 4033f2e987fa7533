"""Throttled replication (KIP-73, KIP-113) in running clusters: how long a new replica takes, who is held back, and who never is."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import pytest

from broker_core.kernel.names import OPERATOR
from broker_core.kernel.world import World
from broker_core.replication.quotas import FOLLOWER, LEADER, MOVES, ReplicationQuotas
from lab.clusters.build import build_world
from lab.clusters.inspect import inspect
from lab.clusters.metrics import metrics
from lab.clusters.spec import run_from_dict
from tests.worlds import Driven

GENERATIONS = ["zookeeper", "kraft"]
RATE = 200_000
RATES = {LEADER: "leader.replication.throttled.rate", FOLLOWER: "follower.replication.throttled.rate"}
LISTS = {LEADER: "leader.replication.throttled.replicas", FOLLOWER: "follower.replication.throttled.replicas"}


@cache
def filled(controller: str) -> bytes:
    """orders-0 on brokers 1 and 2, one megabyte of it; broker 3 has nothing. orders-1 is there, too."""
    lab = Driven()
    lab.world = build_world(run_from_dict({
        "cluster": {"brokers": 3, "controller": controller, "preset": "teaching", "link_delay_ms": 1,
                    "settings": {"replica.fetch.max.bytes": 16384, "log.dirs": "a,b", "replica.lag.time.max.ms": 4000,
                                 **({"metadata.log.dir": "m"} if controller == "kraft" else {})}},
        "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 100, "size": 1000, "settings": {"acks": "all"}}],
    }))  # fmt: skip
    lab.run(3)
    lab.do(do="create_topic", topic="orders", assignment=[[1, 2]])
    lab.run(1)
    lab.do(do="start_client", name="producer-a")
    lab.run(10)
    lab.do(do="stop_client", name="producer-a")
    lab.run(1)
    return pickle.dumps(lab.world)


class Moved(Driven):
    """What a test asks of such a cluster."""

    def __init__(self, controller: str) -> None:
        self.world: World = pickle.loads(filled(controller))

    def quotas(self, broker: int) -> ReplicationQuotas:
        found: ReplicationQuotas = self.machine(broker).replicas.quotas
        return found

    def machine(self, broker: int) -> Any:
        return self.world.nodes[f"broker-{broker}"].machine

    def size(self, broker: int) -> int:
        return int(self.machine(broker).partitions["orders", 0].log.size_bytes)

    def limit(self, kind: str, rate: int | None, brokers: tuple[int, ...] = (1, 2, 3)) -> None:
        for broker in brokers:
            self.do(do="alter_config", broker=broker, set={RATES[kind]: rate})
        self.run(0.5)

    def name(self, kind: str, text: str | None) -> None:
        self.do(do="alter_config", topic="orders", set={LISTS[kind]: text})
        self.run(0.5)

    def seconds(self, most: float = 60) -> float:
        """Until broker 3 is in sync, from now on."""
        begun = self.world.now_us
        while 3 not in self.machine(1).partitions["orders", 0].isr.committed:
            assert self.world.now_us - begun < most * 1e6, "broker 3 does not arrive"
            self.run(0.1)
        return (self.world.now_us - begun) / 1e6

    def begin(self) -> None:
        self.do(do="reassign", topic="orders", partition=0, replicas=[1, 2, 3])

    def asked(self, **command: Any) -> str:
        """How an operator's command ended: "" or an error."""
        number, results = self.do(**command)["id"], self.world.nodes[OPERATOR].machine.results
        begun = self.world.now_us
        while number not in results:
            assert self.world.now_us - begun < 10e6
            self.run(0.1)
        return str(results[number]["error"])

    def throttles(self) -> tuple[set[tuple[int, str, int]], dict[str, str], bool]:
        """(broker, quota, bound) of all, the topic's lists, whether they are forgotten."""
        found = inspect(self.world, "balance", "")["found"]
        config = {one["name"]: one for one in inspect(self.world, "config", "topic:orders")["found"]["entries"]}
        lists = {kind: config[name]["value"] for kind, name in LISTS.items()}
        return {(one["broker"], one["quota"], one["bound"]) for one in found["throttles"]}, lists, found["forgotten"]

    def told(self) -> list[dict[str, Any]]:
        return [row[5] for row in self.world.journal.tail if row[3] == "replication_throttled"]

    def byte_rate(self, kind: str, broker: int) -> float:
        return metrics(self.world)[f"kafka.server:type={kind},name=byte-rate"][str(broker)]


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_new_replica_takes_as_long_as_the_throttle_of_its_broker_says(controller):
    lab = Moved(controller)
    lab.limit(FOLLOWER, RATE)
    lab.name(FOLLOWER, "0:3")
    lab.begin()
    lab.run(2)
    assert 0.5 * RATE < lab.byte_rate(FOLLOWER, 3) < 1.6 * RATE
    assert lab.byte_rate(LEADER, 3) == lab.byte_rate(LEADER, 1) == 0
    took = 2 + lab.seconds()
    assert lab.size(1) / RATE * 0.9 < took < lab.size(1) / RATE + 2.5
    assert {(one["quota"], one["replica"], one["bound"]) for one in lab.told()} == {(FOLLOWER, 3, RATE)}
    lab.run(12)
    assert lab.byte_rate(FOLLOWER, 3) == 0


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_leader_with_followers_lets_its_whole_window_pass_at_once_and_then_nothing(controller):
    """As Kafka 4.3 and 3.9: 20 MB at 2 MB a second were there in 0.3 s, and in 10.4 s where nobody had fetched before."""
    lab = Moved(controller)
    lab.limit(LEADER, 50_000)
    lab.name(LEADER, "0:1,0:2")
    lab.begin()
    lab.run(2)
    first = lab.size(3)
    assert 11 * 50_000 <= first < 14 * 50_000 and 0.8 * 50_000 < lab.byte_rate(LEADER, 1) < 1.3 * 50_000
    lab.run(6)
    assert lab.size(3) < first + 3 * 50_000
    assert 1 < lab.seconds() < 6 and lab.byte_rate(FOLLOWER, 3) == 0
    assert {(one["quota"], one["replica"], one["bound"]) for one in lab.told()} == {(LEADER, 3, 50_000)}


def test_a_leader_that_nobody_has_followed_yet_holds_the_rate_from_the_first_second_on():
    lab = Moved("kraft")
    lab.do(do="create_topic", topic="alone", assignment=[[3]])
    lab.run(1)
    assert not lab.machine(3).replicas.sessions.sessions
    lab.do(do="alter_config", topic="alone", set={LISTS[LEADER]: "*"})
    lab.run(1)
    quota = lab.quotas(3).leader
    quota.bound = RATE
    quota.record(2 * RATE)
    assert quota.exceeded()
    lab.do(do="alter_config", topic="orders", set={LISTS[LEADER]: "*"})
    lab.run(1)
    other = lab.quotas(1).leader
    other.bound = RATE
    other.record(2 * RATE)
    assert not other.exceeded() and other.rate() < RATE / 4


def test_without_a_list_or_without_a_rate_or_with_the_lists_of_others_nothing_is_throttled():
    for setup in (
        lambda lab: lab.limit(FOLLOWER, RATE),
        lambda lab: lab.name(FOLLOWER, "*"),
        lambda lab: (lab.limit(FOLLOWER, RATE, (1, 2)), lab.name(FOLLOWER, "*")),
        lambda lab: (lab.limit(LEADER, RATE), lab.name(LEADER, "0:2,0:3,1:1")),
    ):
        lab = Moved("kraft")
        setup(lab)
        lab.begin()
        assert lab.seconds() < 1 and lab.told() == []


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_throttle_changes_while_the_move_goes_on_and_ends_with_its_list(controller):
    lab = Moved(controller)
    lab.limit(FOLLOWER, 1000)
    lab.name(FOLLOWER, "*")
    lab.begin()
    lab.run(5)
    slow = lab.size(3)
    assert 0 < slow < 60_000
    lab.limit(FOLLOWER, 50_000)
    lab.run(3)
    assert slow + 150_000 < lab.size(3) < lab.size(1)
    lab.name(FOLLOWER, None)
    assert lab.seconds() < 2


def test_a_rate_for_all_brokers_stands_behind_that_of_one_and_one_in_a_file_counts_nothing():
    lab = Moved("zookeeper")
    config = lab.machine(3).config
    assert lab.quotas(3).follower.bound is None
    config.set_dynamic(RATES[FOLLOWER], "500", all_brokers=True)
    lab.quotas(3).take_rates(config)
    assert lab.quotas(3).follower.bound == 500
    config.set_dynamic(RATES[FOLLOWER], "700")
    lab.quotas(3).take_rates(config)
    assert (lab.quotas(3).follower.bound, lab.quotas(3).leader.bound) == (700, None)


@pytest.mark.parametrize("controller", GENERATIONS)
def test_who_is_in_sync_is_never_held_back_and_a_rate_below_what_is_written_never_ends(controller):
    """100 kB a second are written. What the replicas in sync take counts, and leaves nothing of 50 kB for broker 3."""
    lab = Moved(controller)
    for kind, text in ((LEADER, "*"), (FOLLOWER, "0:3")):
        lab.limit(kind, 50_000)
        lab.name(kind, text)
    lab.do(do="start_client", name="producer-a")
    lab.run(3)
    lab.begin()
    lab.run(25)
    state = lab.machine(1).partitions["orders", 0]
    assert state.isr.committed == [1, 2] and state.log.log_end_offset - state.log.high_watermark < 20
    assert lab.size(3) < lab.size(1) / 3
    assert {one["replica"] for one in lab.told()} == {3}
    lab.name(LEADER, None)
    lab.name(FOLLOWER, None)
    assert lab.seconds() < 5


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_replica_moves_to_another_directory_as_fast_as_its_own_throttle_allows(controller):
    lab = Moved(controller)
    key = ("orders", 0)
    here = lab.machine(1).partitions[key].log.directory.split("/")[0]
    lab.do(do="alter_config", broker=1, set={"replica.alter.log.dirs.io.max.bytes.per.second": RATE})
    lab.run(0.5)
    begun, size = lab.world.now_us, lab.size(1)
    lab.do(do="move_replica", broker=1, topic="orders", partition=0, directory={"a": "b", "b": "a"}[here])
    lab.run(2)
    assert lab.machine(1).replicas.moves.move_of(*key) is not None and lab.byte_rate(MOVES, 1) > 0
    while lab.machine(1).replicas.moves.move_of(*key) is not None:
        lab.run(0.1)
    assert size / RATE * 0.9 < (lab.world.now_us - begun) / 1e6 < size / RATE + 2.5
    assert {one["quota"] for one in lab.told()} == {MOVES}


@pytest.mark.parametrize("controller", GENERATIONS)
def test_an_operator_throttles_a_move_changes_that_and_takes_it_away_when_it_is_over(controller):
    """As `kafka-reassign-partitions` does it: --throttle, again with another one, --verify."""
    lab = Moved(controller)
    assert lab.throttles() == (set(), {LEADER: "", FOLLOWER: ""}, False)
    move = {"do": "reassign", "topic": "orders", "partition": 0, "replicas": [3, 2]}
    assert lab.asked(**move, throttle=RATE) == ""
    lab.run(1)
    limited, lists, forgotten = lab.throttles()
    assert limited == {(broker, kind, RATE) for broker in (1, 2, 3) for kind in (LEADER, FOLLOWER)}
    assert lists == {LEADER: "0:1,0:2", FOLLOWER: "0:3"} and not forgotten
    assert lab.asked(do="verify_reassignment", topic="orders") == "REASSIGNMENT_IN_PROGRESS"
    assert lab.asked(**move, throttle=2 * RATE) == ""
    lab.run(1)
    assert {bound for _, _, bound in lab.throttles()[0]} == {2 * RATE}
    assert lab.throttles()[1] == lists
    lab.run(6)
    limited, lists, forgotten = lab.throttles()
    assert len(limited) == 6 and lists[FOLLOWER] == "0:3" and forgotten, "nobody has taken it away"
    assert lab.asked(do="verify_reassignment", topic="orders") == ""
    lab.run(1)
    assert lab.throttles() == (set(), {LEADER: "", FOLLOWER: ""}, False)


@pytest.mark.parametrize("controller", GENERATIONS)
def test_a_throttle_between_directories_is_not_forgotten_before_the_replica_lies_there(controller):
    lab = Moved(controller)
    other = {"a": "b", "b": "a"}[lab.machine(1).partitions["orders", 0].log.directory.split("/")[0]]
    move = {"do": "move_replica", "broker": 1, "topic": "orders", "partition": 0, "directory": other}
    assert lab.asked(**move, throttle=RATE) == ""
    lab.run(1)
    assert lab.throttles()[0] == {(1, MOVES, RATE)} and not lab.throttles()[2]
    assert lab.asked(do="verify_reassignment", topic="orders") == "REASSIGNMENT_IN_PROGRESS"
    lab.run(7)
    assert lab.throttles()[2]
    assert lab.asked(do="verify_reassignment", topic="orders") == ""
    assert lab.throttles()[0] == set()
    assert lab.asked(**{**move, "directory": "c"}, throttle=RATE) == "LOG_DIR_NOT_FOUND"


def test_a_topic_that_is_not_there_is_neither_moved_nor_verified():
    lab = Moved("kraft")
    assert lab.asked(do="reassign", topic="nobody", partition=0, replicas=[3], throttle=RATE) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert lab.asked(do="verify_reassignment", topic="nobody") == "UNKNOWN_TOPIC_OR_PARTITION"
    assert lab.asked(do="reassign", topic="orders", partition=7, replicas=[3], throttle=RATE) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert lab.throttles()[0] == set()


def test_the_rate_is_taken_over_samples_as_kafka_takes_it():
    """The example of the module: 4 MB at once with a limit of one a second; a sample too old for the window is forgotten."""
    lab = Moved("zookeeper")
    quota = lab.quotas(1).moves
    quota.bound = 1_000_000
    quota.record(4_000_000)
    seen = []
    for _ in range(13):
        seen.append((round(quota.rate() / 1e6, 2), quota.exceeded()))
        lab.run(1)
    assert seen[:6] == [(4, True), (4, True), (2, True), (1.33, True), (1, False), (0.8, False)]
    assert seen[10] == (0.4, False) and seen[11] == (0, False)
    quota.record(500_000)
    assert quota.rate() == 250_000  # the forgotten sample began anew when it was looked at, two seconds ago
    for _ in range(30):
        lab.run(1)
        quota.record(1_000_000)
    assert 1_000_000 <= quota.rate() <= 1_100_000 and len(quota._samples) <= 12
