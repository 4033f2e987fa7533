"""What a setting of a broker or of a topic means, in both languages.

In English it stands beside the setting in the core; `settings.ko.json` says the same in Korean. Command line, REST,
page and glossary take it from here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import orjson

from broker_core.metadata.configs_types import Setting


@cache
def korean() -> dict[str, str]:
    """Name of a setting -> what it means."""
    found: dict[str, str] = orjson.loads((Path(__file__).parent / "settings.ko.json").read_bytes())
    return found


def meaning(setting: Setting, language: str) -> str:
    """In one of the two languages."""
    return korean()[setting.name] if language == "ko" else setting.doc
