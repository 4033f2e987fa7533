"""A lab's own address: below `/labs/NAME/` everything is as on a server that has this lab alone.

```
/labs/mina/                          the page            /labs/mina/live/      its socket
/labs/mina/api/runs/0007/receipt     what a run of this lab has lost
/api/labs/mina/snapshot              the same lab from outside: what has the lab's name in it anyway
```
So pages, sockets and REST know one way to say which lab they mean: the one that is `hub.chosen()`. What stands in front
(`guard`) finds the path without the name, the name as `scope["lab"]`, and what was taken off as `scope["base"]`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

NAME = r"[a-z0-9][a-z0-9-]{0,39}"
_OWN = re.compile(rf"(/labs/({NAME}))(/.*)?", re.DOTALL)  # a path may have line feeds in it (%0A)
_NAMED = re.compile(rf"/api/labs/({NAME})(?:/.*)?", re.DOTALL)

Scope = dict[str, Any]
Application = Callable[[Scope, Any, Any], Awaitable[None]]


class Addressed:
    """An ASGI application that takes a lab's name off the paths of another one."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        await self.application(placed(scope) if "path" in scope else scope, receive, send)


def placed(scope: Scope) -> Scope:
    """The scope with `lab` and `base`, both "" for an address without a lab's name."""
    found = _OWN.fullmatch(scope["path"])
    if found is None:
        return {**scope, "lab": "", "base": ""}
    return {**scope, "lab": found[2], "base": found[1], "path": found[3] or "/"}


def lab_of(scope: Scope) -> str:
    """The name of the lab that a request is about: that of its address, or one that REST names; "" is the server's."""
    if scope.get("lab"):
        return str(scope["lab"])
    found = _NAMED.fullmatch(scope["path"])
    return found[1] if found else ""


def labs_named(scope: Scope) -> set[str]:
    """Every lab that an address names: `/labs/mina/api/labs/jun/snapshot` names two."""
    found = _NAMED.fullmatch(scope["path"])
    return {str(name) for name in (scope.get("lab"), found and found[1]) if name}


def is_in_short(scope: Scope) -> bool:
    """Whether the lab is only to be told of: that is no use of it."""
    name = lab_of(scope)
    return bool(name) and scope["path"] == f"/api/labs/{name}"


def whole(scope: Scope) -> Scope:
    """As Django takes it: the whole path, and which part of it is in front of all addresses."""
    base = scope.get("base", "")
    return {**scope, "path": base + scope["path"], "root_path": base} if base else scope
