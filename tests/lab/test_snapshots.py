"""Snapshots of a run: what is taken from the shelf goes on as the run did, and what cannot be trusted is not taken."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from lab.experiments.directory import INPUTS, JOURNAL, read_facts
from lab.experiments.run import run_scenario
from lab.reexecution import Nobody, Reexecution
from lab.scenarios import grammar
from lab.snapshots import shelf as shelf_module
from lab.snapshots.bulk import GRAIN
from lab.snapshots.maker import Differs, Maker
from lab.snapshots.shelf import Head, Shelf

KEY = b"0123456789abcdef"
WHOLE_S = 3600.0
LOAD = """
cluster: {brokers: 3, preset: teaching}
topics: [{name: orders, partitions: 2, replication_factor: 3}]
clients:
  - {name: producer-a, kind: producer, topic: orders, rate: 100, size: 1000}
  - {name: consumer-a, kind: consumer, topic: orders, settings: {group.id: g}}
duration: 4s
steps:
  - {at: 1s, do: kill, leader_of: orders-0}
  - {at: 2s, do: bit_flip, broker: 2, topic: orders, partition: 1, offset: 5}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose files are only read."""
    return run_scenario(grammar.parse(LOAD, "load.yaml"), out=tmp_path_factory.mktemp("runs") / "run").directory


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path, KEY)


def times(run: Path, count: int) -> list[int]:
    end = read_facts(run)["end_us"]
    return [end * number // (count + 1) for number in range(1, count + 1)]


def go_on(run: Path, shelf: Shelf, head: Head) -> bytes:
    """The journal from a snapshot to the end of the run."""
    taken = shelf.take(head)
    assert taken is not None
    rows = bytearray()
    taken[0].world.journal.sink = rows.extend
    work = Reexecution(taken[0].world, run / INPUTS, Nobody(), start=head.inputs)
    while not work.advance(1.0):
        pass
    taken[0].world.journal.flush()
    return bytes(rows)


def test_a_run_goes_on_from_each_snapshot_with_the_bytes_that_it_had(recorded: Path, shelf: Shelf) -> None:
    journal = (recorded / JOURNAL).read_bytes()
    maker = Maker(recorded, shelf)
    heads = [head for until_us in times(recorded, 6) for head in maker.run(until_us, WHOLE_S)]
    assert len(heads) == 6 and any(shelf.directory.glob("*.bulk"))
    for head in heads:
        assert go_on(recorded, shelf, head) == journal[head.journal :]


def test_snapshots_share_what_logs_hold_and_replicas_share_it_too(recorded: Path, shelf: Shelf) -> None:
    maker = Maker(recorded, shelf)
    for until_us in times(recorded, 8):
        maker.run(until_us, WHOLE_S)
    nodes = maker.world.nodes.values()
    held = sum(file.size for node in nodes if isinstance(node.storage, MemoryStorage) for file in node.storage.files.values())
    written = sum(path.stat().st_size for path in shelf.directory.glob("*.bulk"))
    assert 4 * GRAIN < written < held / 2


def test_a_journal_that_comes_out_otherwise_ends_the_making(recorded: Path, shelf: Shelf, tmp_path: Path) -> None:
    forged = tmp_path / "forged"
    shutil.copytree(recorded, forged)
    journal = bytearray((forged / JOURNAL).read_bytes())
    at = len(journal) // 2
    journal[at] ^= 1
    (forged / JOURNAL).write_bytes(journal)
    with pytest.raises(Differs):
        Maker(forged, shelf).run(times(recorded, 1)[0] * 2, WHOLE_S)
    assert all(head.journal <= at for number in shelf.numbers() if (head := shelf.head(number)))


def test_the_snapshot_before_a_moment_is_found_by_event_and_by_time(recorded: Path, shelf: Shelf) -> None:
    first, second = (Maker(recorded, shelf).run(until_us, WHOLE_S)[0] for until_us in times(recorded, 2))
    assert shelf.last() == second == shelf.before(None, None)
    assert shelf.before(second.seq, None) == first and shelf.before(second.seq + 1, None) == second
    assert shelf.before(None, second.t_us - 1) == first and shelf.before(None, second.t_us) == second
    assert shelf.before(first.seq, None) is None and shelf.before(None, 1) is None


def test_a_snapshot_of_a_stranger_or_of_another_version_is_not_read(
    recorded: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = Maker(recorded, shelf).run(times(recorded, 1)[0], WHOLE_S)[0]
    assert Shelf(shelf.directory, b"another key").last() is None
    path = next(shelf.directory.glob("*.world"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert shelf.last() is None and shelf.take(head) is None
    path.write_bytes(whole)
    assert shelf.last() == head
    monkeypatch.setattr(shelf_module, "version", lambda: "another")
    assert shelf.last() is None


def test_room_is_bounded_and_what_stays_can_be_restored(recorded: Path, tmp_path: Path) -> None:
    plenty = tmp_path / "plenty"
    plenty.mkdir()
    maker = Maker(recorded, Shelf(plenty, KEY))
    for until_us in times(recorded, 10):
        maker.run(until_us, WHOLE_S)
    limit = maker.shelf.size() // 2
    scarce = Shelf(tmp_path / "scarce", KEY, limit)
    scarce.directory.mkdir()
    maker, made = Maker(recorded, scarce), []
    for until_us in times(recorded, 10):
        made += maker.run(until_us, WHOLE_S)
        assert scarce.size() <= limit
    left = scarce.numbers()
    assert 2 <= len(left) < 10 and made[-1].seq in left and not scarce.full
    journal = (recorded / JOURNAL).read_bytes()
    for head in filter(None, map(scarce.head, left)):
        assert go_on(recorded, scarce, head) == journal[head.journal :]


def test_a_run_that_is_too_large_for_its_shelf_gets_no_more_snapshots(recorded: Path, shelf: Shelf) -> None:
    shelf.limit = 1000
    maker = Maker(recorded, shelf)
    for until_us in times(recorded, 5):
        maker.run(until_us, WHOLE_S)
    assert shelf.full and shelf.size() == 0
