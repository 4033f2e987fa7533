"""Eras: what Kafka's defaults were, and what they are.

Textbooks were written for Kafka 2: a follower falls out of the ISR after 10 s, a producer is content with acks=1,
writes round robin and is not idempotent. Today a program that sets nothing gets something else. An era puts its
defaults into brokers and built-in clients, all of today's machinery stays:

```yaml
cluster: {brokers: 3, era: 2.x}       # on the command line: --era 2.x
```
| era | stands for | cluster | built-in clients |
|---|---|---|---|
| 2.x | 2.0 to 2.3, what the books describe | ZooKeeper | `era: old` |
| 3.9 | the last one with ZooKeeper | ZooKeeper | `era: 3.x` |
| 4.3 | today | KRaft | `era: 4.x` |

An explicit setting wins over the era's, the era's over the preset's. What is different stands in `eras.yaml`, each with
the release and the KIP that changed it; `markdown` makes the page of all of them, and a test holds what can be set
against what brokers and clients of that era are started with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from broker_core.kernel.problems import LANGUAGES

NAMES = ("2.x", "3.9", "4.3")
CONTROLLER, BROKER, PRODUCER, CONSUMER = "controller", "broker", "producer", "consumer"


@dataclass(frozen=True, slots=True)
class Era:
    """The kind of controller, the era of built-in clients, settings of brokers that their generation has otherwise."""

    controller: str
    clients: str
    broker: dict[str, str] = field(default_factory=dict)


ERAS = {
    "2.x": Era("zookeeper", "old", {
        "replica.lag.time.max.ms": "10000", "zookeeper.session.timeout.ms": "6000", "message.max.bytes": "1000012",
        "producer.id.expiration.ms": "604800000",
    }),
    "3.9": Era("zookeeper", "3.x"),
    "4.3": Era("kraft", "4.x"),
}


def broker(era: str) -> dict[str, str]:
    """Settings of brokers; without an era none."""
    return ERAS[era].broker if era else {}


def clients(era: str) -> str:
    """The era of built-in clients; without one that of the 3.x Java clients."""
    return ERAS[era].clients if era else "3.x"


def controller(era: str) -> str:
    """The kind of controller; ZooKeeper where nothing is said."""
    return ERAS[era].controller if era else "zookeeper"


@dataclass(frozen=True, slots=True)
class Difference:
    """`values`: one an era. `since`: the release that changed it; `by`: the KIP, or the issue where there was none.
    `why`: in each language."""

    of: str
    name: str
    values: tuple[str, str, str]
    since: str
    by: str
    why: dict[str, str]


UNBOUNDED = "9223372036854775807"


@cache
def _texts() -> dict[str, Any]:
    """Read when somebody asks: every start of the command line imports this module."""
    import yaml

    found: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return found


def differences() -> list[Difference]:
    """All of them, as they stand on the page."""
    return [Difference(**{**one, "values": tuple(one["values"])}) for one in _texts()["differences"]]


@cache
def _by_setting() -> dict[tuple[str, str], Difference]:
    return {(one.of, one.name): one for one in differences()}


def told() -> list[dict[str, Any]]:
    """All of them, each with the `of` and `name` of what is different: what a page asks for once."""
    return [{"of": one.of, "name": one.name, **_told(one)} for one in differences()]


def beside(of: str, name: str) -> dict[str, Any] | None:
    """What a setting was in each era, since which release and KIP, and why: to stand beside it. None for one that all
    eras have alike. `of`: "broker", "producer", "consumer"; "topic" for a topic's, which is that of the broker behind
    it."""
    if of == "topic":
        from broker_core.metadata.configs_topic import SYNONYMS

        stand_ins = [other for other, _ in SYNONYMS.get(name, ())]
        return next((found for other in stand_ins if (found := beside(BROKER, other)) is not None), None)
    one = _by_setting().get((of, name))
    return None if one is None else _told(one)


def _told(one: Difference) -> dict[str, Any]:
    return {"values": dict(zip(NAMES, one.values, strict=True)), "since": one.since, "by": one.by, "why": one.why}


def markdown(language: str = LANGUAGES[0]) -> str:
    """All differences as a page."""
    words = _texts()["words"][language]
    columns = words["columns"].split(" | ")
    lines = [f"# {words['title']}", "", words["text"], "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for one in differences():
        values = [_shown(value, words) for value in one.values]
        name = words[one.of] if one.of == CONTROLLER else f"{words[one.of]}: `{one.name}`"
        cells = [name, *values, f"{one.since} ({one.by})", one.why[language]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def shown(value: str) -> str:
    """A value as it stands beside a setting, in any language."""
    return "∞" if value == UNBOUNDED else value or "–"


def _shown(value: str, words: dict[str, str]) -> str:
    return words["none"] if not value else words["unbounded"] if value == UNBOUNDED else value.replace(",", ", ")
