"""Whatever the description allows, and much that it does not, is answered as the description says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.conftest import free_ports

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from web.api.api import api

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
TOKEN = "token-of-the-tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Host": "localhost"}
EXAMPLES = int(os.environ.get("BROKERLAB_FUZZ", "10"))
KNOWN = {"lab": "lab", "run": "0001", "topic": "orders", "name": "acks-1"}
# Jobs are processes of their own, and branches are worlds: other tests start few of them.
LEFT_OUT = ("/api/scenarios/run", "/api/scenarios/{name}/run", "/api/labs/{lab}/forks", "/api/runs/{run}/replay",
            "/api/runs/{run}/rolling", "/api/spark/install")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveLab]:
    from web.server import prepare

    lab = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}}), tmp_path_factory.mktemp("lab"))
    lab.start()
    lab.submit({"do": "create_topic", "topic": "orders", "partitions": 1}).result(10)
    prepare()
    from web.live.hub import hub

    hub.attach(lab)
    yield lab
    hub.detach()
    lab.stop()


@pytest.fixture
def described(running: LiveLab, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The description as the application itself gives it, to a caller from elsewhere who has the token."""
    from web.asgi import application

    monkeypatch.setenv("BROKERLAB_TOKEN", TOKEN)
    return schemathesis.openapi.from_asgi("/api/openapi.json", application, headers=HEADERS)


def operations() -> list[tuple[str, str, GenerationMode]]:
    """All that the description has, with what it allows and, where something can be wrong, with what it does not."""
    found = []
    for path, methods in api.get_openapi_schema(path_prefix="/api/")["paths"].items():
        for method, one in methods.items() if path not in LEFT_OUT else ():
            found.append((method, path, GenerationMode.POSITIVE))
            if "requestBody" in one or any(parameter["in"] == "query" for parameter in one["parameters"]):
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
