"""Invariants of replication: leaders, ISRs, high watermarks, logs that agree.

The names LeaderInIsr, StrongIsr, WeakIsr and ValidHighWatermark are those of the TLA+ model of Kafka's
replication (hachikuji/kafka-specification); LogMatching and LeaderCompleteness are Raft's (Ongaro and
Ousterhout 2014, figure 3), said of what is committed.

With ZooKeeper a move to other brokers ends in steps: the new leader is told what its replicas are now before those that
are to go leave the ISR, one after the other. It does not wait for them any more, and nobody here does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.clients import history as values
from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.journal import Row
from broker_core.kernel.names import broker_node
from broker_core.kernel.world import World
from broker_core.log.errors import LogError
from broker_core.log.partition_log import PartitionLog
from broker_core.records.errors import RecordsError
from broker_core.replication.partition import Partition
from lab.checkers.invariants_base import Invariant, Violation
from lab.checkers.invariants_view import PartitionLook

ALL = -1
SAMPLES = 4


class LeaderInIsr(Invariant):
    """A partition's leader is a member of its ISR, in the state that the controller has written."""

    meaning = {"en": "A leader is in its ISR.", "ko": "리더는 ISR 안에 있습니다."}

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            state = look.state
            if state is not None and state.leader >= 0 and state.leader not in state.isr:
                found.append(
                    self.found_in(look, "leader_not_in_isr", (state.leader_epoch,), leader=state.leader, isr=state.isr)
                )
        return found


class _Agreement(Invariant):
    """Whoever takes itself for the leader agrees with certain others below its high watermark."""

    def members(self, look: PartitionLook, leader: Partition) -> list[int]:
        """With whom."""
        raise NotImplementedError

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            for broker, leader in look.presumed.items():
                for other in self.members(look, leader):
                    if other != broker and other in look.replicas and other in leader.replicas:
                        found += self._compare(look, broker, leader, other)
        return found

    def _compare(self, look: PartitionLook, broker: int, leader: Partition, other: int) -> list[Violation]:
        mark = leader.log.high_watermark
        end = look.replicas[other].log.log_end_offset
        copies = look.history.copies
        if end < mark:
            return [self.found_in(look, "lacks_records", (other,), broker=other, end=end, leader=broker, offset=mark)]
        for copy in (copies[other], copies[broker]):
            if copy.differs_below(mark):
                at = copy.mismatch
                return [self.found_in(look, "differs", (other, at), broker=other, leader=broker, offset=at)]
        return []


class StrongIsr(_Agreement):
    """Every broker that leads, or still believes so, agrees with all members of the true ISR below its high watermark.

    (The model's StrongIsr; a zombie leader counts, too.)
    """

    meaning = {
        "en": "A leader, even one that was replaced, agrees with the true ISR below its high watermark.",
        "ko": "교체된 줄 모르는 리더까지 포함해, 리더의 로그는 하이 워터마크 아래에서 실제 ISR의 로그와 같습니다.",
    }

    def members(self, look: PartitionLook, leader: Partition) -> list[int]:
        return look.state.isr if look.state is not None else []


class WeakIsr(_Agreement):
    """The leader agrees with all members of the ISR that it knows below its high watermark (the model's WeakIsr)."""

    meaning = {
        "en": "A leader agrees with the ISR that it knows below its high watermark.",
        "ko": "리더의 로그는 하이 워터마크 아래에서 그 리더가 아는 ISR의 로그와 같습니다.",
    }

    def members(self, look: PartitionLook, leader: Partition) -> list[int]:
        return leader.isr.committed if leader is look.leader else []


class ValidHighWatermark(Invariant):
    """The leader's high watermark is at most the smallest log end over its ISR and the ISR that it has proposed.

    (KIP-497: while a change is pending, both sets count.)
    """

    meaning = {
        "en": "The high watermark is never beyond the log end of a member of the ISR.",
        "ko": "하이 워터마크는 ISR 멤버의 로그 끝을 넘지 않습니다.",
    }

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            leader = look.leader
            if leader is None:
                continue
            mark = leader.log.high_watermark
            for broker in dict.fromkeys([*leader.isr.committed, *(leader.isr.proposed or [])]):
                replica = look.replicas.get(broker) if broker in leader.replicas else None
                if replica is not None and replica.log.log_end_offset < mark:
                    found.append(
                        self.found_in(
                            look, "high_watermark_too_high", (broker,), offset=mark, leader=leader.leader_id,
                            broker=broker, end=replica.log.log_end_offset,
                        )
                    )  # fmt: skip
        return found


class MonotonicHighWatermark(Invariant):
    """While a broker leads in one epoch, its high watermark never goes back (a later leader's may begin lower)."""

    meaning = {
        "en": "Within a leader epoch the high watermark never goes back.",
        "ko": "한 리더 에포크 안에서 하이 워터마크는 뒤로 가지 않습니다.",
    }
    codes = (events.BECAME_LEADER.name, events.BECAME_FOLLOWER.name, events.LOG_LOADED.name)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._marks: dict[tuple[str, str, int], tuple[int, int]] = {}

    def row(self, row: Row) -> None:
        params = row[5]
        key = (row[2], params["topic"], params["partition"])
        if row[3] == events.BECAME_LEADER.name:
            self._marks[key] = (params["leader_epoch"], -1)
        else:
            self._marks.pop(key, None)

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            for broker, leader in look.presumed.items():
                epoch, mark = leader.leader_epoch, leader.log.high_watermark
                key = (broker_node(broker), look.topic, look.index)
                known = self._marks.get(key)
                if known is not None and known[0] == epoch and mark < known[1]:
                    params = {"leader": broker, "before": known[1], "after": mark}
                    found.append(self.found_in(look, "high_watermark_went_back", (broker, epoch, mark), **params))
                self._marks[key] = (epoch, mark)
        return found


class LogMatching(Invariant):
    """Below the smallest high watermark all replicas hold the same batches, those outside the ISR, too."""

    meaning = {
        "en": "Below the smallest high watermark all replicas are equal.",
        "ko": "가장 낮은 하이 워터마크 아래에서 모든 복제본은 같습니다.",
    }

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            lowest = min([one.log.high_watermark for one in look.replicas.values()], default=0)
            for broker in look.replicas:
                copy = look.history.copies[broker]
                if copy.differs_below(lowest):
                    params = {"broker": broker, "offset": copy.mismatch}
                    found.append(self.found_in(look, "replicas_differ", (broker, copy.mismatch), **params))
        return found


class LeaderCompleteness(Invariant):
    """Every record that was acked with acks=all is on the leader, unless an unclean election is recorded.

    All are counted by their offsets; of a few in each look the value itself is read.
    """

    meaning = {
        "en": "What was acked with acks=all is on the leader.",
        "ko": "acks=all로 확인된 레코드는 리더에 있습니다.",
    }
    operations = ("send",)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._samples: dict[tuple[str, int], tuple[int, str, Any, int, int]] = {}

    def operation(self, row: Mapping[str, Any]) -> None:
        if row["kind"] != "ok" or row["acks"] != ALL or row.get("offset", -1) < 0 or not row["values"]:
            return
        count = sum(count for _, count in row["values"])
        place = (row["topic"], row["partition"])
        history = self.view.history(*place)
        end = row["offset"] + count
        if end > history.acked_end and row["offset"] >= history.excused:
            history.acked_end = end
            self.view.touched.setdefault(place, (row["seq"], row["t"]))
            if place in self._samples or len(self._samples) < SAMPLES:
                label = row.get("label", row["process"])
                self._samples[place] = (row["offset"], label, row["values"][0][0], row["seq"], row["t"])

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            leader, acked = look.leader, look.history.acked_end
            sample = self._samples.pop((look.topic, look.index), None)
            if leader is None:
                continue
            end = leader.log.log_end_offset
            if end < acked:
                params = {"offset": acked, "leader": leader.leader_id, "end": end}
                found.append(self.found_in(look, "acked_gone", (leader.leader_epoch,), **params))
            elif sample is not None and sample[0] >= look.history.excused:
                found += self._read(look, leader, sample)
        return found

    def _read(self, look: PartitionLook, leader: Partition, sample: tuple[int, str, Any, int, int]) -> list[Violation]:
        offset, label, number, seq, t = sample
        value = value_at(leader.log, offset)
        if value is None or values.parse(value) == (label, number):
            return []
        place = {"topic": look.topic, "partition": look.index}
        found = bytes(value)[:60].decode(errors="replace")
        return [
            self.found(
                seq, t, "acked_other", (*place.values(), offset), **place, value=f"{label}:{number}", offset=offset,
                leader=leader.leader_id, found=found,
            )
        ]  # fmt: skip


def value_at(log: PartitionLog, offset: int) -> bytes | None:
    """The value at an offset; None when it cannot be read."""
    try:
        record = next(log.records(offset, offset + 1), None)
    except (StorageError, LogError, RecordsError):
        return None
    return bytes(record.value) if record is not None and record.value is not None else None


class LeaderCandidateCompleteness(Invariant):
    """Every member of the ISR, who may be elected cleanly, has everything that is committed (KIP-966)."""

    meaning = {
        "en": "Every member of the ISR has all that is committed.",
        "ko": "ISR의 모든 멤버는 커밋된 것을 전부 가지고 있습니다.",
    }

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            committed = look.history.committed.end
            if look.state is None or look.history.unclean_epoch >= 0:
                continue
            newest = max(look.presumed.values(), key=lambda one: one.leader_epoch, default=None)
            for broker in look.state.isr:
                replica = look.replicas.get(broker) if newest is None or broker in newest.replicas else None
                if replica is not None and replica.log.log_end_offset < committed:
                    end = replica.log.log_end_offset
                    found.append(
                        self.found_in(look, "candidate_lacks", (broker,), broker=broker, end=end, offset=committed)
                    )
        return found
