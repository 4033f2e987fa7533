"""What the command line says of itself: `--help`, and what is wrong with arguments, in the viewer's language.

Texts have keys, `up.port` for the option `--port` of the command `up`, and stand in two catalogues beside this file,
`en.json` and `ko.json`. What argparse says by itself ("usage:", "unrecognized arguments: %s") it looks up with gettext,
where the English text is its own key; so it is here, below `argparse`. `{name}` takes a parameter, `%(default)s` is
filled in by argparse.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import orjson

ARGPARSE = "argparse"


@cache
def catalogue(language: str) -> dict[str, Any]:
    """Key -> text; below `argparse` English -> text."""
    texts: dict[str, Any] = orjson.loads((Path(__file__).parent / f"{language}.json").read_bytes())
    return texts


class Words:
    """The texts of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._texts = catalogue(language)
        self._of_argparse: dict[str, str] = self._texts[ARGPARSE]

    def say(self, key: str, **params: object) -> str:
        """The text with its parameters."""
        text: str = self._texts[key]
        return text.format(**params) if params else text

    def knows(self, key: str) -> bool:
        return key in self._texts

    def translated(self, english: str) -> str:
        """What argparse says; as it is where the catalogue is silent."""
        return self._of_argparse.get(english, english)

    @contextmanager
    def in_argparse(self) -> Iterator[None]:
        """As long as this lasts argparse speaks the language."""
        module: Any = argparse
        before = module._, module.ngettext
        module._ = self.translated
        module.ngettext = lambda one, many, number: self.translated(one if number == 1 else many)
        try:
            yield
        finally:
            module._, module.ngettext = before
