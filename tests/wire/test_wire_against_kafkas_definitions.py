"""Every schema of an advertised version says what Apache Kafka's own message definition says.

The definitions are resources of the kafka-clients jar. The test needs the jars of the oracle and is skipped
where they are not installed.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from broker_core.wire import apis, catalog
from broker_core.wire.apis import ApiKey, Mode
from broker_core.wire.schema import Field, Struct

JARS = {"zookeeper": "zookeeper", "kraft": "newest", "controller": "newest"}
CACHE = Path(os.environ.get("BROKERLAB_ORACLE_CACHE", Path.home() / ".cache" / "brokerlab-oracle"))


@cache
def definitions(mode: str) -> dict[str, Any]:
    jars = sorted((CACHE / JARS[mode] / "libs").glob("kafka-clients-*.jar"))
    if not jars:
        pytest.skip("the jars of Apache Kafka are not installed (oracle.py install)")
    found = {}
    with zipfile.ZipFile(jars[0]) as jar:
        for name in sorted(jar.namelist()):
            if name.startswith("common/message/") and name.endswith(("Request.json", "Response.json")):
                text = re.sub(r"(?m)^\s*//.*$", "", jar.read(name).decode())
                message = json.loads(text)
                found[message["name"]] = message
    return found


def holds(versions: str | None, version: int) -> bool:
    match = re.fullmatch(r"(\d+)(?:-(\d+)|(\+))?", versions or "none")
    if match is None:
        return False
    last = 1000 if match[3] else int(match[2] or match[1])
    return int(match[1]) <= version <= last


def described(field: dict[str, Any], version: int, structs: dict[str, Any]) -> Any:
    kind = field["type"].removeprefix("[]")
    inner = field.get("fields") or structs.get(kind)
    tag = int(field["tag"]) if holds(field.get("taggedVersions"), version) else None
    shape = struct_shape(inner, version, structs) if inner else kind
    return (field["type"].startswith("[]"), shape, holds(field.get("nullableVersions"), version), tag, default(field))


def default(field: dict[str, Any]) -> Any:
    value, kind = str(field.get("default", "")), field["type"]
    if value == "null" or kind == "records":
        return None
    if kind.startswith("[]"):
        return []
    if kind == "bool":
        return value.lower() == "true"
    if kind == "float64":
        return float(value or 0)
    if kind == "string":
        return value
    return int(value or "0", 0) if re.fullmatch(r"u?int\d+", kind) else "zero"


def struct_shape(fields: list[dict[str, Any]], version: int, structs: dict[str, Any]) -> list[Any]:
    shapes = [described(field, version, structs) for field in fields if holds(field["versions"], version)]
    return [s for s in shapes if s[3] is None] + sorted((s for s in shapes if s[3] is not None), key=lambda s: s[3])


def our_field(field: Field) -> Any:
    kind = our_shape(field.type) if isinstance(field.type, Struct) else field.type
    value = field.default
    if not field.array and value is not None and (isinstance(kind, list) or kind in ("uuid", "bytes")):
        value = "zero"
    if isinstance(kind, list) and not field.array and not field.nullable:
        value = "zero"
    return (field.array, kind, field.nullable, field.tag, value)


def our_shape(struct: Struct) -> list[Any]:
    return [our_field(field) for field in struct.fields + struct.tagged]


def cases() -> list[tuple[Mode, int, int, int]]:
    modes: tuple[Mode, ...] = ("zookeeper", "kraft", "controller")
    return [(mode, *entry) for mode in modes for entry in apis.advertised(mode, set(ApiKey))]


@pytest.mark.parametrize(("mode", "key", "first", "last"), cases())
def test_schemas_agree_with_apache_kafka(mode: Mode, key: int, first: int, last: int) -> None:
    for name in (apis.api_name(key) + "Request", apis.api_name(key) + "Response"):
        definition = definitions(mode)[name]
        structs = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", [])}
        for version in range(first, last + 1):
            if not holds(definition["validVersions"], version):
                assert (mode, key) == ("kraft", ApiKey.PRODUCE), "only Produce advertises versions that it refuses"
                continue
            ours = catalog.message_type(name).at(version)
            assert ours.flexible == holds(definition["flexibleVersions"], version)
            assert our_shape(ours) == struct_shape(definition["fields"], version, structs), f"{name} v{version}"
