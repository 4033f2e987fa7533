"""What was done on the screen, as a scenario file: "what I just did" becomes a lesson that others can run.

The commands of a run stand in its recording with their times. The first ones bring the cluster to its
start: topics that were created before the first client, and clients that were started at once, become the
`topics` and `clients` of the file; everything behind that is a step, `at` its time after that start.
What only the lab does (its own checker, the time control) is left out, and so is what was refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
import yaml

from broker_core.drivers.recording import read_recording
from broker_core.kernel.events import COMMAND, COMMAND_REFUSED
from broker_core.kernel.inputs import Command
from broker_core.kernel.names import CHECKER
from lab.clusters.spec import RunSpec
from lab.experiments.directory import INPUTS, JOURNAL, read_facts
from lab.scenarios.grammar import KEYS
from lab.scenarios.times import written

AT_ONCE_US = 250_000
OWN_CLIENTS = (CHECKER,)
CLIENT_KEYS = ("kind", "topic", "settings", "era", "rate", "size", "keys", "count", "partition", "process_ms", "commit",
               "into", "transaction_records", "transaction_ms", "abort_share")
Commands = Iterable[tuple[int, dict[str, Any]]]


class _Dumper(yaml.SafeDumper):
    """Keeps the order of keys, writes long texts as blocks, small things on one line."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


class _Root(dict[str, Any]):
    """The document itself, which is never on one line."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _mapping(dumper: yaml.SafeDumper, value: dict[str, Any]) -> yaml.Node:
    flow = _is_small(value) and not isinstance(value, _Root)
    return dumper.represent_mapping("tag:yaml.org,2002:map", value.items(), flow_style=flow)


def _list(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.Node:
    flow = all(not isinstance(one, dict) for one in value) and _is_small(value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=flow)


def _is_small(value: Any) -> bool:
    return "\n" not in str(value) and "\\n" not in str(value) and len(str(value)) <= 100


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _mapping)
_Dumper.add_representer(_Root, _mapping)
_Dumper.add_representer(list, _list)


def to_yaml(document: dict[str, Any]) -> str:
    """A document as a file that people read: the grammar's order of keys, one step a line."""
    order = {key: number for number, key in enumerate(KEYS)}
    ordered = _Root(sorted(document.items(), key=lambda pair: order.get(pair[0], len(order))))
    text: str = yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=118)
    return text


def export(directory: Path | str) -> str:
    """The YAML of a run's directory, as far as it has been recorded. Raises DirectoryError, KernelError."""
    path = Path(directory)
    facts = read_facts(path)
    if facts.get("scenario"):
        return to_yaml(facts["scenario"])
    rows = list(_recorded(path))
    document = export_commands(facts["spec"], rows, f"run-{path.name}")
    return to_yaml(document)


def _recorded(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The commands that were carried out. The n-th of the recording is the n-th that the journal tells of."""
    refused = _refused(path / JOURNAL)
    given = (pair for pair in read_recording(path / INPUTS) if isinstance(pair[1], Command))
    for number, (head, item) in enumerate(given):
        if isinstance(item, Command) and number not in refused:
            yield head["t"], item.command


def _refused(path: Path) -> dict[int, None]:
    """Numbers of the commands that were refused, counted from 0."""
    found: dict[int, None] = {}
    count = 0
    with open(path, "rb") as file:
        for line in file:
            if b'"command' not in line:
                continue
            _, _, node, code, *_ = orjson.loads(line)
            if code == COMMAND.name:
                count += 1
            elif code == COMMAND_REFUSED.name and node == "world":
                found[count - 1] = None
    return found


def export_commands(spec: RunSpec | dict[str, Any], commands: Commands, name: str) -> dict[str, Any]:
    """A scenario document from a world's spec and its commands with their virtual times, in order."""
    plain = spec.to_dict() if isinstance(spec, RunSpec) else spec
    rows = [(t_us, command) for t_us, command in commands if _counts(command)]
    start_us = next((t_us for t_us, command in rows if command["do"] not in ("create_topic", "start_client")), None)
    first = next((t_us for t_us, command in rows if command["do"] == "start_client"), start_us or 0)
    document: dict[str, Any] = {
        "scenario": name, "cluster": _cluster(plain["cluster"]), "seed": plain["seed"],
        "topics": [_topic(one) for one in plain.get("topics", [])],
        "clients": [_client(one) for one in plain.get("clients", [])],
        "record_level": _level(plain), "steps": [],
    }  # fmt: skip
    last = first
    for t_us, command in rows:
        if not _is_start(document, t_us, command, first):
            document["steps"].append({"at": written(max(0, t_us - first)), **command})
            last = t_us
    document["duration"] = written(-(-(last - first) // 1_000_000) * 1_000_000 + 5_000_000)
    return {key: value for key, value in document.items() if value or key == "seed"}


def _level(plain: dict[str, Any]) -> str | None:
    """Without the default."""
    level: str | None = plain.get("record_level")
    return None if level == "messages" else level


def _is_start(document: dict[str, Any], t_us: int, command: dict[str, Any], first_us: int) -> bool:
    """A command that brings the start about becomes a topic or a client of the file."""
    known = {one["name"] for one in [*document["topics"], *document["clients"]]}
    if command["do"] == "create_topic" and t_us <= first_us:
        if command["topic"] not in known:
            rest = {key: value for key, value in command.items() if key not in ("do", "topic")}
            document["topics"].append({"name": command["topic"], **rest})
        return True
    if command["do"] == "start_client" and t_us <= first_us + AT_ONCE_US and not document["steps"]:
        if command["name"] not in known:
            rest = {key: command[key] for key in CLIENT_KEYS if key in command}
            document["clients"].append({"name": command["name"], **rest})
        return True
    return False


def _counts(command: dict[str, Any]) -> bool:
    return command.get("do") not in (None, "time") and command.get("name") not in OWN_CLIENTS


def _cluster(cluster: dict[str, Any]) -> dict[str, Any]:
    """Without what is the default anyway."""
    brokers = cluster["brokers"]
    plain = [one["id"] for one in brokers] == list(range(1, len(brokers) + 1)) and not any(
        one.get("rack") or one.get("settings") for one in brokers
    )
    shown: Any = len(brokers) if plain else [{key: one[key] for key in one if one[key]} for one in brokers]
    optional = ("era", "preset", "settings", "protections", "link_delay_ms", "stage_costs")
    rest = {key: cluster[key] for key in optional if cluster.get(key)}
    return {"brokers": shown, **rest}


def _topic(topic: dict[str, Any]) -> dict[str, Any]:
    if topic.get("assignment"):
        return {key: topic[key] for key in ("name", "assignment", "configs") if topic.get(key)}
    return {key: topic[key] for key in ("name", "partitions", "replication_factor", "configs") if topic.get(key)}


def _client(client: dict[str, Any]) -> dict[str, Any]:
    return {key: client[key] for key in ("name", *CLIENT_KEYS) if client.get(key) not in (None, 0, {}, "")} | (
        {} if client.get("start", True) else {"start": False}
    )
