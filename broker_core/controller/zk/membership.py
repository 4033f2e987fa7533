"""Brokers come and go: what the controller does when the children of /brokers/ids change.

The watch says only *that* they changed. The list is read again and compared with what is known:

| broker | in the tree | known | it is |
|---|---|---|---|
| 3 | yes, epoch 40 | no | new: its replicas come online; partitions without leader get a chance |
| 1 | no | yes | dead: new leaders for what it led, then its replicas leave the ISR |
| 2 | yes, epoch 51 | epoch 30 | bounced: it died and came back between two reads; dead first, then new |

The epoch is the czxid of the broker's znode, another one for each registration (KIP-380).
"""

from __future__ import annotations

from broker_core.controller.state_machines import PartitionState, ReplicaState
from broker_core.controller.zk.context import Replica
from broker_core.controller.zk.core import ControllerCore
from broker_core.controller.zk.deletion import TopicDeletion
from broker_core.controller.zk.reassignment import Reassignment
from broker_core.kernel import events
from broker_core.controller.zk import znodes
from broker_core.controller.zk.znodes import BrokerInfo
from broker_core.zookeeper import protocol as p


class Membership:
    """The live brokers."""

    def __init__(self, core: ControllerCore, deletion: TopicDeletion, reassignment: Reassignment) -> None:
        self.core = core
        self.deletion = deletion
        self.reassignment = reassignment

    def read_brokers(self, method: object) -> None:
        """Step: read all registrations (leaving the watch), then `method({id: BrokerInfo})`."""
        self.core.store.read([p.GetChildren(znodes.BROKER_IDS)], self._ids_read, method)

    def _ids_read(self, method: object, results: list[p.Result]) -> None:
        ids = sorted(int(name) for name in results[0].children)
        self.core.store.read([p.GetData(znodes.broker_path(broker)) for broker in ids], self._infos_read, ids, method)

    def _infos_read(self, ids: list[int], method: object, results: list[p.Result]) -> None:
        infos = {
            broker: BrokerInfo.decode(broker, result.data, result.stat.czxid)
            for broker, result in zip(ids, results, strict=True)
            if result.ok and result.stat is not None
        }
        self.core.thread.call(method, infos)  # type: ignore[arg-type]

    # --- the event -------------------------------------------------------------------------------

    def brokers_changed(self) -> None:
        """Event: the children of /brokers/ids changed."""
        self.read_brokers(self.compare)

    def compare(self, current: dict[int, BrokerInfo]) -> None:
        known = self.core.context.brokers
        dead = [broker for broker in known if broker not in current]
        new = [broker for broker in current if broker not in known]
        bounced = [broker for broker in current if broker in known and current[broker].epoch > known[broker].epoch]
        call = self.core.thread.call
        for broker in [*bounced, *dead]:
            self.core.channels.remove(broker)
        for broker in [*new, *bounced]:
            self.core.channels.add(broker)
        if new:
            call(self._join, {broker: current[broker] for broker in new})
        if bounced:
            call(self._leave, bounced, "restarted")
            call(self._join, {broker: current[broker] for broker in bounced})
        if dead:
            call(self._leave, dead, "session ended")

    # --- arrival ---------------------------------------------------------------------------------

    def _join(self, arrived: dict[int, BrokerInfo]) -> None:
        core, context = self.core, self.core.context
        others = context.live_or_stopping
        context.brokers = dict(sorted({**context.brokers, **arrived}.items()))
        for broker, info in arrived.items():
            context.offline_dirs.pop(broker, None)
            core.node.emit(events.BROKER_REGISTERED, broker=broker, broker_epoch=info.epoch)
        new = list(arrived)
        core.update_metadata(others, [])
        core.update_metadata(new, list(context.leadership))
        replicas = context.replicas_on(new)
        core.replicas.change(replicas, ReplicaState.ONLINE)
        core.partitions.bring_online()
        core.thread.call(self.reassignment.resume_for, new)
        topics = list(dict.fromkeys(topic for topic, _, _ in replicas if topic in context.deleting))
        core.thread.call(self.deletion.resume, topics)

    # --- departure -------------------------------------------------------------------------------

    def _leave(self, gone: list[int], reason: str) -> None:
        context = self.core.context
        for broker in gone:
            context.brokers.pop(broker, None)
            context.shutting_down.pop(broker, None)
            context.offline_dirs.pop(broker, None)
            self.core.node.emit(events.BROKER_GONE, broker=broker, reason=reason)
        self.replicas_offline(context.replicas_on(gone))

    def replicas_offline(self, replicas: list[Replica]) -> None:
        """Step: these replicas work no more (their broker or directory is gone)."""
        core, context = self.core, self.core.context
        leaderless = context.with_offline_leader()
        core.partitions.change(leaderless, PartitionState.OFFLINE)
        core.thread.call(core.partitions.bring_online)
        kept = [each for each in replicas if each[0] not in context.deleting]
        core.replicas.change(kept, ReplicaState.OFFLINE)
        deleting = [each for each in replicas if each[0] in context.deleting]
        if deleting:
            core.thread.call(self.deletion.replicas_failed, deleting)
        if not leaderless:
            core.thread.call(core.update_metadata, context.live_or_stopping, [])
