"""Invariants of the coordination ensemble: elections, and the tree that a cluster with ZooKeeper goes by.

They are Zab's (Junqueira, Reed, Serafini 2011, section IV), asked of every server whose process is there. With one
server only the last one can be violated; a cluster in KRaft has no tree.

| Zab | here |
|---|---|
| primary integrity: an epoch has one primary | OneEnsembleLeaderPerEpoch |
| agreement, total order: what is delivered somewhere is delivered everywhere, in one order | CommittedTreeKept |
| sessions own their ephemeral znodes | EphemeralsHaveSessions |
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.world import World
from broker_core.zookeeper.ensemble import EnsembleServer
from broker_core.zookeeper.serving import TreeServer
from broker_core.zookeeper.tree import Txn
from lab.checkers.invariants_base import Invariant, Violation
from lab.clusters.charge import charge_of

REMEMBERED = 5000
"""Transactions, and epochs, that are remembered."""


def _servers(world: World) -> list[EnsembleServer]:
    return [node.machine for node in world.nodes.values() if isinstance(node.machine, EnsembleServer)]


class OneEnsembleLeaderPerEpoch(Invariant):
    """An epoch belongs to one server: only so are zxids unique."""

    only = "zookeeper"
    meaning = {
        "en": "An epoch of the ensemble has one leader.",
        "ko": "앙상블의 에포크마다 리더는 하나뿐입니다.",
    }
    codes = (events.ENSEMBLE_EPOCH.name,)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._leaders: dict[int, int] = {}
        self._found: list[Violation] = []

    def row(self, row: Row) -> None:
        epoch, server = row[5]["epoch"], row[5]["server"]
        other = self._leaders.setdefault(epoch, server)
        if other != server:
            params = {"epoch": epoch, "leader": server, "other": other}
            self._found.append(self.found(row[0], row[1], "two_ensemble_leaders", (epoch, server), **params))

    def check(self, world: World) -> list[Violation]:
        found, self._found = self._found, []
        return found


class CommittedTreeKept(Invariant):
    """What a leader has committed is at every later leader, and no server that serves clients has anything else."""

    only = "zookeeper"
    meaning = {
        "en": "A change of the coordination tree that was committed stays, at every server that serves clients.",
        "ko": "커밋된 조정 트리의 변경은 클라이언트를 받는 모든 서버에 그대로 남아 있습니다.",
    }

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._committed: dict[int, Txn] = {}
        self._newest = self._epoch = 0
        self._seen: dict[str, int] = {}

    def check(self, world: World) -> list[Violation]:
        serving = [each for each in _servers(world) if each.serving]
        found: list[Violation] = []
        for server in sorted((each for each in serving if each.leads), key=lambda each: each.epoch):
            found += self._leads(world, server)
        for server in serving:
            found += self._agrees(world, server)
        return found

    def _leads(self, world: World, server: EnsembleServer) -> list[Violation]:
        """The newest leader says what is committed, and has what was."""
        last, history = server.tree.last_zxid, server.history
        if server.epoch < self._epoch:
            return []  # it has been replaced and does not know
        self._epoch = server.epoch
        found = []
        if self._newest > history.base and all(entry[0] != self._newest for entry in history.entries):
            key, params = (server.node.name, self._newest), self._where(server.node.name, self._newest, last)
            found.append(self.found_now("tree_gone", key, **params))
        for zxid, _, txn in history.entries:
            if zxid > self._newest:
                self._committed[zxid] = txn
        self._newest = max(self._newest, last)
        for old in list(self._committed)[: max(0, len(self._committed) - REMEMBERED)]:
            del self._committed[old]
        return found

    def _agrees(self, world: World, server: EnsembleServer) -> list[Violation]:
        name, first = server.node.name, next(iter(self._committed), 0)
        before = min(self._seen.get(name, 0), server.tree.last_zxid)
        self._seen[name] = server.tree.last_zxid
        return [
            self.found_now("tree_differs", (name, zxid), node=name, zxid=f"{zxid:#x}")
            for zxid, _, txn in server.history.entries
            if before < zxid and first <= zxid <= self._newest and self._committed.get(zxid) != txn
        ]

    def _where(self, node: str, zxid: int, end: int) -> dict[str, str]:
        return {"node": node, "zxid": f"{zxid:#x}", "end": f"{end:#x}"}


class EphemeralsHaveSessions(Invariant):
    """The owner of an ephemeral znode is a session that lives: a session takes its znodes along."""

    only = "zookeeper"
    meaning = {
        "en": "An ephemeral znode belongs to a session that has not ended.",
        "ko": "임시 znode의 주인은 아직 끝나지 않은 세션입니다.",
    }

    def check(self, world: World) -> list[Violation]:
        found: list[Violation] = []
        charge = charge_of(world)
        cluster = None if charge is None else charge.spec.cluster
        chroots = [""] if cluster is None else [cluster.chroot, *(one.chroot for one in cluster.neighbours)]
        for node in world.nodes.values():
            if not isinstance(node.machine, TreeServer):
                break  # servers of the tree are the first nodes of a world
            tree = node.machine.tree
            for path in [path for chroot in chroots for path in _ephemerals(tree.nodes, chroot)]:
                owner = tree.nodes[path].owner
                if owner not in tree.sessions:
                    params = {"node": node.name, "path": path, "session": f"{owner:#x}"}
                    found.append(self.found_now("ephemeral_alone", (path, owner), **params))
        return found


def _ephemerals(nodes: dict[str, Any], chroot: str) -> list[str]:
    """Where a cluster has them."""
    parent, controller = f"{chroot}/brokers/ids", f"{chroot}/controller"
    ids = [f"{parent}/{name}" for name in nodes[parent].children] if parent in nodes else []
    return ids + [path for path in (controller,) if path in nodes and nodes[path].owner]
