"""ConsumerGroupHeartbeat, and everything that happens to a group by itself: silence, slowness, new topics.

| what happens | then |
|---|---|
| a heartbeat | `decisions`; the member's session begins again |
| `consumer.session.timeout.ms` without one | the member is removed |
| a member owns for its rebalance timeout what it should give back | the member is removed |
| one of the classic protocol does not join or sync for as long | the member is removed |
| the first of this protocol comes, the last one goes | the group is converted (`conversion`) |
| a pattern is new, or the cluster has other topics | patterns are resolved, the group epoch grows |

A coordinator that takes over knows all members and gives each of them a full session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from broker_core.coordinators.lanes import Lanes
from broker_core.coordinators.runtime import KeyValue
from broker_core.groups.consumer import records as r
from broker_core.groups.consumer.checks import HeartbeatRefused, check_request
from broker_core.groups.consumer.conversion import check_upgrade, lines_of_downgrade, upgraded
from broker_core.groups.consumer.decisions import Decision, Decisions
from broker_core.groups.assigned import DEAD, EMPTY, STABLE
from broker_core.groups.consumer.group import ASSIGNING, ConsumerGroup
from broker_core.groups.consumer.member import JOIN_EPOCH, ConsumerMember, MemberState, named, new_member_id
from broker_core.groups.consumer.records import Record, encoded
from broker_core.groups.consumer.settings import ASSIGNMENT_INTERVAL, HEARTBEAT_INTERVAL, OF_BROKERS, SESSION_TIMEOUT
from broker_core.groups.consumer.subscriptions import TopicsPort
from broker_core.groups.consumer.watches import Key, Watches
from broker_core.groups.group import Group
from broker_core.groups.member import ClientIdentity, Reply
from broker_core.groups.rebalance import Rebalancer
from broker_core.groups.registry import CLASSIC, CONSUMER, GroupRegistry, group_write_error
from broker_core.groups.schema import encode_group_key
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

RETRY_MS = 500
WHY = {EMPTY: "no members", ASSIGNING: "target is old", STABLE: "all at their target"}


class Outcome:
    """What a step has decided. `why`: of members that are gone; `reply`: who waits, None for nobody; `before`:
    records of another kind that go with it; `refused`: the answer when it is not written; `into`: as in Decision."""

    __slots__ = ("group", "records", "before", "reply", "response", "refresh", "why", "refused", "into")

    def __init__(
        self, group: ConsumerGroup, decision: Decision, reply: Reply | None, why: str,
        before: list[KeyValue] | None = None, refused: Callable[[int], Any] | None = None,
    ) -> None:  # fmt: skip
        self.group = group
        self.before = before or []
        self.refused = refused or _not_written
        self.into = decision.into
        self.records = decision.records
        self.response = decision.response
        self.refresh = decision.refresh
        self.reply = reply
        self.why = why

    def lines(self) -> list[KeyValue]:
        lines = [*self.before, *(encoded(record) for record in self.records)]
        return lines if self.into is None else [*lines, *lines_of_downgrade(self.group, self.records, self.into)]


class ConsumerGroups:
    """The next-generation groups of a coordinator. `settings_of(group id)`: what is set for that group alone."""

    def __init__(self, registry: GroupRegistry, topics: TopicsPort, rebalancer: Rebalancer) -> None:
        self.registry = registry
        self.rebalancer = rebalancer
        self.node = registry.node
        self.topics = topics
        self.decisions = Decisions(registry.config, topics)
        self.overrides: dict[str, dict[str, str]] = {}
        self.lanes = Lanes(self._finish)
        self.sessions = Watches(self.node, self._silent)
        self.rebalances = Watches(self.node, self._slow)
        self.joins = Watches(self.node, self._late)
        self.syncs = Watches(self.node, self._late)

    def setting(self, group_id: str, name: str) -> int:
        """A group's own setting, kept within the broker's limits, or the broker's for all groups."""
        config: Mapping[str, Any] = self.registry.config
        text = self.overrides.get(group_id, {}).get(name)
        for_all, least, most = OF_BROKERS[name]
        return int(config[for_all]) if text is None else max(int(config[least]), min(int(text), int(config[most])))

    # --- requests -------------------------------------------------------------------------------

    def heartbeat(self, request: m.ConsumerGroupHeartbeatRequest, client: ClientIdentity, reply: Reply) -> None:
        """ConsumerGroupHeartbeat 0-1; later an answer."""
        try:
            check_request(request, client.api_version, self.decisions.assignors)
        except HeartbeatRefused as refusal:
            reply.send(_refusal(refusal))
            return
        if not request.member_id:
            request.member_id = new_member_id(self.node.uuid())
        self.lanes.run(self.registry.runtime, request.group_id, self._heartbeat, request, client, reply)

    def _heartbeat(
        self, request: m.ConsumerGroupHeartbeatRequest, client: ClientIdentity, reply: Reply
    ) -> Outcome | None:
        try:
            error = self.registry.status(request.group_id)
            if error is not ErrorCode.NONE:
                raise HeartbeatRefused(error)
            group, before = self._group(request.group_id, request.member_epoch)
            if request.member_epoch < JOIN_EPOCH:
                decision = self.decisions.leave(group, request, self.node.wall_ms())
            else:
                interval_ms = self.setting(group.group_id, ASSIGNMENT_INTERVAL)
                decision = self.decisions.heartbeat(group, request, client, self.node.wall_ms(), interval_ms)
                decision.response.heartbeat_interval = self.setting(group.group_id, HEARTBEAT_INTERVAL)
                key = group.group_id, request.member_id
                self.sessions.restart(key, self.setting(group.group_id, SESSION_TIMEOUT))
        except HeartbeatRefused as refusal:
            reply.send(_refusal(refusal))
            return None
        classic = self.registry.groups.get(group.group_id)
        if classic is not None and group.members and decision.records:
            self.rebalancer.freeze(classic)
        return Outcome(group, decision, reply, "left", before if decision.records else [])

    def _group(self, group_id: str, epoch: int) -> tuple[ConsumerGroup, list[KeyValue]]:
        """The group; who joins makes a new one, or turns a classic one into one: with the records that say so. Raises
        HeartbeatRefused."""
        found = self.registry.consumer_groups.get(group_id)
        if found is not None:
            return found, []
        classic = self.registry.groups.get(group_id)
        if epoch == JOIN_EPOCH and classic is not None:
            gone: list[KeyValue] = [(encode_group_key(group_id), None)] if classic.generation > 0 else []
            if _is_empty(classic):
                return ConsumerGroup(group_id, classic.offsets), gone
            check_upgrade(classic, self.registry.config)
            made, records = upgraded(classic, self.topics)
            return made, [*gone, *(encoded(record) for record in records)]
        if epoch == JOIN_EPOCH and not self.registry.other_kind(group_id, CONSUMER):
            return ConsumerGroup(group_id), []
        words = self.registry.absent(group_id, CONSUMER, "Group" if epoch < JOIN_EPOCH else "Consumer group")
        raise HeartbeatRefused(ErrorCode.GROUP_ID_NOT_FOUND, words)

    def make_classic(self, group: ConsumerGroup) -> None:
        """An empty group becomes an empty classic one: somebody joins it by the classic protocol."""
        self.forget(group, "deleted")
        made = [encoded(record) for record in r.group_tombstones(group.group_id, group.patterns)]
        self.registry.get_or_create(group.group_id).offsets = group.offsets
        self.registry.runtime.append(group.group_id, made, _nobody_waits, None)

    def is_taken(self, group_id: str) -> bool:
        """Whether the group has members of the next generation, or is getting one."""
        group = self.registry.consumer_groups.get(group_id)
        return self.lanes.busy(group_id) or (group is not None and bool(group.members))

    def remove_members(self, group_id: str, member_ids: list[str]) -> None:
        """An operator removes members (LeaveGroup of tools)."""
        self.lanes.run(self.registry.runtime, group_id, self._remove, group_id, member_ids, "removed")

    # --- what happens by itself -----------------------------------------------------------------

    def _silent(self, key: Key, about: None) -> None:
        group_id, member_id = key
        self.lanes.run(self.registry.runtime, group_id, self._remove, group_id, [member_id], "session timeout")

    def _slow(self, key: Key, epoch: int) -> None:
        group = self.registry.consumer_groups.get(key[0])
        member = None if group is None else group.members.get(key[1])
        if member is not None and member.epoch == epoch:
            group_id, member_id = key
            self.lanes.run(self.registry.runtime, group_id, self._remove, group_id, [member_id], "rebalance timeout")

    def _late(self, key: Key, about: None) -> None:
        group_id, member_id = key
        self.lanes.run(self.registry.runtime, group_id, self._remove, group_id, [member_id], "rebalance timeout")

    def _remove(self, group_id: str, member_ids: list[str], why: str) -> Outcome | None:
        group = self.registry.consumer_groups.get(group_id)
        if group is None:
            return None
        there = [one for one in member_ids if one in group.members]
        if why == "session timeout":  # somebody that waited in the lane may have shown life since
            there = [one for one in there if (group_id, one) not in self.sessions.watches]
        if not there:
            return None
        return Outcome(group, self.decisions.remove(group, there, self.node.wall_ms()), None, why)

    def _resolve(self, group_id: str) -> None:
        self.lanes.run(self.registry.runtime, group_id, self._refresh, group_id)

    def _refresh(self, group_id: str) -> Outcome | None:
        group = self.registry.consumer_groups.get(group_id)
        if group is None:
            return None
        return Outcome(group, self.decisions.refresh(group, self.node.wall_ms()), None, "")

    # --- afterwards -----------------------------------------------------------------------------

    def _finish(self, outcome: Outcome, code: int, in_the_log: bool) -> None:
        """Replays what is in the log, tells and answers."""
        group = outcome.group
        if in_the_log and outcome.into is not None:
            self._become_classic(group, outcome.into, outcome)
        elif in_the_log:
            self._replay(group, outcome)
        if code != ErrorCode.NONE:
            if outcome.reply is None and not in_the_log:
                self._watch_again(outcome)
            elif outcome.reply is not None:
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE if in_the_log else group_write_error(code)
                outcome.reply.send(outcome.refused(error))
            if not in_the_log:
                self._thaw(group.group_id)
            return
        if outcome.reply is not None:
            outcome.reply.send(outcome.response)
        if outcome.refresh:
            self.node.soon(self._resolve, group.group_id)

    def _replay(self, group: ConsumerGroup, outcome: Outcome) -> None:
        self._take(group)
        for record in outcome.records:
            before = group.members.get(record.subject)
            self._tell(group, record, outcome.why)
            group.replay(record)
            after = group.members.get(record.subject)
            if record.kind == r.CURRENT and after is not None and record.value is not None:
                self._tell_step(group, before, after)
        self._watch(group, outcome.records)
        self.tell_state(group)

    def _take(self, group: ConsumerGroup) -> None:
        """A group that is written down for the first time is here from now on, in place of an empty classic one."""
        if group.group_id in self.registry.consumer_groups:
            return
        classic = self.registry.groups.pop(group.group_id, None)
        self.registry.consumer_groups[group.group_id] = group
        if classic is None:
            return
        group.offsets = classic.offsets
        if group.members:
            group.told = classic.state.value
            self.rebalancer.retire(classic)
            for member in group.classic_members():
                if member.classic is not None:
                    self.sessions.restart((group.group_id, member.member_id), member.classic.session_timeout_ms)
            self._tell_conversion(group, CLASSIC, CONSUMER, len(group.members))

    def _thaw(self, group_id: str) -> None:
        """The group could not be converted: it is a classic one still."""
        classic = self.registry.groups.get(group_id)
        if classic is not None and classic.frozen:
            self.rebalancer.thaw(classic)

    def _become_classic(self, group: ConsumerGroup, made: Group, outcome: Outcome) -> None:
        """The last member of this protocol is gone: the others go on by theirs, and begin with a rebalance, unless one
        of them has taken its place."""
        for member_id in group.members:
            self._stop_watching((group.group_id, member_id))
            if member_id not in made.members:
                self.node.emit(events.MEMBER_LEFT, group=group.group_id, member=member_id, reason=outcome.why)
        del self.registry.consumer_groups[group.group_id]
        self.registry.groups[group.group_id] = made
        self._tell_conversion(group, CONSUMER, CLASSIC, len(made.members))
        self.rebalancer.loaded(made)
        if not outcome.records or made.generation != group.epoch:
            self.rebalancer.maybe_prepare(made, "converted to a classic group")

    def _tell_conversion(self, group: ConsumerGroup, before: str, after: str, members: int) -> None:
        what = {"group": group.group_id, "before": before, "after": after, "generation": group.epoch}
        self.node.emit(events.GROUP_CONVERTED, **what, members=members)

    def _stop_watching(self, key: Key) -> None:
        for watches in (self.sessions, self.rebalances, self.joins, self.syncs):
            watches.stop(key)

    def _tell(self, group: ConsumerGroup, record: Record, why: str) -> None:
        """What a record changes, for the journal."""
        member = group.members.get(record.subject)
        if record.kind == r.MEMBER and record.value is None:
            self.node.emit(events.MEMBER_LEFT, group=group.group_id, member=record.subject, reason=why)
        elif record.kind == r.MEMBER and member is None:
            self.node.emit(
                events.MEMBER_JOINED, group=group.group_id, member=record.subject, client_id=record.value.client_id,
                instance=record.value.instance_id,
            )  # fmt: skip

    def _tell_step(self, group: ConsumerGroup, before: ConsumerMember | None, after: ConsumerMember) -> None:
        """A member has come nearer to its target, or waits for something else than before."""
        if before is None or replace(before, previous_epoch=0) != replace(after, previous_epoch=0):
            names = self.topics.names_by_id()
            self.node.emit(
                events.MEMBER_RECONCILED, group=group.group_id, member=after.member_id, epoch=after.epoch,
                state=after.state.name, assigned=named(after.assigned, names), revoking=named(after.revoking, names),
            )  # fmt: skip

    def tell_state(self, group: ConsumerGroup, why: str | None = None) -> None:
        """The journal says it when the group has come to another state."""
        before, after = group.told, group.state
        if before == after:
            return
        group.told = after
        self.node.emit(
            events.GROUP_STATE, group=group.group_id, before=before, after=after, generation=group.epoch,
            reason=why or WHY.get(after, "target computed"), protocol=group.assignor(self.decisions.assignors[0]),
        )  # fmt: skip

    def _watch(self, group: ConsumerGroup, records: list[Record]) -> None:
        """Starts and ends the clocks of those whose assignment has changed."""
        for record in records:
            if record.kind != r.CURRENT:
                continue
            key = group.group_id, record.subject
            member = group.members.get(record.subject)
            if member is None:
                self._stop_watching(key)
            elif member.classic is not None or member.state is not MemberState.UNREVOKED_PARTITIONS:
                self.rebalances.stop(key)
            else:
                self.rebalances.restart(key, member.rebalance_timeout_ms, member.epoch)

    def _watch_again(self, outcome: Outcome) -> None:
        """Members could not be removed: their time is over again soon."""
        group = outcome.group
        if self.registry.consumer_groups.get(group.group_id) is not group:
            return
        for record in outcome.records:
            key, member = (group.group_id, record.subject), group.members.get(record.subject)
            if record.kind == r.MEMBER and member is not None:
                if outcome.why == "rebalance timeout":
                    self.rebalances.restart(key, RETRY_MS, member.epoch)
                elif key not in self.sessions.watches:
                    self.sessions.restart(key, RETRY_MS)

    # --- moving ---------------------------------------------------------------------------------

    def loaded(self, group: ConsumerGroup) -> None:
        """A group was read from the log."""
        self.registry.consumer_groups[group.group_id] = group
        group.told = group.state
        for member in group.members.values():
            key = group.group_id, member.member_id
            self.sessions.restart(key, self.setting(group.group_id, SESSION_TIMEOUT))
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                self.rebalances.restart(key, member.rebalance_timeout_ms, member.epoch)

    def unload(self, partition: int) -> None:
        """Another broker coordinates the groups of a partition from now on."""
        registry = self.registry
        for group in list(registry.consumer_groups.values()):
            if registry.partition_for(group.group_id) == partition:
                self.forget(group, "coordinator moved")
        self.lanes.give_up([one for one in list(self.lanes.lanes) if registry.partition_for(one) == partition])

    def forget(self, group: ConsumerGroup, why: str) -> None:
        """The group is not here any more."""
        for member_id in group.members:
            self._stop_watching((group.group_id, member_id))
        del self.registry.consumer_groups[group.group_id]
        group.gone = True
        assert group.state == DEAD
        self.tell_state(group, why)


def _nobody_waits(context: None, error: int) -> None:
    """A tombstone that is lost is no harm: who loads the group again finds it empty."""


def _is_empty(group: Group) -> bool:
    return group.state is GroupState.EMPTY and not group.pending_members


def _not_written(error: int) -> Any:
    return m.ConsumerGroupHeartbeatResponse(error_code=error)


def _refusal(refusal: HeartbeatRefused) -> Any:
    return m.ConsumerGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)
