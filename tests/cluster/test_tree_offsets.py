"""Offsets in the coordination tree: what a broker says when the tree does not take them."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.cluster.zk.tree_offsets import TreeOffsets
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.errors import Code

PATH = "/consumers/billing/offsets/orders/0"


class Tree:
    """Answers each operation by its kind and path; nothing is there yet."""

    def __init__(self, made: Code, parents: Code) -> None:
        self.made = made
        self.parents = parents

    def batch(self, ops: list[Any], done: Any, context: Any) -> None:
        done(context, [p.Result(self._code(op)) for op in ops])

    def _code(self, op: Any) -> Code:
        if isinstance(op, p.SetData):
            return Code.NONODE
        return self.made if op.path == PATH else self.parents


class Everything:
    """All topics are there."""

    def contains(self, topic: str, partition: int) -> bool:
        return True


@pytest.mark.parametrize(("made", "parents", "told"), [
    (Code.OK, Code.OK, ErrorCode.NONE), (Code.OK, Code.NODEEXISTS, ErrorCode.NONE),
    (Code.SESSIONEXPIRED, Code.SESSIONEXPIRED, ErrorCode.UNKNOWN_SERVER_ERROR),
    (Code.NODEEXISTS, Code.NODEEXISTS, ErrorCode.UNKNOWN_SERVER_ERROR),
])  # fmt: skip
def test_an_offset_that_was_not_written_is_not_said_to_be(made: Code, parents: Code, told: ErrorCode) -> None:
    config: Any = {"offset.metadata.max.bytes": 4096}
    tree, everything, answers = Tree(made, parents), Everything(), list[Any]()
    offsets = TreeOffsets(tree, everything, config)  # type: ignore[arg-type]
    kind = m.OffsetCommitRequest
    part = kind.OffsetCommitRequestPartition(partition_index=0, committed_offset=42)
    topic = kind.OffsetCommitRequestTopic(name="orders", partitions=[part])
    offsets.commit(kind(group_id="billing", topics=[topic]), lambda _, answer: answers.append(answer), None)
    assert [one.error_code for answer in answers for topic in answer.topics for one in topic.partitions] == [told]
