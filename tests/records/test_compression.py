"""Codecs: round trips, foreign framings, and bombs."""

from __future__ import annotations

import gzip

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


def test_lz4_frames_have_independent_blocks_as_java_wants_them() -> None:
    assert lz4_frame.compress(b"x" * 100)[4] & 0x20


def test_the_header_checksum_of_magic_0_is_the_wrong_one_and_read_all_the_same() -> None:
    assert lz4_frame.header_checksum(bytes.fromhex("6040")) == 0x82
    assert lz4_frame.header_checksum(bytes.fromhex("04224d186040")) == 0x1A
    old = lz4_frame.compress(b"hello" * 9, old_header=True)
    with pytest.raises(cramjam.DecompressionError):
        cramjam.lz4.decompress(old)
    assert c.decompress(c.LZ4, old) == b"hello" * 9
