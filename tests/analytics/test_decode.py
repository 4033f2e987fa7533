"""The vectorised decoder finds what the broker's own finds, and tells where it cannot."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba is not installed: pip install -r requirements/spark.txt")

import pyarrow as pa
from crc32c import crc32c

from tests.analytics.telling import said
from broker_core.records import decode_records, encode_batch, iterate_batches
from broker_core.records.legacy import encode_message_set
from lab.analytics import decode, pieces, schemas
from lab.analytics.columns import ARROW
from lab.analytics.errors import AnalyticsError
from lab.analytics.growing import look
from lab.analytics.places import find_runs, segments_of
from lab.analytics.segment_reader import SegmentReader, split

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def schema_of(table, names=None):
    return pa.schema([pa.field(one.name, ARROW[one.type]) for one in table.columns if names is None or one.name in names])


def place_of(directory: Path, content: bytes):
    """A segment file of topic orders, partition 3, on broker 2."""
    home = directory / "broker-2" / "data" / "orders-3"
    home.mkdir(parents=True)
    (home / f"{0:020d}.log").write_bytes(content)
    return segments_of(find_runs([directory])[0])[0]


def read(place, names=None, **more):
    return pa.Table.from_batches(list(SegmentReader(place, schema_of(schemas.RECORDS, names), **more).records())).to_pylist()


def some_records(random_, count):
    return [(1_700_000_000_000 + random_.randint(-5, 10**6),
             random_.choice([None, b"", b"k" * random_.randint(1, 200)]), random_.choice([None, b"", random_.randbytes(random_.randint(1, 900))]),
             random_.choice([(), (), (("h", b"v"), ("é" * 40, None), ("", b""))])) for _ in range(count)]


@pytest.mark.parametrize("codec", range(5), ids=CODECS)
def test_records_of_every_codec_come_out_as_the_broker_reads_them(tmp_path, codec):
    random_, content, offset = random.Random(codec), bytearray(), 0
    for number in range(60):
        count = random_.choice([1, 1, 2, 30, 300])
        content += encode_batch(
            some_records(random_, count), offset, codec, producer_id=random_.choice([-1, 7]), producer_epoch=2,
            base_sequence=2**31 - 5, leader_epoch=number, timestamp_type=number % 3 == 0, transactional=number % 5 == 0,
            control=number % 7 == 0, offset_deltas=list(range(0, 2 * count, 2)) if number % 4 == 0 else None)
        offset += 1000
    rows = iter(read(place_of(tmp_path, bytes(content))))
    for batch in iterate_batches(content):
        header = batch.header
        for record in decode_records(batch):
            row = next(rows)
            assert (row["offset"], row["key"], row["value"]) == (record.offset, record.key, record.value)
            assert row["timestamp"].timestamp() * 1000 == pytest.approx(record.timestamp, abs=0.01)
            found = () if row["headers"] is None else tuple((one["key"], one["value"]) for one in row["headers"])
            assert found == tuple(record.headers)
            assert row["sequence"] == (header.base_sequence + record.offset - header.base_offset) & 0x7FFFFFFF
            assert (row["producer_id"], row["producer_epoch"]) == (header.producer_id, header.producer_epoch)
            assert (row["leader_epoch"], row["base_offset"], row["crc"]) == (header.leader_epoch, header.base_offset, header.crc)
            assert (row["codec"], row["magic"], row["position"]) == (CODECS[codec], 2, batch.position)
            assert row["timestampType"] == int(header.is_log_append_time)
            assert (row["transactional"], row["control"]) == (header.is_transactional, header.is_control)
            assert (row["topic"], row["partition"], row["broker"], row["error"]) == ("orders", 3, 2, None)
    assert next(rows, None) is None


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_old_formats_are_read_the_slow_way(tmp_path, magic, codec):
    records = [(1_500_000_000_000 + number, b"k", f"value {number}".encode(), ()) for number in range(5)]
    old = encode_message_set(records, magic, 10, codec)
    rows = read(place_of(tmp_path, bytes(old) + bytes(encode_batch(records, 15))))
    assert sorted(row["offset"] for row in rows) == list(range(10, 20))
    assert {row["magic"] for row in rows} == {magic, 2}
    assert [row["value"] for row in rows if row["offset"] == 12] == [b"value 2"]
    assert [row["timestampType"] for row in rows if row["offset"] == 12] == [0 if magic else -1]
    reader = SegmentReader(place_of(tmp_path / "again", bytes(old) + bytes(encode_batch(records, 15))), schema_of(schemas.BATCHES))
    spans = [(row["base_offset"], row["last_offset"], row["record_count"]) for row in pa.Table.from_batches(list(reader.batches())).to_pylist()]
    assert sorted(spans) == ([(10, 14, 5)] if codec else [(offset, offset, 1) for offset in range(10, 15)]) + [(15, 19, 5)]
    (segment,) = pa.Table.from_batches(list(SegmentReader(reader.place, schema_of(schemas.SEGMENTS)).segment())).to_pylist()
    assert (segment["first_offset"], segment["last_offset"], segment["records"]) == (10, 19, 10)


def three_batches():
    return [bytes(encode_batch([(1000 + n, b"k", b"v%d" % n, ())], n)) for n in range(3)]


def damage_of(directory, content):
    rows = read(place_of(directory, content))
    return [row["offset"] for row in rows if row["error"] is None], [(row["position"], said(row["error"])) for row in rows if row["error"]]


def test_a_flipped_bit_costs_one_batch_and_is_told_with_its_place(tmp_path):
    first, second, third = three_batches()
    flipped = bytearray(second)
    flipped[-2] ^= 1
    offsets, damage = damage_of(tmp_path, first + flipped + third)
    stored, computed = crc32c(second[21:]), crc32c(bytes(flipped[21:]))
    assert offsets == [0, 2]
    assert damage == [(len(first), f"stored crc {stored:#010x}, computed {computed:#010x}")]


def test_a_file_that_ends_inside_a_batch_says_where(tmp_path):
    first, second, _ = three_batches()
    assert damage_of(tmp_path, first + second[:-3]) == ([0], [(len(first), f"the file ends inside a batch of {len(second)} bytes, {len(second) - 3} bytes are left")])
    assert damage_of(tmp_path / "short", first + second[:16]) == ([0], [(len(first), "the file ends inside a batch, 16 bytes are left")])


def test_what_begins_no_batch_ends_the_reading_and_is_counted(tmp_path):
    first, second, third = three_batches()
    bad = bytearray(second)
    bad[8:12] = (5).to_bytes(4, "big")
    offsets, damage = damage_of(tmp_path, first + bad + third)
    assert offsets == [0]
    assert damage == [(len(first), f"no batch begins here: impossible length, {len(second) + len(third)} bytes are left")]


def buffers_of(monkeypatch):
    """The sizes of all buffers that pieces of a file are read into."""
    sizes = []
    find = decode.find_batches
    monkeypatch.setattr(decode, "find_batches", lambda data, start, end: sizes.append(len(data)) or find(data, start, end))
    return sizes


def claiming(batch, length):
    return batch[:8] + length.to_bytes(4, "big") + batch[12:]


@pytest.mark.parametrize("length", [0x7FFFFF00, 0x7FFFFFFF, 12_000_000])
def test_a_length_that_claims_more_than_the_file_has_takes_no_memory(tmp_path, monkeypatch, length):
    """Kafka's recovery cuts a log there: what stands in front of it is read, the rest is told and not taken in."""
    monkeypatch.setattr(pieces, "PIECE", 64 * 1024)
    first, second, _ = three_batches()
    after = bytes(encode_batch([(1000, None, b"x" * 1000, ())], 2)) * 10_000
    place = place_of(tmp_path, first + claiming(second, length) + after)
    sizes = buffers_of(monkeypatch)
    tracemalloc.start()
    try:
        rows = read(place)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    left = len(second) + len(after)
    assert [row["offset"] for row in rows if row["error"] is None] == [0]
    assert [(row["position"], row["segment"], said(row["error"])) for row in rows if row["error"]] == [
        (len(first), place.name, f"the file ends inside a batch of {length + 12} bytes, {left} bytes are left")]
    assert peak < 1024 * 1024 < len(after) // 10 and set(sizes) == {64 * 1024}
    assert look(place, None, place.size)["bytes"] == len(first), "a stream reads to there"
    assert split(place, 100_000) == [(0, place.size)]


@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_length_that_claims_a_large_part_of_the_file_takes_no_memory(tmp_path, monkeypatch, magic, checksums):
    """The claim ends where another batch begins: only the checksum can tell, and what follows is read."""
    monkeypatch.setattr(pieces, "PIECE", 64 * 1024)
    first, second, third = three_batches()
    if magic < 2:
        second = bytes(encode_message_set([(1000, b"k", b"v" * 40)], magic, 1))
    swallowed = bytes(encode_batch([(1000, None, b"x" * 1000, ())], 2)) * 5_000
    place = place_of(tmp_path, first + claiming(second, len(second) + len(swallowed) - 12) + swallowed + third)
    sizes = buffers_of(monkeypatch)
    tracemalloc.start()
    try:
        rows = read(place, checksums=checksums)
        step = look(place, None, place.size)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [row["offset"] for row in rows if row["error"] is None] == [0, 2]
    ((position, error),) = [(row["position"], said(row["error"])) for row in rows if row["error"]]
    assert position == len(first) and "stored crc" in error
    assert peak < 1024 * 1024 < len(swallowed) // 4 and set(sizes) == {64 * 1024}
    assert step["bytes"] == place.size


@pytest.mark.parametrize("codec", [0, 4])
def test_a_batch_larger_than_a_piece_is_read(tmp_path, monkeypatch, codec):
    monkeypatch.setattr(pieces, "PIECE", 64 * 1024)
    value = random.Random(codec).randbytes(300_000)
    first, _, third = three_batches()
    content = first + bytes(encode_batch([(1, b"k", value, ())], 1, codec)) + third
    sizes = buffers_of(monkeypatch)
    rows = read(place_of(tmp_path, content))
    assert [(row["offset"], row["error"]) for row in rows] == [(0, None), (1, None), (2, None)]
    assert rows[1]["value"] == value and max(sizes) < 310_000


def test_a_preallocated_tail_of_zeros_is_called_that(tmp_path):
    first, *_ = three_batches()
    assert damage_of(tmp_path, first + bytes(500)) == ([0], [(len(first), "zeros up to the end of the file, 500 bytes are left")])


def resealed(batch, place, value):
    """A batch with a byte changed whose checksum fits again."""
    changed = bytearray(batch)
    changed[place] = value
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


@pytest.mark.parametrize(("place", "value"), [(61, 0xFF), (60, 9), (57, 0x7F), (57, 0xFF), (65, 0x7E)])
def test_records_whose_lengths_lie_are_told_and_the_next_batch_is_read(tmp_path, place, value):
    first, second, third = three_batches()
    offsets, damage = damage_of(tmp_path, first + resealed(second, place, value) + third)
    assert offsets == [0, 2]
    assert damage == [(len(first), "its records do not decode: lengths do not fit each other")]


@pytest.mark.parametrize("place", range(69, 76))
def test_headers_whose_lengths_lie_are_told_even_if_nobody_wants_them(tmp_path, place):
    first, _, third = three_batches()
    batch = bytes(encode_batch([(1, b"k", b"v", ((b"abc".decode(), b"z"),))], 1))
    assert batch[69:] == b"\x02\x06abc\x02z", "how many, then sizes and bytes"
    rows = read(place_of(tmp_path, first + resealed(batch, place, 0x7F) + third), ["offset", "error", "position"])
    sound = [row["offset"] for row in rows if row["error"] is None]
    assert sound == ([0, 2] if place in (69, 70, 74) else [0, 1, 2])
    assert [row["position"] for row in rows if row["error"]] == ([len(first)] if len(sound) == 2 else [])


@pytest.mark.parametrize("size", [1, 61, 100, 1000])
def test_a_file_is_read_in_pieces_whatever_their_size(tmp_path, monkeypatch, size):
    random_ = random.Random(size)
    batches = [bytes(encode_batch(some_records(random_, 3), 3 * n, random_.choice([0, 4]))) for n in range(40)]
    batches[20] = resealed(batches[20], 57, 0x7F)
    content, at = b"".join(batches), len(b"".join(batches[:20]))
    place = place_of(tmp_path, content + bytes(3000))
    whole = read(place)
    monkeypatch.setattr(pieces, "PIECE", size)
    rows = read(place)
    assert rows == whole
    assert [row["offset"] for row in rows if row["error"] is None] == [n for n in range(120) if n // 3 != 20]
    assert [(row["position"], said(row["error"])) for row in rows if row["error"]] == [
        (at, "its records do not decode: lengths do not fit each other"),
        (len(content), "zeros up to the end of the file, 3000 bytes are left")]
    row = pa.Table.from_batches(list(SegmentReader(place, schema_of(schemas.SEGMENTS)).segment())).to_pylist()[0]
    assert (row["batches"], row["first_offset"], row["last_offset"]) == (40, 0, 119)


def test_compressed_bytes_that_do_not_decompress_are_told(tmp_path):
    first, _, third = three_batches()
    packed = bytes(encode_batch([(1, b"k", b"v" * 100, ())] * 3, 1, 1))
    offsets, damage = damage_of(tmp_path, first + resealed(packed, 61, 0) + third)
    assert offsets == [0, 2]
    assert [position for position, _ in damage] == [len(first)]
    assert damage[0][1].startswith(("gzip", "its records"))


def test_damage_fails_the_read_when_no_column_could_tell_it(tmp_path):
    first, second, _ = three_batches()
    with pytest.raises(AnalyticsError, match=rf"byte {len(first)}: the file ends inside a batch"):
        read(place_of(tmp_path, first + second[:-1]), ["offset"])


@pytest.mark.parametrize("seed", range(30))
def test_random_damage_never_breaks_the_reader_nor_goes_untold(tmp_path, seed):
    random_ = random.Random(seed)
    content = bytearray(b"".join(bytes(encode_batch(some_records(random_, 5), 10 * n, random_.choice([0, 4]))) for n in range(20)))
    for _ in range(random_.randint(1, 4)):
        content[random_.randrange(len(content))] ^= random_.randint(1, 255)
    rows = read(place_of(tmp_path, bytes(content)))
    sound = sum(row["error"] is None for row in rows)
    assert sound + 5 * sum(row["error"] is not None for row in rows) >= 95 or any("are left" in said(row["error"]) for row in rows if row["error"])


def test_checksums_in_compiled_code_are_castagnolis():
    random_ = random.Random(1)
    parts = [random_.randbytes(61 + size) for size in (0, 1, 7, 8, 9, 100, 4000, 9000)]
    sizes = np.array([len(part) for part in parts])
    found = decode.checksums(np.frombuffer(b"".join(parts), np.uint8), np.cumsum(sizes) - sizes, sizes)
    assert found.tolist() == [crc32c(part[21:]) for part in parts]


def test_a_split_file_gives_the_same_records_in_parts(tmp_path):
    content = b"".join(bytes(encode_batch([(n, None, b"x" * 300, ())], n)) for n in range(500))
    place = place_of(tmp_path, content)
    parts = split(place, 20_000)
    assert len(parts) > 5
    assert parts[0][0] == 0 and parts[-1][1] == place.size
    rows = [row for start, end in parts for row in read(place, ["offset", "position", "error"], start=start, end=end)]
    assert [row["offset"] for row in rows] == list(range(500))
    assert rows[-1]["position"] == place.size - len(content) // 500


def test_batches_and_segments_are_counted(tmp_path):
    place = place_of(tmp_path, b"".join(three_batches()))
    batches = pa.Table.from_batches(list(SegmentReader(place, schema_of(schemas.BATCHES)).batches())).to_pylist()
    assert [(row["base_offset"], row["record_count"], row["error"]) for row in batches] == [(0, 1, None), (1, 1, None), (2, 1, None)]
    row = pa.Table.from_batches(list(SegmentReader(place, schema_of(schemas.SEGMENTS)).segment())).to_pylist()[0]
    assert (row["batches"], row["records"], row["first_offset"], row["last_offset"], row["damages"]) == (3, 3, 0, 2, 0)
    assert row["index_size"] is None


def test_a_stream_takes_whole_batches_only(tmp_path):
    first, second, _ = three_batches()
    place = place_of(tmp_path, first + second[:-1])
    step = look(place, None, place.size)
    assert (step["from"], step["bytes"]) == (0, len(first))
    assert look(place, step, place.size) is step, "nothing new"


def test_well_compressed_records_are_turned_into_columns_a_part_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("lab.analytics.segment_reader.ROOM", 250_000)
    value = b"x" * 100_000
    content = [bytes(encode_batch([(1, b"k", value, ())], offset, 4)) for offset in range(10)]
    content[4] = content[4][:-1] + bytes([content[4][-1] ^ 1])
    old = encode_message_set([(1, None, value), (2, None, value)], 1, 10, 2)
    place = place_of(tmp_path, b"".join(content) + bytes(old) * 3)
    found = list(SegmentReader(place, schema_of(schemas.RECORDS)).records())
    assert max(batch.nbytes for batch in found) < 600_000
    rows = pa.Table.from_batches(found).to_pylist()
    assert sorted(row["offset"] for row in rows if row["error"] is None) == [0, 1, 2, 3, 5, 6, 7, 8, 9, *[10] * 3, *[11] * 3]
    assert all(row["value"] == value for row in rows if row["error"] is None)
    assert [row["position"] for row in rows if row["error"] is not None] == [sum(map(len, content[:4]))]


@pytest.mark.parametrize("told", [1 << 62, 1_700_000_000_000_000_000, -(1 << 63)])
def test_a_timestamp_that_no_column_can_hold_is_null(tmp_path, told):
    content = bytes(encode_batch([(told, b"k", b"v", ())], 0)) + bytes(encode_message_set([(max(told, 0), b"k", b"v")], 1, 1))
    place = place_of(tmp_path, content)
    assert {row["offset"]: row["timestamp"] is None for row in read(place)} == {0: True, 1: told > 0}
    batches = pa.Table.from_batches(list(SegmentReader(place, schema_of(schemas.BATCHES)).batches())).to_pylist()
    assert {row["base_timestamp"] for row in batches if row["magic"] == 2} == {None}
    assert pa.Table.from_batches(list(SegmentReader(place, schema_of(schemas.SEGMENTS)).segment())).num_rows == 1


def test_the_largest_timestamp_of_a_segment_counts_all_formats(tmp_path):
    old = bytes(encode_message_set([(7000, b"k", b"v"), (9000, b"k", b"v")], 1, 0))
    place = place_of(tmp_path, old + bytes(encode_batch([(8000, b"k", b"v", ())], 2)))
    row = pa.Table.from_batches(list(SegmentReader(place, schema_of(schemas.SEGMENTS)).segment())).to_pylist()[0]
    assert row["max_timestamp"].timestamp() == 9
    unstamped = place_of(tmp_path / "other", bytes(encode_batch([(-1, b"k", b"v", ())], 0)))
    row = pa.Table.from_batches(list(SegmentReader(unstamped, schema_of(schemas.SEGMENTS)).segment())).to_pylist()[0]
    assert row["max_timestamp"] is None


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    place = place_of(tmp_path, b"".join(three_batches()))

    def refused(*_args, **_more):
        raise PermissionError(13, "Permission denied", place.path)

    monkeypatch.setattr("lab.analytics.segment_reader.open", refused, raising=False)
    assert [said(row["error"]) for row in read(place)] == [f"the file cannot be read: Permission denied, {place.size} bytes are left"]


def test_links_lead_to_disks_as_they_do_for_a_broker(tmp_path):
    place_of(tmp_path / "disk", b"".join(three_batches()))
    kafka = tmp_path / "kafka"
    kafka.mkdir()
    (kafka / "logs").symlink_to(tmp_path / "disk" / "broker-2" / "data")
    (kafka / "again").symlink_to(kafka)
    (found,) = segments_of(find_runs([kafka])[0])
    assert (found.topic, found.partition, found.broker, found.size) == ("orders", 3, -1, len(b"".join(three_batches())))
    (kafka / "logs" / "meta.properties").write_text("#\ncluster.id=x\nversion=1\nnode.id=4\n")
    (found,) = segments_of(find_runs([kafka])[0])
    assert found.broker == 4


def test_a_directory_called_runs_that_holds_none_hides_no_disks(tmp_path):
    place_of(tmp_path, b"".join(three_batches()))
    (tmp_path / "runs").mkdir()
    assert len(segments_of(find_runs([tmp_path])[0])) == 1


def test_a_directory_that_may_not_be_read_is_no_empty_one(tmp_path, monkeypatch):
    place_of(tmp_path, b"".join(three_batches()))

    def refused(*_args, onerror, **_more):
        onerror(PermissionError(13, "Permission denied", "/var/kafka"))
        yield from ()

    monkeypatch.setattr("os.walk", refused)
    with pytest.raises(AnalyticsError, match="/var/kafka: Permission denied"):
        find_runs([tmp_path])


def test_a_look_at_much_that_nobody_has_read_takes_a_piece_of_it_into_memory(tmp_path, monkeypatch):
    one = bytes(encode_batch([(1000, b"k", b"v" * 1000, ())], 0))
    place = place_of(tmp_path, one * 20_000 + one[:-1])
    monkeypatch.setattr(pieces, "PIECE", 64 * 1024)
    look(place, None, 3 * len(one))
    tracemalloc.start()
    try:
        step = look(place, None, place.size)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert step["bytes"] == 20_000 * len(one) and step["marks"][-1][:2] == [19_999 * len(one), 20_000 * len(one)]
    assert peak < 1024 * 1024 < place.size // 10


@pytest.mark.parametrize("most", [1, 2500, 5000, 100_000])
def test_steps_with_a_limit_take_whole_batches_one_at_least_and_all_in_the_end(tmp_path, monkeypatch, most):
    monkeypatch.setattr(pieces, "PIECE", 4096)
    random_ = random.Random(most)
    batches = [bytes(encode_batch([(1000, b"k", b"v" * random_.randint(1, 6000), ())], first)) for first in range(60)]
    place = place_of(tmp_path, b"".join(batches) + batches[0][:-1])
    ends = np.cumsum([len(one) for one in batches]).tolist()
    step, at = None, 0
    while (new := look(place, step, place.size, most)) is not step:
        first = next(end for end in ends if end > at)
        assert (new["from"], new["bytes"]) == (at, max([first, *(end for end in ends if end <= at + most)]))
        step, at = new, new["bytes"]
    assert at == ends[-1]


def test_damage_behind_a_limit_is_taken_in_when_a_look_gets_there(tmp_path):
    one = bytes(encode_batch([(1000, b"k", b"v", ())], 0))
    place = place_of(tmp_path, one + one + b"\xff" * 300)
    first = look(place, None, place.size, len(one))
    second = look(place, first, place.size, len(one))
    assert (first["bytes"], second["from"], second["bytes"]) == (len(one), len(one), place.size)
    assert look(place, second, place.size, len(one)) is second
