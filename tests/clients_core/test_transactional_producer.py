"""The built-in transactional producer on real brokers, in both versions: commits, aborts, failures, fencing."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from tests.worlds import S, Driven

from broker_core.clients.transactional_workload import TransactionalProducerMachine
from broker_core.kernel.world import World
from broker_core.log.partition_log import PartitionLog
from broker_core.records.batch import decode_records
from broker_core.records.control import control_type
from broker_core.records.header import iterate_batches
from lab.checkers.kept import Kept
from lab.checkers.kept_receipt import kept_receipt
from lab.checkers.receipt import Receipt, make_receipt
from lab.checkers.receipt_fates import Evidence
from lab.clusters.build import build_world
from lab.clusters.spec import SpecError, run_from_dict
from lab.truth import truth_of

TRANSACTIONAL = {"transactional.id": "sales"}
COMMITTED = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
BOTH = pytest.mark.parametrize("controller", ["zookeeper", "kraft"])


class Lab(Driven):
    """Three brokers, `orders` with two partitions, no clients yet."""

    def __init__(self, controller: str = "zookeeper", record_level: str = "transitions", **cluster: Any) -> None:
        cluster = {"preset": "teaching", "controller": controller, **cluster}
        self.spec = run_from_dict({"cluster": cluster, "seed": 3, "record_level": record_level})
        self.world: World = build_world(self.spec)
        self.kept = Kept()
        self.kept.watch(self.world)
        self.run(2)
        self.do(do="create_topic", topic="orders", partitions=2, replication_factor=3)
        self.run(1)

    def produce(self, name: str = "producer", **more: Any) -> None:
        settings = {**TRANSACTIONAL, **more.pop("settings", {})}
        given = {"rate": 200, "keys": 50, "transaction_records": 20, **more}
        self.do(do="start_client", name=name, kind="producer", topic="orders", settings=settings, **given)

    def read(self, name: str, **settings: str) -> None:
        given = {"auto.offset.reset": "earliest", **settings}
        self.do(do="start_client", name=name, kind="consumer", topic="orders", settings=given)

    def machine(self, name: str = "producer") -> TransactionalProducerMachine:
        machine = self.world.nodes[name].machine
        assert isinstance(machine, TransactionalProducerMachine)
        return machine

    def rows(self, op: str, process: str = "producer") -> list[dict[str, Any]]:
        return [row for row in self.world.operations.rows if row["op"] == op and row["process"] == process]

    def values(self, kind: str, process: str = "producer") -> set[tuple[str, int]]:
        """Values whose send ended like this."""
        return {
            (row["label"], number)
            for row in self.rows("send", process) if row["kind"] == kind
            for first, count in row["values"] for number in range(first, first + count)
        }  # fmt: skip

    def got(self, process: str) -> Counter[tuple[str, int]]:
        found: Counter[tuple[str, int]] = Counter()
        for row in self.rows("poll", process):
            for _, label, first, count in row["runs"]:
                found.update((label, number) for number in range(first, first + count))
        return found

    def log(self, partition: int) -> PartitionLog:
        leader = truth_of(self.world).partition_state("orders", partition)["leader"]
        return self.world.nodes[f"broker-{leader}"].machine.replicas.partition("orders", partition).log

    def markers(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for partition in (0, 1):
            log = self.log(partition)
            read = log.read(0, 1 << 24, log.log_end_offset)
            for part in read.slices:
                for batch in iterate_batches(part.read()):
                    if batch.header.is_control:
                        found[control_type(decode_records(batch)[0])] += 1
        return found


@BOTH
def test_what_is_committed_is_promised_and_read_and_what_is_aborted_is_neither(controller: str) -> None:
    lab = Lab(controller)
    lab.produce(count=400, abort_share=0.4)
    lab.run(6)
    lab.read("committed", **{"isolation.level": "read_committed"})
    lab.read("everything")
    lab.run(3)
    machine = lab.machine()
    assert machine.rounds.committed >= 3 <= machine.rounds.aborted and machine.rounds.committed + machine.rounds.aborted == 20
    assert machine.acked == len(lab.values("ok")) == 20 * machine.rounds.committed and machine.unknown == 0
    assert machine.acked + machine.failed == 400
    assert set(lab.got("committed")) == lab.values("ok") and set(lab.got("committed").values()) == {1}
    dirty = set(lab.got("everything")) - lab.values("ok")
    assert dirty and dirty <= lab.values("fail")
    receipt = receipt_of(lab)
    assert sum(receipt.steps.values()) == 0, "a reader of committed records has jumped over nothing that counts"
    assert receipt.aborted == machine.failed >= receipt.aborted_read == len(dirty) and receipt.failed_read == 0
    assert (receipt.total.acked, receipt.total.lost, receipt.total.unread) == (machine.acked, 0, 0)
    errors = {row["error"] for row in lab.rows("send") if row["kind"] == "fail"}
    assert errors == {"ABORTED"} and set(lab.markers()) == {0, 1}


def test_what_only_the_final_read_back_finds_of_what_was_aborted_no_reader_got() -> None:
    lab = Lab()
    lab.produce(count=400, abort_share=0.4)
    lab.run(1)
    lab.read("checker")
    lab.read("committed", **{"isolation.level": "read_committed"})
    lab.run(8)
    assert receipt_of(lab).aborted == lab.machine().failed > 100 and receipt_of(lab).aborted_read == 0
    lab.read("everything")
    lab.run(3)
    assert receipt_of(lab).aborted_read == len(set(lab.got("everything")) & lab.values("fail")) > 50


def receipt_of(lab: Lab) -> Receipt:
    """The judged one, which is the kept one."""
    receipt = make_receipt(lab.world.operations.rows, Evidence(lab.kept.lineage))
    assert kept_receipt(lab.kept, None).to_dict() == receipt.to_dict(), "the receipt of a run that goes on says the same"
    return receipt


def test_nothing_is_promised_before_the_transaction_is_committed() -> None:
    lab = Lab()
    lab.produce(transaction_records=1000, transaction_ms=1500)
    lab.run(1)
    assert lab.log(0).log_end_offset + lab.log(1).log_end_offset > 50 and not lab.values("ok")
    assert lab.machine().acked == 0 and lab.machine().view()["transactions"]["state"] == "in transaction"
    lab.run(2)
    begun, over, *_ = lab.rows("transaction")
    assert (begun["kind"], over["kind"]) == ("invoke", "ok") and begun["id"] == over["id"]
    assert over["t"] - begun["t"] >= 1.5 * S and len(lab.values("ok")) > 200


@BOTH
def test_a_rate_is_a_rate_whatever_a_transaction_holds(controller: str) -> None:
    """Where nothing takes any time, too: a commit that was over at once let the next record go at once, without end."""
    lab = Lab(controller, link_delay_ms=0)
    lab.produce(rate=50, transaction_records=1)
    lab.run(3)
    begun = [row["t"] for row in lab.rows("send") if row["kind"] == "invoke"]
    assert 100 < len(begun) <= 151 and min(later - one for one, later in pairwise(begun)) >= 20_000


def test_the_version_follows_the_feature_of_the_cluster() -> None:
    """With version 1 the client adds partitions and keeps its epoch; with version 2 the leaders add them."""
    seen = {}
    for controller in ("zookeeper", "kraft"):
        lab = Lab(controller, "messages")
        lab.produce(count=40, transaction_records=10, keys=0, settings={"linger.ms": "30"})
        lab.run(1)
        assert lab.machine().rounds.committed == 4
        sent = [row[5] for row in lab.world.journal.tail if row[3] == "request_sent" and row[2] == "producer"]
        versions = {row["api"]: row["version"] for row in sent}
        asked = {api: versions.get(api) for api in ("Produce", "EndTxn", "AddPartitionsToTxn")}
        seen[controller] = (asked, lab.machine().rounds.sender.sequences.epoch)
    assert seen["zookeeper"] == ({"Produce": 11, "EndTxn": 4, "AddPartitionsToTxn": 3}, 0)
    assert seen["kraft"] == ({"Produce": 12, "EndTxn": 5, "AddPartitionsToTxn": None}, 4)


@pytest.mark.parametrize("longest", ["100", "0"])
def test_a_leader_asks_again_while_the_last_transactions_markers_are_on_their_way(longest: str) -> None:
    """With version 2 the first record may be there before the markers are: the leader waits for them, not the client."""
    settings = {"add.partitions.to.txn.retry.backoff.max.ms": longest}
    lab = Lab("kraft", "messages", link_delay_ms=5, settings=settings)
    lab.produce(count=9, transaction_records=3, keys=0, settings={"retry.backoff.ms": "300"})
    lab.run(2)
    errors = [row[5]["error"] for row in lab.world.journal.tail if row[3] == "client_error" and row[5]["api"] == "Produce"]
    assert ("NOT_ENOUGH_REPLICAS" in errors) == bool(errors) == (longest == "0")
    assert lab.machine().rounds.committed == 3


@BOTH
def test_a_record_of_the_next_transaction_waits_for_the_marker_of_the_last_one(controller: str) -> None:
    """It is never appended to a transaction that is decided and not yet marked (KIP-890 part 2)."""
    settings = {"transaction.state.log.num.partitions": "1"}
    lab = Lab(controller, "messages", settings=settings)
    lab.produce(transaction_records=10)
    lab.run(3)
    coordinator = truth_of(lab.world).partition_state("__transaction_state", 0)["leader"]
    others = [broker for broker in (1, 2, 3) if broker != coordinator]
    for broker in others:
        lab.do(do="lose_next", between=[f"broker-{coordinator}", f"broker-{broker}"], api="WriteTxnMarkers")
    lab.run(2)
    waiting = lab.machine().view()["transactions"]
    lab.run(1)
    assert lab.machine().view()["transactions"] == waiting and lab.world.nodes["producer"].state == "running"
    lab.do(do="kill", broker=coordinator)
    lab.run(12)
    lab.do(do="stop_client", name="producer")
    lab.run(5)
    lab.read("reader", **COMMITTED)
    lab.run(3)
    over = [row for row in lab.rows("transaction") if row["kind"] == "ok"]
    assert len(over) > waiting["committed"] and not lab.values("fail") and not lab.values("info")
    assert set(lab.got("reader")) == lab.values("ok") and set(lab.got("reader").values()) == {1}


@BOTH
def test_brokers_die_and_no_transaction_is_half_there(controller: str) -> None:
    lab = Lab(controller)
    lab.produce(rate=50, transaction_records=5)
    lab.run(2)
    for broker in (1, 2, 3):
        lab.do(do="kill", broker=broker)
        lab.run(3)
        lab.do(do="restart", broker=broker)
        lab.run(3)
    lab.do(do="stop_client", name="producer")
    lab.run(5)
    assert lab.world.nodes["producer"].state == "stopped" and len(lab.rows("transaction")) > 100
    lab.read("reader", **COMMITTED)
    lab.run(3)
    read = lab.got("reader")
    assert set(read.values()) == {1} and lab.values("ok") <= set(read) <= lab.values("ok") | lab.values("info")
    assert not set(read) & lab.values("fail")


@BOTH
def test_a_second_producer_with_the_same_id_fences_the_first(controller: str) -> None:
    lab = Lab(controller)
    lab.produce("producer-1", transaction_records=1000, transaction_ms=3000)
    lab.run(1)
    lab.do(do="pause", node="producer-1")
    lab.run(1)
    lab.produce("producer-2")
    lab.run(2)
    assert lab.machine("producer-2").rounds.committed >= 5
    lab.do(do="resume", node="producer-1")
    lab.run(5)
    assert lab.world.nodes["producer-1"].state == "stopped", "a fenced producer is over"
    over = [row["kind"] for row in lab.rows("transaction", "producer-1")]
    assert over == ["invoke", "fail"] and not lab.values("ok", "producer-1")
    lab.read("reader", **COMMITTED)
    lab.run(2)
    assert {label for label, _ in lab.got("reader")} == {"producer-2"}


def test_a_record_that_fails_ends_its_transaction_and_the_next_one_goes_on() -> None:
    lab = Lab()
    lab.produce(size=300, settings={"linger.ms": "5"})
    lab.run(2)
    before = lab.machine().rounds.committed
    lab.do(do="alter_config", topic="orders", set={"max.message.bytes": "200"})
    lab.run(2)
    assert lab.machine().rounds.aborted >= 1 and "MESSAGE_TOO_LARGE" in {row.get("error") for row in lab.rows("send")}
    lab.do(do="alter_config", topic="orders", set={"max.message.bytes": "100000"})
    lab.run(2)
    assert lab.machine().rounds.committed > before + 5
    lab.do(do="stop_client", name="producer")
    lab.run(1)
    lab.read("reader", **COMMITTED)
    lab.run(2)
    assert set(lab.got("reader")) == lab.values("ok")


def test_a_producer_that_dies_in_a_transaction_has_promised_nothing_and_it_is_aborted() -> None:
    lab = Lab()
    lab.produce(transaction_records=1000, transaction_ms=60_000, settings={"transaction.timeout.ms": "2000"})
    lab.run(1)
    lab.do(do="kill", node="producer")
    lab.read("reader", **COMMITTED)
    lab.run(15)
    assert not lab.values("ok") and not lab.got("reader") and lab.markers() == Counter({0: 2})
    assert [row["kind"] for row in lab.world.operations.rows if row["op"] == "transaction"] == ["invoke", "info"]


def test_the_same_seed_gives_the_same_journal() -> None:
    def journal() -> list[Any]:
        lab = Lab("kraft", "messages")
        lab.produce(count=40, transaction_records=5, abort_share=0.5)
        lab.run(1)
        assert lab.machine().rounds.aborted
        return list(lab.world.journal.tail)

    assert journal() == journal()


@pytest.mark.parametrize(
    ("client", "place", "code"),
    [
        ({"settings": {"transactional.id": "x", "acks": "1"}}, "transactional.id", "transactions_idempotence"),
        ({"transaction_records": 5}, "transaction_records", "needs_transactional_id"),
        ({"settings": TRANSACTIONAL, "abort_share": 1.5}, "abort_share", "above"),
        ({"settings": {"transactional.id": "x", "transaction.timeout.ms": "soon"}}, "transaction.timeout.ms", "setting_whole"),
    ],
)
def test_bad_settings_are_refused_where_they_stand(client: dict[str, Any], place: str, code: str) -> None:
    with pytest.raises(SpecError) as refused:
        run_from_dict({"clients": [{"name": "producer", "kind": "producer", "topic": "t", **client}]})
    assert refused.value.place[-1] == place and refused.value.problem["code"] == code


def test_what_only_transactional_producers_have_is_not_told_of_others() -> None:
    plain = {"name": "producer", "kind": "producer", "topic": "t"}
    assert "abort_share" not in run_from_dict({"clients": [plain]}).to_dict()["clients"][0]
    given = run_from_dict({"clients": [{**plain, "settings": TRANSACTIONAL, "abort_share": 0.25}]}).to_dict()
    assert given["clients"][0]["abort_share"] == 0.25 and run_from_dict(given).to_dict() == given
