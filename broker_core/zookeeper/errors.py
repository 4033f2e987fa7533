"""Result codes of the coordination tree, with ZooKeeper's names and numbers (`KeeperException.Code`).

Codes above -100 are about the connection or the server, those below about the request.
"""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """What one operation came to. Only OK is a success."""

    OK = 0
    RUNTIMEINCONSISTENCY = -2
    CONNECTIONLOSS = -4
    OPERATIONTIMEOUT = -7
    BADARGUMENTS = -8
    NONODE = -101
    NOAUTH = -102
    BADVERSION = -103
    NOCHILDRENFOREPHEMERALS = -108
    NODEEXISTS = -110
    NOTEMPTY = -111
    SESSIONEXPIRED = -112
    SESSIONMOVED = -118


class ZkError(Exception):
    """An operation that the tree refuses; `code` says why, `path` where."""

    def __init__(self, code: Code, path: str = "") -> None:
        super().__init__(f"{code.name} for {path}" if path else code.name)
        self.code = code
        self.path = path

    def __reduce__(self) -> tuple[type[ZkError], tuple[Code, str]]:
        return type(self), (self.code, self.path)
