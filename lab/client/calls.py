"""Calls of the REST interface (docs/rest.md), and its problems as exceptions.

An address may be the link that `up --host` prints: its `token` goes into each request, and no longer stands in any
address that is asked. `Authorization: Bearer` is for programs; a class's token may look and not touch.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from copy import copy
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from lab.client.errors import Busy, LabProblem, NotAllowed, NotFound, Refused, Unreachable

TIMEOUT_S = 60.0
KINDS: dict[int, type[LabProblem]] = {
    401: NotAllowed, 403: NotAllowed, 404: NotFound, 410: NotFound,
    **dict.fromkeys((408, 429, 500, 501, 502, 503, 504), Busy),
}  # fmt: skip


class Caller:
    """One server, and who asks it."""

    def __init__(self, address: str, token: str = "", language: str = "en", timeout_s: float = TIMEOUT_S) -> None:
        parts = urlsplit(address if "//" in address else f"http://{address}")
        own = parts.path.rstrip("/") if parts.path.startswith("/labs/") else ""
        self.server = f"{parts.scheme}://{parts.netloc}"
        self.base = f"{self.server}{own}/api/"
        self._headers = {"Accept-Language": language, "Content-Type": "application/json"}
        token = token or "".join(parse_qs(parts.query).get("token", [""])[:1])
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self.timeout_s = timeout_s

    def of(self, lab: str) -> Caller:
        """The same below the address of a lab, where runs and jobs are that lab's."""
        found = copy(self)
        found.base = f"{self.server}/labs/{quote(lab, safe='')}/api/"
        return found

    def get(self, path: str, **query: Any) -> Any:
        return self._json("GET", path, query)

    def post(self, path: str, body: Any, **query: Any) -> Any:
        return self._json("POST", path, query, body)

    def delete(self, path: str) -> Any:
        return self._json("DELETE", path, {})

    def lines(self, path: str) -> Iterator[Any]:
        """The documents of a file with one a line, as they come."""
        with self._opened("GET", path, {}, None) as answer:
            for line in answer:
                yield json.loads(line)

    def bytes(self, path: str, **query: Any) -> bytes:
        with self._opened("GET", path, query, None) as answer:
            return bytes(answer.read())

    def _json(self, method: str, path: str, query: dict[str, Any], body: Any = None) -> Any:
        with self._opened(method, path, query, body) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def _opened(self, method: str, path: str, query: dict[str, Any], body: Any) -> Any:
        """Raises what `KINDS` says, Unreachable, and Busy when no answer comes."""
        asked = {name: _plain(value) for name, value in query.items() if value is not None}
        address = f"{self.base}{path}" + (f"?{urlencode(asked, doseq=True)}" if asked else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, self._headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=self.timeout_s)
        except urllib.error.HTTPError as error:
            with error:
                raise problem_of(error.code, error.read()) from None
        except TimeoutError:
            raise Busy(f"no answer within {self.timeout_s:g} s", "no_answer", {"address": self.base}) from None
        except (urllib.error.URLError, OSError) as error:
            why = str(getattr(error, "reason", None) or error)
            raise Unreachable(f"no lab answers at {self.base}: {why}", "unreachable", {"why": why}) from None


def _plain(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def problem_of(status: int, content: bytes) -> LabProblem:
    """An `application/problem+json` as an exception; whatever else a server between may say, in its words."""
    try:
        found = json.loads(content)
        detail = str(found.get("detail") or found.get("title"))
    except (ValueError, AttributeError):
        return Busy(content[:200].decode(errors="replace") or f"status {status}", "no_problem", status=status)
    what, code = found.get("problem"), found.get("code")
    if what is None:  # the description of the interface does not allow it
        what, code = {"code": code or found["type"].rpartition("#")[2], "params": {}}, None
    return KINDS.get(status, Refused)(detail, what["code"], what["params"], found.get("place") or "", status, code)
