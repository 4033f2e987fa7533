"""A caller of the REST API that knows nothing but HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any


@dataclass
class Answer:
    """Status, media type, headers and the body, as JSON where it is JSON."""

    status: int
    media: str
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Caller:
    """`rest.get("labs")`, `rest.post("labs/lab/commands", {...})`."""

    url: str

    def call(self, method: str, path: str, content: Any = None, **headers: str) -> Answer:
        data = content if isinstance(content, bytes) or content is None else json.dumps(content).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None:
            named.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(f"{self.url}api/{path}", data, named, method=method)
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return _taken(answer)
        except urllib.error.HTTPError as error:
            return _taken(error)

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)

    def post(self, path: str, content: Any = None, **headers: str) -> Answer:
        return self.call("POST", path, content, **headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self.call("DELETE", path, **headers)


def _taken(answer: Any) -> Answer:
    return Answer(answer.status, answer.headers.get_content_type(), answer.headers, answer.read())
