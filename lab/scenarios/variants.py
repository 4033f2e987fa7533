"""Variants: the same scenario with another setting, told as the difference.

```yaml
topics: [{name: orders, configs: {retention.ms: 60000}}]
expect: {receipt.lost: ">= 1"}
variants:
  default: {title: {en: The page cache is trusted, ko: ...}}          # only a name for what stands above
  flushed:
    title: {en: Every record is flushed, ko: ...}
    topics: [{name: orders, configs: {flush.messages: 1}}]            # joins the topic of this name
    expect: {receipt.lost: 0}
    fork: {title: ..., steps: [...], expect: ...}                     # another way to go on; null: none
```
Mappings are merged key by key, and `null` takes a key away (RFC 7396). In lists of things that have a `name`
the one of the same name is merged, a new one is added; any other list replaces the old one.

| name | the scenario |
|---|---|
| `flushed` | with what this variant changes |
| `fork` | with the steps of `fork` in place of its own from there on |
| `flushed/fork` | the fork of that variant |

The document of a variant keeps its name (`variant`) and its title, so that a run, a file and a link can say it.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel.problems import problem
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError

FORK = "fork"
NOT_IN_VARIANTS = ("variants", "variant", "scenario", "subject", "generations")
TIMING = ("at", "after", "when", "within")


def names(document: dict[str, Any]) -> list[str]:
    """Variants that a document can be run in, `fork` among them."""
    own = list(checks.mapping(document.get("variants"), ("variants",)))
    return [*own, FORK] if "fork" in document else own


def courses(document: dict[str, Any]) -> list[str | None]:
    """Everything that a document can be run as: itself (None), its variants, and the fork of each.

    A variant that has only a title names what the document says anyway.
    """
    found: list[str | None] = [None]
    found += [name for name, one in (document.get("variants") or {}).items() if set(one) > {"title"}]
    for one in list(found):
        if FORK in (applied(document, one) if one else document):
            found.append(f"{one}/{FORK}" if one else FORK)
    return found


def applied(document: dict[str, Any], variant: str) -> dict[str, Any]:
    """The document with a variant's differences; raises SpecError when there is no such variant."""
    base, slash, fork = variant.partition("/")
    if slash and fork == FORK and variant not in (document.get("variants") or {}):
        return applied(applied(document, base), FORK)
    checks.choice(variant, ("variants",), names(document))
    rest = {key: value for key, value in document.items() if key != "variants"}
    if variant == FORK and "fork" in document:
        return _forked_as(document, rest)
    own = document["variants"][variant] or {}
    change = {key: value for key, value in own.items() if key != "title"}
    if "steps" in (change.get("fork") or {}):
        rest["fork"] = {"before": rest.get("fork", {}).get("before", 0)}  # another course, not a change of the old one
    return {**merged(rest, change), "variant": variant, "variants": _titled(variant, own.get("title"))}


def _forked_as(document: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """The fork, named after the variant that it parts from."""
    base = document.get("variant", "")
    of = (document.get("variants") or {}).get(base) or {}
    title = document["fork"].get("title") or {}
    if of:
        before = of.get("title") or {}
        title = {language: f"{before[language]} · {text}" if language in before else text
                 for language, text in title.items()}  # fmt: skip
    name = f"{base}/{FORK}" if of else FORK
    return {**forked(rest), "variant": name, "variants": _titled(name, title)}


def _titled(name: str, title: Any) -> dict[str, Any]:
    return {name: {"title": title} if title else {}}


def forked(document: dict[str, Any]) -> dict[str, Any]:
    """The fork as a scenario of its own: the steps before it, then its own; what is seen in it, if it says so."""
    fork = document["fork"]
    before = fork.get("before", 0)
    steps = list(document.get("steps") or [])
    own = [dict(step) for step in fork["steps"]]
    if own and before < len(steps) and not any(key in own[0] for key in TIMING):
        own[0] = {**{key: steps[before][key] for key in TIMING if key in steps[before]}, **own[0]}
    for step in own:
        if not any(key in step for key in TIMING):
            step["after"] = 0
    gone = ("fork", "moment", "predict", "stops")
    rest = {key: value for key, value in document.items() if key not in gone}
    see = {"see": fork["see"]} if fork.get("see") else {}
    return {**rest, "steps": [*steps[:before], *own], "expect": fork.get("expect") or {}, **see}


def merged(base: Any, change: Any) -> Any:
    """`base` with `change` put into it."""
    if isinstance(base, dict) and isinstance(change, dict):
        joined = {key: value for key, value in base.items() if key not in change or change[key] is not None}
        for key, value in change.items():
            if value is not None:
                joined[key] = merged(base[key], value) if base.get(key) is not None else value
        return joined
    if _named(base) and _named(change):
        found = {one["name"]: one for one in base}
        for one in change:
            found[one["name"]] = merged(found[one["name"]], one) if one["name"] in found else one
        return list(found.values())
    return change


def _named(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and "name" in one for one in value)


def place_in(document: dict[str, Any], variant: str, place: Place) -> Place:
    """Where a place of the merged document stands in the file: in the variant, or else in what it changes."""
    base, _, fork = variant.partition("/")
    if FORK in (variant, fork) and variant not in (document.get("variants") or {}):
        at: Place = ("fork", *place) if place and place[0] == "expect" else ("fork",)
        own = (document.get("variants") or {}).get(base) or {}
        return ("variants", base, *at) if "fork" in own else at
    change: Any = document["variants"][variant]
    whole: Any = merged({key: value for key, value in document.items() if key != "variants"}, change)
    found: list[str | int] = []
    for part in place:
        if isinstance(part, int) and isinstance(whole, list) and _named(whole) and isinstance(change, list):
            name = whole[part]["name"] if part < len(whole) else None
            found.append(next((n for n, one in enumerate(change) if one.get("name") == name), part))
        else:
            found.append(part)
        whole, change = _inside(whole, part), _inside(change, found[-1])
    return ("variants", variant, *found)


def _inside(value: Any, part: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    return value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else None


def check_shape(document: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Variants are mappings with a title and keys of a scenario."""
    for name, one in checks.mapping(document.get("variants"), ("variants",)).items():
        if name == FORK and "fork" in document:
            raise SpecError(("variants", name), problem("name_fork_taken"))
        known = [key for key in keys if key not in NOT_IN_VARIANTS]
        checks.mapping(one, ("variants", name), known)
