"""Invariants of what the KRaft controller decides: ISR, eligible leader replicas (KIP-966), broker epochs (KIP-903).

    ISR 1 2 3                  min.insync.replicas 2
    3 is fenced      ISR 1 2
    2 is fenced      ISR 1     ELR 2      the high watermark stands still from now on: 2 has all below it
    1 is fenced      ISR -     ELR 1 2    either may be elected, and nothing is lost

They look at the image of the metadata log, some of its partitions at a time. With ZooKeeper there is none.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel.world import World
from broker_core.metadata.image import BROKER, TOPIC, MetadataImage
from broker_core.metadata.registration import PartitionRegistration
from lab.checkers.invariants_base import Invariant, Violation
from lab.checkers.invariants_view import Place
from lab.truth.kraft import KRaftTruth

PARTITIONS = 256
"""Partitions of the image that a look goes over."""
ELR_FEATURE, MIN_ISR = "eligible.leader.replicas.version", "min.insync.replicas"


class IsrAndElrDisjoint(Invariant):
    """No replica is in ISR and ELR at once, each is one of the partition's own; and with the ELR no broker that is
    fenced or on its way out stays in an ISR: it has become eligible, or nothing. An ISR of `min.insync.replicas` goes
    on without those who left it, so nobody is eligible beside it (KIP-966)."""

    only = "kraft"
    meaning = {
        "en": "No replica is in ISR and ELR at once, no fenced broker is in an ISR, and a large enough ISR has no ELR.",
        "ko": "ISR과 ELR에 함께 있는 복제본도, ISR에 있는 격리된 브로커도, 충분한 ISR 곁의 ELR도 없습니다.",
    }

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._queue: list[Place] = []
        self._judged: Any = None

    def check(self, world: World) -> list[Violation]:
        cluster = self.view.cluster
        if not isinstance(cluster, KRaftTruth):
            return []
        image = cluster.image
        if not self._queue:
            version = cluster.version()
            if version == self._judged:
                return []
            self._judged = version
            self._queue = [(topic.name, number) for topic in image.topics.values() for number in topic.partitions]
        found = []
        for _ in range(min(PARTITIONS, len(self._queue)) if self.view.bounded else len(self._queue)):
            place = self._queue.pop()
            state = _partition(image, place)
            if state is not None:
                found += self._judge(world, image, place, state)
        return found

    def _judge(self, world: World, image: MetadataImage, place: Place, state: PartitionRegistration) -> list[Violation]:
        where = {"topic": place[0], "partition": place[1]}
        found = []
        members = [*state.isr, *state.elr]
        if len(set(members)) < len(members) or not set(members) <= set(state.replicas):
            params = {**where, "isr": list(state.isr), "elr": list(state.elr), "replicas": list(state.replicas)}
            found.append(self.found_now("isr_and_elr", (*place, state.partition_epoch), **params))
        if not image.features.get(ELR_FEATURE):
            return found
        if state.elr and len(state.isr) >= _least(image, place[0], state):
            params = {**where, "isr": list(state.isr), "elr": list(state.elr)}
            key = (*place, state.partition_epoch)
            found.append(self.found_now("elr_beside_isr", key, **params))
        for broker in state.isr:
            known = image.brokers.get(broker)
            if known is None or not known.is_active:
                params = {**where, "broker": broker, "isr": list(state.isr)}
                found.append(self.found_now("fenced_in_isr", (*place, broker), **params))
        return found


class ElrCompleteness(Invariant):
    """An eligible leader replica holds all that is committed, once its process has registered (KIP-966).

    Before that it may have lost what it had not flushed; the controller then takes it out of the ELR with the
    registration.
    """

    only = "kraft"
    meaning = {
        "en": "Every eligible leader replica has all that is committed.",
        "ko": "리더 후보 복제본(ELR)은 커밋된 것을 모두 가지고 있습니다.",
    }

    def check(self, world: World) -> list[Violation]:
        cluster, found = self.view.cluster, []
        if not isinstance(cluster, KRaftTruth):
            return []
        image, machines = cluster.image, dict(self.view.running)
        for look in self.view.looks:
            state, committed = _partition(image, (look.topic, look.index)), look.history.committed.end
            if state is None or look.history.unclean_epoch >= 0:
                continue
            for broker in state.elr:
                replica = look.replicas.get(broker)
                if replica is None or not _has_registered(image, broker, machines.get(broker)):
                    continue
                copy, end = look.history.copies[broker], replica.log.log_end_offset
                if end < committed or copy.differs_below(committed):
                    params = {"broker": broker, "end": end, "offset": committed}
                    found.append(self.found_in(look, "eligible_lacks", (broker,), **params))
        return found


class BrokerEpochs(Invariant):
    """The epochs of a broker only grow, and each belongs to one start of its process: so that what an older life of it
    has asked for, or was promised, does not count for this one (KIP-903)."""

    only = "kraft"
    meaning = {
        "en": "A broker's epochs only grow, and each belongs to one start of it.",
        "ko": "브로커 에포크는 커지기만 하고, 하나의 에포크는 브로커의 시작 한 번에만 속합니다.",
    }

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._offset = -1
        self._epochs: dict[int, tuple[int, Any]] = {}

    def check(self, world: World) -> list[Violation]:
        cluster = self.view.cluster
        if not isinstance(cluster, KRaftTruth):
            return []
        loader, found = cluster.loader, []
        if loader.offset >= self._offset:
            self._offset = loader.offset
            for broker in loader.image.brokers.values():
                epoch, incarnation = self._epochs.get(broker.id, (-1, None))
                if broker.epoch < epoch or (broker.epoch == epoch and broker.incarnation_id != incarnation):
                    params = {"broker": broker.id, "epoch": broker.epoch, "before": epoch}
                    key = (broker.id, broker.epoch)
                    found.append(self.found_now("broker_epoch", key, **params))
                self._epochs[broker.id] = (broker.epoch, broker.incarnation_id)
        return found


def _partition(image: MetadataImage, place: Place) -> PartitionRegistration | None:
    topic_id = image.topic_ids.get(place[0])
    return None if topic_id is None else image.topics[topic_id].partitions.get(place[1])


def _least(image: MetadataImage, topic: str, state: PartitionRegistration) -> int:
    """How many in sync are enough: with the ELR the minimum of all brokers stands in the log, too."""
    of_all = image.configs.get((BROKER, ""), {}).get(MIN_ISR, "1")
    return min(int(image.configs.get((TOPIC, topic), {}).get(MIN_ISR, of_all)), len(state.replicas))


def _has_registered(image: MetadataImage, broker: int, machine: Any) -> bool:
    """Whether this process, not the one before it, is who the image knows."""
    known = image.brokers.get(broker)
    return known is not None and machine is not None and bool(machine.broker_epoch() == known.epoch)
