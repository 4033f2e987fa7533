"""What is written about the code is true: events, settings, links, packages."""

from __future__ import annotations

import ast
import re
import string
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from broker_core.kernel.events import REGISTRY
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from broker_core.metadata.configs_group import WORDS as OF_GROUPS_ALONE
from lab.clusters.meanings import korean, meaning
from tests.house.sources import CHECKOUT, files, name, product, tree
from tests.house.test_code import imported

PAGES = [path for path in files(".md") if path.is_relative_to(CHECKOUT)]


@pytest.mark.parametrize("code", REGISTRY.values(), ids=str)
def test_an_event_is_documented_and_renders_its_own_parameters(code):
    shown = {field for _, field, _, _ in string.Formatter().parse(code.render) if field}
    assert shown <= set(code.params), "the sentence names parameters that the event does not have"
    assert all(meaning.strip() for meaning in code.params.values())
    assert re.fullmatch(r"[a-z0-9_]+", code.name)
    assert code.line(dict.fromkeys(code.params, 1))


def test_every_event_is_emitted_somewhere():
    named = {word for path in product() if path.name != "events.py" for word in re.findall(r"\w+", path.read_text())}
    silent = [code.name for code in REGISTRY.values() if code.name.upper() not in named]
    assert not silent, f"declared, but nobody emits them: {', '.join(silent)}"


def test_every_setting_says_what_it_means():
    for setting in [*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values(), *OF_GROUPS_ALONE.values()]:
        assert setting.doc.endswith("."), setting.name
        assert len(setting.doc) > 15, setting.name
        assert re.search("[가-힣]{2}.*[.]$", meaning(setting, "ko")), setting.name


def test_no_meaning_is_told_of_a_setting_that_there_is_not():
    assert korean().keys() == {*BROKER_SETTINGS, *TOPIC_SETTINGS, *OF_GROUPS_ALONE}


@pytest.mark.parametrize(("language", "page"), [("en", "settings.md"), ("ko", "settings.ko.md")])
def test_the_page_of_settings_is_what_the_command_prints(language, page):
    command = [sys.executable, "-P", "-m", "cli", "--language", language, "settings", "--markdown"]
    printed = subprocess.run(command, cwd=CHECKOUT, env={"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True,
                             check=True).stdout
    assert printed == (CHECKOUT / "docs" / page).read_text(), "run ./brokerlab settings --markdown again"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_of_a_page_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        aim = (page.parent / file).resolve() if file else page
        assert aim.exists(), f"{target} leads nowhere"
        if anchor and aim.suffix == ".md":
            assert anchor in anchors(aim), f"{target}: no such heading"


def anchors(page: Path) -> list[str]:
    """Names of headings as they appear in links: lower case, words joined with hyphens."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles]


NOT_OURS = ("shared/oracle/oracle.py",)  # beside the checkout


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_a_page_names_are_there(page):
    ours = [name(path) for path in files(".py", ".js", ".yaml", ".txt", ".json", ".md", ".html", ".css")]
    spoken = re.findall(r"`([\w-]+(?:/[\w.-]+)+\.(?:py|js|yaml|txt|md|html|css))`", page.read_text())
    missing = [one for one in spoken if one not in NOT_OURS and not any(f"/{path}".endswith(f"/{one}") for path in ours)]
    assert not missing, f"no such file: {', '.join(missing)}"


def test_commands_that_a_page_shows_are_commands():
    shown = subprocess.run([sys.executable, "-P", "-m", "cli", "--help"], cwd=CHECKOUT, check=True, text=True,
                           env={"PYTHONPATH": str(CHECKOUT)}, capture_output=True).stdout
    known = set(re.findall(r"^    ([a-z][\w-]*)", shown, flags=re.MULTILINE))
    spoken = {word for page in PAGES for word in re.findall(r"\./brokerlab ([a-z][\w-]*)", page.read_text())}
    assert spoken <= known, f"no such command: {', '.join(spoken - known)}"
    rows = re.findall(r"^\| (`.*?) \|", (CHECKOUT / "README.md").read_text(), flags=re.MULTILINE)
    assert {word for row in rows for word in re.findall(r"`([a-z][\w-]*)", row)} == known


def test_every_page_can_be_reached_from_the_first_one():
    reached, ahead = set(), [CHECKOUT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached:
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)\s#]+\.md)", page.read_text())
        ahead += [(page.parent / link).resolve() for link in links if ":" not in link]
    lonely = [name(page) for page in PAGES if "docs" in page.relative_to(CHECKOUT).parts and page not in reached]
    assert not lonely, f"no link leads to {', '.join(lonely)}"


def test_the_tour_has_a_chapter_for_each_package():
    index = (CHECKOUT / "docs" / "tour" / "README.md").read_text()
    places = [path.relative_to(CHECKOUT).parts for path in product()]
    packages = sorted({parts[1] for parts in places if parts[0] == "broker_core" and len(parts) > 2})
    missing = [package for package in packages if f"({package}.md)" not in index]
    assert not missing, f"not in docs/tour/README.md: {', '.join(missing)}"


def test_no_place_of_somebodys_machine_is_named():
    pattern = re.compile(r"(?<![\w.])/(work|root|home/\w+|Users/\w+)/")
    texts = files(".py", ".md", ".js", ".toml", ".yaml", ".txt", ".html", ".css")
    found = [f"{name(path)}: {match[0]}" for path in texts
             if path != Path(__file__) and (match := pattern.search(path.read_text()))]
    assert not found, "\n".join(found)


def test_nothing_is_left_for_later_in_the_code():
    word = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [f"{name(path)}:{number}" for path in product()
             for number, line in enumerate(path.read_text().split("\n"), 1) if word.search(line)]
    assert not found, "\n".join(found)


def pins(group: str) -> dict[str, str]:
    lines = (CHECKOUT / "requirements" / f"{group}.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonical(package): version for package, version in pairs}


def canonical(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def test_the_lock_files_pin_what_the_project_asks_for():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    for group, wanted in (("run", project["dependencies"]), ("test", optional["test"]), ("spark", optional["spark"])):
        packages = [canonical(re.split(r"[<>=\[ ]", requirement)[0]) for requirement in wanted]
        assert not [package for package in packages if package not in pins(group)], group


def test_the_product_imports_only_packages_that_are_pinned():
    owners = packages_distributions()
    used = {module.split(".")[0] for path in product() for node in ast.walk(tree(path))
            for module in imported(node)}
    outside = used - set(sys.stdlib_module_names) - {"broker_core", "lab", "web", "cli", "benchmarks", ""}
    optional = {"pyspark", "pyarrow", "pandas", "numpy", "numba", "llvmlite", "psycopg", "channels_redis", "pytest"}
    unpinned = [module for module in sorted(outside - optional)
                if not any(canonical(owner) in pins("run") for owner in owners.get(module, []))]
    assert not unpinned, f"not in requirements/run.txt: {', '.join(unpinned)}"
