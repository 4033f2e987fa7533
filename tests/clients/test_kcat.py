"""kcat, as Debian ships it: produce, consume, groups, list, query."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.clients.conftest import Cluster, Running, run

pytestmark = pytest.mark.clients
LINES = [f"line {number}" for number in range(500)]


@pytest.fixture
def kcat(require_program: Callable[[str], str], cluster: Cluster) -> tuple[str, ...]:
    return require_program("kcat"), "-b", cluster.bootstrap, "-q"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_produced_can_be_read_with_every_codec(kcat: tuple[str, ...], codec: str) -> None:
    topic = f"kcat-{codec}"
    run(*kcat, "-P", "-t", topic, "-z", codec, "-X", "acks=all", given="\n".join(LINES))
    assert run(*kcat, "-C", "-t", topic, "-e", "-o", "beginning").splitlines() == LINES


def test_keys_headers_nulls_and_offsets_come_back(kcat: tuple[str, ...]) -> None:
    run(*kcat, "-P", "-t", "kcat-keys", "-K:", "-Z", "-H", "h=1", "-X", "enable.idempotence=true", given="a:1\nb:\n")
    shown = run(*kcat, "-C", "-t", "kcat-keys", "-e", "-o", "0", "-J").splitlines()
    assert [(one["key"], one["payload"], one["headers"]) for one in map(json.loads, shown)] == [
        ("a", "1", ["h", "1"]), ("b", None, ["h", "1"])]
    assert run(*kcat, "-C", "-t", "kcat-keys", "-e", "-o", "-1", "-f", "%o %k").strip() == "1 b"
    assert "offset 0" in run(*kcat, "-Q", "-t", "kcat-keys:0:1")


def test_it_lists_brokers_and_topics(kcat: tuple[str, ...], cluster: Cluster) -> None:
    cluster.create("kcat-listed", 3)
    shown = json.loads(run(*kcat, "-L", "-J"))
    assert [broker["id"] for broker in shown["brokers"]] == [1, 2, 3] or len(shown["brokers"]) == 3
    listed = next(one for one in shown["topics"] if one["topic"] == "kcat-listed")
    assert len(listed["partitions"]) == 3 and all(len(part["isrs"]) == 3 for part in listed["partitions"])


def test_a_group_reads_on_where_it_stopped(kcat: tuple[str, ...], cluster: Cluster,
                                           running: Callable[..., Running]) -> None:
    cluster.create("kcat-group", 2)
    run(*kcat, "-P", "-t", "kcat-group", given="\n".join(LINES))
    group = (*kcat, "-u", "-X", "auto.offset.reset=earliest", "-G", "kcat-readers", "kcat-group")
    first = running(*group)
    first.wait_for(lambda lines: len(lines) == len(LINES))
    assert first.end(signalled=True) == 0
    run(*kcat, "-P", "-t", "kcat-group", given="more\n")
    second = running(*group)
    second.wait_for(lambda lines: lines)
    assert second.lines == ["more"] and sorted(first.lines) == sorted(LINES)
    second.end(signalled=True)
