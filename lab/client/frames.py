"""Lists of dictionaries, as data frames where pandas is there.

An event has its parameters as columns of their own: `seq t_s node code cause` and `leader isr ...`; where an event has
a parameter of one of these names, the column is called `param_node`, say.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping
from typing import Any

Row = dict[str, Any]


def framed(rows: Iterable[Mapping[str, Any]], frames: bool | None = None) -> Any:
    """A DataFrame, or a list of dictionaries. `frames`: True, False; None: whether pandas is installed decides."""
    plain = [dict(row) for row in rows]
    if frames is None:
        frames = importlib.util.find_spec("pandas") is not None
    return importlib.import_module("pandas").DataFrame(plain) if frames else plain


def event(row: list[Any]) -> Row:
    """A row of REST, `[seq, t_us, code, node, cause, params]`."""
    seq, t_us, code, node, cause, params = row
    found = {"seq": seq, "t_s": t_us / 1e6, "node": node, "code": code, "cause": cause}
    return found | {f"param_{name}" if name in found else name: value for name, value in params.items()}


def record(row: Mapping[str, Any]) -> Row:
    """A record of REST with key, value and headers as text; bytes that are no text, and what was too long, stay as REST
    shows them: `{"base64": ..., "size": ...}`."""
    headers = {one["name"]: _content(one["value"]) for one in row["headers"]}
    return {**row, "key": _content(row["key"]), "value": _content(row["value"]), "headers": headers}


def _content(given: Mapping[str, Any] | None) -> Any:
    return given if given is None or given.get("cut") or "text" not in given else given["text"]
