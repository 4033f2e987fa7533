"""Expectations: what a run is judged by. A key names a figure, its value is a comparison.

| key | figure |
|---|---|
| `receipt.lost`, `receipt.stale`, ... | each number that the durability receipt tells (`lab.checkers.receipt`) |
| `receipt.producers.NAME.acked` | of one producer |
| `leader_of.orders-0`, `isr_of.orders-0`, `controller_epoch`, ... | the subjects of conditions, when the load ends |
| `settled.isr_of.orders-0` | the same after everything has been healed |
| `unavailability.orders-0` | longest time under load in which nothing was acknowledged there: `"<= 4s"` |
| `events.leader_elected` | how many such events from the start of the clients until the final read-back begins |
| `events.leader_elected[reason=unclean]` | those with these parameters; `node` is the node that tells |
| `sum.request_stages.request_bytes[api=Fetch]` | a parameter of such events, added up |
| `most.request_stages.queue_us[api=Produce]` | its largest value |
| `ack_delay.producer-1` | median time from the making of a record until its producer knew it acknowledged |
| `read_delay.reader` | median time from the making of a record until this consumer has read it: `"<= 50ms"` |
| `ack_p99.producer-1`, `read_p99.reader` | the same of the slowest hundredth: 99 of 100 records are at most so late |
| `standstill.reader` | longest time under load in which this consumer, or a whole group, was given nothing |
| `group.billing.twice` | what a group has made of the records under load: `lab.checkers.group_work` |
| `invariants.violations`, `invariants.NAME` | how often an invariant did not hold |
"""

from __future__ import annotations

import re
from typing import Any

from broker_core.kernel.events import REGISTRY
from broker_core.kernel.names import OPERATOR
from broker_core.kernel.problems import problem
from lab.checkers.group_work import FIGURES
from lab.checkers.invariants import described
from lab.checkers.receipt import COUNTS, Receipt
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.spec import RunSpec
from lab.scenarios.conditions import (
    OF_ALL,
    SUBJECTS,
    Comparison,
    check_target,
    compared_with,
    comparison,
    parts,
    split_ok,
)
from lab.scenarios.times import duration_us

RECEIPT = tuple(name for name, figure in Receipt().to_dict().items() if isinstance(figure, int))
PRODUCER = COUNTS
SETTLED = "settled."
OF_PARAMETERS = ("sum", "most")
DELAYS = {"ack_delay": "producer", "read_delay": "consumer", "ack_p99": "producer", "read_p99": "consumer"}
"""Figure -> whose it is."""
SLOWEST = "_p99"
"""How figures of the slowest hundredth end."""
STANDSTILL = "standstill"
KINDS = (
    "receipt", "events", *OF_PARAMETERS, "unavailability", *DELAYS, STANDSTILL, "group", "invariants", "settled",
    *SUBJECTS,
)  # fmt: skip
_EVENT = re.compile(r"^([a-z_]+)(?:\[(.*)\])?$")
_SIGN = re.compile(r"^\s*(>=|<=|!=|==|>|<)?\s*(.*)$")


def expectations(value: Any, place: Place, spec: RunSpec) -> dict[str, Comparison]:
    """All expectations of a mapping, checked."""
    return {key: expectation(key, one, (*place, key), spec) for key, one in checks.mapping(value, place).items()}


def expectation(key: str, value: Any, place: Place, spec: RunSpec) -> Comparison:
    """One expectation; raises SpecError when there is no such figure."""
    kind, _, rest = key.partition(".")
    if kind == "receipt":
        _check_receipt(rest, key, place, spec)
    elif kind == "events":
        event_filter(rest, place)
    elif kind in OF_PARAMETERS:
        parameter_filter(rest, place)
    elif kind in DELAYS:
        known = [client.name for client in spec.clients if client.kind == DELAYS[kind]]
        checks.choice(rest, place, known)
        return _in_ms(value, place)
    elif kind == STANDSTILL:
        readers = [client for client in spec.clients if client.kind in ("consumer", "processor")]
        groups = [client.settings["group.id"] for client in readers if client.settings.get("group.id")]
        checks.choice(rest, place, dict.fromkeys([*(client.name for client in readers), *groups]))
        return _in_ms(value, place)
    elif kind == "group":
        _check_group(rest, key, place, spec)
    elif kind == "unavailability":
        if not split_ok(rest):
            raise SpecError(place, problem("expected_unavailability", given=key))
        return _in_ms(value, place)
    elif kind == "invariants":
        checks.choice(rest, place, ["violations", *described()])
    else:
        return compared_with(subject_of(key, place)[0], value, place)
    return comparison(value, place)


def subject_of(key: str, place: Place = ()) -> tuple[str, str]:
    """`settled.isr_of.orders-0` -> (isr_of, orders-0); `controller_epoch` -> (controller_epoch, any)."""
    subject, _, target = key.removeprefix(SETTLED).partition(".")
    if subject not in SUBJECTS:
        expected = checks.expected(subject, list(KINDS))
        raise SpecError(place, problem("unknown_expectation", given=key, expected=expected))
    if not target and subject not in OF_ALL:
        raise SpecError(place, problem("expected_which", given=key, key=subject))
    check_target(subject, target, place)
    return subject, target or "any"


def is_state(key: str) -> bool:
    """Whether the figure is read from the world (and not from what it has left)."""
    return key.removeprefix(SETTLED).partition(".")[0] in SUBJECTS


def event_filter(text: str, place: Place = ()) -> tuple[str, dict[str, str]]:
    """`leader_elected[reason=unclean]` -> (leader_elected, {reason: unclean})."""
    match = _EVENT.match(text)
    if match is None:
        raise SpecError(place, problem("expected_event", given=text))
    code = checks.choice(match[1], place, list(REGISTRY))
    wanted: dict[str, str] = {}
    for pair in (match[2] or "").split(","):
        if pair:
            name, equals, value = pair.partition("=")
            if not equals:
                raise SpecError(place, problem("expected_pair", given=pair))
            wanted[checks.choice(name.strip(), place, ["node", *REGISTRY[code].params])] = value.strip()
    return code, wanted


def parameter_filter(text: str, place: Place = ()) -> tuple[str, str, dict[str, str]]:
    """`request_stages.queue_us[api=Fetch]` -> (request_stages, queue_us, {api: Fetch})."""
    event, bracket, filters = text.partition("[")
    code, _, parameter = event.partition(".")
    where = event_filter(code + bracket + filters, place)[1]
    return code, checks.choice(parameter, place, list(REGISTRY[code].params)), where


def _check_receipt(rest: str, key: str, place: Place, spec: RunSpec) -> None:
    parts = rest.split(".")
    if len(parts) == 1:
        checks.choice(parts[0], place, RECEIPT)
    elif len(parts) == 3 and parts[0] == "producers":
        started = [client.name for client in spec.clients if client.kind == "producer"]
        checks.choice(parts[1], place, [*started, OPERATOR])
        checks.choice(parts[2], place, PRODUCER)
    else:
        raise SpecError(place, problem("expected_figure", given=key))


def _check_group(rest: str, key: str, place: Place, spec: RunSpec) -> None:
    group, dot, figure = rest.rpartition(".")
    if not dot:
        raise SpecError(place, problem("expected_group_figure", given=key))
    known = [client.settings["group.id"] for client in spec.clients if client.settings.get("group.id")]
    checks.choice(group, place, list(dict.fromkeys(known)))
    checks.choice(figure, place, FIGURES)


def _in_ms(value: Any, place: Place) -> Comparison:
    """`"<= 4s"`, `"4s ± 300ms"` as a comparison of milliseconds."""
    about = parts(str(value))
    if about is not None:
        middle, around = (duration_us(time, place) // 1000 for time in about)
        return Comparison("==", middle, around)
    match = _SIGN.match(str(value))
    sign, time = (match[1], match[2]) if match is not None else (None, "")
    return Comparison(sign or "==", duration_us(time, place) // 1000)
