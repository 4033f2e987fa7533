"""Producer ids come in blocks and are never given out twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.transactions.producer_ids import ProducerIds
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode as E


class Controller:
    """Gives out blocks after 1 ms, or fails."""

    def __init__(self, node: Node, blocks: Iterator[int]) -> None:
        self.node, self.blocks = node, blocks
        self.asked = 0
        self.failing = False

    def allocate_producer_ids(self, done: Callable[[Any, Any], None], context: Any) -> None:
        self.asked += 1
        answer = None
        if not self.failing:
            answer = m.AllocateProducerIdsResponse(producer_id_start=next(self.blocks), producer_id_len=1000)
        self.node.after(1000, done, context, answer)


class Idle:
    def __init__(self, node: Node) -> None: ...

    def start(self) -> None: ...

    def receive(self, source: str, message: Any) -> None: ...

    def peer_down(self, peer: str) -> None: ...

    def shut_down(self) -> None: ...


def brokers(*ids: int) -> tuple[World, list[ProducerIds], list[Controller]]:
    world, blocks = World(seed=1), itertools.count(0, 1000)
    made, controllers = [], []
    for broker in ids:
        node = world.add_node(f"broker-{broker}", MemoryStorage(), Idle)
        world.start_node(node.name)
        controllers.append(Controller(node, blocks))
        made.append(ProducerIds(node, controllers[-1]))
    return world, made, controllers


def init(ids: ProducerIds, **fields: Any) -> tuple[int, int, int]:
    answer = ids.init_producer_id(m.InitProducerIdRequest(transactional_id=None, **fields), "app")
    return answer.error_code, answer.producer_id, answer.producer_epoch


def test_the_first_producer_is_told_to_come_again_and_then_gets_an_id() -> None:
    world, (ids,), _ = brokers(1)
    assert init(ids) == (E.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)
    world.run_until(1000)
    assert init(ids) == (0, 0, 0)
    assert init(ids) == (0, 1, 0)


def test_two_brokers_never_give_out_the_same_id_and_blocks_follow_without_a_gap() -> None:
    world, both, controllers = brokers(1, 2)
    given: list[int] = []
    while len(given) < 5000:
        for ids in both:
            found = ids.next_id()
            given += [] if found is None else [found]
        world.run_until(world.now_us + 100)
    assert len(set(given)) == len(given)
    assert sorted(given)[:2000] == list(range(2000))
    assert [one.asked for one in controllers] == [3, 3]


def test_the_next_block_is_asked_for_when_nine_tenths_are_used() -> None:
    world, (ids,), (controller,) = brokers(1)
    ids.next_id()
    world.run_until(1000)
    taken = [ids.next_id() for _ in range(900)]
    assert taken[-1] == 899 and controller.asked == 1
    assert ids.next_id() == 900 and controller.asked == 2
    world.run_until(2000)
    assert [ids.next_id() for _ in range(100)][-1] == 1000


def test_after_a_failure_nobody_asks_for_50_ms() -> None:
    world, (ids,), (controller,) = brokers(1)
    controller.failing = True
    ids.next_id()
    world.run_until(1000)
    assert ids.next_id() is None and controller.asked == 1
    controller.failing = False
    world.run_until(51_000)
    assert ids.next_id() is None and controller.asked == 2
    world.run_until(52_000)
    assert ids.next_id() == 0


def test_an_id_without_its_epoch_is_refused() -> None:
    _world, (ids,), _ = brokers(1)
    assert init(ids, producer_id=5)[0] == E.INVALID_REQUEST
    assert init(ids, producer_epoch=5)[0] == E.INVALID_REQUEST
