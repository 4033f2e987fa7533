"""Whatever the description allows, and much that it does not, is answered as the description says; no address of
any kind is answered with a fault of ours."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.conftest import PATIENCE_S, free_ports

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from web.api.api import api

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
TOKEN = "token-of-the-tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Host": "localhost"}
EXAMPLES = int(os.environ.get("BROKERLAB_FUZZ", "6"))
KNOWN = {"lab": "lab", "run": "0001", "topic": "orders", "name": "acks-1"}
# Jobs are processes of their own, and branches are worlds: other tests start few of them.
LEFT_OUT = ("/api/scenarios/run", "/api/scenarios/{name}/run", "/api/labs/{lab}/forks", "/api/runs/{run}/replay",
            "/api/runs/{run}/rolling", "/api/spark/install")


@schemathesis.serializer("application/gzip")
def as_it_is(_context: Any, value: Any) -> bytes:
    """A run that was packed, or what somebody takes for one."""
    return value if isinstance(value, bytes) else str(getattr(value, "data", value)).encode()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveLab]:
    from web.server import prepare

    lab = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}}), tmp_path_factory.mktemp("lab"))
    lab.start()
    lab.submit({"do": "create_topic", "topic": "orders", "partitions": 1}).result(10)
    prepare()
    from web.live.hub import hub

    hub.serve(lab)
    yield lab
    hub.detach()
    lab.stop()


@pytest.fixture
def described(running: LiveLab, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The description as the application itself gives it, to a caller from elsewhere who has the token."""
    from web.asgi import application

    monkeypatch.setenv("BROKERLAB_TOKEN", TOKEN)
    return schemathesis.openapi.from_asgi("/api/openapi.json", application, headers=HEADERS, timeout=PATIENCE_S)


def operations() -> list[tuple[str, str, GenerationMode]]:
    """All that the description has, with what it allows and, where something can be wrong, with what it does not."""
    found = []
    for path, methods in api.get_openapi_schema(path_prefix="/api/")["paths"].items():
        for method, one in methods.items() if path not in LEFT_OUT else ():
            found.append((method, path, GenerationMode.POSITIVE))
            if "application/json" in one.get("requestBody", {}).get("content", ()) or any(parameter["in"] == "query" for parameter in one["parameters"]):
                found.append((method, path, GenerationMode.NEGATIVE))
    return found


@pytest.mark.parametrize(("method", "path", "mode"), operations())
def test_every_answer_is_one_that_the_description_names(
    described: Any, method: str, path: str, mode: GenerationMode
) -> None:
    operation = described[path][method]

    @settings(max_examples=EXAMPLES, deadline=None, phases=[Phase.explicit, Phase.generate], database=None,
              derandomize=True, suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def answered(case: Any) -> None:
        (case.query or {}).pop("wait", None)
        for name, known in KNOWN.items():
            if name in (case.path_parameters or {}) and len(str(case.path_parameters[name])) % 2:
                case.path_parameters[name] = known
        case.call_and_validate(checks=CHECKS, headers=HEADERS)

    answered()


ODD = st.sampled_from(
    ["%00", "%ff", "%ed%a0%80", "..", ".", "%2e%2e%2f", "%2f", "", "~", "%0a", "%0d%0a", "%", "%zz", "a" * 300, "a" * 5000,
     "%c3%a9", "0001", "0001%00", "lab", "orders", "0", "-1", "1e9", "9" * 5000, "en", "ko", "xx", "*", "'", '"', "<b>", ";",
     "%E2%80%AE", "%F0%9F%98%80", "${x}", "{lab}", "null", "True", "nan"]
)  # fmt: skip
PLACES = ["/static/", "/messages/", "/", "/not-modelled/", "/language/", "/api/", "/api/docs", "/live/", "/favicon.ico",
          *api.get_openapi_schema(path_prefix="/api/")["paths"]]  # fmt: skip


@st.composite
def targets(draw: st.DrawFn) -> str:
    """An address with odd parts in the place of names, behind what is there, and in the query."""
    path = re.sub(r"\{\w+\}", lambda _: draw(ODD | st.sampled_from(sorted(KNOWN.values()))), draw(st.sampled_from(sorted(PLACES))))
    path += "/".join(draw(st.lists(ODD | st.text(max_size=4).map(quote), max_size=3)))
    keys = st.sampled_from(["seq", "limit", "after", "since", "codes", "wait", "next", "token", "variant", "x"])
    query = "&".join(f"{key}={value}" for key, value in draw(st.lists(st.tuples(keys, ODD), max_size=2)))
    return path + (f"?{query}" if query else "")


async def status_of(application: Any, method: str, target: str, headers: dict[str, str]) -> int:
    """As the server calls the application; 0 when it answers nothing."""
    raw, _, query = target.partition("?")
    statuses, asked = [0], list[bool]()

    async def send(message: Any) -> None:
        statuses.append(message.get("status", statuses[-1]))

    async def receive() -> Any:
        if asked:
            await asyncio.Event().wait()  # the client stays
        asked.append(True)
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote(raw), "raw_path": raw.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 1), "server": ("localhost", 80),
    }  # fmt: skip
    await application(scope, receive, send)
    return statuses[-1]


@settings(max_examples=40 * EXAMPLES, deadline=None, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(
    method=st.sampled_from(["GET", "GET", "GET", "HEAD", "OPTIONS", "POST", "DELETE", "BREW"]), target=targets(),
    more=st.dictionaries(
        st.sampled_from(["Content-Length", "Content-Type", "Accept-Language", "Cookie", "Range", "Origin", "If-None-Match"]),
        st.sampled_from(["", "0", "\xb2", "9" * 5000, "-1", "text/html", "ko", "\xff", "a=b;c", "sessionid=%00"]), max_size=1,
    ),
)  # fmt: skip
def test_no_address_is_answered_with_a_fault_of_ours(described: Any, method: str, target: str, more: Any) -> None:
    from web.asgi import application

    assert 200 <= asyncio.run(status_of(application, method, target, HEADERS | more)) < 500
