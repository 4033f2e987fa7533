"""What is refused or wrong: a code with parameters, from where it is found to the screen.

```
raise CommandError(problem("no_node", node="broker-9", known=["broker-1"]), "broker")
journal   {"code": "no_node", "params": {"node": "broker-9", "known": ["broker-1"]}}
English   there is no broker-9, expected one of broker-1
Korean    브로커 9는 없습니다. 있는 것: broker-1
```
A problem is plain data, so it goes through journals, pickles and sockets as it is. All codes stand in one registry
(`codes`) with their parameters and the packages that find them; the sentences stand in two catalogues, `en.json` and
`ko.json`, which shell, REST and page read. Nobody else writes one, and nobody reads a sentence back (but the Spark
pipeline, whose tables hold what is wrong with a record as text). The registry lies at the bottom, as that of the
events does, because whoever can refuse something stands above it.

What a broker answers over the wire has Kafka's error code, and Kafka's words: `kafka_says` quotes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from broker_core.kernel.problems.codes import REGISTRY
from broker_core.kernel.problems.telling import LANGUAGES, catalogue, told

__all__ = ["LANGUAGES", "REGISTRY", "Problem", "Value", "catalogue", "problem", "told"]

Value = str | int | float | bool | None | Sequence["Value"] | Mapping[str, Any]


class Problem(TypedDict):
    """A code of the registry and its parameters; one of them may be a problem itself."""

    code: str
    params: dict[str, Value]


def problem(code: str, /, **params: Value) -> Problem:
    """The problem, checked against the registry: a code has all of its parameters and no other."""
    if tuple(sorted(params)) != REGISTRY[code].sorted_params:
        raise TypeError(f"problem {code} has the parameters {REGISTRY[code].params}, not {tuple(params)}")
    return {"code": code, "params": params}
