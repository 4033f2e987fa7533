"""The commands that break things, and the one that ends it all. A part of the operator.

Network faults hold until `heal_link` or `stop_all_faults`; what a link is like stands in `kernel/network.py`.
Disk faults are in `kernel/storage_faults.py`. Whatever is drawn at random comes from streams of the world, so a
recorded command does the same when the run is executed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel.errors import CommandError
from broker_core.kernel.in_flight import UnderWay, deliver_next, drop_next
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import PAUSED, STOPPED
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from broker_core.wire.apis import ApiKey, api_name
from lab.clusters import observe
from lab.clusters.damage import note_flip
from lab.clusters.roles import followers_of, leader_of
from lab.faults import disks
from lab.truth import truth_of

APIS = {api_name(key): int(key) for key in ApiKey}


class FaultCommands:
    """Each command `x` is a method `_do_x`."""

    def _node(self, world: World, command: dict[str, Any]) -> str:
        raise NotImplementedError

    # -- links ------------------------------------------------------------------------------
    def _links(self, world: World, command: dict[str, Any]) -> list[tuple[str, str]]:
        ends = [self._ends(world, end, index) for index, end in enumerate(command["between"])]
        pairs = [(a, b) for a in ends[0] for b in ends[1] if a != b]
        if not pairs:
            raise CommandError(problem("same_ends"), "between")
        return pairs if command.get("one_way") else [*pairs, *[(b, a) for a, b in pairs]]

    def _ends(self, world: World, end: Any, index: int) -> list[str]:
        if isinstance(end, int):
            end = broker_node(end)
        place = f"between[{index}]"
        try:
            if end.startswith("leader_of:"):
                return [leader_of(world, end.split(":", 1)[1])]
            if end.startswith("followers_of:"):
                return followers_of(world, end.split(":", 1)[1])
        except CommandError as error:
            raise CommandError(error.problem, place) from None
        if world.find(end) is None:
            known = [node.name for node in world.everybody()]
            raise CommandError(problem("no_node", node=end, known=known), place)
        return [end]

    def _change(self, world: World, command: dict[str, Any], **values: Any) -> None:
        for source, dest in self._links(world, command):
            world.change_link(source, dest, **values)

    def _do_partition_link(self, world: World, command: dict[str, Any]) -> None:
        self._change(world, command, partitioned=True)

    def _do_heal_link(self, world: World, command: dict[str, Any]) -> None:
        self._change(world, command)

    def _do_delay_link(self, world: World, command: dict[str, Any]) -> None:
        jitter_us = int(command.get("jitter_ms", 0) * 1000)
        self._change(world, command, delay_us=int(command["delay_ms"] * 1000), jitter_us=jitter_us)

    def _do_drop_link(self, world: World, command: dict[str, Any]) -> None:
        self._change(world, command, drop=command["probability"])

    def _do_duplicate_link(self, world: World, command: dict[str, Any]) -> None:
        self._change(world, command, duplicate=command["probability"])

    def _do_reorder_link(self, world: World, command: dict[str, Any]) -> None:
        self._change(world, command, reorder=command["probability"])

    def _do_bandwidth_link(self, world: World, command: dict[str, Any]) -> None:
        self._change(world, command, bandwidth=command["bytes_per_s"])

    def _do_lose_next(self, world: World, command: dict[str, Any]) -> None:
        for source, dest in self._links(world, {**command, "one_way": True}):
            world.network.link(source, dest).lose_next(APIS[command["api"]])

    def _do_hold_next(self, world: World, command: dict[str, Any]) -> None:
        for source, dest in self._links(world, {**command, "one_way": True}):
            world.network.link(source, dest).hold_next(APIS[command["api"]], int(command["delay_ms"] * 1000))

    def _do_deliver_next(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """What is first on its way from A to B arrives now, and nothing else happens."""
        return self._with_next(world, command, deliver_next)

    def _do_drop_next(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """What is first on its way from A to B is lost, and nothing else happens."""
        return self._with_next(world, command, drop_next)

    def _with_next(
        self, world: World, command: dict[str, Any], act: Callable[[World, str, str], UnderWay]
    ) -> dict[str, Any]:
        (source, dest), *more = self._links(world, {**command, "one_way": True})
        if more:
            raise CommandError(problem("several_links"), "between")
        now_us = world.now_us
        found = act(world, source, dest)
        return {"from": source, "to": dest, "kind": type(found.message).__name__, "early_us": found.at_us - now_us}

    def _do_isolate(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """Cut every link of a node (`one_way`: it hears, but nobody hears it)."""
        name = self._node(world, command)
        for other in [node.name for node in world.everybody()]:
            if other != name:
                world.change_link(name, other, partitioned=True)
                if not command.get("one_way"):
                    world.change_link(other, name, partitioned=True)
        return {"node": name}

    def _do_random_halves(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """Cut all links between two halves of the brokers; everybody else reaches both."""
        names = [node.name for _, node in observe.brokers(world)]
        if len(names) < 2:
            raise CommandError(problem("one_broker_only"))
        stream = next(node for _, node in observe.brokers(world)).random("halves")
        stream.shuffle(names)
        here, there = sorted(names[: len(names) // 2]), sorted(names[len(names) // 2 :])
        for a in here:
            for b in there:
                world.change_link(a, b, partitioned=True)
                world.change_link(b, a, partitioned=True)
        return {"halves": [here, there]}

    # -- disks ------------------------------------------------------------------------------
    def _disk_fault(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        disks.add_fault(world.nodes[name], command)
        return {"node": name}

    _do_disk_full = _do_disk_write_error = _do_disk_read_error = _do_lost_fsync = _disk_fault
    _do_slow_disk = _do_misdirected_write = _disk_fault

    def _do_repair_disk(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        disks.clear(world.nodes[name])
        return {"node": name}

    def _do_remove_deleted(self, world: World, command: dict[str, Any]) -> None:
        """As if `file.delete.delay.ms` were over."""
        for machine in disks.with_deleted(world):
            machine.file_deletion.end_delay()

    def _do_bit_flip(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        place = command["topic"], command["partition"], command["offset"]
        turned = disks.flip_bit(world.nodes[name], *place, command.get("field", "records"))
        note_flip(world, world.nodes[name], command, turned["file"], turned["position"])
        return {"node": name, **turned}

    def _do_lose_index(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        place = command["topic"], command["partition"], command.get("offset")
        return {"node": name, "files": disks.lose_index(world.nodes[name], *place, command.get("torn", False))}

    def _do_wipe(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        factory: Any = world.nodes[name].factory
        if getattr(factory, "settings", {}).get("broker.id") == "-1":
            raise CommandError(problem("id_on_disks", node=name))
        if world.nodes[name].state != STOPPED:
            world.crash(name)
        disks.wipe(world.nodes[name])
        return {"node": name}

    # -- clocks and sessions ----------------------------------------------------------------
    def _do_clock_skew(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        world.nodes[name].clock_skew_ms = command["ms"]
        return {"node": name}

    def _do_set_clocks(self, world: World, command: dict[str, Any]) -> None:
        world.wall.set_forward(world.now_us, command["forward_ms"])

    def _do_expire_session(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        session = truth_of(world).expire_session(name)
        if session is None:
            raise CommandError(problem("no_session", node=name))
        return {"node": name, "session": session}

    # -- the end ----------------------------------------------------------------------------
    def _do_stop_all_faults(self, world: World, command: dict[str, Any]) -> None:
        for (source, dest), link in list(world.network.links.items()):
            if link.changed:
                world.change_link(source, dest)
        for node in world.everybody():
            disks.clear(node)
            node.clock_skew_ms = 0
            if node.state == PAUSED:
                world.resume(node.name)
