"""Opening a partition's directory: what is kept, what is checked, what is cut.

| found | done |
|---|---|
| `.deleted`, `.cleaned` | dropped: a deletion or cleaning that had not ended |
| `.swap` | a cleaning that had ended: takes the place of what it was made of (`swapping`) |
| `.index`, `.timeindex` without `.log` | dropped |
| an index that is missing or contradicts itself | rebuilt from the `.log` (a `.txnindex` may be missing) |
| no clean-shutdown marker | every segment from the recovery point on is scanned: each batch's length, CRC and order |
| a bad batch in that scan | the file is cut in front of it, later segments are deleted |
| a batch in it that those around it contradict | the file is cut in front of it: no checksum covers a base offset |
| one of a leader epoch above all in the checkpoint | likewise: nobody has led in it |
| offsets missing between two segments of it | later segments are deleted |
| leader epochs behind the new end | dropped |
| producer state | newest snapshot, then the batches behind it |

Below the recovery point nothing is read: a bit that flipped there is found by the first reader.

All this goes in slices (`Opening`), so that a broker with a log of gigabytes does not stop the others; a slice ends
between two batches. What a batch takes is its bytes, and `BATCH_WORK` at least: small ones cost more than their bytes.

With records 0..99 flushed (recovery point 100) and 100..140 only in the page cache, a crash loses
nothing (the scan finds 100..140 whole); a power loss may leave any part of them, and the log ends
in front of the first batch that is not whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.log.errors import CorruptIndex
from broker_core.log.producer_snapshot import load_latest_snapshot, remove_stray_snapshots
from broker_core.log.segment import DELETED, INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX, LogSegment
from broker_core.log.segment_scan import BATCH_WORK, Scan, replay
from broker_core.log.swapping import finish_swaps
from broker_core.records.errors import RecordsError

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog

_ENDLESS = 1 << 62


class Opening:
    """Fills a fresh PartitionLog from its directory, or makes the first segment; a slice at a time.

    The log's `high_watermark` is that of the checkpoint: what is cut below it had been acknowledged.

    - `checked`: bytes that the last slice has scanned; `work`: what that took. A batch is the smallest piece

    Invariants
        - in slices or at once: it is the same log when `advance` has said True; before that nobody may use it
        - a crash between two slices leaves files that are opened from the beginning again
    """

    def __init__(self, log: PartitionLog, now_ms: int, clean: bool) -> None:
        self.log = log
        self.now_ms = now_ms
        self.clean = clean
        self.checked = self.work = 0
        self._limit = 0
        self._phase = 0
        self._place = 0
        self._missing: list[str] = []
        self._scanned_from: int | None = None
        self._scan: Scan | None = None

    def advance(self, most_work: int | None = None) -> bool:
        """Go on until so much work was done (None: to the end). True when the log is open."""
        self.checked, self.work, self._limit = 0, 0, most_work if most_work is not None else _ENDLESS
        phases = (self._list, self._check_indexes, self._recover, self._settle, self._replay_producers)
        while self._phase < len(phases):
            if not phases[self._phase]():
                return False
            self._phase += 1
        return True

    def _list(self) -> bool:
        """What is in the directory. An empty one is a new log: there is nothing more to do."""
        log = self.log
        finish_swaps(log.storage, log.directory)
        names = log.storage.list(log.directory)
        if not names:
            log.add_segment(log.log_start_offset, self.now_ms)
            log.recovery_point = log.high_watermark = log.log_start_offset
            log.producers.clear(log.log_start_offset)
            self._phase = _ENDLESS
            return True
        self._missing = _open_segments(log, _without_left_overs(log, names), self.now_ms)
        if log.segments and not self.clean:
            self._scanned_from = log.segment_of(log.recovery_point)
        return True

    def _check_indexes(self) -> bool:
        """Rebuild what is missing or damaged; from segment `_scanned_from` on, recovery does it anyway."""
        log = self.log
        while self._place < len(log.segments):
            segment = log.segments[self._place]
            is_kept = self._scanned_from is None or self._place < self._scanned_from
            wrong = self._scan.wrong if self._scan is not None else _wrong_index(segment, self._missing)
            if wrong is None:
                if is_kept:
                    segment.load()
            else:
                if is_kept:
                    scan = self._scanned(segment, [segment], wrong)
                    if scan is None:
                        return False
                    if scan.cut:
                        _tell_of_cut(log, scan.cut, scan.reason, segment.next_offset(), scan.reached)
                log.fact(events.INDEX_REBUILT, file=wrong[0], reason=wrong[1])
            self._place += 1
        self._place = self._scanned_from or 0
        return True

    def _recover(self) -> bool:
        """Scan from the recovery point; delete what lies behind a cut or a hole."""
        log = self.log
        while not self.clean and self._place < len(log.segments):
            segment = log.segments[self._place]
            scan = self._scanned(segment, log.segments[self._place :])
            if scan is None:
                return False
            self._place += 1
            cut, end = scan.cut, max(segment.next_offset(), segment.base_offset)
            reason = scan.reason if cut else _hole(log, self._place, end)
            if reason:
                later = log.segments[self._place :]
                cut += sum(one.size for one in later)
                for one in later:
                    log.drop_segment(one)
                _tell_of_cut(log, cut, reason, end, max(scan.reached, log.recovery_point, log.high_watermark))
        return True

    def _scanned(
        self, segment: LogSegment, left: list[LogSegment], wrong: tuple[str, str] | None = None
    ) -> Scan | None:
        """The scan of a segment when it has come to its end, None when the slice is used up."""
        scan = self._scan
        if scan is None:
            scan = self._scan = Scan(self.log, segment, _reached(self.log, left), wrong)
        before, worked = scan.checked, scan.work
        done = scan.advance(self._limit - self.work)
        self.checked += scan.checked - before
        self.work += scan.work - worked
        if not done:
            return None
        self._scan = None
        return scan

    def _settle(self) -> bool:
        """Where the log begins and ends."""
        log = self.log
        if not log.segments:
            log.add_segment(log.log_start_offset, self.now_ms)
        if self.clean:
            _check_end(log)
        _drop_when_below_start(log, self.now_ms)
        log.log_end_offset = max(log.active.next_offset(), log.active.base_offset)
        log.log_start_offset = max(log.log_start_offset, log.segments[0].base_offset)
        log.high_watermark = log.log_start_offset
        log.recovery_point = log.log_end_offset if self.clean else min(log.recovery_point, log.log_end_offset)
        log.leader_epochs.truncate_from_end(log.log_end_offset)
        log.leader_epochs.truncate_from_start(log.log_start_offset)
        remove_stray_snapshots(log.storage, log.directory, [segment.base_offset for segment in log.segments])
        self._place = load_latest_snapshot(
            log.storage, log.directory, log.producers, log.log_start_offset, log.log_end_offset, log.emit, self.now_ms
        )  # fmt: skip
        return True

    def _replay_producers(self) -> bool:
        """Producer state at the log end: behind the snapshot the headers of the batches; `_place` is an offset here."""
        log = self.log
        for segment in log.segments[log.segment_of(self._place) :]:
            if self._place >= log.log_end_offset:
                break
            stopped = replay(log.producers, segment, self._place, most_batches=self._limit // BATCH_WORK)
            if stopped is not None:
                self._place, self.work = stopped, self._limit
                return False
        log.producers.map_end_offset = log.log_end_offset
        log.fact(events.LOG_LOADED, start=log.log_start_offset, end=log.log_end_offset, clean=self.clean)
        return True


def _without_left_overs(log: PartitionLog, names: list[str]) -> list[str]:
    """Delete what a deletion has left, and indexes without a log; returns the other names."""
    logs = {name[:20]: True for name in names if name.endswith(LOG)}
    kept: list[str] = []
    for name in names:
        orphan = name.endswith((INDEX, TIME_INDEX, TRANSACTION_INDEX)) and name[:20] not in logs
        if orphan or name.endswith(DELETED):
            log.storage.delete(f"{log.directory}/{name}")
        else:
            kept.append(name)
    return kept


def _open_segments(log: PartitionLog, names: list[str], now_ms: int) -> list[str]:
    """Open every segment; returns the names of index files that were not there."""
    present = dict.fromkeys(names)
    missing: list[str] = []
    for name in names:
        if name.endswith(LOG) and name[: -len(LOG)].isdigit():
            stem = name[: -len(LOG)]
            missing += [stem + suffix for suffix in (INDEX, TIME_INDEX) if stem + suffix not in present]
            log.add_segment(int(stem), now_ms)
    return missing


def _wrong_index(segment: LogSegment, missing: list[str]) -> tuple[str, str] | None:
    """(file, why) when an index is missing or damaged."""
    stem = f"{segment.base_offset:020d}"
    gone = [stem + suffix for suffix in (INDEX, TIME_INDEX) if stem + suffix in missing]
    try:
        if gone and segment.size:
            raise CorruptIndex("missing")
        segment.sanity_check()
    except CorruptIndex as error:
        return gone[0] if gone else stem + INDEX, str(error)
    return None


def _check_end(log: PartitionLog) -> None:
    """After a clean shutdown only the headers at the end are read; where they make no sense the segment is recovered.

    (Kafka's broker does not start then. What it says of its files has been proved wrong, so they are looked at.)
    """
    segment = log.active
    try:
        segment.next_offset()
    except RecordsError as error:
        reached = _reached(log, [segment])
        cut, reason = _recover_segment(log, segment)
        log.fact(events.INDEX_REBUILT, file=f"{segment.base_offset:020d}{INDEX}", reason=str(error))
        if cut:
            _tell_of_cut(log, cut, reason, segment.next_offset(), max(reached, log.high_watermark))


def _tell_of_cut(log: PartitionLog, cut: int, reason: str, end: int, reached: int) -> None:
    log.fact(
        events.LOG_RECOVERED, bytes_cut=cut, reason=reason, end=end, before=max(reached, end),
        committed=end < log.high_watermark,
    )  # fmt: skip


def _reached(log: PartitionLog, segments: list[LogSegment]) -> int:
    """An offset that these segments have reached, by their names and the last entry of their indexes.

    What is damaged cannot be asked for its offsets: these say the least that was there.
    """
    reached = segments[-1].base_offset
    for segment in segments:
        try:
            segment.sanity_check()
        except CorruptIndex:
            continue
        offset = segment.index.last_entry()[0]
        reached = max(reached, offset + 1 if len(segment.index) else offset)
    return reached


def _hole(log: PartitionLog, place: int, end: int) -> str:
    """What is missing in front of segment `place`; "" when nothing is.

    After a power loss a later file may have survived while the end of an earlier one has not. Only
    the cleaner leaves gaps on purpose, so compacted logs are not judged.
    """
    if place == len(log.segments) or log.config.is_compacted or log.segments[place].base_offset <= end:
        return ""
    return f"offsets {end}..{log.segments[place].base_offset - 1} are missing"


def _recover_segment(log: PartitionLog, segment: LogSegment) -> tuple[int, str]:
    """At one go."""
    scan = Scan(log, segment, 0)
    scan.advance(_ENDLESS)
    return scan.cut, scan.reason


def _drop_when_below_start(log: PartitionLog, now_ms: int) -> None:
    """A log that ends below its checkpointed start (its tail was lost) begins anew there."""
    end = log.active.next_offset()
    if end >= log.log_start_offset:
        return
    reason = f"ends at {end}, below the log start {log.log_start_offset}"
    _tell_of_cut(log, log.size_bytes, reason, log.log_start_offset, log.high_watermark)
    for segment in list(log.segments):
        log.drop_segment(segment)
    log.leader_epochs.clear()
    log.add_segment(log.log_start_offset, now_ms)


def rebuild_producers(log: PartitionLog, now_ms: int | None = None) -> None:
    """Producer state at the log end: newest snapshot, then the headers of the batches behind it."""
    table, end = log.producers, log.log_end_offset
    start = load_latest_snapshot(log.storage, log.directory, table, log.log_start_offset, end, log.emit, now_ms)
    for segment in log.segments[log.segment_of(start) :]:
        if start >= end:
            break
        replay(table, segment, start)
    table.map_end_offset = end
