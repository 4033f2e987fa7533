"""What is due in each state, and when to look again.

| state | due |
|---|---|
| unattached | a voter: the election timeout -> prospective. An observer: ask any voter who leads |
| prospective | pre-votes; a majority -> candidate; a refusal or time -> back to what it knew |
| candidate | votes; a majority -> leader; time -> prospective |
| leader | write what waits; BeginQuorumEpoch to who has not fetched for half a fetch timeout; no majority -> resigned |
| follower | one Fetch (or FetchSnapshot) after the other; the fetch timeout -> prospective |
| resigned | EndQuorumEpoch to those that have not confirmed; the election timeout -> unattached, next epoch |

Source: KafkaRaftClient.pollCurrentState.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.raft.leader import Leader
from broker_core.raft.states import NEVER_US, Candidate, EpochElection, Follower, Prospective, Resigned, Unattached
from broker_core.wire.apis import ApiKey

if TYPE_CHECKING:
    from broker_core.raft.client import RaftClient

VERSIONS = {
    ApiKey.FETCH: 18, ApiKey.VOTE: 2, ApiKey.BEGIN_QUORUM_EPOCH: 1, ApiKey.END_QUORUM_EPOCH: 1,
    ApiKey.FETCH_SNAPSHOT: 1, ApiKey.UPDATE_RAFT_VOTER: 0, ApiKey.ADD_RAFT_VOTER: 1, ApiKey.REMOVE_RAFT_VOTER: 0,
}  # fmt: skip
MOST_STEPS = 16


class Polling:
    """See the module."""

    def __init__(self, client: RaftClient) -> None:
        self.client = client
        self._asked_last = -1

    def run(self) -> int:
        """Until nothing is due; the time (us) at which something may be. Raises StorageError."""
        for _ in range(MOST_STEPS):
            state = self.client.quorum.state
            at_us = self._step(state)
            if self.client.thread.pay():
                return NEVER_US
            if self.client.quorum.state is state:
                return self._ahead(at_us)
        return self.client.node.now_us()

    def _ahead(self, at_us: int) -> int:
        """A replica that stops lets its deadlines pass: what ends it is an answer, or the time that it has."""
        passed = self.client.stopping is not None and at_us <= self.client.node.now_us()
        return NEVER_US if passed else at_us

    def _step(self, state: Any) -> int:
        if self.client.stopping is not None and self._may_stop(state):
            return NEVER_US
        if isinstance(state, Leader):
            return self._leader(state)
        if isinstance(state, Follower):
            return self._follower(state)
        if isinstance(state, Prospective | Candidate):
            return self._electing(state)
        return self._resigned(state) if isinstance(state, Resigned) else self._unattached(state)

    def _may_stop(self, state: Any) -> bool:
        """A replica that leaves in order may go once it is not needed: no voter, alone, or another one leads."""
        client = self.client
        led_by_other = isinstance(state, Follower)
        if not client.quorum.is_voter or client.quorum.is_only_voter or led_by_other:
            client.node.soon(client._stopped)
            return True
        return False

    def _is_over(self, deadline_us: int) -> bool:
        return self.client.node.now_us() >= deadline_us and self.client.stopping is None

    # -- without a leader -------------------------------------------------------------------------
    def _unattached(self, state: Unattached) -> int:
        client = self.client
        if not client.quorum.is_voter:
            return self._ask_any_voter()
        if state.deadline_us == NEVER_US:
            state.deadline_us = client.node.now_us() + client.settings.election_timeout_ms * 1000
        if self._is_over(state.deadline_us):
            self._become_prospective("election timeout")
        return state.deadline_us

    def _become_prospective(self, reason: str) -> None:
        self.client.quorum.to_prospective(reason)
        self.client.requests.reset()

    def _electing(self, state: Prospective | Candidate) -> int:
        client, pre_vote = self.client, isinstance(state, Prospective)
        if state.election.is_granted:
            if pre_vote:
                client.quorum.to_candidate()
                client.requests.reset()
            else:
                client.become_leader()
            return client.node.now_us()
        if isinstance(state, Prospective) and (state.election.is_rejected or self._is_over(state.deadline_us)):
            self._back(state)
            return client.node.now_us()
        if self._is_over(state.deadline_us):
            self._become_prospective("election timeout")
            return client.node.now_us()
        return min(state.deadline_us, self._ask_for_votes(state.election, pre_vote))

    def _back(self, state: Prospective) -> None:
        """No majority would vote: what was known before counts again."""
        client = self.client
        if state.leader_id is not None and state.leader_id != client.own.key.id:
            client.to_follower(state.epoch, state.leader_id)
        else:
            client.to_unattached(state.epoch)

    def _ask_for_votes(self, election: EpochElection, pre_vote: bool) -> int:
        if election.is_rejected:
            return NEVER_US
        voters = self.client.history.last_voters
        at_us = NEVER_US
        for voter in election.missing:
            if voter in voters.nodes:
                request = self.client.voting.vote_request(voters.nodes[voter].key, pre_vote)
                at_us = min(at_us, self._send(voter, ApiKey.VOTE, request))
        return at_us

    def _resigned(self, state: Resigned) -> int:
        client = self.client
        if self._is_over(state.deadline_us):
            client.to_unattached(state.epoch + 1)
            return client.node.now_us()
        at_us = state.deadline_us
        for voter in list(state.unacknowledged):
            at_us = min(at_us, self._send(voter, ApiKey.END_QUORUM_EPOCH, client.voting.end_request(state.preferred)))
        return at_us

    # -- leader -----------------------------------------------------------------------------------
    def _leader(self, leader: Leader) -> int:
        client, now_us = self.client, self.client.node.now_us()
        reason = self._reason_to_resign(leader, now_us)
        if reason is not None:
            client.resign_now(reason)
            return now_us
        client.reconfiguration.expire(leader)
        if leader.accumulator.due_us is not None and leader.accumulator.due_us <= now_us:
            client.progress.write(leader)
        if leader.begin_quorum_us <= now_us:
            leader.begin_quorum_us = now_us + leader.begin_quorum_period_us
            for key in leader.silent(now_us):
                self._send(key.id, ApiKey.BEGIN_QUORUM_EPOCH, client.voting.begin_request(key))
        alone = len(leader.voters) == 1
        due = leader.accumulator.due_us
        change_us = leader.change.deadline_us if leader.change is not None else NEVER_US
        return min(leader.begin_quorum_us, NEVER_US if alone else leader.check_quorum_us, change_us,
                   NEVER_US if due is None else due)  # fmt: skip

    def _reason_to_resign(self, leader: Leader, now_us: int) -> str | None:
        if self.client.stopping is not None:
            return "shutdown"
        if leader.resign_requested:
            return "asked for" if self.client.own.key in self.client.history.last_voters else "no voter any more"
        return "no majority fetches" if leader.quorum_is_lost(now_us) else None

    # -- follower and observer --------------------------------------------------------------------
    def _follower(self, state: Follower) -> int:
        client, now_us = self.client, self.client.node.now_us()
        if not client.quorum.is_voter:
            return self._observer(state)
        if self._is_over(state.deadline_us):
            self._become_prospective("fetch timeout")
            return now_us
        at_us = self._describe(state, now_us)
        return min(state.deadline_us, at_us, self._fetch(state.leader_id, state))

    def _describe(self, state: Follower, now_us: int) -> int:
        """Each fetch timeout, tell the leader who this is where that is due, or after the request under way."""
        client = self.client
        if state.update_voter_us > now_us:
            return state.update_voter_us
        update = client.reconfiguration
        api = ApiKey.UPDATE_RAFT_VOTER
        if not update.update_is_due or client.ask(state.leader_id or 0, api, VERSIONS[api], update.update_request()):
            state.update_voter_us = now_us + client.settings.fetch_timeout_ms * 1000
            return state.update_voter_us
        return NEVER_US

    def _observer(self, state: Follower) -> int:
        """Fetch from the leader; from any voter when it is silent, paused or gone."""
        client = self.client
        join_us = self._join(state, client.node.now_us())
        leader_node = client.addresses.node_of(state.leader_id if state.leader_id is not None else -1)
        silent = self._is_over(state.deadline_us)
        if silent or client.requests.ready_at_us(leader_node) is not None:
            at_us = self._ask_any_voter()
        else:
            at_us = self._fetch(state.leader_id, state)
        return min(at_us, join_us) if silent else min(at_us, join_us, state.deadline_us)

    def _join(self, state: Follower, now_us: int) -> int:
        """Ask for a vote, if it is time and no other request is under way: else after that one.

        A controller that has lost its disk is no voter, while its id is still one with the old directory: that one
        goes first (KIP-853, `controller.quorum.auto.join.enable`)."""
        client = self.client
        request = client.reconfiguration.join_request()
        if request is None:
            return NEVER_US
        if state.join_us > now_us:
            return state.join_us
        api, body = request
        if client.ask(state.leader_id or 0, api, VERSIONS[api], body):
            state.join_us = now_us + client.settings.fetch_timeout_ms * 1000
            return state.join_us
        return NEVER_US

    def _fetch(self, leader_id: int | None, state: Follower) -> int:
        assert leader_id is not None
        client, node = self.client, self.client.addresses.node_of(leader_id)
        if not client.requests.is_ready(node):
            return client.requests.ready_at_us(node) or NEVER_US
        if state.fetching is not None:
            return self._send(leader_id, ApiKey.FETCH_SNAPSHOT, client.fetching.snapshot_request(state))
        return self._send(leader_id, ApiKey.FETCH, client.fetching.fetch_request())

    def _ask_any_voter(self) -> int:
        """One Fetch to one of the voters, a different one each time: its answer says who leads."""
        client = self.client
        voters = [one for one in client.history.last_voters.ids or client.bootstrap if one != client.own.key.id]
        if not voters or client.requests.any_in_flight:
            return NEVER_US
        ready = [one for one in voters if client.requests.is_ready(client.addresses.node_of(one))]
        if not ready:
            return min(client.requests.ready_at_us(client.addresses.node_of(one)) or NEVER_US for one in voters)
        later = [one for one in ready if one > self._asked_last]
        self._asked_last = (later or ready)[0]
        return self._send(self._asked_last, ApiKey.FETCH, client.fetching.fetch_request())

    def _send(self, replica_id: int | None, api: ApiKey, body: Any) -> int:
        """Send unless one is under way; when the pause after a failure is over."""
        assert replica_id is not None
        client = self.client
        if client.ask(replica_id, api, VERSIONS[api], body):
            return NEVER_US
        return client.requests.ready_at_us(client.addresses.node_of(replica_id)) or NEVER_US
