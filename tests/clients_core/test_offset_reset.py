"""Where a group begins and goes on: `auto.offset.reset=by_duration`, and offsets set by hand while nobody is a member."""

from __future__ import annotations

from typing import Any

import pytest
from tests.worlds import S, Driven

from broker_core.clients.admin import AdminMachine
from broker_core.clients.consumer import ConsumerMachine
from broker_core.clients.settings import ConsumerSettings, SettingsError, duration_ms, parse
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

GROUP = {"group.id": "billing", "auto.offset.reset": "earliest", "auto.commit.interval.ms": 200}


class Lab(Driven):
    """A topic of two partitions; each second of the cluster's time from the third on 50 records, numbered, in turn."""

    def __init__(self) -> None:
        self.spec = run_from_dict({"cluster": {"preset": "teaching"}, "seed": 2})
        self.world: World = build_world(self.spec)
        self.run(1)
        self.do(do="create_topic", topic="orders", partitions=2, replication_factor=3)
        self.run(1)

    def write(self, count: int) -> None:
        """So many records by hand, one each 10 ms."""
        for number in range(count):
            self.do(do="produce", topic="orders", partition=number % 2, value=f"{number}", acks="all")
            self.run(0.01)

    def told(self, **command: Any) -> dict[str, Any]:
        """How the cluster has answered `reset_offsets` after two seconds; empty: not yet."""
        number = self.do(do="reset_offsets", group="billing", topic="orders", **command)["id"]
        self.run(2)
        machine = self.world.nodes["operator"].machine
        assert isinstance(machine, AdminMachine)
        return machine.results.get(number, {})

    @property
    def committed(self) -> dict[int, int]:
        """Partition -> what the group has committed, as its coordinator knows it."""
        for name, node in self.world.nodes.items():
            groups = node.machine.groups_view() if name.startswith("broker-") and node.machine is not None else {}  # type: ignore[attr-defined]
            if "billing" in groups:
                return {int(number): offset for number, offset in groups["billing"]["offsets"]["orders"].items()}
        return {}

    def positions(self, name: str) -> dict[int, int]:
        machine = self.world.nodes[name].machine
        assert isinstance(machine, ConsumerMachine)
        return {number: position.offset for (_, number), position in machine.positions.of.items()}

    def first_read(self, name: str) -> dict[int, int]:
        """Partition -> the first offset that this consumer was given."""
        found: dict[int, int] = {}
        for row in self.world.operations.rows:
            if row["op"] == "poll" and row["process"] == name:
                found.setdefault(row["partition"], row["runs"][0][0])
        return found


@pytest.fixture
def lab() -> Lab:
    """40 records from 2 s on, 40 from 5 s on; the group has read and committed all of them, and has no members."""
    lab = Lab()
    lab.write(40)
    lab.run(5 - lab.world.now_us / S)
    lab.write(40)
    lab.do(do="start_client", name="reader", kind="consumer", topic="orders", settings=GROUP)
    lab.run(6)
    lab.do(do="stop_client", name="reader")
    lab.run(1)
    assert lab.committed == {0: 40, 1: 40}
    return lab


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"to": "earliest"}, {0: 0, 1: 0}),
        ({"to": "latest"}, {0: 40, 1: 40}),
        ({"to_offset": 7}, {0: 7, 1: 7}),
        ({"to_offset": 7, "partition": 1}, {0: 40, 1: 7}),
        ({"to_offset": 4000}, {0: 40, 1: 40}),
        ({"to_ms": 5000}, {0: 20, 1: 20}),
        ({"to_ms": 0}, {0: 0, 1: 0}),
        ({"to_ms": 3_600_000}, {0: 40, 1: 40}),
        ({"shift_by": -5}, {0: 35, 1: 35}),
        ({"shift_by": -500}, {0: 0, 1: 0}),
        ({"shift_by": 500}, {0: 40, 1: 40}),
    ],
)
def test_a_group_without_members_goes_on_where_it_is_told_to(lab: Lab, given: dict[str, Any], expected: dict[int, int]) -> None:
    assert lab.told(**given) == {"kind": "ok", "error": "", "message": ""}
    assert lab.committed == expected
    lab.do(do="start_client", name="reader")
    lab.run(5)
    assert lab.positions("reader") == {0: 40, 1: 40}


def test_back_by_a_duration_counts_from_now(lab: Lab) -> None:
    back_ms = lab.world.now_us // 1000 - 4500
    assert lab.told(by_ms=back_ms)["kind"] == "ok" and lab.committed == {0: 20, 1: 20}


def test_with_members_it_is_refused_and_nothing_changes(lab: Lab) -> None:
    lab.do(do="start_client", name="reader")
    lab.run(5)
    found = lab.told(to="earliest")
    assert found["kind"] == "fail" and found["error"] == "NON_EMPTY_GROUP" and found["problem"]["params"]["state"] == "Stable"
    assert lab.committed == {0: 40, 1: 40}


def test_what_is_not_there_is_refused(lab: Lab) -> None:
    number = lab.do(do="reset_offsets", group="billing", topic="nothing", to="earliest")["id"]
    lab.run(3)
    results = lab.world.nodes["operator"].machine.results  # type: ignore[union-attr]
    assert results[number]["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert lab.told(to="earliest", partition=2)["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
    number = lab.do(do="reset_offsets", group="nobody", topic="orders", shift_by=-1)["id"]
    lab.run(3)
    assert results[number]["error"] == "INVALID_REQUEST" and results[number]["problem"]["params"]["partition"] == "orders-0"


def test_a_group_that_never_was_gets_offsets(lab: Lab) -> None:
    lab.do(do="reset_offsets", group="reports", topic="orders", to_ms=5000)
    lab.run(2)
    settings = {**GROUP, "group.id": "reports"}
    lab.do(do="start_client", name="reporter", kind="consumer", topic="orders", settings=settings)
    lab.run(5)
    assert lab.first_read("reporter") == {0: 20, 1: 20}


def test_it_is_carried_out_when_leader_and_coordinator_have_died(lab: Lab) -> None:
    coordinator = next(n for n, one in lab.world.nodes.items() if n.startswith("broker-") and "billing" in one.machine.groups_view())  # type: ignore[union-attr]
    lab.do(do="kill", node=coordinator)
    number = lab.do(do="reset_offsets", group="billing", topic="orders", to_offset=3)["id"]
    lab.run(15)
    assert lab.world.nodes["operator"].machine.results[number]["kind"] == "ok"  # type: ignore[union-attr]
    assert lab.committed == {0: 3, 1: 3}


def test_a_group_forgets_a_topic_that_none_of_its_members_reads(lab: Lab) -> None:
    def forget(topic: str = "orders", group: str = "billing") -> tuple[str, str]:
        number = lab.do(do="delete_offsets", group=group, topic=topic)["id"]
        lab.run(2)
        found = lab.world.nodes["operator"].machine.results[number]  # type: ignore[union-attr]
        return found["kind"], found["error"]

    lab.do(do="start_client", name="reader")
    lab.run(5)
    assert forget() == ("fail", "GROUP_SUBSCRIBED_TO_TOPIC") and lab.committed == {0: 40, 1: 40}
    lab.do(do="stop_client", name="reader")
    lab.run(2)
    assert forget() == ("ok", "") and lab.committed == {}
    told = [row[5]["partition"] for row in lab.world.journal.tail if row[3] == "offsets_deleted"]
    assert told == [0, 1]
    assert forget() == ("fail", "GROUP_ID_NOT_FOUND"), "nothing was left of it"
    assert forget(group="nobody") == ("fail", "GROUP_ID_NOT_FOUND")


# -- by_duration ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "expected"),
    [("PT0S", 0), ("PT1.5S", 1500), ("pt2m", 120_000), ("P1DT2H3M4S", 93_784_000), ("PT36H", 129_600_000),
     ("", None), ("P", None), ("PT", None), ("P1DT", None), ("1H", None), ("PT-1S", None), ("P1Y", None), ("PT1,5S", None)],
)  # fmt: skip
def test_durations(text: str, expected: int | None) -> None:
    assert duration_ms(text) == expected


def test_a_duration_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=r"auto\.offset\.reset: by_duration:soon: expected one of earliest, latest, none, by_duration:P"):
        parse(ConsumerSettings, {"auto.offset.reset": "by_duration:soon"})


def test_a_new_group_begins_at_the_first_record_that_is_not_older(lab: Lab) -> None:
    back_s = lab.world.now_us / S - 4.5
    settings = {"group.id": "reports", "auto.offset.reset": f"by_duration:PT{back_s:.3f}S"}
    lab.do(do="start_client", name="reporter", kind="consumer", topic="orders", settings=settings)
    lab.run(0.3)  # the time is counted back from when it asks
    lab.run(5)
    first = lab.first_read("reporter")
    assert set(first) == {0, 1} and all(20 <= offset < 40 for offset in first.values())


def test_without_so_new_a_record_it_asks_again_after_the_request_timeout(lab: Lab) -> None:
    """As the Java client 4.1 does, tried with records older and newer than a second."""
    settings = {"auto.offset.reset": "by_duration:PT1S", "request.timeout.ms": 5000}
    lab.do(do="start_client", name="reporter", kind="consumer", topic="orders", settings=settings)
    lab.run(2)
    lab.write(2)
    lab.run(2)
    assert lab.first_read("reporter") == {}
    lab.run(0.5)
    lab.write(40)
    lab.run(2)
    assert {number: offset >= 41 for number, offset in lab.first_read("reporter").items()} == {0: True, 1: True}
