"""Sessions, watches and reconnection, with a real server and real clients in a world."""

from __future__ import annotations

import pickle
from collections import Counter
from functools import partial
from typing import Any

from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.client import SessionHandler, ZkClient
from broker_core.zookeeper.errors import Code
from broker_core.zookeeper.server import ZooKeeperServer
from broker_core.zookeeper.serving import ZooKeeperConfig

SECOND = 1_000_000


class Visitor:
    """A process with a coordination client that writes down what happens to it."""

    def __init__(
        self, node: Node, timeout_ms: int = 6000, chroot: str = "", servers: tuple[str, ...] = ("zookeeper-1",)
    ) -> None:
        self.node = node
        self.zk = ZkClient(node, list(servers), timeout_ms, chroot)
        self.zk.handlers.append(SessionHandler(self.connected, self.expired, self.reconnected))
        self.seen: list[Any] = []

    def start(self) -> None:
        self.zk.connect()

    def receive(self, source: str, message: Any) -> None:
        self.zk.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.zk.peer_down(peer)

    def shut_down(self) -> None:
        self.zk.close()
        self.node.exit()

    def connected(self) -> None:
        self.seen.append("connected")

    def expired(self) -> None:
        self.seen.append("expired")

    def reconnected(self) -> None:
        self.seen.append("reconnected")

    def rang(self, kind: str, path: str) -> None:
        self.seen.append((kind, path))

    def note(self, context: Any, result: p.Result) -> None:
        self.seen.append((context, result.code))

    def do(self, *ops: p.Operation) -> None:
        for op in ops:
            self.zk.submit(op, self.note, type(op).__name__)


def make_world(*names: str, **settings: Any) -> World:
    world = World(seed=1)
    world.add_node("zookeeper-1", MemoryStorage(), ZooKeeperServer)
    world.start_node("zookeeper-1")
    for name in names:
        world.add_node(name, MemoryStorage(), partial(Visitor, **settings))
        world.start_node(name)
    world.run_until(SECOND)
    return world


def visitor(world: World, name: str) -> Any:
    return world.nodes[name].machine


def server(world: World) -> Any:
    return world.nodes["zookeeper-1"].machine


def run(world: World, seconds: float) -> None:
    world.run_until(world.now_us + int(seconds * SECOND))


def test_a_session_is_opened_and_keeps_alive_while_its_client_lives() -> None:
    world = make_world("a")
    run(world, 120)
    assert visitor(world, "a").seen == ["connected"]
    assert len(server(world).tree.sessions) == 1


def test_an_ephemeral_znode_outlives_its_process_until_the_session_expires() -> None:
    world = make_world("a")
    visitor(world, "a").do(p.Create("/here", b"", ephemeral=True))
    run(world, 0.1)
    world.crash("a")
    run(world, 3.5)
    assert "/here" in server(world).tree.nodes
    run(world, 4.5)
    assert "/here" not in server(world).tree.nodes


def test_a_closed_session_takes_its_ephemerals_at_once() -> None:
    world = make_world("a")
    visitor(world, "a").do(p.Create("/here", b"", ephemeral=True))
    run(world, 0.1)
    world.stop("a")
    run(world, 0.1)
    assert "/here" not in server(world).tree.nodes


def test_what_a_session_asks_for_while_its_end_is_under_way_is_refused_and_the_log_can_be_read_again() -> None:
    world = make_world("a")
    client = visitor(world, "a")
    server(world).config.request_cost_us = SECOND  # so that the end stands in line for a while
    server(world).expire_session(client.zk.session)
    client.do(p.Create("/mine", b"", ephemeral=True), p.Multi([p.Create("/a", b""), p.Create("/b", b"")]))
    run(world, 0.5)
    session = client.zk.session
    assert session in server(world).tree.sessions
    run(world, 5)
    assert "expired" in client.seen and {code for _, code in (each for each in client.seen if isinstance(each, tuple))} == {Code.SESSIONEXPIRED}
    assert session not in server(world).tree.sessions and set(server(world).tree.nodes) == {"/"}
    world.power_loss("zookeeper-1")
    world.start_node("zookeeper-1")
    run(world, 5)
    assert set(server(world).tree.nodes) == {"/"}


def test_two_changes_ring_one_bell() -> None:
    world = make_world("a", "b")
    a, b = visitor(world, "a"), visitor(world, "b")
    b.do(p.Create("/x", b"1"))
    run(world, 0.1)
    a.zk.on_change("/x", a.rang)
    a.do(p.GetData("/x"))
    run(world, 0.1)
    b.do(p.SetData("/x", b"2"), p.SetData("/x", b"3"))
    run(world, 0.1)
    assert a.seen[-1] == ("NodeDataChanged", "/x")
    assert a.seen.count(("NodeDataChanged", "/x")) == 1


def test_a_paused_client_finds_its_session_expired_and_opens_another() -> None:
    world = make_world("a")
    world.pause("a")
    run(world, 20)
    world.resume("a")
    run(world, 3)
    assert visitor(world, "a").seen == ["connected", "expired", "connected"]


def test_a_session_goes_on_after_a_short_loss_of_the_link_and_hears_what_it_missed() -> None:
    world = make_world("a", "b")
    a, b = visitor(world, "a"), visitor(world, "b")
    b.do(p.Create("/x", b"1"))
    run(world, 0.1)
    a.zk.on_change("/x", a.rang)
    a.do(p.GetData("/x"))
    run(world, 0.1)
    for ends in (("a", "zookeeper-1"), ("zookeeper-1", "a")):
        world.network.link(*ends).change(partitioned=True)
    b.do(p.SetData("/x", b"2"))
    run(world, 3)
    for ends in (("a", "zookeeper-1"), ("zookeeper-1", "a")):
        world.network.link(*ends).reset()
    run(world, 4)
    assert ("NodeDataChanged", "/x") in a.seen
    assert "reconnected" in a.seen
    assert "expired" not in a.seen


def test_the_tree_and_its_sessions_survive_the_server_process() -> None:
    world = make_world("a")
    visitor(world, "a").do(p.Create("/kept", b"data"), p.Create("/mine", b"", ephemeral=True))
    run(world, 0.1)
    world.power_loss("zookeeper-1")
    run(world, 1)
    world.start_node("zookeeper-1")
    run(world, 5)
    assert server(world).tree.nodes["/kept"].data == b"data"
    assert "/mine" in server(world).tree.nodes
    assert "expired" not in visitor(world, "a").seen


def test_snapshots_and_the_log_behind_them_give_the_same_tree() -> None:
    world = World(seed=1)
    storage = MemoryStorage()
    world.add_node("zookeeper-1", storage, partial(ZooKeeperServer, config=ZooKeeperConfig(snap_count=5)))
    world.add_node("a", MemoryStorage(), Visitor)
    world.start_node("zookeeper-1")
    world.start_node("a")
    world.run_until(SECOND)
    for number in range(23):
        visitor(world, "a").do(p.Create("/n-", b"%d" % number, sequential=True))
        run(world, 0.1)
    before = server(world).tree
    assert [name for name in storage.list("version-2") if name.startswith("snapshot")] != []
    world.crash("zookeeper-1")
    world.start_node("zookeeper-1")
    run(world, 1)
    assert server(world).tree.nodes == before.nodes


def test_a_chroot_keeps_two_clusters_apart() -> None:
    world = make_world("a", chroot="/kafka-main")
    visitor(world, "a").do(p.Create("/controller", b"1"))
    run(world, 0.1)
    assert list(server(world).tree.nodes) == ["/", "/kafka-main", "/kafka-main/controller"]


def test_an_operation_that_fails_says_why() -> None:
    world = make_world("a")
    a = visitor(world, "a")
    a.do(p.Create("/a/b"), p.Create("/a"), p.Create("/a"), p.SetData("/a", b"", 3), p.Create("/a/b"), p.Delete("/a"))
    run(world, 0.1)
    assert [code for _, code in a.seen[1:]] == [
        Code.NONODE,
        Code.OK,
        Code.NODEEXISTS,
        Code.BADVERSION,
        Code.OK,
        Code.NOTEMPTY,
    ]


def test_every_operation_is_answered_once_however_its_connection_ends() -> None:
    world = make_world("a", "b")
    client, answers = visitor(world, "a").zk, Counter[int]()

    def count(number: int, result: p.Result) -> None:
        answers[number] += 1

    asked = 0
    for disturb in ("nothing", "server", "link", "session", "end"):
        for _ in range(25):  # more than may be on their way at once
            client.submit(p.SetData("/", b"x"), count, asked)
            asked += 1
        if disturb == "server":
            world.crash("zookeeper-1")
            run(world, 1)
            world.start_node("zookeeper-1")
        elif disturb == "link":
            for pair in (("a", "zookeeper-1"), ("zookeeper-1", "a")):
                world.change_link(*pair, partitioned=True)
            run(world, 1)
            for pair in (("a", "zookeeper-1"), ("zookeeper-1", "a")):
                world.change_link(*pair)
        elif disturb == "session":
            world.pause("a")
            run(world, 10)
            world.resume("a")
        run(world, 3)
    assert asked == 125 and answers == Counter(range(asked))


def test_a_world_with_sessions_and_requests_under_way_can_be_pickled() -> None:
    world = make_world("a")
    visitor(world, "a").do(p.Create("/x"))
    copy = pickle.loads(pickle.dumps(world))
    run(copy, 1)
    assert "/x" in server(copy).tree.nodes
