"""Streams over directories that grow: rolls, deletion, cuts, restarts, and the rolling figures of a run."""

from __future__ import annotations

import os
import shutil
import time

import orjson
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from tests.analytics.telling import said
from broker_core.records import encode_batch
from lab.analytics import rolling
from lab.analytics.history import History
from lab.analytics.rolling_state import State, Stretches
from lab.analytics.segments import Choice, SegmentStreamReader
from lab.analytics.tables import Tables

pytestmark = pytest.mark.timeout(240)


def batch(first, count=3, text="v"):
    return bytes(encode_batch([(1000 + n, b"k", b"%s%d" % (text.encode(), n), ()) for n in range(first, first + count)], first))


def segment(home, base, content, how="wb"):
    directory = home / "broker-1" / "data" / "orders-0"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{base:020d}.log"
    with open(path, how) as file:
        file.write(content)
    return path


class Taken:
    """A streaming query whose micro-batches are kept; ends and starts again at the same checkpoint."""

    def __init__(self, spark, source, home, checkpoint, **options):
        self.rows, self.batches = [], []
        self.make = lambda: spark.readStream.format(source).options(**options).load(str(home)).writeStream.foreachBatch(
            self.take).option("checkpointLocation", str(checkpoint)).trigger(processingTime="0 seconds")
        self.query = self.make().start()

    def take(self, frame, number):
        rows = frame.collect()
        self.batches.append(len(rows))
        self.rows += rows

    def all(self):
        """Everything taken so far, once all there is has been read."""
        self.query.processAllAvailable()
        return self.rows

    def again(self):
        self.query.stop()
        self.query = self.make().start()


@pytest.fixture
def taken(spark, tmp_path):
    made = []

    def make(source, home, **options):
        made.append(Taken(spark, source, home, tmp_path / f"checkpoint-{len(made)}", **options))
        return made[-1]

    yield make
    for one in made:
        one.query.stop()


def offsets(rows):
    return sorted(row["offset"] for row in rows if row["error"] is None)


def told(rows):
    return [(row["position"], said(row["error"])) for row in rows if row["error"] is not None]


def test_segments_that_grow_roll_and_are_deleted_come_once_each_also_over_a_restart(taken, tmp_path):
    home = tmp_path / "lab"
    stream = taken("brokerlab.segments", home)
    assert stream.all() == [], "the directory is not even there"
    first = segment(home, 0, batch(0) + batch(3)[:-5])
    assert offsets(stream.all()) == [0, 1, 2], "half a batch waits"
    segment(home, 0, batch(3)[-5:] + batch(6), "ab")
    assert offsets(stream.all()) == list(range(9))
    segment(home, 9, batch(9))
    assert offsets(stream.all()) == list(range(12))
    stream.again()
    second = segment(home, 9, batch(12), "ab")
    assert offsets(stream.all()) == list(range(15))
    stream.query.stop()
    first.unlink()
    segment(home, 9, batch(15), "ab")
    segment(home, 18, batch(18))
    stream.again()
    assert offsets(stream.all()) == list(range(21))
    second.unlink()
    segment(home, 18, batch(21), "ab")
    assert offsets(stream.all()) == list(range(24))
    assert told(stream.rows) == []


def test_a_log_that_was_cut_and_has_grown_again_goes_on_where_it_still_stands(taken, tmp_path):
    """A follower truncates 3..8 after an election and gets other records in their place."""
    stream = taken("brokerlab.segments", tmp_path / "lab")
    first = batch(0)
    path = segment(tmp_path / "lab", 0, first)
    stream.all()
    segment(tmp_path / "lab", 0, batch(3) + batch(6), "ab")
    assert offsets(stream.all()) == list(range(9))
    path.write_bytes(first + batch(3, 9, "other"))
    rows = stream.all()[9:]
    assert [row["value"] for row in rows if row["error"] is None] == [b"other%d" % n for n in range(3, 12)]
    before = len(first + batch(3) + batch(6))
    assert told(rows) == [(len(first), f"the file was cut: bytes {len(first)} to {before} had been read, what stands there now follows")]
    path.write_bytes(first)
    assert told(stream.all())[1:] and offsets(stream.rows) == sorted([*range(9), *range(3, 12)])
    segment(tmp_path / "lab", 0, batch(3, 1), "ab")
    assert [row["value"] for row in stream.all()][-1] == b"v3"


def test_damage_in_a_stream_is_told_once_and_zeros_allocated_ahead_wait(taken, tmp_path):
    stream = taken("brokerlab.segments", tmp_path / "lab")
    hurt = bytearray(batch(3))
    hurt[-2] ^= 1
    path = segment(tmp_path / "lab", 0, batch(0) + hurt + batch(6) + bytes(300))
    assert offsets(stream.all()) == [0, 1, 2, 6, 7, 8]
    assert [position for position, _ in told(stream.rows)] == [len(batch(0))]
    content = path.read_bytes()[:-300] + batch(9)
    path.write_bytes(content + bytes(100))
    assert offsets(stream.all()) == [0, 1, 2, 6, 7, 8, 9, 10, 11]
    assert len(told(stream.rows)) == 1


def test_a_limit_on_bytes_cuts_what_is_there_into_micro_batches(spark, tmp_path):
    segment(tmp_path / "lab", 0, b"".join(batch(n) for n in range(0, 90, 3)))
    stream = Taken(spark, "brokerlab.segments", tmp_path / "lab", tmp_path / "c", maxBytesPerTrigger=str(4 * len(batch(0))))
    try:
        assert offsets(stream.all()) == list(range(90))
        assert len(stream.batches) > 5 and max(stream.batches) <= 12
    finally:
        stream.query.stop()


def test_a_query_over_what_is_available_now_ends(spark, tmp_path):
    segment(tmp_path / "lab", 0, batch(0) + batch(3))
    rows = []
    query = spark.readStream.format("brokerlab.segments").load(str(tmp_path / "lab")).writeStream.foreachBatch(
        lambda frame, _: rows.extend(frame.collect())).option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert offsets(rows) == list(range(6))


def test_lines_of_a_journal_that_grows_come_once_each(taken, tmp_path):
    run = tmp_path / "run"
    stream = taken("brokerlab.journal", run)
    assert stream.all() == []
    run.mkdir()
    (run / "run.json").write_text("{}")
    line = '[%d,%d,"broker-1","process_started",0,{"incarnation":1}]\n'
    with open(run / "journal.jsonl", "w", buffering=1) as journal:
        journal.write(line % (1, 10) + (line % (2, 20))[:9])
        journal.flush()
        assert [row["seq"] for row in stream.all()] == [1]
        journal.write((line % (2, 20))[9:] + line % (3, 30))
        assert [row["seq"] for row in stream.all()] == [1, 2, 3]
        stream.again()
        journal.write("nonsense\n" + line % (4, 40))
        assert [row["seq"] for row in stream.all()] == [1, 2, 3, None, 4]
    assert "no row" in said(stream.rows[3]["error"])


def appended(rows):
    """How many records leaders say that they took, of rows of the journal."""
    told = [orjson.loads(row["params"]) for row in rows if row["code"] == "log_appended"]
    return sum(one["last_offset"] - one["base_offset"] + 1 for one in told if one["topic"] == "orders" and one["role"] == "leader")


@pytest.mark.clients
def test_a_lab_that_runs_feeds_both_streams_while_a_producer_is_at_work(taken, run_lab):
    """What was acked, what leaders tell in the journal and what lies on each of three disks is the same in the end."""
    from confluent_kafka import Producer

    lab = run_lab(*[word for one in ("default.replication.factor=3", "num.partitions=2") for word in ("--set", one)])
    records, journal = taken("brokerlab.segments", lab.data, topic="orders"), taken("brokerlab.journal", lab.data)
    acked, refused = [], []
    producer = Producer({"bootstrap.servers": lab.bootstrap, "acks": "all", "enable.idempotence": True})
    seen, number, began = set(), 0, time.monotonic()
    while len(seen) < 3 or number < 500:
        assert time.monotonic() < began + 120, "streams get nothing from a lab that runs"
        producer.produce("orders", b"%d" % number, on_delivery=lambda error, _: (refused if error else acked).append(error))
        producer.poll(0.01)
        number += 1
        seen |= {len(records.rows)} if records.rows and appended(journal.rows) else set()
    assert producer.flush(60) == 0 and not refused and len(acked) == number
    until = time.monotonic() + 60
    while time.monotonic() < until and (len(records.all()) < 3 * number or appended(journal.all()) < number):
        time.sleep(0.5)
    assert appended(journal.rows) == number
    assert told(records.rows) == [] and not [row for row in journal.rows if row["error"]]
    for broker in (1, 2, 3):
        values = [int(row["value"]) for row in records.rows if row["broker"] == broker and not row["control"]]
        assert sorted(values) == list(range(number)), f"broker {broker}: every record once"


# -- rolling figures ------------------------------------------------------------------------
def test_stretches_are_a_set():
    numbers = Stretches()
    assert [numbers.add(*pair) for pair in ((5, 8), (1, 3), (3, 5), (7, 12), (20, 21), (0, 30))] == [3, 2, 2, 4, 1, 18]
    assert numbers.pairs() == [(0, 30)]
    assert Stretches([(1, 3), (5, 6)]).missing(0, 9) == [(0, 1), (3, 5), (6, 9)]


def operation(t_us, node, code, **content):
    return {"kind": 0, "t_us": t_us, "node": node, "code": code, "content": orjson.dumps(content)}


def event(t_us, node, code, **params):
    return {"kind": 1, "t_us": t_us, "node": node, "code": code, "content": orjson.dumps(params)}


def test_figures_of_a_small_world_are_those_that_one_counts_by_hand():
    """Ten values are acked at 0..9; 4 and 5 are lost, 8 and 9 not read yet, 6 was written twice."""
    place = {"topic": "t", "partition": 0}
    state = State()
    state.take([
        event(0, "broker-1", "became_leader", **place, leader_epoch=0),
        operation(1_000_000, "p", "send ok", **place, label="p", values=[[0, 10]], offset=0),
        operation(1_500_000, "p", "send info", **place, label="p", values=[[10, 2]]),
        event(2_000_000, "broker-1", "process_ended", how="crash"),
        operation(2_000_000, "c", "poll ok", **place, runs=[[0, "p", 0, 4]]),
        event(4_500_000, "broker-2", "became_leader", **place, leader_epoch=1),
        operation(5_000_000, "c", "poll ok", **place, runs=[[4, "q", 0, 2], [6, "p", 6, 2]]),
        operation(5_000_000, "d", "poll ok", **place, runs=[[0, "p", 0, 4]]),
        event(6_000_000, "broker-2", "process_paused"),
        event(7_000_000, "broker-3", "process_ended", how="crash"),
    ])
    found = state.figures()
    wanted = {"acked": 10, "read": 8, "lost": 2, "unread": 2, "duplicated": 0, "unknown": 2, "failed": 0, "damaged": 0, "lag": 6,
              "unavailable": ["t-0"], "unavailable_s": 3.5, "t_us": 7_000_000}
    assert {name: found[name] for name in wanted} == wanted
    assert found["producers"]["p"] == {"acked": 10, "read": 6, "duplicated": 0, "lost": 2, "unread": 2}
    assert found["consumers"] == {"c": {"lag": 2, "partitions": {"t-0": 2}}, "d": {"lag": 6, "partitions": {"t-0": 6}}}
    assert found["partitions"]["t-0"]["how"] == "paused" and found["partitions"]["t-0"]["leader"] is None
    state = State.from_dict(orjson.loads(orjson.dumps(state.to_dict())))
    state.take([event(7_500_000, "broker-2", "process_resumed"), operation(8_000_000, "c", "poll ok", **place, runs=[[8, "p", 6, 1], [9, "p", 8, 2]]),
                operation(8_000_000, "d", "assign info", partitions=[])])
    found = state.figures()
    wanted = {"read": 10, "lost": 2, "unread": 0, "duplicated": 1, "unavailable": [], "unavailable_s": 4.0, "lag": 0}
    assert {name: found[name] for name in wanted} == wanted


def test_values_written_by_hand_count_by_copy():
    state, place = State(), {"topic": "t", "partition": 0, "values": []}
    state.take([operation(1, "operator", "send ok", **place, texts=["a", "a", "b"], offset=0),
                operation(2, "c", "poll ok", topic="t", partition=0, runs=[[0, None, "a", 1], [2, None, "b", 1]])])
    assert {name: state.figures()[name] for name in ("acked", "read", "lost", "unread")} == {"acked": 3, "read": 2, "lost": 1, "unread": 0}


def test_rolling_figures_of_a_run_that_grows_end_as_the_receipt(spark, short_runs, tmp_path):
    """The files of a run come bit by bit, the query is stopped in between; at the end all agree."""
    source, run = short_runs / "acks-1", tmp_path / "acks-1"
    run.mkdir()
    shutil.copy(source / "run.json", run)
    whole = {name: (source / name).read_bytes() for name in ("journal.jsonl", "operations.jsonl")}
    seen = []
    query = rolling.start(spark, run, tmp_path / "out", seen.append, seconds=0)
    try:
        journal = whole["journal.jsonl"]
        crash = journal.index(b"\n", journal.index(b'"process_ended"')) + 2
        shares = sorted([0, 0.2, 0.4, crash / len(journal), 0.7, 1])
        for part, (begin, end) in enumerate(zip(shares, shares[1:])):
            for name, content in whole.items():
                with open(run / name, "ab") as file:
                    file.write(content[int(len(content) * begin) : int(len(content) * end)])
            if part == 3:
                query.stop()
                query = rolling.start(spark, run, tmp_path / "out", seen.append, seconds=0)
            query.catch_up()
        assert query.alive and query.error is None
    finally:
        query.stop()
    assert not query.alive
    assert len(seen) >= 5 and [one["batch"] for one in seen] == list(range(len(seen)))
    assert [orjson.loads(line) for line in (tmp_path / "out" / "figures.ndjson").read_bytes().splitlines()] == seen
    assert any("orders-0" in one["unavailable"] for one in seen), "while nobody led"
    receipt, last = orjson.loads((source / "run.json").read_bytes())["receipt"], seen[-1]
    assert receipt["lost"] > 0
    assert (last["lost"], last["unread"], last["acked"], last["read"]) == tuple(receipt[name] for name in ("lost", "unread", "acked", "read"))
    with Tables(spark, [source]) as tables:
        from lab.analytics import answers

        windows = answers.unavailability(tables, History(tables)).collect()
    seconds = sum(row["seconds"] for row in windows if row["cause"] == "no leader")
    assert last["unavailable_s"] == pytest.approx(seconds, abs=0.5)


def test_a_directory_that_is_still_empty_keeps_no_other_from_being_read(taken, tmp_path):
    later, now = tmp_path / "later", tmp_path / "now"
    later.mkdir(), now.mkdir()
    (now / "run.json").write_text("{}")
    (now / "journal.jsonl").write_text('[1,5,"broker-1","noted",0,{"a":1}]\r\n[2,5,"broker-1","noted",0,{}]\n')
    stream = taken("brokerlab.journal", f"{later},{now}")
    assert [(row.run, row.seq, row.params) for row in stream.all()] == [("now", 1, '{"a":1}'), ("now", 2, "{}")]


def test_labs_whose_runs_have_one_name_are_told_apart_in_a_stream_over_their_disks(taken, tmp_path):
    homes = [tmp_path / one / "lab" for one in "ab"]
    segment(homes[0], 0, batch(0))
    segment(homes[1], 0, batch(3))
    stream = taken("brokerlab.segments", f"{homes[0]},{homes[1]}")
    stream.all()
    segment(homes[1], 0, batch(6), "ab")
    names = ["~".join(home.parts[1:]) for home in homes]
    assert {(row["run"], row["offset"]) for row in stream.all()} == {(names[n > 2], n) for n in range(9)}


def follower(home, level="records"):
    """The reader of a stream, to do something between its steps."""
    choice = Choice.of({"path": str(home), "level": level})
    wanted = StructType().add("offset", "long").add("position", "long").add("error", "string")
    return SegmentStreamReader(wanted, choice)


def rows_of(reader, start, end):
    return [row for part in reader.partitions(start, end) for rows in reader.read(part) for row in rows.to_pylist()]


def test_a_file_that_is_cut_after_it_was_looked_at_is_read_as_far_as_it_goes_and_the_rest_told(tmp_path):
    path, reader = segment(tmp_path, 0, batch(0)), follower(tmp_path)
    first = reader.latestOffset({}, ReadAllAvailable())
    segment(tmp_path, 0, batch(3) + batch(6), "ab")
    step = reader.latestOffset(first, ReadAllAvailable())
    size, stays = path.stat().st_size, len(batch(0) + batch(3))
    os.truncate(path, stays + 20)
    rows = rows_of(reader, first, step)
    assert (offsets(rows), told(rows)) == ([3, 4, 5], [
        (stays, f"the file ends inside a batch of {len(batch(6))} bytes, 20 bytes are left")])
    rows = rows_of(reader, step, reader.latestOffset(step, ReadAllAvailable()))
    begin = len(batch(0))
    assert told(rows) == [(begin, f"the file was cut: bytes {begin} to {size} had been read, what stands there now follows")]
    assert offsets(rows) == [3, 4, 5]


def test_half_a_batch_is_waited_for_until_a_newer_segment_shows_that_its_rest_never_comes(tmp_path):
    hurt = batch(3)[:8] + (0x7FFFFF00).to_bytes(4, "big") + batch(3)[12:]
    path, reader = segment(tmp_path, 0, batch(0) + hurt + batch(6)), follower(tmp_path)
    first = reader.latestOffset({}, ReadAllAvailable())
    assert (first[str(path)]["bytes"], reader.latestOffset(first, ReadAllAvailable())) == (len(batch(0)), first)
    segment(tmp_path, 9, batch(9))
    second = reader.latestOffset(first, ReadAllAvailable())
    rows = rows_of(reader, first, second)
    left = len(hurt + batch(6))
    assert told(rows) == [(len(batch(0)), f"the file ends inside a batch of {0x7FFFFF00 + 12} bytes, {left} bytes are left")]
    assert offsets(rows) == [9, 10, 11]
    assert reader.latestOffset(second, ReadAllAvailable()) == second, "told once"


def test_a_file_that_is_deleted_after_it_was_looked_at_is_told_and_the_others_are_read(tmp_path):
    gone, stays = segment(tmp_path, 0, batch(0)), segment(tmp_path, 3, batch(3))
    reader = follower(tmp_path)
    step = reader.latestOffset({}, ReadAllAvailable())
    gone.unlink()
    rows = rows_of(reader, {}, step)
    assert offsets(rows) == [3, 4, 5]
    assert told(rows) == [(0, f"the file is gone, {len(batch(0))} bytes of it were not read")]
    assert list(reader.latestOffset(step, ReadAllAvailable())) == [str(stays)]


def test_a_file_that_is_deleted_between_its_listing_and_the_look_is_left_out(tmp_path, monkeypatch):
    gone, stays = segment(tmp_path, 0, batch(0)), segment(tmp_path, 3, batch(3))
    reader = follower(tmp_path)
    listed = reader.choice.growing()
    gone.unlink()
    monkeypatch.setattr(Choice, "growing", lambda _: listed)
    assert list(reader.latestOffset({}, ReadAllAvailable())) == [str(stays)]
