"""A follower: takes over its leader's log, flushes his proposals, carries out what he has committed.

| phase | hears => does |
|---|---|
| discovery | LeaderInfo of a newer epoch => promises it, says how far its log goes; of an older one => leaves |
| synchronisation | Diff, Truncate, Snapshot => its log is the leader's; NewLeader => takes his epoch, flushes, acks |
| broadcast | UpToDate => serves clients; Proposal => flushes, acks; Commit => carries out, answers |

A leader that closes the connection, or is silent for `initLimit` ticks (before UpToDate) or `syncLimit` ticks (behind
it), is left: the server looks for another one. Where nobody listens yet, as the leader is still deciding to lead, it
tries five times, 100 ms apart. Source: Learner, Follower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.kernel.node import Timer
from broker_core.zookeeper import zab
from broker_core.zookeeper.peer_link import BrokenLink, PeerLink

if TYPE_CHECKING:
    from broker_core.zookeeper.ensemble import EnsembleServer

RETRY_US = 100_000
TRIES = 5


class Following:
    """What a server does while it has a leader. `how`: by what its log was brought up to the leader's."""

    def __init__(self, server: EnsembleServer, leader: int) -> None:
        self.server = server
        self.node = server.node
        self.leader = leader
        self.epoch = server.epochs.accepted
        self.serving = False
        self.touched: dict[int, None] = {}
        self.how = "diff"
        self._lacked = 0
        self._tries = 1
        self._link = self._new_link()
        self._watch: Timer | None = None
        self._retry: Timer | None = None

    def start(self) -> None:
        self._link.send(zab.FollowerInfo(self.server.epochs.accepted))
        self._watch_leader(self.server.config.init_limit)

    def stop(self) -> None:
        for timer in (self._watch, self._retry):
            if timer is not None:
                timer.cancel()
        self._link.refuse()

    # --- for its server --------------------------------------------------------------------------

    def submit(self, forward: zab.Forward) -> None:
        self._link.send(forward)

    def revalidate(self, question: zab.Revalidate) -> None:
        self._link.send(question)

    def touch(self, session: int) -> None:
        self.touched[session] = None

    def flushed(self, zxid: int) -> None:
        self._link.send(zab.Ack(zxid))

    # --- the leader speaks -----------------------------------------------------------------------

    def receive(self, source: str, message: zab.Packet | zab.Refused) -> None:
        if isinstance(message, zab.Refused):
            if message.connection == self._link.number:
                self._refused()
            return
        if message.connection != self._link.number:
            return
        try:
            body = self._link.take(message)
        except BrokenLink:
            self.server.look("connection broken")
            return
        if body is not None:
            self._watch_leader(self.server.config.sync_limit if self.serving else self.server.config.init_limit)
            self._hear(body)

    def peer_down(self, peer: str) -> None:
        if peer == self._link.peer:
            self._refused()

    def _hear(self, body: zab.Body) -> None:
        match body:
            case zab.LeaderInfo():
                self._promise(body.epoch)
            case zab.Diff() | zab.Truncate() | zab.Snapshot():
                self._synchronise(body)
            case zab.NewLeader():
                self._take_over(body.zxid)
            case zab.UpToDate():
                self._serve()
            case zab.Proposal():
                self.server.take(body)
            case zab.Commit():
                self.server.commit_to(body.zxid)
            case zab.Ping():
                self._link.send(zab.Pong(tuple(self.touched)))
                self.touched.clear()
            case zab.Revalidated():
                self.server.revalidated(body)

    def _promise(self, epoch: int) -> None:
        epochs = self.server.epochs
        if epoch < epochs.accepted:
            self.server.look("older epoch")
            return
        self.epoch = epoch
        current = -1
        if epoch > epochs.accepted:
            current = epochs.current
            if not self.server.stored(epochs.accept, epoch):
                return
        self._link.send(zab.AckEpoch(current, self.server.tree.last_zxid))

    def _synchronise(self, body: zab.Diff | zab.Truncate | zab.Snapshot) -> None:
        server = self.server
        match body:
            case zab.Truncate():
                self.how = "truncate"
                server.truncate(body.zxid)
            case zab.Snapshot():
                self.how = "snapshot"
                server.install(body.text)
            case zab.Diff():
                self._lacked = len(body.entries)
                server.add_committed(body.entries)

    def _take_over(self, zxid: int) -> None:
        if self.server.stored(self.server.epochs.begin, self.epoch):
            self._link.send(zab.Ack(zxid))

    def _serve(self) -> None:
        self.serving = True
        self.server.up_to_date()
        self.node.emit(
            events.ENSEMBLE_SYNCED, leader=self.leader, epoch=self.epoch, how=self.how, n=self._lacked,
            zxid=f"{self.server.tree.last_zxid:#x}",
        )  # fmt: skip
        self._watch_leader(self.server.config.sync_limit)

    # --- the connection --------------------------------------------------------------------------

    def _new_link(self) -> PeerLink:
        number = self.node.random("ensemble-connections").getrandbits(32)
        return PeerLink(self.node, self.server.election.peers[self.leader], number)

    def _refused(self) -> None:
        """Before he has answered at all he may still be about to lead; behind that he has gone."""
        if self._link.heard or self._tries >= TRIES:
            self.server.look("leader lost")
        elif self._retry is None or not self._retry.active:
            self._retry = self.node.after(RETRY_US, self._connect_again)

    def _connect_again(self) -> None:
        self._tries += 1
        self._link = self._new_link()
        self._link.send(zab.FollowerInfo(self.server.epochs.accepted))

    def _watch_leader(self, limit: int) -> None:
        if self._watch is not None:
            self._watch.cancel()
        delay_us = limit * self.server.config.limits.tick_ms * 1000
        self._watch = self.node.after(delay_us, self.server.look, "leader silent")

