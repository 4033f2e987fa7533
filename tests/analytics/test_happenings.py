"""Tables of groups, disks, controllers and faults: what the journal told, counted by hand, and empty where it told nothing."""

from __future__ import annotations

import pytest

from lab.analytics import schemas
from lab.analytics.tables import Tables
from tests.analytics.worlds import PLACE, write

LINK = {"source": "broker-1", "dest": "broker-2", "delay_us": 1000, "jitter_us": 0, "drop": 0.0, "duplicate": 0.0, "reorder": 0.0,
        "bandwidth": 0, "partitioned": False}
NEW = ("replication", "storage", "group_members", "group_epochs", "stored_offsets", "control_requests", "faults", "metadata")


def told(do):
    return {"command": do}


def assigned(generation, **members):
    return {"group": "g", "generation": generation, "assignment": {name: {"orders": partitions} for name, partitions in members.items()}}


def step(member, epoch, state, has, gives):
    return {"group": "k", "member": member, "epoch": epoch, "state": state, "assigned": has, "revoking": gives}


EVENTS = [
    # a group: two generations, a member that leaves, offsets that are set back
    (1.0, "broker-1", "member_joined", {"group": "g", "member": "a-1", "client_id": "a", "instance": None}),
    (1.1, "broker-1", "member_joined", {"group": "g", "member": "b-1", "client_id": "b", "instance": "i"}),
    (1.2, "broker-1", "group_assigned", assigned(1, **{"a-1": [0], "b-1": [1, 2]})),
    (1.3, "a", "assignment_taken", {"partitions": {"orders": [0]}, "generation": 1}),
    (1.5, "broker-1", "offsets_committed", {"group": "g", **PLACE, "offset": 10}),
    (2.0, "broker-1", "member_left", {"group": "g", "member": "b-1", "reason": "session timeout"}),
    (2.2, "broker-1", "group_assigned", assigned(2, **{"a-1": [0, 1, 2]})),
    (2.3, "a", "assignment_taken", {"partitions": {"orders": [0, 1, 2]}, "generation": 2}),
    (2.5, "broker-1", "offsets_committed", {"group": "g", **PLACE, "offset": 4}),
    # a group of KIP-848: a member gives something back, and one is put out
    (2.6, "broker-1", "member_joined", {"group": "k", "member": "n", "client_id": "new", "instance": None}),
    (2.61, "broker-1", "member_reconciled", step("n", 2, "STABLE", {"orders": [0, 1]}, {})),
    (2.7, "broker-1", "member_reconciled", step("n", 2, "UNREVOKED_PARTITIONS", {"orders": [0]}, {"orders": [1]})),
    (2.8, "broker-1", "member_reconciled", step("n", 3, "STABLE", {"orders": [0]}, {})),
    (2.9, "broker-1", "member_left", {"group": "k", "member": "n", "reason": "left"}),
    # a log: appended, acknowledged, cut, rolled, flushed; the power goes, a part is not there any more
    (3.0, "broker-2", "log_appended", {**PLACE, "base_offset": 0, "last_offset": 9, "bytes": 100, "role": "leader"}),
    (3.1, "broker-2", "high_watermark", {**PLACE, "before": 0, "after": 8}),
    (3.2, "broker-2", "truncated", {**PLACE, "before": 10, "after": 8, "reason": "leader epoch"}),
    (3.3, "broker-2", "segment_rolled", {**PLACE, "base_offset": 8, "reason": "size"}),
    (3.4, "broker-2", "flushed", {**PLACE, "offset": 5}),
    (4.0, "broker-2", "process_ended", {"how": "power_loss"}),
    (5.0, "broker-2", "process_started", {"incarnation": 2}),
    (5.1, "broker-2", "log_recovered", {**PLACE, "bytes_cut": 30, "end": 5, "reason": "crc"}),
    (5.1, "broker-2", "log_loaded", {**PLACE, "start": 0, "end": 5, "clean": False}),
    (5.2, "broker-2", "index_rebuilt", {**PLACE, "file": "0.index", "reason": "missing"}),
    (5.3, "broker-2", "segment_deleted", {**PLACE, "base_offset": 0, "reason": "retention time", "bytes": 70}),
    (5.4, "broker-2", "log_start_moved", {**PLACE, "offset": 3, "reason": "retention"}),
    # a controller of the past, and one that is not heard
    (6.0, "broker-1", "control_request", {"api": "UpdateMetadata", "to": 2, "partitions": 3, "epoch": 1}, 0, 60),
    (6.0, "broker-1", "request_sent", {"api": "UpdateMetadata", "version": 5, "correlation": 7, "to": "broker-2", "connection": "c"}, 0, 60),
    (6.1, "broker-2", "request_received", {"api": "UpdateMetadata", "version": 5, "correlation": 7, "source": "broker-1", "client_id": "1"}, 60, 61),
    (6.1, "broker-2", "controller_fenced", {"api": "UpdateMetadata", "epoch": 1, "current": 2, "controller": 1}, 60, 61),
    (6.2, "broker-2", "response_sent", {"api": "UpdateMetadata", "to": "broker-1", "correlation": 7, "error": "STALE_CONTROLLER_EPOCH"}, 60, 61),
    (6.5, "broker-1", "control_request", {"api": "LeaderAndIsr", "to": 3, "partitions": 1, "epoch": 1}, 0, 62),
    # faults
    (7.0, "world", "command", told({"do": "partition_link", "between": [1, 2], "one_way": True}), 0, 70),
    (7.0, "broker-1", "link_changed", {**LINK, "partitioned": True}, 0, 70),
    (7.5, "broker-1", "link_changed", {**LINK, "delay_us": 9000}),
    (8.0, "broker-1", "link_changed", LINK),
    (8.1, "broker-3", "process_paused", {}), (8.4, "broker-3", "process_resumed", {}),
    (8.5, "broker-3", "process_ended", {"how": "shutdown"}), (8.6, "broker-3", "process_started", {"incarnation": 2}),
    (9.0, "broker-2", "disks_changed", {"faults": [{"kind": "full"}]}), (9.5, "broker-2", "disks_changed", {"faults": []}),
    (9.6, "world", "protection_set", {"protection": "leader_epoch", "on": False}),
    (9.7, "world", "command", told({"do": "clock_skew", "broker": 2, "ms": 500})),
    (9.8, "world", "command", told({"do": "bit_flip", "broker": 1, "topic": "orders", "partition": 0, "offset": 3})),
    (9.9, "world", "command", told({"do": "wipe", "broker": 9}), 0, 99), (9.9, "world", "command_refused", {"command": {}, "reason": "no such"}, 0, 99),
    (9.9, "world", "command", told({"do": "lose_next", "between": [1, "producer-a"], "api": "Produce"})),
    (9.95, "world", "command", told({"do": "stop_all_faults"})),
    (9.96, "broker-2", "log_cleaned",
     {**PLACE, "start": 0, "end": 4, "bytes_before": 90, "bytes_after": 40, "records_before": 9, "records_after": 4, "tombstones": 0}),
]


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    home = tmp_path_factory.mktemp("happenings")
    write(home, "much", 10, EVENTS)
    write(home, "nothing", 10)
    with Tables(spark, [home]) as opened:
        yield opened


def rows(tables, name, *columns):
    found = tables.get(name).orderBy("t_us", "seq", *[column for column in columns if column not in ("assignment", "revoking")]).collect()
    assert {row["run"] for row in found} <= {"much"}
    return [tuple(row[column] for column in columns) for row in found]


def test_members_of_a_generation_have_their_assignment_and_their_end(tables):
    assert rows(tables, "group_members", "generation", "member", "client_id", "instance", "partitions", "assignment", "joined_us", "taken_us", "left_us",
                "left_reason") == [
        (1, "a-1", "a", None, 1, {"orders": [0]}, 1_000_000, 1_300_000, None, None),
        (1, "b-1", "b", "i", 2, {"orders": [1, 2]}, 1_100_000, None, 2_000_000, "session timeout"),
        (2, "a-1", "a", None, 3, {"orders": [0, 1, 2]}, 1_000_000, 2_300_000, None, None)]


def test_members_of_the_newer_protocol_have_a_row_for_each_step(tables):
    assert rows(tables, "group_epochs", "member", "client_id", "epoch", "state", "partitions", "assignment", "revoking", "until_us") == [
        ("n", "new", 2, "STABLE", 2, {"orders": [0, 1]}, {}, 2_700_000),
        ("n", "new", 2, "UNREVOKED_PARTITIONS", 1, {"orders": [0]}, {"orders": [1]}, 2_800_000),
        ("n", "new", 3, "STABLE", 1, {"orders": [0]}, {}, 2_900_000)]


def test_stored_offsets_say_how_far_they_moved(tables):
    assert rows(tables, "stored_offsets", "group", "topic", "partition", "offset", "moved", "generation") == [
        ("g", "orders", 0, 10, None, 1), ("g", "orders", 0, 4, -6, 2)]


def test_a_replicas_log_is_appended_to_cut_and_acknowledged(tables):
    assert rows(tables, "replication", "change", "base_offset", "last_offset", "bytes", "role", "before", "after", "reason") == [
        ("appended", 0, 9, 100, "leader", None, None, None), ("high_watermark", None, None, None, None, 0, 8, None),
        ("truncated", None, None, None, None, 10, 8, "leader epoch")]


def test_what_happened_to_files_is_told_in_order(tables):
    assert rows(tables, "storage", "change", "base_offset", "log_start", "log_end", "bytes", "clean", "lost", "file", "reason") == [
        ("rolled", 8, None, None, None, None, None, None, "size"), ("flushed", None, None, 5, None, None, None, None, None),
        ("page cache lost", None, None, 8, None, None, None, None, "power loss"),
        ("recovered", None, None, 5, 30, None, None, None, "crc"), ("loaded", None, 0, 5, None, False, 3, None, None),
        ("index rebuilt", None, None, None, None, None, None, "0.index", "missing"),
        ("deleted", 0, None, None, 70, None, None, None, "retention time"), ("start moved", None, 3, None, None, None, None, None, "retention"),
        ("compacted", None, None, 4, 50, None, None, None, None)]


def test_a_controllers_request_is_followed_to_its_answer(tables):
    assert rows(tables, "control_requests", "node", "broker", "api", "partitions", "epoch", "sent_us", "received_us", "answered_us", "error") == [
        ("broker-1", "broker-2", "UpdateMetadata", 3, 1, 6_000_000, 6_100_000, 6_200_000, "STALE_CONTROLLER_EPOCH"),
        ("broker-1", "broker-3", "LeaderAndIsr", 1, 1, None, None, None, None)]


def test_what_a_cache_takes_over_and_what_it_refuses_is_a_belief(tables):
    found = rows(tables, "metadata", "node", "kind", "subject", "belief", "epoch")
    assert ("broker-2", "cache", "UpdateMetadata", "as broker-1 says", None) in found
    assert ("broker-2", "fenced", "controller on broker 1", "UpdateMetadata of epoch 1 refused: the epoch is 2", 2) in found
    assert ("a", "client", "its partitions", '{"orders":[0,1,2]}', 2) in found


def test_each_fault_has_its_target_its_command_and_its_length(tables):
    assert rows(tables, "faults", "kind", "target", "seq", "t_us", "until_us", "duration_us") == [
        ("power_loss", "broker-2", 20, 4_000_000, 5_000_000, 1_000_000), ("link", "broker-1 -> broker-2", 70, 7_000_000, 7_500_000, 500_000),
        ("link", "broker-1 -> broker-2", 35, 7_500_000, 8_000_000, 500_000), ("paused", "broker-3", 37, 8_100_000, 8_400_000, 300_000),
        ("disk", "broker-2", 41, 9_000_000, 9_500_000, 500_000), ("protection", "leader_epoch", 43, 9_600_000, None, 400_000),
        ("clock_skew", "broker-2", 44, 9_700_000, 9_950_000, 250_000), ("bit_flip", "broker-1 orders-0 at 3", 45, 9_800_000, 9_800_000, 0),
        ("lose_next", "broker-1 -> producer-a", 48, 9_900_000, 9_900_000, 0)]
    commands = rows(tables, "faults", "kind", "command", "details")
    assert commands[1][1] == '{"do":"partition_link","between":[1,2],"one_way":true}' and commands[2][1] is None
    assert commands[4][2] == '[{"kind":"full"}]'


def test_a_run_in_which_nothing_happened_is_read_as_empty_tables(spark, tables, tmp_path):
    only = tables.places[1].journal
    with Tables(spark, [only]) as opened:
        opened.write(tmp_path, NEW)
    for name in NEW:
        found = spark.read.parquet(str(tmp_path / name))
        assert sorted(found.columns) == sorted(schemas.TABLES[name].names) and found.count() == 0
