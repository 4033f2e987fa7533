"""One znode looked at closely: its data, its version, who owns it, and who watches its path.

Watches belong to a path, not to a znode: with Exists somebody waits for one that is not there yet, as every broker
does for /controller while there is none.
"""

from __future__ import annotations

import json
from typing import Any

from broker_core.kernel.errors import CommandError
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from broker_core.zookeeper.serving import TreeServer
from broker_core.zookeeper.tree import Znode
from lab.truth.zookeeper import server_of


def znode(world: World, name: str) -> dict[str, Any]:
    """`/controller`; raises CommandError for a path where nothing is and which nobody watches."""
    server = _server(world)
    node = server.tree.nodes.get(name)
    watches = {"data": _watchers(server.watches.data, name), "children": _watchers(server.watches.child, name)}
    if node is None and not any(watches.values()):
        raise CommandError(problem("no_znode", path=name), "name")
    found: dict[str, Any] = {"path": name, "there": node is not None, "watches": watches}
    return found if node is None else found | _stands(server, node)


def _server(world: World) -> TreeServer:
    found = server_of(world)
    if found is None:
        raise CommandError(problem("no_coordination"), "of")
    return found


def _stands(server: TreeServer, node: Znode) -> dict[str, Any]:
    """What GetData answers; `owner` is the session that an ephemeral znode goes with."""
    session = server.tree.sessions.get(node.owner)
    owner = {"session": f"{node.owner:#x}", "client": None if session is None else session.client,
             "timeout_ms": None if session is None else session.timeout_ms}  # fmt: skip
    return {
        **_data(node.data), "size": len(node.data), "version": node.version, "children": len(node.children),
        "czxid": node.czxid, "mzxid": node.mzxid, "owner": owner if node.owner else None,
    }  # fmt: skip


def _data(data: bytes) -> dict[str, Any]:
    """As JSON where Kafka writes JSON, as text else."""
    text = data.decode(errors="replace")
    try:
        return {"format": "json", "data": json.loads(text)} if data else {"format": "none", "data": None}
    except ValueError:
        return {"format": "text", "data": text}


def _watchers(table: dict[str, dict[str, None]], path: str) -> list[str]:
    """Names of nodes; a watcher is one connection of a node, `broker-2/5`."""
    return [watcher.rpartition("/")[0] for watcher in table.get(path, {})]
