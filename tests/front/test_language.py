"""The shell answers in the viewer's language: what is chosen, else what the terminal speaks, else English."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.language import spoken
from cli.parser import main
from lab.experiments.shown import width_of
from lab.scenarios import grammar

HANGUL = re.compile("[가-힣]")
TINY = """
cluster: {preset: teaching}
seed: 3
topics: [{name: orders, partitions: 1}]
clients: [{name: producer-a, kind: producer, topic: orders, rate: 20}]
duration: 1s
expect: {receipt.acked: ">= 1", receipt.lost: ">= 1"}
"""


@pytest.mark.parametrize(("chosen", "environment", "language"), [
    (None, {"LANG": "ko_KR.UTF-8"}, "ko"), (None, {"LANG": "ko"}, "ko"), (None, {"LC_MESSAGES": "ko-KR"}, "ko"),
    (None, {"LANG": "ko_KR.UTF-8", "LC_ALL": "C"}, "en"), (None, {"LC_ALL": "", "LANG": "ko_KR.UTF-8"}, "ko"), (None, {}, "en"),
    (None, {"LANG": "fr_FR.UTF-8"}, "en"), ("en", {"LANG": "ko_KR.UTF-8"}, "en"), ("ko", {"LC_ALL": "en_US.UTF-8"}, "ko"),
])  # fmt: skip
def test_what_is_chosen_counts_before_what_the_terminal_speaks(chosen, environment, language):
    assert spoken(chosen, environment) == language


@pytest.mark.parametrize("arguments", [
    ["settings", "nosuchthing"], ["run", "no-such-scenario"], ["validate", "no-such-file"], ["verify", "nowhere"], ["pack", "nowhere"],
    ["unpack", "nowhere"], ["dump-log", "nowhere.log"], ["up", "--set", "x"], ["up", "--set", "broker.id=7"],
    ["up", "--set", "9:num.io.threads=2"], ["up", "--set", "num.io.threads=many"], ["up", "--kafka-host", "0.0.0.0"],
])  # fmt: skip
def test_what_is_wrong_is_told_in_the_viewers_language(arguments, capsys, monkeypatch):
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("LC_MESSAGES", raising=False)
    told = {}
    for language in ("en_US.UTF-8", "ko_KR.UTF-8"):
        monkeypatch.setenv("LANG", language)
        assert main(arguments) != 0
        told[language] = capsys.readouterr().err
        assert told[language].startswith("brokerlab: ") and told[language].count("\n") == 1
    assert not HANGUL.search(told["en_US.UTF-8"])
    if "num.io.threads=many" not in arguments:  # Kafka's own words
        assert HANGUL.search(told["ko_KR.UTF-8"])
    before, after = capsys.readouterr(), main([*arguments, "--language", "en"])
    assert after != 0 and not before.err and capsys.readouterr().err == told["en_US.UTF-8"], "and what is chosen counts"


def test_a_run_its_verdict_and_the_list_of_lessons_are_told_in_korean(capsys, tmp_path: Path):
    (tmp_path / "tiny.yaml").write_text(TINY)
    run = ["run", str(tmp_path / "tiny.yaml"), "--out", str(tmp_path / "run")]
    assert main(["--language", "ko", *run]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("맞음     receipt.acked >= 1") for line in lines), lines
    assert any(line.startswith("어긋남   ") and HANGUL.search(line[9:]) for line in lines), lines
    head, row, total = lines[1:4]
    assert "확인됨" in head and total.strip().startswith("전체")
    assert width_of(head) == width_of(row) == width_of(total), "cells stand below their heads"
    assert main(["--language", "ko", "verify", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.startswith("같습니다: 이벤트 ")
    assert main(["--language", "ko", "lessons"]) == 0
    assert grammar.load("acks-1").title["ko"] in capsys.readouterr().out


def test_json_is_the_same_in_every_language(capsys):
    found = {}
    for language in ("en", "ko"):
        assert main(["run", "no-such-scenario", "--json", "--language", language]) == 2
        found[language] = json.loads(capsys.readouterr().out)
    assert found["en"] == found["ko"] and found["en"]["problem"]["code"] == "no_file"
