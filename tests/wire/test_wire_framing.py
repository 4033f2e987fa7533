"""The same stream fed whole, byte by byte, and in every other way, gives the same frames."""

from __future__ import annotations

import random
import struct
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.wire.errors import WireError
from broker_core.wire.framing import CHUNK, FIRST, GENEROUS, SOCKET_REQUEST_MAX_BYTES, FrameReader


def feed(reader: FrameReader, data: bytes, most: int = 1 << 30) -> list[memoryview]:
    """As a socket does: at most `most` bytes at a time, and never more than the buffer takes."""
    frames: list[memoryview] = []
    while data:
        buffer = reader.get_buffer(-1)
        assert len(buffer) > 0
        count = min(len(buffer), most, len(data))
        buffer[:count] = data[:count]
        data = data[count:]
        frames += reader.buffer_updated(count)
    return frames


def stream(frames: list[bytes]) -> bytes:
    return b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)


SOME = [b"", b"a", b"b" * 100, bytes(range(256)) * 200, b"c" * (CHUNK + 1), b"d" * 300_000, b"e"]


@pytest.mark.parametrize("most", [1, 2, 3, 5, 1000, 65536, 1 << 30])
def test_frames_do_not_depend_on_how_they_arrive(most: int) -> None:
    frames = SOME[:4] if most < 1000 else SOME
    assert [bytes(f) for f in feed(FrameReader(), stream(frames), most)] == frames


def test_bytes_behind_a_frame_wait_for_the_rest() -> None:
    reader = FrameReader()
    assert [bytes(f) for f in feed(reader, stream([b"one"]) + b"\0\0\0\3tw")] == [b"one"]
    assert [bytes(f) for f in feed(reader, b"o")] == [b"two"]


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 5, 1000, 16000, 17000, 65532, 65533, 70000, 140000]), max_size=12),
    source=st.randoms(use_true_random=False),
)
def test_any_stream_in_any_pieces(sizes: list[int], source: random.Random) -> None:
    frames = [bytes([number % 256]) * size for number, size in enumerate(sizes)]
    data, reader, got = stream(frames), FrameReader(), []
    cuts = sorted(source.randrange(len(data) + 1) for _ in range(10))
    for start, end in pairwise([0, *cuts, len(data)]):
        got += feed(reader, data[start:end])
    assert [bytes(f) for f in got] == frames


def test_memory_that_was_given_out_is_never_written_again() -> None:
    reader = FrameReader()
    kept = []
    for number in range(200):
        size = (10, 20_000, 40_000, 100_000)[number % 4]
        kept += [(frame, number) for frame in feed(reader, stream([bytes([number]) * size]), 30_000)]
    assert all(set(bytes(frame)) == {number} for frame, number in kept)


def test_a_large_frame_is_not_copied_again() -> None:
    reader = FrameReader()
    head = struct.pack(">i", 1 << 20) + b"x" * 1000
    buffer = reader.get_buffer(-1)
    buffer[: len(head)] = head
    assert reader.buffer_updated(len(head)) == []
    rest = (1 << 20) - 1000
    memory = None
    while rest:
        buffer = reader.get_buffer(-1)
        memory = buffer.obj
        count = min(len(buffer), rest)
        buffer[:count] = b"y" * count
        rest -= count
        frames = reader.buffer_updated(count)
    assert len(frames) == 1
    assert frames[0].obj is memory
    assert not frames[0].readonly


def test_a_small_frame_does_not_pin_the_buffer() -> None:
    frames = feed(FrameReader(), stream([b"small"] * 10))
    assert all(len(frame.obj) == 5 for frame in frames)  # type: ignore[arg-type]


def test_frames_together_pin_at_most_four_times_their_size() -> None:
    for size in (1, 1000, 16_000, 20_000, 60_000, 70_000, 1 << 20):
        (frame,) = feed(FrameReader(), stream([b"f" * size]))
        assert len(frame.obj) <= 4 * size + 4  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [-1, -(2**31), 2**31 - 1, SOCKET_REQUEST_MAX_BYTES + 1])
def test_an_impossible_size_breaks_the_stream(size: int) -> None:
    reader = FrameReader()
    with pytest.raises(WireError, match=f"size {size} is not between 0 and 104857600"):
        feed(reader, struct.pack(">i", size) + b"junk")
    assert reader.broken is not None


def test_frames_before_an_impossible_size_are_still_given_out() -> None:
    reader = FrameReader(max_bytes=100)
    assert [bytes(f) for f in feed(reader, stream([b"good"]) + struct.pack(">i", 101))] == [b"good"]
    assert reader.broken is not None
    with pytest.raises(WireError):
        reader.get_buffer(-1)


def test_a_claimed_size_is_believed_in_steps() -> None:
    reader = FrameReader()
    feed(reader, struct.pack(">i", SOCKET_REQUEST_MAX_BYTES) + b"x" * (CHUNK - 4))
    assert len(reader.get_buffer(-1)) <= GENEROUS


def test_a_connection_that_only_asks_now_and_then_holds_little_memory() -> None:
    reader = FrameReader()
    for _ in range(100):
        assert feed(reader, stream([b"question"])) and len(reader.get_buffer()) <= FIRST
    feed(reader, stream([b"x" * 100] * 50))  # a busy one
    assert len(reader.get_buffer()) > FIRST
