"""The commands of a lab as methods: what a click, a REST call and a step of a scenario do.

```
lab.kill(leader_of="orders-0")          who: a number, leader_of=, follower_of=, node=, controller=True
lab.pause(2)
lab.delay_link(1, 3, delay_ms=200)      two ends of a link: numbers, nodes, "leader_of:orders-0"
lab.heal()
lab.produce("orders", "hello", key="k")
```
Those that are called often stand here. Every other command of the vocabulary (docs/faults.md, docs/scenarios.md) is a
method of its own name, too, with its keys as they are: `lab.expire_session(broker=2)`. What is no command is refused
by the lab, which knows what was meant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

Answer = dict[str, Any]
End = int | str


class Who(TypedDict, total=False):
    """A process: exactly one of them, or the number of a broker before."""

    leader_of: str
    follower_of: str
    node: str
    controller: bool


class Levers(ABC):
    """Whatever takes commands."""

    @abstractmethod
    def command(self, command: dict[str, Any]) -> Answer:
        """Carry out a command as a scenario's step has it; what the cluster has answered. Raises Refused."""

    def do(self, do: str, /, **keys: Any) -> Answer:
        """The command `do` with these keys."""
        return self.command({"do": do, **keys})

    def __getattr__(self, name: str) -> Callable[..., Answer]:
        if name.startswith("_"):
            raise AttributeError(name)

        def command(broker: int | None = None, **keys: Any) -> Answer:
            if keys.get("controller") is True:
                keys["controller"] = "any"
            return self.do(name, **keys) if broker is None else self.do(name, broker=broker, **keys)

        return command

    def _to(self, do: str, broker: int | None, who: Who, **keys: Any) -> Answer:
        named: dict[str, Any] = dict(who)
        if "controller" in named:
            named["controller"] = "any"
        if broker is not None:
            named["broker"] = broker
        return self.do(do, **named, **{key: value for key, value in keys.items() if value is not None})

    # -- processes --------------------------------------------------------------------------
    def kill(self, broker: int | None = None, **who: Unpack[Who]) -> Answer:
        """The process is gone at once; its disks keep what was written, its connections close."""
        return self._to("kill", broker, who)

    def stop(self, broker: int | None = None, **who: Unpack[Who]) -> Answer:
        """A controlled shutdown."""
        return self._to("stop", broker, who)

    def restart(self, broker: int | None = None, **who: Unpack[Who]) -> Answer:
        """A new process on the disks that are there; one that still runs is killed first."""
        return self._to("restart", broker, who)

    def pause(self, broker: int | None = None, **who: Unpack[Who]) -> Answer:
        """It stands still, alive but silent (SIGSTOP, a long collection)."""
        return self._to("pause", broker, who)

    def resume(self, broker: int | None = None, **who: Unpack[Who]) -> Answer:
        """It goes on."""
        return self._to("resume", broker, who)

    def power_loss(self, broker: int | None = None, torn: bool = False, **who: Unpack[Who]) -> Answer:
        """The machine is gone, with all that was not flushed (`torn`: with some pages of it)."""
        return self._to("power_loss", broker, who, torn=torn or None)

    def wipe(self, broker: int | None = None, **who: Unpack[Who]) -> Answer:
        """The process is gone, and its disks are empty."""
        return self._to("wipe", broker, who)

    # -- links and disks --------------------------------------------------------------------
    def isolate(self, broker: int | None = None, one_way: bool = False, **who: Unpack[Who]) -> Answer:
        """Cut off from everybody (`one_way`: it hears, but nobody hears it)."""
        return self._to("isolate", broker, who, one_way=one_way or None)

    def partition(self, a: End, b: End, one_way: bool = False) -> Answer:
        """Nothing passes between two nodes any more."""
        return self.do("partition_link", between=[a, b], one_way=one_way)

    def delay_link(self, a: End, b: End, delay_ms: float, jitter_ms: float = 0, one_way: bool = False) -> Answer:
        """Messages are late by a fixed and a random part, in order."""
        return self.do("delay_link", between=[a, b], delay_ms=delay_ms, jitter_ms=jitter_ms, one_way=one_way)

    def heal(self, a: End | None = None, b: End | None = None) -> Answer:
        """The link between two nodes is as it was; without them all faults end: links, disks, clocks, pauses."""
        return self.do("stop_all_faults") if a is None else self.do("heal_link", between=[a, b])

    def disk_full(self, broker: int | None = None, **who: Unpack[Who]) -> Answer:
        """Nothing can be written any more, until `repair_disk`."""
        return self._to("disk_full", broker, who)

    def repair_disk(self, broker: int | None = None, **who: Unpack[Who]) -> Answer:
        """It works again; what the broker has given up it takes back at its next start."""
        return self._to("repair_disk", broker, who)

    def remove_deleted(self) -> Answer:
        """Files of deleted topics and segments go now, not `file.delete.delay.ms` later."""
        return self.do("remove_deleted")

    # -- topics and records -----------------------------------------------------------------
    def create_topic(self, topic: str, partitions: int = 1, **keys: Any) -> Answer:
        """`replication_factor`, `configs`, or an `assignment`."""
        return self.do("create_topic", topic=topic, partitions=partitions, **keys)

    def delete_topic(self, topic: str) -> Answer:
        """It is gone with its records."""
        return self.do("delete_topic", topic=topic)

    def alter_config(
        self, set: dict[str, str | None], topic: str | None = None, broker: int | None = None, group: str | None = None
    ) -> Answer:
        """Settings of a topic, a group or a broker; None takes one back."""
        of = {"topic": topic} if topic is not None else {"group": group} if group is not None else {"broker": broker}
        return self.do("alter_config", set=set, **of)

    def produce(self, topic: str, value: str | None, key: str | None = None, **keys: Any) -> Answer:
        """One record by hand (`partition`, `headers`, `acks`; to be refused `to`, `damaged`); answers where it is."""
        if key is not None:
            keys["key"] = key
        return self.do("produce", topic=topic, value=value, **keys)

    # -- built-in clients -------------------------------------------------------------------
    def start_client(self, name: str, **keys: Any) -> Answer:
        """A new one (`kind`, `topic`, `settings`, `rate`, ...: docs/scenarios.md), or one that was stopped."""
        return self.do("start_client", name=name, **keys)

    def stop_client(self, name: str) -> Answer:
        """It sends what waits and ends."""
        return self.do("stop_client", name=name)
