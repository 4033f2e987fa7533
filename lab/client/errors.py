"""What a lab refuses, as exceptions: a code with parameters, the key that is wrong, and the sentence.

```
try:
    lab.kill(leader_of="ordesr-0")
except Refused as error:
    error.code, error.params, error.place       ("no_partition", {"partition": "ordesr-0"}, "leader_of")
```

| exception | what was asked |
|---|---|
| Refused | cannot be done, or is not valid; with an `error_code` of Kafka's where the cluster has said so |
| NotFound | is not there |
| NotAllowed | is not for this caller: no token, or one that may only look |
| Busy | is too much at once, or takes too long: later it may go |
| NotMet | did not become so in time (`gave_up`: within, wait, ended) |
| Unreachable | nobody answers |
"""

from __future__ import annotations

from typing import Any


class LabProblem(Exception):
    """`code` and `params`: what is wrong; `place`: which key of what was given; `detail`: the sentence."""

    def __init__(
        self, detail: str, code: str = "", params: dict[str, Any] | None = None, place: str = "", status: int = 0,
        error_code: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(f"{place}: {detail}" if place else detail)
        self.detail = detail
        self.code = code
        self.params = params or {}
        self.place = place
        self.status = status
        self.error_code = error_code


class Refused(LabProblem):
    """A value is not valid, or the cluster does not agree."""


class NoPorts(Refused):
    """A simulated cluster has a network of its own, and nobody outside reaches it."""

    def __init__(self) -> None:
        super().__init__("a simulated cluster has no ports; cluster() without simulated=True has", "no_ports")


class NotFound(LabProblem):
    """There is no such lab, run, topic, job."""


class NotAllowed(LabProblem):
    """A token is missing, wrong, or good for looking only."""


class Busy(LabProblem):
    """Limits, time-outs, parts that are away."""


class Unreachable(LabProblem):
    """No lab at this address."""


class NotMet(LabProblem):
    """A wait that gave up; `value` is what it was in the end."""

    def __init__(self, condition: str, gave_up: str, value: Any, waited_us: int) -> None:
        waited = f"{waited_us / 1e6:.3f} s of the cluster's time"
        params = {"condition": condition, "gave_up": gave_up, "value": value, "waited_us": waited_us}
        super().__init__(f"{condition} did not come true: {value} after {waited} ({gave_up})", "not_met", params)
        self.gave_up = gave_up
        self.value = value
        self.waited_us = waited_us
