"""Three and five coordination servers in a world: election, broadcast, losses, sessions that move."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import pytest

from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.zookeeper import protocol as p, zab
from broker_core.zookeeper.ensemble import EnsembleServer
from broker_core.zookeeper.errors import Code
from broker_core.zookeeper.peer_link import BrokenLink, PeerLink
from broker_core.zookeeper.serving import ZooKeeperConfig
from broker_core.zookeeper.txnlog import tree_to_json
from tests.zookeeper.test_server_and_client import Visitor, run, visitor

def _server(number: int, names: list[str], node: Node, **settings: Any) -> EnsembleServer:
    return EnsembleServer(node, ZooKeeperConfig(server_id=number, servers=names, **settings))


def make_world(*clients: str, servers: int = 3, delay_us: int = 1000, seed: int = 1, **settings: Any) -> World:
    world = World(seed=seed, link_delay_us=delay_us)
    names = [f"zookeeper-{number}" for number in range(1, servers + 1)]
    for number, name in enumerate(names, start=1):
        world.add_node(name, MemoryStorage(), partial(_server, number, names, **settings))
    for name in clients:
        world.add_node(name, MemoryStorage(), partial(Visitor, servers=tuple(names)))
    for name in [*names, *clients]:
        world.start_node(name)
    run(world, 4)
    return world


def servers(world: World) -> list[Any]:
    return [node.machine for name, node in world.nodes.items() if name.startswith("zookeeper-") and node.machine]


def leader(world: World) -> Any:
    """The one of the newest epoch that leads."""
    found = [each for each in servers(world) if each.leads]
    return max(found, key=lambda each: each.epoch) if found else None


def followers(world: World) -> list[Any]:
    return [each for each in servers(world) if each.state == "following" and each.serving]


def at(world: World, client: str) -> str:
    """The server that a client is connected to."""
    zk = visitor(world, client).zk
    assert zk.state == "connected"
    return str(zk.servers[zk._server])


def same_trees(world: World) -> bool:
    trees = [tree_to_json(each.tree) for each in servers(world)]
    return all(each == trees[0] for each in trees)


def create(world: World, client: str, *paths: str, **kind: bool) -> None:
    visitor(world, client).do(*(p.Create(path, b"x", **kind) for path in paths))


@pytest.mark.parametrize("count", [3, 5])
def test_the_server_with_the_largest_id_leads_where_all_logs_are_empty(count: int) -> None:
    world = make_world(servers=count)
    assert leader(world).node.name == f"zookeeper-{count}"
    assert len(followers(world)) == count - 1 and leader(world).epoch == 1


def test_a_write_at_any_server_is_in_every_tree_and_its_zxid_begins_with_the_epoch() -> None:
    world = make_world("a", "b", "c", "d")
    for name in ("a", "b", "c", "d"):
        create(world, name, f"/{name}")
        assert visitor(world, name).seen == ["connected"]
    run(world, 1)
    assert len({at(world, name) for name in ("a", "b", "c", "d")}) > 1
    assert same_trees(world) and {"/a", "/b", "/c", "/d"} < set(leader(world).tree.nodes)
    assert leader(world).tree.nodes["/a"].czxid >> 32 == 1
    assert all(visitor(world, name).seen == ["connected", ("Create", Code.OK)] for name in "abcd")


def test_a_client_reads_its_own_writes_and_refusals_stand_in_the_same_order() -> None:
    world = make_world("a", "b")
    client = visitor(world, "a")
    client.do(p.Create("/x", b"1"), p.Create("/x", b"2"), p.GetData("/x"), p.SetData("/x", b"3", 7), p.Exists("/x"))
    run(world, 1)
    assert client.seen[1:] == [
        ("Create", Code.OK), ("Create", Code.NODEEXISTS), ("GetData", Code.OK), ("SetData", Code.BADVERSION),
        ("Exists", Code.OK),
    ]  # fmt: skip
    client.do(p.Multi([p.Create("/y"), p.Create("/x")]), p.Exists("/y"), p.Multi([p.Create("/y"), p.Delete("/x")]))
    run(world, 1)
    assert client.seen[6:] == [("Multi", Code.NODEEXISTS), ("Exists", Code.NONODE), ("Multi", Code.OK)]


def test_a_client_whose_server_dies_goes_on_at_another_with_its_session_and_its_watches() -> None:
    world = make_world("a", "b")
    create(world, "a", "/mine", ephemeral=True)
    client = visitor(world, "a")
    client.zk.on_change("/news", client.rang)
    client.do(p.Exists("/news"))
    run(world, 1)
    session, first = client.zk.session, at(world, "a")
    world.crash(first)
    run(world, 4)
    assert "reconnected" in client.seen and client.zk.session == session and at(world, "a") != first
    create(world, "b", "/news")
    run(world, 3)
    assert ("NodeCreated", "/news") in client.seen and "/mine" in leader(world).tree.nodes
    run(world, 30)
    assert "expired" not in client.seen and "/mine" in leader(world).tree.nodes


def test_the_leader_dies_and_what_was_committed_is_at_its_successor_in_a_new_epoch() -> None:
    world = make_world("a", servers=5)
    create(world, "a", *(f"/n{number}" for number in range(20)))
    run(world, 1)
    before = leader(world)
    world.crash(before.node.name)
    run(world, 4)
    after = leader(world)
    assert after.epoch == before.epoch + 1 and {f"/n{number}" for number in range(20)} < set(after.tree.nodes)
    create(world, "a", "/behind")
    run(world, 3)
    assert after.tree.nodes["/behind"].czxid >> 32 == after.epoch
    world.start_node(before.node.name)
    run(world, 3)
    assert same_trees(world) and len(followers(world)) == 4


def test_without_a_majority_every_server_refuses_and_no_session_ends() -> None:
    world = make_world("a", "b")
    create(world, "a", "/mine", ephemeral=True)
    run(world, 1)
    dead = sorted(each.node.name for each in servers(world))[1:]
    for name in dead:
        world.crash(name)
    run(world, 60)
    assert leader(world) is None and servers(world)[0].state == "looking"
    assert visitor(world, "a").zk.state == "connecting" and "expired" not in visitor(world, "a").seen
    create(world, "a", "/late")
    run(world, 5)
    for name in dead:
        world.start_node(name)
    run(world, 5)
    assert visitor(world, "a").seen[-2:] in (["reconnected", ("Create", Code.OK)], [("Create", Code.OK), "reconnected"])
    assert "/mine" in leader(world).tree.nodes and same_trees(world)
    world.crash("a")
    run(world, 12)
    assert "/mine" not in leader(world).tree.nodes


def test_a_leader_that_is_cut_off_steps_down_and_what_only_it_has_flushed_is_cut_off() -> None:
    world = make_world("a", "b", "c", "d", "e")
    old = leader(world)
    near = [name for name in "abcde" if at(world, name) == old.node.name]
    others = [each.node.name for each in followers(world)]
    for other in others:
        for pair in ((old.node.name, other), (other, old.node.name)):
            world.change_link(*pair, partitioned=1)
    create(world, near[0], "/lost")
    run(world, 25)
    assert old.state == "looking" and leader(world).node.name in others and leader(world).epoch == 2
    for other in others:
        for pair in ((old.node.name, other), (other, old.node.name)):
            world.change_link(*pair)
    run(world, 5)
    assert old.serving and same_trees(world)
    told = [row for row in world.journal.tail if row[3] == "ensemble_truncated"]
    assert [row[2] for row in told] == [old.node.name]
    done = [each for each in visitor(world, near[0]).seen if isinstance(each, tuple)]
    assert done == [("Create", Code.OK)]  # sent again at another server, and carried out there


def test_a_server_that_was_away_for_long_gets_the_whole_tree() -> None:
    world = make_world("a", snap_count=50)
    late = followers(world)[0].node.name
    world.crash(late)
    for number in range(600):
        create(world, "a", f"/n{number}")
        run(world, 0.02)
    run(world, 2)
    world.start_node(late)
    run(world, 3)
    assert same_trees(world)
    ways = [row[5]["how"] for row in world.journal.tail if row[3] == "ensemble_synced" and row[2] == late]
    assert ways == ["diff", "snapshot"]
    world.crash(late)
    run(world, 1)
    world.start_node(late)
    run(world, 3)
    assert same_trees(world)


def test_all_servers_start_again_and_have_what_they_had() -> None:
    world = make_world("a")
    create(world, "a", "/kept", "/kept/child")
    run(world, 1)
    for each in servers(world):
        world.power_loss(each.node.name)
    run(world, 2)
    for name in ("zookeeper-1", "zookeeper-2", "zookeeper-3"):
        world.start_node(name)
    run(world, 5)
    assert same_trees(world) and "/kept/child" in leader(world).tree.nodes and leader(world).epoch == 2
    assert visitor(world, "a").seen[-1] == "reconnected"


def test_a_session_whose_client_is_silent_expires_at_the_leader_wherever_it_was_connected() -> None:
    world = make_world("a", "b", "c", "d")
    far = next(name for name in "abcd" if at(world, name) != leader(world).node.name)
    create(world, far, "/mine", ephemeral=True)
    run(world, 20)
    assert "/mine" in leader(world).tree.nodes
    world.pause(far)
    run(world, 12)
    assert "/mine" not in leader(world).tree.nodes and same_trees(world)
    world.resume(far)
    run(world, 6)
    assert visitor(world, far).seen[-2:] == ["expired", "connected"]


def test_a_paused_leader_comes_back_as_a_follower_and_refuses_what_it_was_sent_meanwhile() -> None:
    world = make_world("a", "b", "c", "d")
    old = leader(world)
    world.pause(old.node.name)
    run(world, 25)
    assert leader(world) is not old
    world.resume(old.node.name)
    run(world, 5)
    assert old.state == "following" and old.serving and same_trees(world)


def test_a_damaged_promise_ends_the_server() -> None:
    world = make_world()
    world.crash("zookeeper-1")
    world.nodes["zookeeper-1"].storage.write_text("version-2/currentEpoch", "many")
    world.start_node("zookeeper-1")
    run(world, 1)
    assert world.nodes["zookeeper-1"].machine is None
    assert any(row[3] == "disk_fault" and "currentEpoch" in row[5]["path"] for row in world.journal.tail)


def test_a_world_with_an_ensemble_goes_on_from_its_snapshot_as_it_would_have() -> None:
    def story(world: World) -> list[Any]:
        world.crash("zookeeper-3")
        create(world, "a", "/x")
        run(world, 10)
        return [row[:4] for row in world.journal.tail if row[1] > 4_000_000]

    world = make_world("a")
    copy = pickle.loads(pickle.dumps(world))
    told = story(world)
    assert told == story(copy) and len(told) > 10


def test_a_packet_that_was_heard_is_dropped_and_a_gap_ends_the_connection() -> None:
    link = PeerLink(make_world().nodes["zookeeper-1"], "zookeeper-2", 7)
    ping, pong = zab.Packet(7, 1, zab.Ping()), zab.Packet(7, 2, zab.Pong(()))
    assert [link.take(one) for one in (ping, ping, pong, ping, pong)] == [ping.body, None, pong.body, None, None]
    with pytest.raises(BrokenLink):
        link.take(zab.Packet(7, 4, zab.Ping()))
    assert link.heard == 2
