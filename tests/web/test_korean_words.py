"""One word for one thing in all Korean texts: the one that Korean users of Kafka know, and no other beside it.

Looked through are the catalogues of the page and of REST, the settings, the lessons, the questions, and every Korean string in Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from tests.conftest import CHECKOUT

from lab.glossary.basics import FILE as BASICS
from lab.quizzes.reading import HOME as QUESTIONS
from lab.scenarios import grammar

KOREAN = re.compile("[가-힣]")

# The word -> patterns of those that mean the same and are not used.
WORDS = {
    # names stand as their makers write them
    "Kafka": ["카프카"], "ZooKeeper": ["주키퍼"], "Spark": ["스파크"], "Java": ["자바"], "Python": ["파이썬"],
    # replication
    "에포크": ["에폭"], "언클린 선출": ["불완전", "언클린 선거"], "선출": ["선거"], "할당": ["배정"], "팔로워": ["팔로어", "추종자"],
    "동기화된 복제본": ["동기화 복제본"], "동기화된 모든 복제본": ["모든 동기화된 복제본"], "시퀀스 번호": ["순번"], "ID": ["아이디", "브로커 번호"],
    # groups and clients
    "리밸런스": ["재분배", "리밸런싱"], "멤버": ["구성원"], "프로듀서": ["생산자"], "컨슈머": ["소비자"], "타임아웃": ["제한 시간", "시간 초과"],
    # logs and disks
    "인덱스": ["색인"], "플러시": ["내려쓰", "내려씁", "내려쓸"], "추가": ["덧붙이", "덧붙입", "덧붙일"], "운영체제": ["운영 체제"], "정전": ["전원 상실"],
    # ZooKeeper
    "조정 트리": ["코디네이션 트리"], "워치": ["감시"],
    # the lab
    "이벤트": ["사건"], "분기": ["(?<!에)포크", "갈래"], "유실": ["손실"], "거부": ["거절"], "실험실": ["실습실"], "퍼거토리": ["연옥"],
    "실시간 실행": ["라이브"], "실시간 수치": ["흐르는 수치"], "리더이다": ["이끄는", "이끌", "이끕니다"], "비정상 종료": ["크래시"],
}  # fmt: skip
PAIRS = {"이/가", "을/를", "은/는", "과/와", "으로/로", "이어야/여야"}


def texts_of(value: Any) -> Iterator[str]:
    """Every string in a tree but its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_of(one)


def strings_of(path: Path) -> Iterator[str]:
    if path.suffix == ".json":
        yield from texts_of(orjson.loads(path.read_bytes()))
    elif path.suffix == ".yaml":
        yield from texts_of(yaml.safe_load(path.read_text("utf-8")))
    else:
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        yield from (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def files() -> list[Path]:
    found = [CHECKOUT / "broker_core" / "kernel" / "problems" / "ko.json", *(CHECKOUT / "web" / "messages").glob("*.ko.json"), *(CHECKOUT / "lab").rglob("*.ko.json"), *grammar.HOME.glob("*.yaml"), BASICS, *QUESTIONS.glob("*.yaml")]
    found += [path for part in ("web", "lab") for path in (CHECKOUT / part).rglob("*.py") if KOREAN.search(path.read_text("utf-8"))]
    return sorted(found)


def korean() -> dict[str, list[str]]:
    return {str(path.relative_to(CHECKOUT)): [" ".join(text.split()) for text in strings_of(path) if KOREAN.search(text)] for path in files()}


@pytest.fixture(scope="module")
def told() -> dict[str, list[str]]:
    return korean()


def test_there_are_texts_to_look_at(told: dict[str, list[str]]) -> None:
    assert {"web/messages/story.ko.json", "lab/clusters/settings.ko.json", "lab/scenarios/lessons/acks-1.yaml", "lab/checkers/invariants_records.py"} <= told.keys()
    assert sum(map(len, told.values())) > 1500


@pytest.mark.parametrize("word", WORDS)
def test_one_thing_has_one_word(word: str, told: dict[str, list[str]]) -> None:
    other = re.compile("|".join(WORDS[word]))
    assert [f"{file}: {text}" for file, texts in told.items() for text in texts if other.search(text)] == []


def test_a_rejected_word_is_never_the_chosen_one_of_another_thing() -> None:
    for word in WORDS:
        assert not any(re.search(pattern, word) for patterns in WORDS.values() for pattern in patterns), word


def test_particles_are_written_closed_before_open(told: dict[str, list[str]]) -> None:
    """`static/i18n/particles.js` takes the first of a pair after a consonant."""
    pairs = [(file, pair) for file, texts in told.items() for text in texts for pair in re.findall(r"\{([가-힣]+/[가-힣]*)\}", text)]
    assert len(pairs) > 100 and [one for one in pairs if one[1] not in PAIRS] == []


def test_the_sources_of_the_lessons_have_korean_names() -> None:
    """All parts of them but KIPs and settings, which have one name everywhere."""
    names = orjson.loads((CHECKOUT / "web" / "messages" / "desk.ko.json").read_bytes())
    for path in grammar.HOME.glob("*.yaml"):
        for source in yaml.safe_load(path.read_text("utf-8"))["why"]["source"]:
            for part in re.split(", |: ", source):
                name = re.sub(r"^\d+\.\d+ ", "", part)
                is_a_name = re.fullmatch(r"KIP-\d+|[a-z]+(\.[a-z]+)*", name)
                assert is_a_name or KOREAN.search(names.get(f"source.{name}", "")), f"{path.name}: {name}"
