"""The catalogues against the registry of journal events."""

from __future__ import annotations

import re

import pytest

from broker_core.kernel.events import REGISTRY
from web.messages import LANGUAGES, catalogue

HOLE = re.compile(r"\{([a-z_]+)(?:\|[a-z_]+)?\}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_journal_event_has_a_sentence(language: str) -> None:
    assert set(REGISTRY) - set(catalogue(language)["story"]) == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_uses_only_parameters_that_the_event_has(language: str) -> None:
    for code, entry in catalogue(language)["story"].items():
        known = set(REGISTRY[code].params) | {"node", "n", "names"}
        texts = [entry["say"], entry.get("many", ""), entry["why"]]
        texts += [text for group in entry.get("why_by", {}).values() for text in group.values()]
        assert {hole for text in texts for hole in HOLE.findall(text)} <= known, code


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_that_the_registry_lists_is_translated(language: str) -> None:
    words = catalogue(language)["page"]
    for code in REGISTRY.values():
        for name in ("how", "reason", "role", "reaction"):
            listed = code.params.get(name, "")
            if " | " in listed:
                missing = [one for one in listed.split(" | ") if one != "..." and f"reason.{one}" not in words]
                assert missing == [], code.name


def test_a_language_that_nobody_has_written_is_english() -> None:
    assert catalogue("fr")["language"] == "en"
