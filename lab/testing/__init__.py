"""A Kafka cluster inside the process of a test, without Docker or Java, that can be broken on purpose.

```
from lab.testing import cluster

def test_orders_survive_the_death_of_a_leader():
    with cluster(brokers=3, topics={"orders": 1}) as kafka:
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all")
        producer.send("orders", b"1").get(10)
        kafka.kill(leader_of="orders-0")
        kafka.wait(leader_of="orders-0", is_="changed")
        producer.send("orders", b"2").get(10)
```
It is the lab: the same brokers, controllers, faults and journal, started by the same code.

| | `cluster()` | `cluster(simulated=True)` |
|---|---|---|
| clients | any, on real ports of the loopback | the built-in ones (`start_client`), records by hand (`produce`) |
| time | the wall clock's, times `speed` | virtual: `run(60)` takes milliseconds |
| disks | files in a temporary directory | memory |
| two runs of a test | as alike as the clients are | the same journal, byte for byte, for the same `seed` |
| the world runs | on a thread of its own | when the test says so |

Whether sessions and lags are short is the preset's matter: "testing" (what is meant here when nothing is said) finds
a dead broker after a second, "default" after as long as Kafka does. Each cluster has its own world, ports and
directory; as many as one likes live in one process, and `close()`, or the end of the `with`, leaves nothing behind.

With pytest there are the fixtures `kafka_cluster`, `simulated_cluster` and `brokerlab` (`plugin`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.client.errors import NotMet, Refused
    from lab.testing.clusters import Cluster, Event, cluster
    from lab.testing.ports import PortCluster
    from lab.testing.simulated import SimulatedCluster

__all__ = ["Cluster", "Event", "NotMet", "PortCluster", "Refused", "SimulatedCluster", "cluster"]
_HOMES = {
    "Cluster": "lab.testing.clusters", "Event": "lab.testing.clusters", "cluster": "lab.testing.clusters",
    "PortCluster": "lab.testing.ports", "SimulatedCluster": "lab.testing.simulated",
    "NotMet": "lab.client.errors", "Refused": "lab.client.errors",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """When it is asked for: pytest imports `plugin` in every run, also where no test wants a cluster (PEP 562)."""
    import importlib

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return found
