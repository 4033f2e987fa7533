"""The rules of the tree, one by one and against a naive model."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.errors import Code, ZkError
from broker_core.zookeeper.proposals import Outlook, decide, decide_close, decide_multi
from broker_core.zookeeper.tree import CreateSessionTxn, DataTree, Txn
from broker_core.zookeeper.txnlog import decode_line, encode_line, tree_from_json, tree_to_json

ME, YOU = 1, 2


class Tree:
    """A tree with two sessions; `do` decides and replays at once and returns the code."""

    def __init__(self) -> None:
        self.tree = DataTree()
        self.outlook = Outlook(self.tree)
        self.log: list[bytes] = []
        for session in (ME, YOU):
            self.replay(CreateSessionTxn(session, 0, 6000, f"client-{session}"))

    def replay(self, txn: Txn) -> Any:
        zxid = self.tree.last_zxid + 1
        self.log.append(encode_line(zxid, 1000, txn))
        changes = self.tree.replay(zxid, 1000, txn)
        self.outlook.settle()
        return changes

    def do(self, op: p.WriteOp | p.Multi, session: int = ME) -> Code | list[Code]:
        if isinstance(op, p.Multi):
            txn, codes = decide_multi(self.outlook, session, op)
            if txn is not None:
                self.replay(txn)
            return codes
        try:
            self.replay(decide(self.outlook, session, op))
        except ZkError as error:
            return error.code
        return Code.OK

    def close(self, session: int) -> None:
        self.replay(decide_close(self.outlook, session, True))


def test_a_parent_comes_before_its_child() -> None:
    tree = Tree()
    assert tree.do(p.Create("/a/b")) is Code.NONODE
    assert tree.do(p.Create("/a")) is Code.OK
    assert tree.do(p.Create("/a/b")) is Code.OK


def test_a_znode_exists_once() -> None:
    tree = Tree()
    tree.do(p.Create("/a"))
    assert tree.do(p.Create("/a")) is Code.NODEEXISTS
    assert tree.do(p.Create("/")) is Code.NODEEXISTS


def test_ephemeral_znodes_have_no_children() -> None:
    tree = Tree()
    tree.do(p.Create("/a", ephemeral=True))
    assert tree.do(p.Create("/a/b")) is Code.NOCHILDRENFOREPHEMERALS


def test_a_version_is_a_condition_and_minus_one_is_none() -> None:
    tree = Tree()
    tree.do(p.Create("/a"))
    assert tree.do(p.SetData("/a", b"1", 0)) is Code.OK
    assert tree.do(p.SetData("/a", b"2", 0)) is Code.BADVERSION
    assert tree.do(p.SetData("/a", b"3", -1)) is Code.OK
    assert tree.do(p.Delete("/a", 1)) is Code.BADVERSION
    assert tree.do(p.Delete("/a", 2)) is Code.OK


def test_a_znode_with_children_is_not_deleted() -> None:
    tree = Tree()
    tree.do(p.Create("/a"))
    tree.do(p.Create("/a/b"))
    assert tree.do(p.Delete("/a")) is Code.NOTEMPTY
    assert tree.do(p.Delete("/")) is Code.BADARGUMENTS


def test_malformed_paths_are_refused() -> None:
    tree = Tree()
    for path in ("", "a", "/a/", "//a", "/a/../b", "/a\x00", "/./a"):
        assert tree.do(p.Create(path)) is Code.BADARGUMENTS, path


def test_sequential_znodes_are_numbered_by_the_children_ever_created() -> None:
    tree = Tree()
    tree.do(p.Create("/q"))
    for _ in range(3):
        tree.do(p.Create("/q/n-", sequential=True))
    tree.do(p.Delete("/q/n-0000000002"))
    tree.do(p.Create("/q/n-", sequential=True))
    assert list(tree.tree.nodes["/q"].children) == ["n-0000000000", "n-0000000001", "n-0000000003"]


def test_cversion_counts_creations_and_deletions() -> None:
    tree = Tree()
    tree.do(p.Create("/q"))
    tree.do(p.Create("/q/a"))
    tree.do(p.Create("/q/b"))
    tree.do(p.Delete("/q/a"))
    stat = tree.tree.nodes["/q"].stat()
    assert (stat.cversion, stat.num_children, stat.version) == (3, 1, 0)


def test_a_session_takes_its_ephemerals_and_nothing_else() -> None:
    tree = Tree()
    tree.do(p.Create("/mine", ephemeral=True), ME)
    tree.do(p.Create("/yours", ephemeral=True), YOU)
    tree.do(p.Create("/kept"), ME)
    tree.close(ME)
    assert list(tree.tree.nodes) == ["/", "/yours", "/kept"]


def test_a_multi_is_done_whole_or_not_at_all() -> None:
    tree = Tree()
    tree.do(p.Create("/epoch"))
    election = p.Multi([p.Create("/controller", ephemeral=True), p.SetData("/epoch", b"1", 0)])
    assert tree.do(election) == [Code.OK, Code.OK]
    assert tree.do(election) == [Code.NODEEXISTS, Code.RUNTIMEINCONSISTENCY]
    assert tree.tree.nodes["/epoch"].version == 1
    late = p.Multi([p.SetData("/epoch", b"2"), p.Check("/epoch", 1)])
    assert tree.do(late) == [Code.OK, Code.BADVERSION]
    assert tree.tree.nodes["/epoch"].data == b"1"


def test_operations_of_a_multi_see_those_before_them() -> None:
    tree = Tree()
    assert tree.do(p.Multi([p.Create("/a"), p.Create("/a/b"), p.SetData("/a/b", b"x", 0)])) == [Code.OK] * 3
    assert tree.do(p.Multi([p.Delete("/a/b"), p.Delete("/a"), p.Create("/a")])) == [Code.OK] * 3
    assert tree.tree.nodes["/a"].stat().num_children == 0


def test_what_is_proposed_binds_the_next_decision_before_it_is_committed() -> None:
    tree = DataTree()
    outlook = Outlook(tree)
    decide(outlook, ME, p.Create("/controller"))
    try:
        decide(outlook, YOU, p.Create("/controller"))
    except ZkError as error:
        assert error.code is Code.NODEEXISTS
    else:
        raise AssertionError("two controllers")


# --- against a naive model -----------------------------------------------------------------------

PATHS = ["/a", "/b", "/a/x", "/a/y", "/a/x/deep", "/b/x", "/nowhere/x"]
paths = st.sampled_from(PATHS)
versions = st.sampled_from([-1, 0, 1, 2])
writes = st.one_of(
    st.builds(p.Create, paths, st.binary(max_size=3), st.booleans()),
    st.builds(p.Delete, paths, versions),
    st.builds(p.SetData, paths, st.binary(max_size=3), versions),
)
steps = st.one_of(
    st.tuples(st.just("op"), writes, st.sampled_from([ME, YOU])),
    st.tuples(st.just("multi"), st.lists(writes, min_size=1, max_size=4), st.sampled_from([ME, YOU])),
    st.tuples(st.just("log"), st.just(None), st.just(ME)),
)


class Naive:
    """The same rules as a flat dict: path -> (data, version, owner)."""

    def __init__(self) -> None:
        self.nodes: dict[str, tuple[bytes, int, int]] = {}

    def children(self, path: str) -> list[str]:
        return [other for other in self.nodes if other.rpartition("/")[0] == path]

    def do(self, op: Any, session: int) -> Code:
        parent = op.path.rpartition("/")[0]
        known = self.nodes.get(op.path)
        if isinstance(op, p.Create):
            if parent and parent not in self.nodes:
                return Code.NONODE
            if known is not None:
                return Code.NODEEXISTS
            if parent and self.nodes[parent][2]:
                return Code.NOCHILDRENFOREPHEMERALS
            self.nodes[op.path] = (op.data, 0, session if op.ephemeral else 0)
            return Code.OK
        if known is None:
            return Code.NONODE
        if op.version not in (-1, known[1]):
            return Code.BADVERSION
        if isinstance(op, p.SetData):
            self.nodes[op.path] = (op.data, known[1] + 1, known[2])
            return Code.OK
        if self.children(op.path):
            return Code.NOTEMPTY
        del self.nodes[op.path]
        return Code.OK

    def multi(self, ops: list[Any], session: int) -> list[Code]:
        before = dict(self.nodes)
        codes: list[Code] = []
        for op in ops:
            codes.append(self.do(op, session))
            if codes[-1] is not Code.OK:
                self.nodes = before
                break
        return codes + [Code.RUNTIMEINCONSISTENCY] * (len(ops) - len(codes))


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=25), st.booleans())
def test_the_tree_agrees_with_a_naive_model(todo: list[Any], expire: bool) -> None:
    tree, naive = Tree(), Naive()
    for kind, what, session in todo:
        if kind == "op":
            assert tree.do(what, session) == naive.do(what, session)
        elif kind == "multi":
            assert tree.do(p.Multi(what), session) == naive.multi(what, session)
        else:
            tree.tree = tree_from_json(tree_to_json(tree.tree))
            tree.outlook = Outlook(tree.tree)
    if expire:
        tree.close(ME)
        naive.nodes = {path: node for path, node in naive.nodes.items() if node[2] != ME}
    found = {path: (node.data, node.version, node.owner) for path, node in tree.tree.nodes.items() if path != "/"}
    assert found == naive.nodes
    for path, node in tree.tree.nodes.items():
        prefix = "" if path == "/" else path
        assert sorted(node.children) == sorted(child.rpartition("/")[2] for child in naive.children(prefix))


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=20))
def test_the_log_replayed_gives_the_same_tree(todo: list[Any]) -> None:
    tree = Tree()
    for kind, what, session in todo:
        if kind == "op":
            tree.do(what, session)
        elif kind == "multi":
            tree.do(p.Multi(what), session)
    again = DataTree()
    for line in tree.log:
        entry = decode_line(line[:-1])
        assert entry is not None
        again.replay(*entry)
    assert again.nodes == tree.tree.nodes
    assert again.sessions == tree.tree.sessions


def test_a_damaged_line_of_the_log_is_noticed() -> None:
    line = encode_line(7, 1000, CreateSessionTxn(1, 2, 3, "a"))[:-1]
    assert decode_line(line) is not None
    for position in range(len(line)):
        damaged = bytearray(line)
        damaged[position] ^= 1
        assert decode_line(bytes(damaged)) is None
    assert decode_line(line[:-3]) is None
