"""All message types by name, whatever their schemas come from.

    FetchRequest     versions 0-3 from old_client_apis, 4-18 from kio (`stored_schemas`)
    LeaderAndIsrRequest       0-7 from zookeeper_apis
    LeaderChangeMessage       0-1 from kio (it stands in a control record, not in a request)

A `MessageType` resolves one version at a time and remembers it. The catalog is a pure function of the
installed schemas: it belongs to the program and never to the state of a world.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from broker_core.wire import old_admin_apis, old_client_apis, stored_schemas, zookeeper_apis
from broker_core.wire.apis import ApiKey, api_name
from broker_core.wire.schema import Struct, Table, parse_tables


class MessageType:
    """One message: its versions, and its schema in each."""

    def __init__(self, name: str, loaders: dict[int, Callable[[int], Struct]]) -> None:
        self.name = name
        self.versions = sorted(loaders)
        self._loaders = loaders
        self._schemas: dict[int, Struct] = {}

    def at(self, version: int) -> Struct:
        """The schema of one version; KeyError when there is no such version."""
        schema = self._schemas.get(version)
        if schema is None:
            schema = self._schemas[version] = self._loaders[version](version)
        return schema


def from_table(table: Table) -> MessageType:
    versions = range(table.versions.first, table.versions.last + 1)
    return MessageType(table.name, dict.fromkeys(versions, table.at))


@cache
def _tables() -> dict[str, Table]:
    return parse_tables(zookeeper_apis.TABLES + old_client_apis.TABLES + old_admin_apis.TABLES)


@cache
def _kio_modules() -> dict[str, tuple[str, str]]:
    """Message name -> (kio's module, kind)."""
    found = {}
    apis = {key.name.lower(): api_name(key) for key in ApiKey}
    for module in stored_schemas.module_names():
        name = apis.get(module)
        if name is None:
            found["".join(word.capitalize() for word in module.split("_"))] = (module, "data")
        else:
            found[name + "Request"] = (module, "request")
            found[name + "Response"] = (module, "response")
    return found


def names() -> list[str]:
    """The names of all messages, sorted."""
    return sorted(_tables().keys() | _kio_modules().keys())


@cache
def message_type(name: str) -> MessageType:
    """The message of this name ("FetchRequest"); KeyError when there is none."""
    loaders: dict[int, Callable[[int], Struct]] = {}
    if name in _kio_modules():
        module, kind = _kio_modules()[name]
        loaders = {v: _KioLoader(module, kind) for v in stored_schemas.versions_of(module)}
    table = _tables().get(name)
    if table is not None:
        loaders |= dict.fromkeys(range(table.versions.first, table.versions.last + 1), table.at)
    if not loaders:
        raise KeyError(name)
    return MessageType(name, loaders)


class _KioLoader:
    def __init__(self, module: str, kind: str) -> None:
        self._module = module
        self._kind = kind

    def __call__(self, version: int) -> Struct:
        return stored_schemas.load(self._module, version, self._kind)
