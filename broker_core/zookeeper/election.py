"""Who leads an ensemble: ZooKeeper's fast leader election.

Every server that looks for a leader votes, first for itself, and tells all others. Who hears of a better vote takes it
over and tells all others again; the better one has the newer epoch, then the longer log, then the larger id:

| server | epoch, last zxid | votes for, at first | at last |
|---|---|---|---|
| 1 | 3, 0x300000007 | 1 | 1 |
| 2 | 3, 0x300000005 | 2 | 1: its log is longer |
| 3 | dead | | |

A vote that a majority shares wins, unless a better one arrives within 200 ms (`finalizeWait`): so nearly always the
server with the longest log leads, and a committed transaction, which is in the logs of a majority, is in it.
Rounds are numbered: votes of an older round do not count, and who hears of a newer one begins again in it. A server
that has a leader answers whoever looks for one; when a majority and that leader itself say the same, he follows.
Without answers a vote is told again, after 200 ms, twice that, ... at most 60 s. Source: FastLeaderElection.
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.kernel import events
from broker_core.kernel.node import Node, Timer
from broker_core.zookeeper.zab import FOLLOWING, LEADING, LOOKING, Notification, Vote

FINALIZE_US = 200_000
LONGEST_US = 60_000_000
AGAIN_US = 1_000_000


class Election:
    """One server's part in elections. `peers`: id of every server -> its node, this one included.

    - `received`: votes of this round; `decided(vote)` is called once for each `look`

    Invariants
        - while it looks, its own vote is among those received
    """

    def __init__(self, node: Node, own: int, peers: dict[int, str], decided: Callable[[Vote], None]) -> None:
        self.node = node
        self.own = own
        self.peers = peers
        self.decided = decided
        self.round = 0
        self.state = LOOKING
        self.first = self.vote = Vote(0, 0, own)
        self.received: dict[int, Vote] = {}
        self.settled: dict[int, tuple[int, Vote, str]] = {}
        self._wait_us = FINALIZE_US
        self._again: Timer | None = None
        self._final: Timer | None = None

    def look(self, epoch: int, zxid: int) -> None:
        """Begin a round with a vote for oneself."""
        self.state = LOOKING
        self.round += 1
        self.first = Vote(epoch, zxid, self.own)
        self.received.clear()
        self.settled.clear()
        self._wait_us = FINALIZE_US
        self._vote_for(self.first)
        self._count()

    def stop(self) -> None:
        for timer in (self._again, self._final):
            if timer is not None:
                timer.cancel()

    def heard(self, sender: int, message: Notification) -> None:
        if self.state != LOOKING:
            if message.state == LOOKING:
                self._tell(sender)
        elif message.state == LOOKING:
            self._candidate(sender, message)
        else:
            self._leader_known(sender, message)

    def peer_back(self, sender: int) -> None:
        """A connection to it has ended; perhaps it can be reached again: ask soon, not when the long wait is over."""
        if self.state == LOOKING and sender in self.peers:
            self._arm_again(min(self._wait_us, AGAIN_US))

    # --- while looking ---------------------------------------------------------------------------

    def _candidate(self, sender: int, message: Notification) -> None:
        if message.round < self.round:
            self._tell(sender)
            return
        if message.round > self.round:
            self.round = message.round
            self.received.clear()
            self._vote_for(max(message.vote, self.first))
        elif message.vote > self.vote:
            self._vote_for(message.vote)
        self.received[sender] = message.vote
        self._count()

    def _vote_for(self, vote: Vote) -> None:
        self.vote = vote
        self.received[self.own] = vote
        self.node.emit(events.ENSEMBLE_VOTE, server=vote.leader, zxid=f"{vote.zxid:#x}", round=self.round)
        self._tell_all()

    def _count(self) -> None:
        """A vote that a majority shares is final after a while, if no better one comes."""
        if self._final is not None:
            self._final.cancel()
            self._final = None
        if self._majority(sum(vote == self.vote for vote in self.received.values())):
            self._final = self.node.after(FINALIZE_US, self._end, self.vote)

    def _leader_known(self, sender: int, message: Notification) -> None:
        """A majority that follows a leader, and its own word that it leads."""
        self.settled[sender] = (message.round, message.vote, message.state)
        vote = message.vote
        same = [one for one in self.settled.values() if one[1] == vote]
        leads = self.settled.get(vote.leader)
        if vote.leader != self.own and self._majority(len(same)) and leads is not None and leads[2] == LEADING:
            self.round = message.round
            self._end(vote)

    def _end(self, vote: Vote) -> None:
        self.stop()
        self.vote = vote
        self.state = LEADING if vote.leader == self.own else FOLLOWING
        self.decided(vote)

    def _majority(self, count: int) -> bool:
        return count > len(self.peers) // 2

    # --- telling ---------------------------------------------------------------------------------

    def _tell(self, server: int) -> None:
        self.node.send(self.peers[server], Notification(self.round, self.vote, self.state), 40)

    def _tell_all(self) -> None:
        for server in self.peers:
            if server != self.own:
                self._tell(server)
        self._arm_again(self._wait_us)

    def _arm_again(self, delay_us: int) -> None:
        if self._again is not None:
            self._again.cancel()
        self._again = self.node.after(delay_us, self._tell_again)

    def _tell_again(self) -> None:
        self._wait_us = min(2 * self._wait_us, LONGEST_US)
        self._tell_all()
