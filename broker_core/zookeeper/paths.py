"""A client's view below its chroot: several clusters share one tree without seeing one another.

With chroot `/kafka-main` a broker that writes `/controller` touches `/kafka-main/controller`. The
prefix is put on by the client; the server knows nothing of it.
"""

from __future__ import annotations

from dataclasses import replace

from broker_core.zookeeper import protocol as p


class ClientPaths:
    """Translates paths between a client and its server."""

    def __init__(self, chroot: str) -> None:
        self.chroot = "" if chroot == "/" else chroot.rstrip("/")

    def chroot_parts(self) -> list[p.Operation]:
        """Creations of the chroot, outermost first; they are not translated again."""
        parts = self.chroot.split("/")[1:] if self.chroot else []
        return [_Absolute("/" + "/".join(parts[: depth + 1])) for depth in range(len(parts))]

    def absolute(self, path: str) -> str:
        """`/controller` -> `/kafka-main/controller`; `/` -> the chroot itself."""
        if not self.chroot:
            return path
        return self.chroot if path == "/" else self.chroot + path

    def relative(self, path: str) -> str:
        return path[len(self.chroot) :] or "/"

    def to_server(self, op: p.Operation) -> p.Operation:
        if not self.chroot or isinstance(op, _Absolute | p.SetWatches):
            return op
        if isinstance(op, p.Multi):
            return p.Multi([replace(part, path=self.absolute(part.path)) for part in op.ops])
        return replace(op, path=self.absolute(op.path))

    def from_server(self, result: p.Result) -> p.Result:
        if self.chroot:
            for each in (result, *result.results):
                if each.path:
                    each.path = self.relative(each.path)
        return result


class _Absolute(p.Create):
    """A creation whose path is the server's."""
