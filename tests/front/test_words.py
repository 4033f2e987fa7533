"""The command line speaks of itself in the viewer's language: help, what is wrong with arguments, tables."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import string

import pytest

from cli.language import asked_for
from cli.parser import build_parser, main
from cli.replay import text_table
from cli.words import ARGPARSE, Words, catalogue
from lab.analytics import sweep_report
from lab.analytics.grid import Cell
from lab.analytics.words import KOREAN
from lab.experiments.shown import width_of

HANGUL = re.compile("[가-힣]")
COMMANDS = ["up", "test", "pictures", "run", "validate", "verify", "pack", "unpack", "lessons", "dump-log", "replay", "sweep", "bench", "settings"]
OF_PROGRAMMERS = re.compile(
    r"conflict|mutually exclusive|not callable|\.__call__|positionals$|cannot (have|merge)|invalid option string|dest= is|unexpected option|with mode"
)
"""What argparse says to whoever builds a parser wrongly."""


def fields(text: str) -> set[str | None]:
    """`{n}` and `%(default)s` of a text."""
    return {name for _, name, _, _ in string.Formatter().parse(re.sub(r"%\((\w+)\)[sr]", r"{\1}", text)) if name is not None}


def test_both_catalogues_have_the_same_keys_and_parameters() -> None:
    english, korean = catalogue("en"), catalogue("ko")
    assert list(english) == list(korean)
    for key in english.keys() - {ARGPARSE}:
        assert fields(english[key]) == fields(korean[key]), key
        assert HANGUL.search(korean[key]), key
    for said, told in korean[ARGPARSE].items():
        left = re.sub(r"%\(\w+\)[sr]|[%:\s]", "", told)
        assert fields(said) == fields(told) and (HANGUL.search(told) or not left), said


def test_everything_that_argparse_says_to_a_user_is_in_the_catalogue() -> None:
    calls = (one for one in ast.walk(ast.parse(inspect.getsource(argparse))) if isinstance(one, ast.Call))
    looked_up = [one for one in calls if isinstance(one.func, ast.Name) and one.func.id in ("_", "ngettext")]
    said = {part.value for one in looked_up for part in one.args if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    assert "usage: " in said
    assert {one for one in said if not OF_PROGRAMMERS.search(one)} <= catalogue("ko")[ARGPARSE].keys()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_told_in_korean_and_each_option_has_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = {}
    for language in ("en", "ko"):
        with pytest.raises(SystemExit) as ended:
            main(["--language", language, *([command] if command else []), "--help"])
        assert ended.value.code == 0
        told[language] = capsys.readouterr().out
    assert not HANGUL.search(told["en"]) and told["ko"].startswith("사용법: ") and "옵션:" in told["ko"]
    options = [set(re.findall(r"--[a-z][a-z-]+", text)) for text in told.values()]
    assert options[0] <= options[1] | {"--help"}
    sentences = [one for one in re.split(r"\n(?=  \S)|\n\n", told["ko"]) if re.match(r"  \S+.*(  |\n)", one)]
    assert sentences and all(HANGUL.search(one) for one in sentences), [one for one in sentences if not HANGUL.search(one)]


def test_every_key_is_said_by_a_command() -> None:
    words = Words("en")
    said: set[str] = set()
    say = words.say
    words.say = lambda key, **more: said.add(key) or say(key, **more)  # type: ignore[func-returns-value,method-assign]
    build_parser(words)
    later = re.compile(r"up\.(starting|stopping|page_elsewhere|attach|preset_is|era_is|stop|other_kraft|of_quorum|classes)$|wrong\.|mistake|data\.|replay\.(starts|nothing|report|no_rows|more)|sweep\.(runs|failed|cells)|settings\.(head|unset|empty|only|unused|broker|topic|producer|consumer|worker|then)")
    assert {key for key in catalogue("en") if not later.match(key)} - {ARGPARSE} == {key for key in said if not later.match(key)}


@pytest.mark.parametrize("arguments", [
    ["up", "--port", "x"], ["up", "--port", "70000"], ["up", "--speed", "fast"], ["up", "--speed", "3"], ["up", "--seed", "-1"],
    ["up", "--brokers"], ["up", "--brokers", "12"], ["up", "--controller", "raft"], ["up", "--kafka", "1"], ["run"], ["run", "a", "--nix"],
    ["no-such-command"], ["dump-log", "--hex", "--deep", "f"], ["run", "a", "--live=7"], ["run", "a", "--controllers", "many"], [],
])  # fmt: skip
def test_what_is_wrong_with_arguments_is_one_line_in_the_viewers_language(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("LC_MESSAGES", raising=False)
    for language, korean in (("ko_KR.UTF-8", True), ("en_US.UTF-8", False)):
        monkeypatch.setenv("LANG", language)
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        told = capsys.readouterr().err
        assert ended.value.code == 2 and told.count("\n") == 1 and told.startswith("brokerlab"), told
        mistake = told.partition("--help")[0].rpartition(". " if korean else "; ")[0]
        assert bool(HANGUL.search(mistake)) == korean, told


@pytest.mark.parametrize(("arguments", "language"), [
    (["run", "--language", "ko"], "ko"), (["--language=en", "run"], "en"), (["run"], None), (["--language"], None),
    (["test", "--", "--language", "ko"], None), (["--language", "en", "run", "--language", "ko"], "ko"),
])  # fmt: skip
def test_the_language_is_known_before_the_arguments_are_understood(arguments: list[str], language: str | None) -> None:
    assert asked_for(arguments) == language


def test_tables_of_answers_have_korean_headings_and_words_and_stand_in_columns() -> None:
    rows = [{"topic": "orders", "lost": n, "complete": n > 1} for n in (1, 20)]
    english = text_table(["topic", "lost", "complete"], rows, 25, words=Words("en")).splitlines()
    korean = text_table(["topic", "lost", "complete"], rows, 25, words=Words("ko")).splitlines()
    assert english[0].split() == ["topic", "lost", "complete"] and english[-1].strip() == "... 23 more"
    assert all(HANGUL.search(line) for line in korean) and "유실" in korean[0] and korean[-1].strip() == "... 23개 더"
    ends = {width_of(line[: line.index(number)]) + len(number) for line, number in zip(korean[1:3], ("1", "20"))}
    assert ends == {width_of(korean[0][: korean[0].index("유실") + 2])}
    assert text_table(["lost"], [], 0, words=Words("ko")) == "  없음"


def test_the_heat_map_of_a_sweep_is_told_in_korean() -> None:
    cells = [Cell({"acks": "1"}, {}), Cell({"acks": "all"}, {})]
    summary = [{"runs": 2, "lost": 3, "runs_with_loss": 1}, {"runs": 0, "lost": 0, "runs_with_loss": 0}]
    title, head, first, second = sweep_report.text(cells, summary, words=KOREAN).splitlines()
    assert title.startswith("실행당 유실 레코드 수") and head.strip() == "모든 시드"
    assert first.split() == ["acks=1", "1.5", "(50%)"] and second.split() == ["acks=all", "실행", "없음"]
    assert width_of(head) == width_of(first) == width_of(second)
