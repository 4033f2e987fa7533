"""Generations of Kafka: for which ones a scenario holds, and what is different in each.

```yaml
cluster: {brokers: 3}                            # the file itself: with ZooKeeper
expect: {unavailability.orders-0: ">= 2s"}
generations:                                     # or a list, where nothing differs: [zookeeper, kraft]
  zookeeper:
  kraft:
    differs: {en: Brokers are fenced after broker.session.timeout.ms ..., ko: ...}
    cluster: {controllers: 3}                    # any key of the scenario, as in a variant
    expect: {unavailability.orders-0: ">= 4s"}
    variants: {long: {expect: {receipt.lost: 0}}, short: null}   # null: this generation has no such variant
```

| | |
|---|---|
| the file itself | is in the generation of its `cluster.controller`, which must be among those named |
| another generation | is the file with these differences put into it (`variants.merged`), and that controller |
| `differs` | says why outcome or text are others; without it nothing but the number of controllers may differ |
| a generation that is not named | is refused |
| no `generations` | nothing is known: the file runs in each as it stands |

What has been put into another generation is a scenario of that generation alone, and so is a variant; the text of
`differs` stays.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel.problems import problem
from broker_core.metadata.configs_types import KRAFT, ZOOKEEPER
from lab.clusters import checks, eras
from lab.clusters.checks import Place, SpecError
from lab.clusters.spec import CONTROLLERS
from lab.scenarios import variants
from lab.scenarios.predictions import texts

KEY, DIFFERS = "generations", "differs"
NOT_IN_GENERATIONS = (KEY, "scenario", "subject", "variant", "clusters")
_NEEDS_NO_WORD = {"controllers", "combined", "ensemble", "quorum"}
_ALIEN = {ZOOKEEPER: ("controllers", "combined", "quorum"), KRAFT: ("ensemble",)}
"""Keys of a cluster that say how the other generation keeps what it has decided."""


def own(document: dict[str, Any]) -> str:
    """The generation of the document as it stands."""
    cluster = document.get("cluster") or {}
    era = str(cluster.get("era") or "")
    return cluster.get("controller") or eras.controller(era if era in eras.NAMES else "")


def declared(document: dict[str, Any], keys: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Generation -> its differences, `differs` among them; empty when the document does not say. Raises SpecError."""
    given = document.get(KEY)
    if given is None:
        return {}
    if isinstance(given, list):
        found: dict[str, dict[str, Any]] = {}
        for index, one in enumerate(given):
            found[checks.choice(one, (KEY, index), CONTROLLERS)] = {}
    else:
        known = [*(key for key in keys if key not in NOT_IN_GENERATIONS), DIFFERS]
        found = {
            name: checks.mapping(one, (KEY, name), known)
            for name, one in checks.mapping(given, (KEY,), CONTROLLERS).items()
        }
    if own(document) not in found:
        raise SpecError((KEY,), problem("generation_of_the_file", given=own(document), known=list(found)))
    for name, change in found.items():
        _check_words(name, change, name == own(document))
    return found


def _check_words(name: str, change: dict[str, Any], is_own: bool) -> None:
    """The file's own generation has no differences, and those of another are explained."""
    more = [key for key in change if key != DIFFERS]
    if is_own and more:
        raise SpecError((KEY, name, more[0]), problem("generation_differs_from_itself", given=name))
    controllers_only = more == ["cluster"] and set(change["cluster"] or {}) <= _NEEDS_NO_WORD
    if more and not controllers_only and DIFFERS not in change:
        raise SpecError((KEY, name), problem("generation_without_words", given=name, key=DIFFERS))


def told(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Generation -> why something is different there, in each language."""
    return {name: texts(change.get(DIFFERS), (KEY, name, DIFFERS)) for name, change in found.items()}


def applied(document: dict[str, Any], generation: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """The document in another generation; raises SpecError when it does not hold there."""
    found = declared(document, keys)
    if generation == own(document):
        return document
    if found and generation not in found:
        name = str(document.get("scenario") or "")
        raise SpecError((KEY,), problem("not_in_generation", name=name, given=generation, known=list(found)))
    change = found.get(generation, {})
    rest = {key: value for key, value in document.items() if key != KEY}
    whole: dict[str, Any] = variants.merged(rest, {key: one for key, one in change.items() if key != DIFFERS})
    if found:
        whole[KEY] = {generation: {DIFFERS: change[DIFFERS]} if DIFFERS in change else {}}
    alien = (*_ALIEN[generation], "era")  # an era is of one generation
    cluster = {name: value for name, value in (whole.get("cluster") or {}).items() if name not in alien}
    return {**whole, "cluster": {**cluster, "controller": generation}}


def alone(document: dict[str, Any]) -> dict[str, Any]:
    """A variant's document is of its own generation: differences of another one are put into a file, not into what a
    variant has made of it."""
    given = document.get(KEY)
    if not given:
        return document
    mine = own(document)
    change = (given.get(mine) or {}) if isinstance(given, dict) else {}
    return {**document, KEY: {mine: change}}


def place_in(document: dict[str, Any], generation: str, place: Place) -> Place:
    """Where a place of the other generation's document stands in the file."""
    given = document.get(KEY)
    here: Any = given.get(generation) if isinstance(given, dict) else None
    if isinstance(here, dict) and place and place[0] in here:
        as_variant = {**document, "variants": {generation: here}}
        return (KEY, *variants.place_in(as_variant, generation, place)[1:])
    return place
