"""What a setting of a broker, of a topic or of a built-in client means, in both languages.

Of a broker or a topic it stands in English beside the setting in the core, and `settings.ko.json` says the same in
Korean; `client_settings.json` has both for clients. Command line, REST, page and glossary take it from here.
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


@cache
def of_clients() -> dict[str, dict[str, str]]:
    """Name of a client's setting, or of what the lab's own producer does -> language -> what it means."""
    found: dict[str, dict[str, str]] = orjson.loads((Path(__file__).parent / "client_settings.json").read_bytes())
    return found
