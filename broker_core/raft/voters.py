"""Who votes: replicas by id and directory, and sets of them (KIP-853).

A replica is known by its id *and* by the id of its metadata directory: a machine that comes back with an empty disk
has another directory id, and so is not the voter that once promised its vote. Under `kraft.version` 0 the voters
stand in a setting that knows no directories; their key has the nil UUID, which matches every directory.

Two voter sets that differ by one voter have a majority in common, so changing one voter at a time never
lets two leaders be elected: {1, 2, 3} -> {1, 2, 3, 4} has majorities of 2 and of 3, which share at least one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import NamedTuple

NO_DIRECTORY = uuid.UUID(int=0)


class ReplicaKey(NamedTuple):
    """Id and metadata directory id of a replica; the nil UUID: any."""

    id: int
    directory: uuid.UUID = NO_DIRECTORY

    def matches(self, other: ReplicaKey) -> bool:
        """Whether a replica that calls itself `other` is this one."""
        return self.id == other.id and self.directory in (NO_DIRECTORY, other.directory)


class Listener(NamedTuple):
    """Where a voter can be reached."""

    name: str
    host: str
    port: int


class VoterNode(NamedTuple):
    """A voter with its addresses, the default one first, and the range of kraft.version that it knows."""

    key: ReplicaKey
    listeners: tuple[Listener, ...] = ()
    min_version: int = 0
    max_version: int = 1


class VoterSet:
    """Voters by id, in ascending order. Immutable: changes give another set.

    Invariants
        - ids ascend
        - 0 < majority <= len(set) unless it is empty, and two majorities always share a voter
    """

    __slots__ = ("nodes",)

    def __init__(self, nodes: Iterable[VoterNode] = ()) -> None:
        self.nodes = {node.key.id: node for node in sorted(nodes)}

    @classmethod
    def of_ids(cls, ids: Iterable[int]) -> VoterSet:
        """Static voters, whose directories nobody knows."""
        return cls(VoterNode(ReplicaKey(one)) for one in ids)

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[VoterNode]:
        return iter(self.nodes.values())

    def __contains__(self, replica: object) -> bool:
        """Whether the replica of this key (or, for a number, anybody with this id) is a voter."""
        if isinstance(replica, int):
            return replica in self.nodes
        if not isinstance(replica, ReplicaKey) or replica.id not in self.nodes:
            return False
        return self.nodes[replica.id].key.matches(replica)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self.nodes == other.nodes

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VoterSet({self.ids})"

    @property
    def ids(self) -> list[int]:
        return list(self.nodes)

    @property
    def majority(self) -> int:
        """How many of them decide: 1 of 1, 2 of 3, 3 of 5."""
        return len(self.nodes) // 2 + 1

    def is_only(self, replica: ReplicaKey) -> bool:
        """Whether this replica is a majority by itself."""
        return len(self.nodes) == 1 and replica in self

    def with_voter(self, node: VoterNode) -> VoterSet | None:
        """With one more; None when there is a voter of this id."""
        return None if node.key.id in self.nodes else VoterSet([*self, node])

    def without(self, key: ReplicaKey) -> VoterSet | None:
        """With one less; None when it is no voter, or the last one."""
        if key not in self or len(self.nodes) == 1:
            return None
        return VoterSet(node for node in self if node.key.id != key.id)

    def updated(self, node: VoterNode) -> VoterSet | None:
        """With another description of the same voter; None when it is none."""
        if node.key not in self:
            return None
        return VoterSet(node if old.key.id == node.key.id else old for old in self)
