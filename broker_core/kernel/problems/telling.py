"""A problem as a sentence of a language.

```
{node}               a parameter; a list is joined, a problem is told in its place
{value|quoted}       in quotes, as 'x'
{state|word}         a word of the catalogue, `word.running`; one that it does not have stays as it is
{node|node}          a process by what it is: broker-2 is 브로커 2
{n|count}            10,000
{n|plural|is|are}    the first form beside one, the second beside any other number
{이/가}               the particle that fits the sound of what stands before it
```
`static/i18n/format.js` fills the same holes in the browser; a test holds the two together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from broker_core.kernel.problems.particles import particle

LANGUAGES = ("en", "ko")
HOLE = re.compile(r"\{([^{}]+)\}")
KINDS = ("broker", "zookeeper", "producer", "consumer", "processor", "worker")
ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@cache
def catalogue(language: str) -> dict[str, str]:
    """{code: sentence}; English for a language that there is not."""
    name = f"{language if language in LANGUAGES else LANGUAGES[0]}.json"
    found: dict[str, str] = json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return found


def told(problem: Mapping[str, Any], language: str = "en") -> str:
    """The sentence; a code that this program does not know is shown with its parameters."""
    code, params = problem["code"], problem["params"]
    template = catalogue(language).get(code)
    if template is None:
        return f"{code} {json.dumps(params, ensure_ascii=False)}" if params else str(code)
    text, start = "", 0
    for hole in HOLE.finditer(template):
        text += template[start : hole.start()]
        start = hole.end()
        name, *how = hole[1].split("|")
        text += particle(text, name) if "/" in name else _filled(params.get(name), how, language)
    return text + template[start:]


def _filled(value: Any, how: list[str], language: str) -> str:
    match how:
        case ["quoted"]:
            return quoted(plain(value, language))
        case ["word"]:
            return catalogue(language).get(f"word.{value}", str(value))
        case ["node"]:
            return _node(str(value), catalogue(language))
        case ["count"]:
            return f"{value:,}"
        case ["plural", one, many]:
            return one if value == 1 else many
    return plain(value, language)


def _node(name: str, words: Mapping[str, str]) -> str:
    if name.isdigit():
        return f"{words['word.connection']} {name}"
    if name in ("operator", "world"):
        return words[f"word.{name}"]
    kind, _, rest = name.partition("-")
    return f"{words[f'word.{kind}']} {rest}" if kind in KINDS and rest else name


def plain(value: Any, language: str) -> str:
    """A parameter as text, as JSON writes its words and whole numbers."""
    if isinstance(value, Mapping):
        return told(value, language)
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(one, language) for one in value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def quoted(text: str) -> str:
    """In single quotes, or in double ones when it has single ones itself."""
    inner = "".join(ESCAPES.get(letter, letter) for letter in text)
    return f'"{inner}"' if "'" in inner and '"' not in inner else "'" + inner.replace("'", "\\'") + "'"
