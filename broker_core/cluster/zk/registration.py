"""How a broker makes itself known: /brokers/ids/N, an ephemeral znode.

    connect -> persistent paths -> /cluster/id (made by the first broker) -> create /brokers/ids/N
               created                          => `registered`; its czxid is the broker epoch
               NodeExists, of our own session   => the same (a repetition over a broken connection)
               NodeExists, of another session   => `refused`: two brokers with one id, or our own
                                                   predecessor, whose session has not expired yet

| `broker.id` | the id |
|---|---|
| 2 | 2 |
| -1, and meta.properties has `broker.id=1001` | 1001: it was generated once, and stays with the disks |
| -1, blank disks | `reserved.broker.max.id` [1000] and the next version of /brokers/seqid: 1001, 1002, ... |

A machine that wants an id which is a broker's (`wanted`) looks for the znode first: where there is one, it is refused;
where there is none it begins anew as that broker.

A refused broker does not start (Kafka exits). With `wait_for_predecessor` it stays and watches the
znode instead, as a broker does that its supervisor starts again and again until it succeeds; a true
rival never goes away, and the broker never starts.

When the session expires the znode is gone. The broker registers anew with its new session, and gets
another broker epoch: for the controller it is a broker that has restarted.
"""

from __future__ import annotations

import base64
from typing import Protocol

from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.controller.zk import znodes
from broker_core.controller.zk.znodes import BrokerInfo
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.client import SessionHandler, ZkClient
from broker_core.zookeeper.errors import Code


class Registered(Protocol):
    """Who is told. `refused` gets the znode of the holder: its host and port name it."""

    def registered(self) -> None: ...

    def refused(self, holder: BrokerInfo) -> None: ...

    def is_free(self) -> None: ...

    def drawn(self, broker: int) -> bool:
        """Whether the id that was generated is its own."""
        ...


class ZkRegistration:
    """Keeps one broker registered. `broker_epoch` is -1 while it is not."""

    def __init__(
        self, node: Node, zk: ZkClient, info: BrokerInfo, owner: Registered, wait_for_predecessor: bool = False,
        wanted: bool = False, above: int | None = None,
    ) -> None:  # fmt: skip
        """`above`: where the id is to be generated, the highest one that people may choose."""
        self.node = node
        self.zk = zk
        self.info = info
        self.owner = owner
        self.wait_for_predecessor = wait_for_predecessor
        self.broker_epoch = -1
        self.cluster_id: str | None = None
        self.wanted = wanted
        self.above = above
        self._refusals = 0
        zk.handlers.append(SessionHandler(connected=self._register, expired=self._expired))

    def start(self) -> None:
        self.zk.connect()

    def _expired(self) -> None:
        self.broker_epoch = -1

    def _register(self) -> None:
        made: dict[str, None] = {}
        for path in znodes.PERSISTENT_PATHS:
            made.update(dict.fromkeys([*znodes.parents_of(path), path]))
        ops: list[p.Operation] = [p.Create(path) for path in made]
        self.zk.batch(ops, self._paths_made)

    def _paths_made(self, context: object, results: list[p.Result]) -> None:
        raw = base64.urlsafe_b64encode(self.node.uuid().bytes).rstrip(b"=").decode()
        ops: list[p.Operation] = [
            p.Create("/cluster"),
            p.Create(znodes.CLUSTER_ID, znodes.encode_cluster_id(raw)),
            p.GetData(znodes.CLUSTER_ID),
        ]
        self.zk.batch(ops, self._cluster_known)

    def _cluster_known(self, context: object, results: list[p.Result]) -> None:
        if results[2].ok:
            self.cluster_id = znodes.decode_cluster_id(results[2].data)
            if self.wanted:
                self.zk.submit(p.GetData(znodes.broker_path(self.info.id)), self._looked)
            elif self.above is not None:
                self.zk.submit(p.SetData(znodes.BROKER_SEQUENCE, b""), self._drawn)
            else:
                self._create()

    def _looked(self, context: object, result: p.Result) -> None:
        if result.code is Code.NONODE:
            self.owner.is_free()
        elif result.stat is not None:
            self._refused(BrokerInfo.decode(self.info.id, result.data, result.stat.czxid))

    def _drawn(self, context: object, result: p.Result) -> None:
        if self.above is None or result.stat is None:
            return
        drawn = self.above + result.stat.version
        self.node.emit(events.BROKER_ID_GENERATED, broker=drawn, path=znodes.BROKER_SEQUENCE)
        self.above = None
        if self.owner.drawn(drawn):
            self._create()

    def _create(self) -> None:
        self.info.timestamp_ms = self.node.wall_ms()
        path = znodes.broker_path(self.info.id)
        self.zk.batch([p.Create(path, self.info.encode(), ephemeral=True), p.GetData(path)], self._created)

    def _created(self, context: object, results: list[p.Result]) -> None:
        created, found = results
        if created.code is Code.SESSIONEXPIRED or found.stat is None:
            if found.code is Code.NONODE:
                self._create()
            return
        if found.stat.ephemeral_owner == self.zk.session:
            self.zk.forget(znodes.broker_path(self.info.id))
            self.broker_epoch = self.info.epoch = found.stat.czxid
            self._refusals = 0
            self.owner.registered()
        else:
            self._refused(BrokerInfo.decode(self.info.id, found.data, found.stat.czxid))

    def _refused(self, holder: BrokerInfo) -> None:
        self._refusals += 1
        if self._refusals == 1:
            first = holder.endpoints[0]
            self.node.emit(events.BROKER_REFUSED, broker=self.info.id, owner=f"{first.host}:{first.port}")
            self.owner.refused(holder)
        if self.wait_for_predecessor:
            path = znodes.broker_path(self.info.id)
            self.zk.on_change(path, self._holder_changed)
            self.zk.submit(p.Exists(path), self._watching)

    def _watching(self, context: object, result: p.Result) -> None:
        if result.code is Code.NONODE:
            self._create()

    def _holder_changed(self, kind: str, path: str) -> None:
        if self.broker_epoch == -1:
            self._create()
