"""Tables of the metadata quorum: of a run that was written by hand, and of a cluster that really ran."""

from __future__ import annotations

import orjson
import pytest

from lab.analytics.tables import Tables
from lab.experiments.run import run_scenario
from tests.analytics import worlds
from tests.analytics.scenarios import voters


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    home = tmp_path_factory.mktemp("quorum")
    worlds.quorum(home)
    run_scenario(voters(), out=home / "ran")
    with Tables(spark, [home]) as opened:
        yield opened


def rows(tables, name, run, order="t_us"):
    return [row.asDict() for row in tables.get(name).where(f"run = '{run}'").orderBy(order).collect()]


def test_an_election_tells_what_led_to_it(tables):
    first, second = rows(tables, "quorum_elections", "quorum")
    assert (first["leader"], first["epoch"], first["previous"], first["gone_us"], first["candidates"], first["votes"]) == (101, 1, None, None, [101], 1)
    assert (second["leader"], second["epoch"], second["previous"], second["candidates"], second["votes"]) == (102, 3, 101, [102, 103], 1)
    assert [second[name] for name in ("gone_us", "asked_us", "t_us", "active_us")] == [10_000_000, 12_000_000, 12_500_000, 12_600_000]


def test_a_registration_has_an_end(tables):
    first, second = rows(tables, "broker_registrations", "quorum")
    assert [first[name] for name in ("broker", "broker_epoch", "started_us", "t_us", "until_us", "reason")] == [1, 7, 2_000_000, 3_000_000, 20_000_000, "silent"]
    assert (second["t_us"], second["until_us"], second["reason"]) == (24_000_000, None, None)


def test_the_records_of_every_copy_are_read_and_say_what_they_are_about(tables):
    found = rows(tables, "metadata_records", "ran", "offset")
    assert {row["broker"] for row in found} == {1, 2, 101, 102, 103} and not [row for row in found if row["error"] or not row["kind"]]
    made = {(row["topic"], row["partition"]) for row in found if row["kind"] == "PARTITION_RECORD"}
    assert made == {("orders", 0)}
    turn = next(row for row in found if row["kind"] == "PARTITION_CHANGE_RECORD" and row["topic"] == "orders")
    assert orjson.loads(turn["data"])["partitionId"] == 0
    assert {row["kind"] for row in found if row["control"]} == {"LEADER_CHANGE"}
    fenced = {row["about_broker"] for row in found if row["kind"] in ("FENCE_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD")}
    assert 1 in fenced


def test_of_a_cluster_that_ran_the_tables_agree(tables):
    elections = rows(tables, "quorum_elections", "ran")
    kinds = [row for row in rows(tables, "metadata_records", "ran", "offset") if row["kind"] == "LEADER_CHANGE"]
    assert {row["epoch"] for row in elections} == {row["epoch"] for row in kinds}
    last = elections[-1]
    assert last["previous"] is not None and last["gone_us"] < last["asked_us"] < last["t_us"] <= last["active_us"] and last["votes"] >= 1
    gone = [row for row in rows(tables, "broker_registrations", "ran") if row["until_us"]]
    assert [row["broker"] for row in gone] == [1]
