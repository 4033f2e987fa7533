"""What a test says of its cluster, as the description that every world is built from (`lab.clusters.spec`).

| said | meaning |
|---|---|
| `brokers=3` | ids 1, 2, 3; or a list as in a description |
| `controller="kraft"` | or "zookeeper"; `controllers=3`: dedicated ones |
| `era="2.x"` | the defaults of that Kafka ("2.x", "3.9", "4.3"), and its controller |
| `topics={"orders": 3}` | with so many partitions; or {"partitions": 3, "configs": {...}} |
| `settings={...}` | of all brokers, by Kafka's names |
| `preset="testing"` | a dead broker is found within a second or two; "default", "teaching", "fast" as everywhere |

Topics that appear by being written to have as many copies as a broker's death needs, as with `up`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.clusters import eras
from lab.clusters.presets import replicated
from lab.clusters.spec import RunSpec, run_from_dict

TESTING = "testing"
Topics = Mapping[str, int | Mapping[str, Any]]
_QUICK = {
    "kraft": {
        "broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200",
        "controller.quorum.fetch.timeout.ms": "1000", "controller.quorum.election.timeout.ms": "500",
    },
    "zookeeper": {"zookeeper.session.timeout.ms": "1000"},
}
_NO_DELAY = {"group.initial.rebalance.delay.ms": "0"}


def described(
    brokers: int | list[Any] = 3, controller: str | None = None, controllers: int = 0, topics: Topics | None = None,
    settings: Mapping[str, Any] | None = None, preset: str = TESTING, seed: int = 1, epoch_ms: int | None = None,
    **more: Any,
) -> RunSpec:  # fmt: skip
    """The description; `more` are further keys of its cluster. Raises SpecError."""
    era = str(more.get("era") or "")
    controller = controller or (eras.controller(era) if era else "kraft")
    count = brokers if isinstance(brokers, int) else len(brokers)
    own = {**_QUICK.get(controller, {}), **_NO_DELAY} if preset == TESTING else {}
    document: dict[str, Any] = {
        "cluster": {
            "brokers": brokers, "controller": controller, "controllers": controllers, "port": 0,
            "preset": "teaching" if preset == TESTING else preset,
            "settings": {**replicated(count, controller), **own, **(settings or {})}, **more,
        },
        "seed": seed,
        "topics": [_topic(name, one) for name, one in (topics or {}).items()],
    }  # fmt: skip
    if epoch_ms is not None:
        document["epoch_ms"] = epoch_ms
    return run_from_dict(document)


def _topic(name: str, given: int | Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, **({"partitions": given} if isinstance(given, int) else given)}
