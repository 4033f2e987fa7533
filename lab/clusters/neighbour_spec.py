"""The description of neighbours: further clusters on the ensemble of a cluster with ZooKeeper, each below its chroot.

```
cluster:
  brokers: 3
  ensemble: 3
  chroot: /orders
  neighbours:
    - name: payments
      chroot: /payments
      brokers: 2
      settings: {min.insync.replicas: 1}
      topics:  [{name: invoices, partitions: 2, replication_factor: 2}]
      clients: [{name: producer-1, kind: producer, topic: invoices, rate: 50, settings: {acks: all}}]
```
Brokers of a neighbour have the ids 1, 2, ...; preset, era, costs and the delay of links are those of the cluster. Every
chroot is a place of its own: none is the other's or lies within it, and none is a znode that a cluster at the root of
the tree would have.
"""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from typing import Any

from broker_core.kernel.problems import problem
from lab.clusters import eras
from lab.clusters.broker_spec import check_broker, set_elsewhere
from lab.clusters.brokers import MOST_IN_NEIGHBOURHOOD, ClusterSpec, NeighbourSpec
from lab.clusters.checks import Place, SpecError, integer, items, mapping, settings_of, text, unique
from lab.clusters.client_spec import client_from_dict
from lab.clusters.topic_spec import topic_from_dict

MOST_NEIGHBOURS = 4
ANY = "any"
"""As `controller: any` says: the world's own."""
OF_THE_ROOT = (
    "zookeeper", "admin", "brokers", "cluster", "config", "consumers", "controller", "controller_epoch",
    "feature", "isr_change_notification", "latest_producer_id_block", "log_dir_event_notification",
)  # fmt: skip
OF_PROCESSES = ("broker", "controller", "zookeeper", "machine", "producer", "consumer", "processor", "worker")
"""Kinds of processes: a name tells them by how it begins."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_CHROOT = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*)+")


def chroot_from(value: Any, place: Place) -> str:
    """`/payments`; "" is the root of the tree."""
    given = text(value, place) if value != "" else ""
    if given and (not _CHROOT.fullmatch(given) or given.split("/")[1] in OF_THE_ROOT):
        raise SpecError(place, problem("expected_chroot", given=given))
    return given


def neighbours_from(value: Any, place: Place, cluster: ClusterSpec) -> list[NeighbourSpec]:
    """Those of `cluster`, whose other keys have been read. Raises SpecError."""
    given = items(value, place)
    if given and cluster.is_kraft:
        raise SpecError(place, problem("neighbours_of_zookeeper"))
    if len(given) > MOST_NEIGHBOURS:
        raise SpecError(place, problem("most_neighbours", n=MOST_NEIGHBOURS))
    found: list[NeighbourSpec] = []
    for index, one in enumerate(given):
        found.append(_neighbour(one, (*place, index), cluster, len(found)))
        _apart(found[-1].chroot, [cluster.chroot, *(other.chroot for other in found[:-1])], (*place, index, "chroot"))
    unique([one.name for one in found], place, "neighbour")
    return found


def _neighbour(value: Any, place: Place, cluster: ClusterSpec, before: int) -> NeighbourSpec:
    data = mapping(value, place, [one.name for one in fields(NeighbourSpec)], ["name", "chroot"])
    found = NeighbourSpec(text(data["name"], (*place, "name")), chroot_from(data["chroot"], (*place, "chroot")))
    if not _NAME.fullmatch(found.name) or found.name == ANY or found.name.startswith(OF_PROCESSES):
        raise SpecError((*place, "name"), problem("expected_neighbour_name", given=found.name))
    if "brokers" in data:
        found.brokers = integer(data["brokers"], (*place, "brokers"), 1, MOST_IN_NEIGHBOURHOOD)
    found.settings = settings_of(data.get("settings"), (*place, "settings"))
    set_elsewhere(found.settings, (*place, "settings"))
    theirs = found.cluster(cluster, before)
    for broker in theirs.brokers:
        check_broker(theirs, broker, place, (*place, "brokers"))
    for index, one in enumerate(items(data.get("topics"), (*place, "topics"))):
        found.topics.append(topic_from_dict(one, (*place, "topics", index), theirs))
    for index, one in enumerate(items(data.get("clients"), (*place, "clients"))):
        at = (*place, "clients", index)
        found.clients.append(client_from_dict(one, at, cluster.preset, eras.clients(cluster.era)))
    unique([topic.name for topic in found.topics], (*place, "topics"), "topic")
    unique([client.name for client in found.clients], (*place, "clients"), "client")
    return found


def _apart(chroot: str, others: list[str], place: Place) -> None:
    """The root is no neighbour's: who lives below it would be within."""
    if not chroot:
        raise SpecError(place, problem("expected_chroot", given=chroot))
    for other in others:
        if other and (f"{chroot}/".startswith(f"{other}/") or f"{other}/".startswith(f"{chroot}/")):
            raise SpecError(place, problem("chroot_taken", given=chroot, other=other))


def plain(neighbour: NeighbourSpec) -> dict[str, Any]:
    """What `neighbours_from` reads back."""
    return {**asdict(neighbour), "clients": [client.to_dict() for client in neighbour.clients]}
