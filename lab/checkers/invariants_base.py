"""What an invariant is: a sentence that must never be false, and who says so when it is.

An invariant stands beside the brokers, never inside them: it looks at what is there (logs, marks, znodes,
groups) between two instants of virtual time, and remembers what it needs from journal rows and operations.

    row(row)        a journal row of one of `codes`, as it is written
    operation(row)  an operation of one of `operations`: what clients did
    check(world)    the state now; returns what is wrong

A violation that lasts has one `key` and is counted once. It carries a code and parameters, no sentence,
so that each reader has it in his own language; `WHAT` has the English one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from broker_core.kernel.journal import Row
from broker_core.kernel.world import World
from lab.clusters import observe

if TYPE_CHECKING:
    from lab.checkers.invariants_view import PartitionLook, View

Key = tuple[Any, ...]

WHAT: dict[str, str] = {
    "leader_not_in_isr": "{topic}-{partition}: leader {leader} is not in the ISR {isr}",
    "lacks_records": "{topic}-{partition}: broker {broker} ends at {end}, leader {leader} has committed up to {offset}",
    "differs": "{topic}-{partition}: brokers {broker} and {leader} differ at offset {offset}",
    "high_watermark_too_high": "{topic}-{partition}: high watermark {offset} on {leader}, but {broker} ends at {end}",
    "high_watermark_went_back": "{topic}-{partition}: high watermark on {leader} went from {before} to {after}",
    "stable_too_high": "{topic}-{partition}: last stable offset {offset} on {leader}, but it must not be above {end}",
    "aborted_read": "{topic}-{partition}: {process} was handed offset {offset}, aborted by producer {producer_id}",
    "uncommitted_read": "{topic}-{partition}: {process} was handed offset {offset}, open at producer {producer_id}",
    "torn_transaction": "{topic}-{partition}: marker {offset} of producer {producer_id} is not what was decided",
    "unfinished_transaction": "{topic}-{partition}: producer {producer_id} has {offset} open after its end",
    "replicas_differ": "{topic}-{partition}: broker {broker} has another batch at offset {offset}",
    "acked_gone": "{topic}-{partition}: acked up to {offset}, leader {leader} ends at {end}",
    "acked_other": "{topic}-{partition}: {value} was acked at offset {offset}, leader {leader} has {found}",
    "committed_gone": "{topic}-{partition}: committed up to {offset}, leader {leader} ends at {end}",
    "committed_changed": "{topic}-{partition}: leader {leader} has another batch than was committed at offset {offset}",
    "candidate_lacks": "{topic}-{partition}: broker {broker} of the ISR ends at {end}, committed is {offset}",
    "read_changed": "{topic}-{partition}: offset {offset} was read with another value before",
    "gap": "{topic}-{partition}: offsets {offset} to {found} are missing",
    "sequence": "{topic}-{partition}: producer {producer_id} has sequence {found} at {offset}, expected {expected}",
    "index_wrong": "{topic}-{partition}: {file} of broker {broker} is wrong about offset {offset}",
    "two_controllers": "brokers {broker} and {other} are both controller of epoch {epoch}",
    "epoch_went_back": "controller epoch {epoch} after {before}",
    "metadata_stale": "{topic}-{partition}: broker {broker} still believes in leader {found}, epoch {epoch}",
    "committed_beyond_end": "{topic}-{partition}: group {group} has committed {offset}, the log ends at {end}",
    "two_owners": "{topic}-{partition}: members {member} and {other} of group {group} in generation {generation}",
    "older_controller": "broker {broker} obeys controller epoch {epoch} after {before}",
    "laggard_in_isr": "{topic}-{partition}: broker {broker} of the ISR is at {end}, {leader} had {offset} long ago",
    "two_quorum_leaders": "replicas {leader} and {other} are both leader of the metadata quorum in epoch {epoch}",
    "quorum_epoch_went_back": "{node} is in epoch {epoch} of the metadata quorum, and was in {before}",
    "voted_twice": "{node} votes for {candidate} in epoch {epoch}, and had voted for {other}",
    "promise_not_on_disk": "{node} has promised something in epoch {epoch} that its quorum-state does not say",
    "metadata_differs": "{node} has another metadata record of epoch {epoch} at offset {offset}, or behind another one",
    "metadata_changed": "{node}: the committed metadata record at offset {offset} is another one",
    "metadata_gone": "{node} leads the metadata quorum and ends at {end}, committed is {offset}",
    "metadata_on_minority": "voters {lacking} lack metadata committed up to {offset}: too many of them",
    "quorum_mark_went_back": "{node}: high watermark of the metadata log went from {before} to {after}",
    "two_ensemble_leaders": "servers {leader} and {other} are both leader of the ensemble in epoch {epoch}",
    "tree_gone": "{node} leads the ensemble and ends at {end}, committed is {zxid}",
    "tree_differs": "{node} has another transaction {zxid} than was committed",
    "ephemeral_alone": "{node}: {path} belongs to session {session}, which has ended",
    "isr_and_elr": "{topic}-{partition}: ISR {isr} and ELR {elr} of replicas {replicas}",
    "fenced_in_isr": "{topic}-{partition}: broker {broker}, which may not lead, is in the ISR {isr}",
    "elr_beside_isr": "{topic}-{partition}: the ISR {isr} is large enough, and yet the ELR is {elr}",
    "eligible_lacks": "{topic}-{partition}: broker {broker} of the ELR differs or ends at {end}, committed: {offset}",
    "broker_epoch": "broker {broker} has epoch {epoch}, and had {before}",
    "group_stuck": "{topic}-{partition}: group {group} has come to {offset} of {end} and reads no further",
    "held_twice": "{topic}-{partition}: group {group} gives {member} offset {offset}, which {other} still has",
    "lock_cut_short": "{topic}-{partition}: group {group} takes offset {offset} from {member} before its lock runs out",
    "delivered_after_its_end": "{topic}-{partition}: {member} of group {group} gets offset {offset}, which had ended",
    "delivered_too_often": "{topic}-{partition}: offset {offset}, delivery {count} to group {group} of {limit} at most",
    "share_start_went_back": "{topic}-{partition}: the start of group {group} went from {before} to {after}",
    "share_group_stuck": "{topic}-{partition}: group {group} has ended all up to {offset} of {end}, and no further",
    "move_is_wrong": "{topic}-{partition}: replicas {replicas}, of these {adding} are added and {removing} removed",
    "moved_elsewhere": "{topic}-{partition}: has replicas {replicas} now: not as asked, and not as before",
    "not_a_replica": "{topic}-{partition}: leader {leader} and ISR {isr} are not all among the replicas {replicas}",
    "two_logs": "{topic}-{partition}: the log of broker {broker} is {file}, and so is {other}",
    "write_never_ended": "{process}: write {id} to {topic}-{partition} has neither succeeded nor failed",
}
"""Code of what is wrong -> English sentence over its parameters."""


@dataclass(slots=True, frozen=True)
class Violation:
    """`invariant` was false at event `seq`, `t` microseconds; `key` tells it from others of the same kind."""

    invariant: str
    seq: int
    t: int
    what: str
    params: dict[str, Any] = field(hash=False)
    key: Key = ()

    @property
    def text(self) -> str:
        """The English sentence."""
        return WHAT[self.what].format(**self.params)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the key."""
        return {"seq": self.seq, "t": self.t, "what": self.what, "text": self.text, "params": self.params}


class Invariant:
    """Base of all. `meaning`: one sentence in each language; the docstring says where it comes from. `only`: the
    generation of Kafka that alone has what it looks at; in the other one it is green for nothing."""

    meaning: ClassVar[dict[str, str]] = {}
    only: ClassVar[str] = ""
    codes: ClassVar[tuple[str, ...]] = ()
    operations: ClassVar[tuple[str, ...]] = ()

    def __init__(self, view: View) -> None:
        self.view = view

    @property
    def name(self) -> str:
        return type(self).__name__

    def row(self, row: Row) -> None:
        """A row of one of `codes`."""

    def operation(self, row: Mapping[str, Any]) -> None:
        """An operation of one of `operations`."""

    def check(self, world: World) -> list[Violation]:
        """What is wrong now."""
        return []

    def found(self, seq: int, t: int, what: str, key: Key, **params: Any) -> Violation:
        """A violation of this invariant."""
        return Violation(self.name, seq, t, what, params, (what, *key))

    def found_now(self, what: str, key: Key, **params: Any) -> Violation:
        """A violation that shows at the last event."""
        return self.found(*self.view.now(), what, key, **params)

    def found_in(self, look: PartitionLook, what: str, key: Key, **params: Any) -> Violation:
        """A violation in a partition, at the last event that touched it."""
        place = {"topic": look.topic, "partition": look.index}
        seq, t = self.view.moment(look)
        return Violation(self.name, seq, t, what, {**place, **params}, (what, look.topic, look.index, *key))


def is_whole(world: World) -> bool:
    """Every broker works, and every link carries: what a liveness invariant waits for."""
    broken = any(link.changed for link in world.network.links.values())
    return not broken and all(node.state == "running" for _, node in observe.brokers(world))
