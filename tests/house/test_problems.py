"""One registry of problems, two catalogues, and nobody who reads a sentence back."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest
from tests.conftest import CHECKOUT

from broker_core.kernel.problems import LANGUAGES, REGISTRY, Problem, Value, catalogue, problem, told
from broker_core.kernel.problems.parameters import PARAMETERS
from broker_core.kernel.problems.telling import HOLE

SOURCES = [path for part in ("broker_core", "lab", "web", "cli") for path in sorted((CHECKOUT / part).rglob("*.py"))]
STATIC = sorted((CHECKOUT / "static").rglob("*.js"))
FILTERS = {"quoted", "word", "node", "count", "plural"}
NAMES = {"node": "broker-2", "source": "producer-orders", "dest": "zookeeper-1", "partition": "orders-0"}
ENGLISH = re.compile(r"\b(the|are|of|and|an|expected|found|with|must|did|you|mean|there)\b")
A_WORD_AND_ANOTHER = re.compile(r"[a-z]{2,} [a-z]{2,}")


def raised() -> Iterator[tuple[str, Path, ast.Call]]:
    """Each `problem("code", ...)` of the code."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "problem" and node.args:
                for code in codes_of(node.args[0]):
                    yield code, path, node


def codes_of(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return [*codes_of(node.body), *codes_of(node.orelse)]
    assert isinstance(node, ast.Constant) and isinstance(node.value, str), ast.unparse(node)
    return [node.value]


def sample(code: str) -> Problem:
    """With something in each parameter."""
    text = catalogue("en")[code]
    params: dict[str, Value] = {}
    for name in REGISTRY[code].params:
        is_counted = re.search(rf"\{{{name}\|(count|plural)", text)
        params[name] = 10_000 if is_counted else NAMES.get(name, "it's" if f"{{{name}|quoted}}" in text else "7")
    return {"code": code, "params": params}


def holes(text: str) -> set[str]:
    return {hole.split("|")[0] for hole in HOLE.findall(text) if "/" not in hole}


def test_what_is_raised_is_registered_with_these_parameters_and_all_that_is_registered_is_raised() -> None:
    seen: dict[str, set[str]] = {}
    for code, path, call in raised():
        assert code in REGISTRY, f"{path}: {code}"
        named = {keyword.arg for keyword in call.keywords}
        assert named == set(REGISTRY[code].params) or None in named, f"{path}:{call.lineno}: {code} {named}"
        seen.setdefault(code, set()).add(".".join(path.relative_to(CHECKOUT).with_suffix("").parts))
    assert sorted(set(REGISTRY) - set(seen)) == []
    for code, modules in seen.items():
        packages = REGISTRY[code].packages
        lost = [one for one in modules if not any(f"{one}.".startswith(f"{package}.") for package in packages)]
        idle = [one for one in packages if not any(f"{module}.".startswith(f"{one}.") for module in modules)]
        assert not lost and not idle, f"{code} is found in {lost or idle}: the registry says {packages}"


def refusals() -> set[str]:
    """Names of the exceptions that carry a problem."""
    classes = [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ClassDef)]
    found = {"Refusal"}
    while more := {one.name for one in classes if {ast.unparse(base) for base in one.bases} & found} - found:
        found |= more
    return found


def is_sentence(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return any(map(is_sentence, node.values))
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and " " in node.value
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "str"


def test_no_refusal_is_raised_with_a_sentence() -> None:
    """`cli` has an exception of its own for the shell, `lab/analytics` tells what Spark says."""
    names = refusals()
    assert {"CommandError", "SpecError", "ScenarioError", "BranchError", "ConfigError", "Problem"} <= names
    for path in SOURCES:
        if not {"cli", "analytics"} & set(path.parts):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                    assert not any(map(is_sentence, node.args)), f"{path}:{node.lineno}: {ast.unparse(node)}"


def test_every_parameter_is_described_once_for_all_codes() -> None:
    assert {name for code in REGISTRY.values() for name in code.params} == set(PARAMETERS)


def test_both_catalogues_have_every_code_with_exactly_its_parameters() -> None:
    for language in LANGUAGES:
        texts = catalogue(language)
        assert {code for code in texts if not code.startswith("word.")} == set(REGISTRY), language
        for code, entry in REGISTRY.items():
            assert holes(texts[code]) == set(entry.params), f"{language}: {code}"
            assert {hole.split("|")[1] for hole in HOLE.findall(texts[code]) if "|" in hole} <= FILTERS, code
    words = [{code for code in catalogue(language) if code.startswith("word.")} for language in LANGUAGES]
    assert words[0] == words[1]


@pytest.mark.parametrize("code", sorted(REGISTRY))
def test_every_problem_is_told_in_korean_without_english(code: str) -> None:
    text = told(sample(code), "ko")
    assert not ENGLISH.search(text) and "{" not in text, text
    assert re.search("[가-힣]", text) or not re.search("[a-zA-Z]", HOLE.sub("", catalogue("ko")[code]).replace("steps", "")), text


def test_a_problem_has_all_of_its_parameters_and_no_other() -> None:
    with pytest.raises(TypeError, match="no_leader"):
        problem("no_leader")
    with pytest.raises(TypeError, match="no_leader"):
        problem("no_leader", partition="orders-0", topic="orders")
    with pytest.raises(KeyError):
        problem("nobody_knows_it")


def test_particles_follow_what_a_parameter_ends_with() -> None:
    assert told(problem("no_group", group="billing"), "ko") == "그룹 billing은 없습니다"
    assert told(problem("no_group", group="orders"), "ko") == "그룹 orders는 없습니다"
    assert told(problem("not_under_way", source="broker-1", dest="broker-1"), "ko") == "브로커 1에서 브로커 1로 가는 메시지가 없습니다"
    assert told(problem("not_under_way", source="broker-1", dest="broker-3"), "ko").startswith("브로커 1에서 브로커 3으로")


def test_a_problem_inside_another_is_told_in_its_place() -> None:
    found = problem("unknown_key", key="sed", expected=problem("one_of_close", known=["seed", "steps"], close="seed"))
    assert told(found) == "unknown key 'sed', expected one of seed, steps (did you mean seed?)"
    assert told(found, "ko") == "모르는 키 'sed': seed, steps 가운데 하나여야 합니다 (혹시 seed?)"


def test_the_page_tells_each_problem_as_the_server_does(tmp_path: Path, require_program: Callable[[str], str]) -> None:
    inner = problem("wrong_in", place="a", what=problem("expected_text", found=problem("found_truth", given=True)))
    cases = [*map(sample, REGISTRY), inner, problem("unknown_object", given="a'b\"c\n", known=[1, 2.5, None])]
    (tmp_path / "cases.json").write_bytes(orjson.dumps(cases))
    pages = {language: orjson.loads((CHECKOUT / "web" / "messages" / f"page.{language}.json").read_bytes()) for language in LANGUAGES}
    (tmp_path / "words.json").write_bytes(orjson.dumps({one: [pages[one], catalogue(one)] for one in LANGUAGES}))
    (tmp_path / "tell.mjs").write_text(f"""
        import {{ readFileSync }} from "node:fs";
        import {{ Catalogue }} from "{CHECKOUT}/static/i18n/catalogue.js";
        import {{ told }} from "{CHECKOUT}/static/i18n/format.js";
        const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url)));
        const found = Object.entries(read("words.json")).map(([language, [page, problems]]) => {{
          const {{ words }} = new Catalogue({{ language, page, story: {{}}, problems }});
          return [language, read("cases.json").map((one) => told(one, words))];
        }});
        console.log(JSON.stringify(Object.fromEntries(found)));
    """)
    done = subprocess.run([require_program("node"), tmp_path / "tell.mjs"], capture_output=True, timeout=60, check=True)
    there = orjson.loads(done.stdout)
    for language in LANGUAGES:
        for case, text in zip(cases, there[language], strict=True):
            assert text == told(case, language), case["code"]


def patterns() -> Iterator[tuple[str, str]]:
    """(file, regular expression) of all that stand in the code: arguments of `re`, literals of JavaScript."""
    for path in SOURCES:
        if "analytics" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and A_WORD_AND_ANOTHER.search(node.value):
                if re.search(r"\(\?|\\[dSw]|\.\+|\.\*", node.value) and "\n" not in node.value:
                    yield str(path.relative_to(CHECKOUT)), node.value
    for path in STATIC:
        for literal in re.findall(r"[\[(,=:]\s*/((?:\\.|[^/\n*\\])(?:\\.|[^/\n\\])*)/[a-z]*", path.read_text("utf-8")):
            if A_WORD_AND_ANOTHER.search(literal):
                yield str(path.relative_to(CHECKOUT)), literal


def matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def test_no_regular_expression_reads_a_sentence_back() -> None:
    sentences = [told(sample(code)) for code in REGISTRY if A_WORD_AND_ANOTHER.search(HOLE.sub("", catalogue("en")[code]))]
    assert len(sentences) > 200
    found = {f"{file}: {pattern}" for file, pattern in patterns() if any(matches(pattern, one) for one in sentences)}
    assert found == set()
