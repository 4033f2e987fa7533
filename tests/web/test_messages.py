"""The catalogues against the registry of journal events."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

from broker_core import groups
from broker_core.kernel.events import REGISTRY
from web.api.models import ENDED, QUEUED, RUNNING
from web.messages import LANGUAGES, catalogue

TO_A_STATE = re.compile(r"\.(?:transition|prepare|maybe_prepare)\(group, (.*)\)")
HOLE = re.compile(r"\{([a-z_]+)(?:\|[a-z_]+)?\}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_journal_event_has_a_sentence(language: str) -> None:
    assert set(REGISTRY) - set(catalogue(language)["story"]) == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_state_of_a_job_has_a_sentence(language: str) -> None:
    words = catalogue(language)["page"]
    assert [state for state in (QUEUED, RUNNING, *ENDED) if f"job.{state}" not in words] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_journal_event_says_why_in_sentences(language: str) -> None:
    sentence = {"en": r"[A-Z/].*[\w)]\.", "ko": r"\S.*다(?: \([^)]*\))?\."}[language]
    story = catalogue(language)["story"]
    for code in REGISTRY:
        texts = [story[code]["why"]]
        texts += [text for group in story[code].get("why_by", {}).values() for text in group.values()]
        assert [text for text in texts if not re.fullmatch(sentence, text)] == [], code


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", ["process_started", "process_ended"])
def test_only_a_broker_has_a_brokers_reasons_to_start_and_to_end(language: str, code: str) -> None:
    entry = catalogue(language)["story"][code]
    kinds = entry["why_by"]["node_kind"]
    assert {"producer", "consumer", "server", "other"} <= set(kinds)
    assert entry["why"] not in kinds.values()


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_reason_for_a_group_to_change_its_state_is_told_in_its_own_words(language: str) -> None:
    entry = catalogue(language)["story"]["group_state"]
    code = [one.read_text("utf-8") for one in Path(groups.__file__).parent.glob("*.py")]
    called = " ".join(call for text in code for call in TO_A_STATE.findall(text))
    given = set(re.findall(r'"([^"]+)"', re.sub(r'f"[^"]*"', "", called)))
    assert {"all joined", "new member", "coordinator moved"} <= given
    assert given <= set(entry["why_by"]["reason"])
    texts = [entry["why"], *entry["why_by"]["reason"].values()]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_uses_only_parameters_that_the_event_has(language: str) -> None:
    for code, entry in catalogue(language)["story"].items():
        known = set(REGISTRY[code].params) | {"node", "n", "names"}
        texts = [entry["say"], entry.get("many", ""), entry["why"]]
        texts += [text for by in ("why_by", "say_by", "many_by") for group in entry.get(by, {}).values() for text in group.values()]
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


def test_no_catalogue_says_a_key_twice() -> None:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert [key for key, many in Counter(key for key, _ in pairs).items() if many > 1] == []
        return dict(pairs)

    files = [path for place in ("web/messages", "cli/words", "broker_core/kernel/problems") for path in (CHECKOUT / place).glob("*.json")]
    assert len(files) > 10
    for path in files:
        json.loads(path.read_text(), object_pairs_hook=once)
