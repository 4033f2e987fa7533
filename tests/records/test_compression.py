"""Codecs: round trips, foreign framings, and bombs."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.records import DecompressionError, UnsupportedCompressionError
from broker_core.records import compression as c
from broker_core.records import lz4_frame, snappy

CODECS = (c.GZIP, c.SNAPPY, c.LZ4, c.ZSTD)


@given(st.binary(max_size=5000), st.sampled_from(CODECS))
@settings(max_examples=60, deadline=None)
def test_bytes_come_back_from_every_codec(data: bytes, codec: int) -> None:
    assert c.decompress(codec, c.compress(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_large_input_that_compresses_well_comes_back_whole(codec: int) -> None:
    data = b"abcdefgh" * 400_000
    packed = c.compress(codec, data)
    assert c.decompress(codec, packed) == data
    assert c.compress(codec, data) == packed


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused_at_the_bound(codec: int) -> None:
    packed = c.compress(codec, bytes(3_000_000))
    assert len(c.decompress(codec, packed, bound=3_000_000)) == 3_000_000
    with pytest.raises(DecompressionError, match="more than 2999999 bytes"):
        c.decompress(codec, packed, bound=2_999_999)


@pytest.mark.parametrize("codec", CODECS)
@given(noise=st.binary(min_size=1, max_size=100), cut=st.integers(1, 30))
@settings(max_examples=25, deadline=None)
def test_damaged_input_raises_the_one_error(codec: int, noise: bytes, cut: int) -> None:
    packed = c.compress(codec, b"hello" * 50)
    for data in (noise, packed[:-cut], packed[:20] + noise):
        try:
            c.decompress(codec, data, bound=1 << 20)
        except DecompressionError as error:
            assert error.kafka_error == "UNKNOWN_SERVER_ERROR"


def test_an_unknown_codec_is_refused_by_number() -> None:
    for act in (c.compress, c.decompress):
        with pytest.raises(UnsupportedCompressionError, match="5"):
            act(5, b"x")


def test_gzip_does_not_know_what_time_it_is_and_reads_what_others_write() -> None:
    assert c.compress(c.GZIP, b"x")[4:8] == bytes(4)
    assert c.decompress(c.GZIP, gzip.compress(b"one") + gzip.compress(b"two")) == b"onetwo"


def test_snappy_reads_raw_blocks_and_frames_of_several_blocks() -> None:
    data = bytes(range(256)) * 500
    framed = snappy.compress(data)
    assert framed.startswith(snappy.MAGIC) and len(data) > 3 * 32768
    assert c.decompress(c.SNAPPY, framed) == data == c.decompress(c.SNAPPY, snappy.compress_raw(data))


def test_a_snappy_length_that_its_bytes_cannot_hold_reserves_no_memory() -> None:
    with pytest.raises(DecompressionError):
        c.decompress(c.SNAPPY, b"\xff\xff\xff\x7f" + b"\0" * 20)


class CountingZlib:
    """zlib, and how many bytes went into it and came back unused."""

    def __init__(self) -> None:
        self.bytes = self.members = 0
        self.error = zlib.error

    def decompressobj(self, wbits: int) -> CountedInflate:
        self.members += 1
        return CountedInflate(self, zlib.decompressobj(wbits))


class CountedInflate:
    def __init__(self, counts: CountingZlib, inflate: Any) -> None:
        self.counts, self.inflate = counts, inflate

    def decompress(self, data: Any, most: int) -> bytes:
        part: bytes = self.inflate.decompress(data, most)
        self.counts.bytes += len(data) + len(part) + len(self.inflate.unused_data)
        return part

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inflate, name)


@given(sizes=st.lists(st.sampled_from([0, 0, 0, 1, 30, 70_000]), max_size=40), empty=st.integers(0, 2000))
@settings(max_examples=20, deadline=None)
def test_gzip_looks_at_no_byte_more_often_than_it_has_members_nearby(sizes: list[int], empty: int) -> None:
    data = gzip.compress(b"") * empty + b"".join(gzip.compress(bytes(size)) for size in sizes)
    with pytest.MonkeyPatch.context() as patch:
        counting = CountingZlib()
        patch.setattr(c, "zlib", counting)
        assert len(c.decompress(c.GZIP, data)) == sum(sizes)
    assert counting.bytes <= 2 * len(data) + sum(sizes) + counting.members * 2 * c._CHUNK


def test_members_and_blocks_without_end_are_refused_at_their_bound() -> None:
    blocks = snappy.MAGIC + bytes(8) + b"\0\0\0\1\0" * (c.MOST_PIECES + 1)
    for codec, data in ((c.GZIP, gzip.compress(b"") * (c.MOST_PIECES + 1)), (c.SNAPPY, blocks)):
        with pytest.raises(DecompressionError, match=f"more than {c.MOST_PIECES}") as caught:
            c.decompress(codec, data)
        assert caught.value.kafka_error == "MESSAGE_TOO_LARGE"


@pytest.mark.parametrize(
    ("codec", "piece"),
    [
        (c.ZSTD, "28b52ffd2000010000"),  # an empty frame
        (c.ZSTD, "28b52ffd0088010000"),  # an empty frame with a window of 128 MiB
        (c.ZSTD, "502a4d1800000000"),  # a frame to be skipped
        (c.LZ4, "04224d18604082" + "00000000"),
    ],
)
def test_frames_that_hold_nothing_take_one_call_however_many_they_are(codec: int, piece: str) -> None:
    assert c.decompress(codec, bytes.fromhex(piece) * 20_000) == b""


def test_a_window_that_kafka_would_not_make_is_refused() -> None:
    with pytest.raises(DecompressionError, match="memory"):
        c.decompress(c.ZSTD, bytes.fromhex("28b52ffd00a8010000"))


def test_lz4_frames_have_independent_blocks_as_java_wants_them() -> None:
    assert lz4_frame.compress(b"x" * 100)[4] & 0x20


def test_the_header_checksum_of_magic_0_is_the_wrong_one_and_read_all_the_same() -> None:
    assert lz4_frame.header_checksum(bytes.fromhex("6040")) == 0x82
    assert lz4_frame.header_checksum(bytes.fromhex("04224d186040")) == 0x1A
    old = lz4_frame.compress(b"hello" * 9, old_header=True)
    with pytest.raises(cramjam.DecompressionError):
        cramjam.lz4.decompress(old)
    assert c.decompress(c.LZ4, old) == b"hello" * 9
