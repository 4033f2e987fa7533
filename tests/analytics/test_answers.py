"""Every question, asked of runs that were written by hand, has the answer that one counts oneself."""

from __future__ import annotations

import orjson
import pyarrow.dataset as dataset
import pytest

from broker_core.kernel.problems import problem
from lab.analytics import queries, replay
from lab.analytics.errors import kept
from lab.analytics.tables import Tables
from tests.analytics import worlds

MAKERS = (worlds.failover, worlds.blocked, worlds.returned, worlds.rebalances, worlds.transactions, worlds.requests, worlds.replication, worlds.disks, worlds.strangers, worlds.quorum)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    directory = tmp_path_factory.mktemp("worlds")
    for make in MAKERS:
        make(directory)
    return directory


@pytest.fixture(scope="module")
def written(spark, home, tmp_path_factory):
    """(answers by name, directory with Parquet and report)."""
    out = tmp_path_factory.mktemp("out")
    return {answer.name: answer for answer in replay.replay(spark, [home], out=out)}, out


def rows(written, name, run, *columns):
    """The values of some columns, of one run."""
    return [tuple(row[column] for column in columns) for row in written[0][name].rows if row["run"] == run]


WANTED = [
    ("receipt", "failover", ("producer", "acked", "read", "lost", "unread", "at_risk", "duplicated", "reordered"),
     [("operator", 1, 1, 0, 0, None, 0, 0), ("p", 13, 13, 2, 0, None, 1, 0), ("q", 3, 2, 0, 1, None, 0, 1)]),
    ("lost", "failover", ("label", "number", "offset", "test"), [("p", "8", 8, "cut"), ("p", "9", 9, "cut")]),
    ("duplicated", "failover", ("label", "number", "offset"), [("p", "11", 12)]),
    ("reordered", "failover", ("label", "number", "offset", "behind"), [("q", "0", 16, 1)]),
    ("inconsistent", "failover", ("label", "number", "offset"), [("p", "8", 8), ("p", "9", 9)]),
    ("stale", "failover", ("process", "last_read", "next_read", "step", "test"),
     [("c", 3, 2, -1, "nonmonotonic-poll"), ("c", 4, 8, 4, "poll-skip")]),
    ("nonmonotonic_send", "failover", ("producer", "last_acked", "offset"), [("p", 9, 8)]),
    ("aborted_read", "failover", ("label", "number", "offset", "reader", "transaction"), [("p", "14", 14, "checker", None)]),
    ("aborted_read", "transactions", ("label", "number", "offset", "reader", "transaction"), [("r", "0", 3, "c", "r/1")]),
    ("outside", "strangers", ("batches", "records", "acked", "acked_records", "lost", "lost_records", "unread_records", "complete"), [(2, 4, 2, 4, 1, 2, 2, True)]),
    ("outside_lost", "strangers", ("topic", "partition", "offset", "last"), [("orders", 0, 2, 3)]),
    ("unavailability", "failover", ("from_us", "to_us", "seconds", "cause", "leader", "how", "next_leader"),
     [(10_000_000, 13_500_000, 3.5, "no leader", "broker-1", "crash", "broker-2"),
      (30_000_000, 31_000_000, 1.0, "no leader", "broker-2", "paused", None)]),
    ("unavailability", "blocked", ("from_us", "to_us", "seconds", "cause", "leader", "how"),
     [(4_500_000, 8_000_000, 3.5, "waits for ISR", "broker-1", None), (8_000_000, 11_000_000, 3.0, "too few in ISR", "broker-1", None),
      (20_000_000, 22_000_000, 2.0, "too few in ISR", "broker-1", None), (25_000_000, 27_000_000, 2.0, "waits for ISR", "broker-1", None)]),
    ("unavailability", "returned", ("from_us", "to_us", "cause", "leader", "how"),
     [(5_000_000, 6_000_000, "no leader", "broker-1", "paused"), (10_000_000, 14_000_000, "no leader", "broker-1", "power_loss"),
      (18_000_000, 20_010_000, "no leader", "broker-1", "crash"), (24_000_000, 27_200_000, "no leader", "broker-2", "crash")]),
    ("failovers", "failover", ("leader", "detected", "controller", "decided", "took_over", "first_ack"),
     [("broker-1", 3.0, None, 3.2, 3.5, 4.0)]),
    ("failovers", "returned", ("leader", "how", "decided", "took_over", "first_ack"),
     [("broker-1", "power_loss", None, 4.0, 5.0), ("broker-1", "crash", 2.004, 2.01, None), ("broker-2", "crash", 3.1, 3.2, None)]),
    ("write_gaps", "failover", ("from_us", "to_us", "seconds"), [(16_000_000, 40_000_000, 24.0)]),
    ("write_gaps", "returned", ("from_us", "to_us", "seconds"), [(15_000_000, 30_000_000, 15.0)]),
    ("elections", "returned", ("reason", "elections", "never_took_over", "takeover_ms_max"),
     [("broker gone", 2, 0, 100.0), ("new", 1, 0, 100.0), ("no replica of the ISR is alive", 1, 0, None)]),
    ("elections", "failover", ("reason", "elections", "never_took_over", "takeover_ms_p50", "takeover_ms_max"),
     [("broker gone", 1, 0, 300.0, 300.0), ("new", 1, 0, 100.0, 100.0)]),
    ("isr_churn", "failover", ("shrunk", "expanded", "smallest", "seconds_below_full"), [(1, 1, 2, 6.8)]),
    ("isr_churn", "returned", ("shrunk", "expanded", "smallest", "seconds_below_full"), [(0, 0, 1, 2.1)]),
    ("rebalance_cost", "rebalances", ("group", "generations", "rebalances", "joining_ms", "assigning_ms", "converging_ms", "longest_ms"),
     [("audit", 2, 2, 0.0, 0.0, 700.0, 500.0), ("billing", 2, 2, 2400.0, 600.0, 0.0, 2000.0)]),
    ("stable_gap", "transactions", ("topic", "transactions", "seconds", "longest_ms", "share"), [("orders", 4, 7.0, 4000.0, 0.35)]),
    ("aborted_share", "transactions", ("producer", "committed", "aborted", "expired", "share"), [("a", 2, 0, 0, 0.0), ("b", 0, 1, 1, 1.0)]),
    ("transaction_cycles", "transactions", ("anomaly", "cycle", "transaction", "topic", "partition", "offset"),
     [("write_cycle", "p/1", "p/1", "orders", 0, 0), ("write_cycle", "p/1", "q/1", "orders", 0, 1)]),
    ("latency", "requests", ("api", "requests", "expired", "way_there_p50", "queue_p50", "local_p50", "remote_p50", "response_p50", "total_p50"),
     [("Fetch", 1, 1, 0.5, 0.01, 0.09, 500.0, 0.005, 500.5), ("Produce", 1, 0, 0.5, 0.01, 0.09, 0.4, 0.005, 1.1)]),
    ("replication_lag", "replication", ("follower", "appends", "p50_ms", "max_ms"), [("broker-2", 2, 5.0, 6.0), ("broker-3", 1, 10.0, 10.0)]),
    ("leader_skew", "replication", ("broker", "partitions", "bytes", "share"), [("broker-1", 1, 300, 0.75), ("broker-2", 1, 100, 0.25)]),
    ("key_skew", "disks", ("partition", "records", "share", "keys", "top_key", "top_key_share"),
     [(0, 6, 0.75, 2, "a", 4 / 6), (1, 2, 0.25, 0, None, 0.0)]),
    ("zookeeper_and_kraft", "quorum",
     ("generation", "elections", "without_controller", "without_leader", "control_requests", "tree_writes", "metadata_records", "votes"),
     [("KRaft", 2, 2.6, None, 0, 0, 5, 2)]),
    ("zookeeper_and_kraft", "failover", ("generation", "elections", "without_controller", "without_leader", "votes"),
     [("ZooKeeper", 1, None, 3.5, 0)]),
    ("damages", "disks", ("partition", "file", "position", "error"),
     [(0, f"{0:020d}.index", 0, kept(problem("index_missing"))), (1, f"{0:020d}.index", 8, kept(problem("index_cut", size=13, expected=8)))]),
]


@pytest.mark.parametrize(("name", "run", "columns", "wanted"), WANTED, ids=["-".join(one[:2]) for one in WANTED])
def test_an_answer_is_the_one_counted_by_hand(written, name, run, columns, wanted):
    found = rows(written, name, run, *columns)
    assert len(found) == len(wanted), found
    for have, want in zip(found, wanted):
        assert have == tuple(pytest.approx(value) if isinstance(value, float) else value for value in want)


def test_retention_counts_bytes_that_are_gone_and_bytes_that_are_there(written, home):
    size = sum(path.stat().st_size for path in (home / "disks").rglob("*.log"))
    found = rows(written, "retention", "disks", "broker", "topic", "deleted", "deleted_bytes", "kept", "kept_bytes", "saved")
    assert found == [(1, "orders", 1, 3000, 2, size, pytest.approx(3000 / (3000 + size))), (1, "quiet", 0, 0, 1, 0, 0.0)]


def test_each_transaction_and_each_delivery_of_a_shared_record_has_its_end(spark, home):
    wanted = "transactional_id", "first_offset", "marker_offset", "outcome", "ended_us"
    with Tables(spark, [home / "transactions"]) as tables:
        told = tables.transactions.orderBy("first_offset").select(*wanted).collect()
        had = tables.share_deliveries.orderBy("offset", "t_us").select(
            "offset", "client", "delivery", "lock_until_us", "ended", "ended_us").collect()
    assert [tuple(row) for row in told] == [
        ("a", 0, 5, "commit", 3_000_000), ("b", 3, 6, "abort", 5_000_000), ("a", 7, 9, "commit", 11_000_000), ("b", 10, None, None, None)]
    assert [tuple(row) for row in had] == [
        (0, "w", 1, 3_000_000, "acknowledged", 2_000_000), (1, "w", 1, 3_000_000, "lock ran out", 3_000_000),
        (1, "v", 2, 6_000_000, "another leader", 5_000_000), (1, "v", 2, 7_000_000, None, None)]


def test_no_question_is_without_a_known_answer():
    assert set(queries.QUERIES) == {one[0] for one in WANTED} | {"retention"}


def test_plain_sql_over_the_parquet_files_gives_the_numbers_of_the_report(spark, written):
    """Somebody who has nothing but the files: Spark SQL, and pyarrow without Spark."""
    out = written[1]
    told = {one["query"]: [row for row in one["rows"] if row["run"] == "failover"] for one in orjson.loads((out / "answers.json").read_bytes())}
    for name in ("sends", "polls", "elections", "isr_changes", "events"):
        spark.read.parquet(str(out / name)).createOrReplaceTempView(name)

    def one(statement):
        return [tuple(row) for row in spark.sql(statement).collect()]

    assert one("""select label, number, offset from sends s where run = 'failover' and kind = 'ok' and not exists
                  (select * from polls p where p.run = s.run and p.label = s.label and p.number = s.number) order by label, number""") == [
        *((row["label"], row["number"], row["offset"]) for row in told["lost"]), ("q", "2", 20)], "never read: lost, or unread"
    assert one("select label, number, count(distinct offset) - 1 as more from polls group by all having more > 0") == [
        (row["label"], row["number"], 1) for row in told["duplicated"]]
    assert one("select reason, count(*) as n, max(took_over_us - t_us) / 1e3 from elections where run = 'failover' group by reason order by reason") == [
        (row["reason"], row["elections"], row["takeover_ms_max"]) for row in told["elections"]]
    assert one("select count_if(change = 'shrunk'), count_if(change = 'expanded'), min(size(isr)) from isr_changes where run = 'failover'") == [
        (row["shrunk"], row["expanded"], row["smallest"]) for row in told["isr_churn"]]
    sends, polls = (dataset.dataset(out / name, partitioning="hive").to_table().to_pylist() for name in ("sends", "polls"))
    acked = {(row["run"], row["label"], row["number"]) for row in sends if row["kind"] == "ok" and row["run"] == "failover"}
    seen = {(row["run"], row["label"], row["number"]) for row in polls}
    assert len(acked - seen) == sum(row["lost"] + row["unread"] for row in told["receipt"]) == 3
    assert len(acked) == sum(row["acked"] for row in told["receipt"])
    report = (out / "report.html").read_text()
    assert "read over" in report and "broker gone" in report
