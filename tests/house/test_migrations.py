"""The migrations of an application are one line: two that follow the same one let no server start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import CHECKOUT

HOMES = sorted((CHECKOUT / "web").glob("*/migrations"))
BEFORE = re.compile(r"""\(\s*["']([a-z_]+)["'],\s*["'](\d{4}_\w+)["']\s*\)""")


def last_of(home: Path) -> set[str]:
    """Migrations that no other one follows."""
    texts = {path.stem: path.read_text() for path in home.glob("[0-9]*.py")}
    app = home.parent.name
    followed = {name for text in texts.values() for of, name in BEFORE.findall(text) if of == app}
    return set(texts) - followed


@pytest.mark.parametrize("home", HOMES, ids=[home.parent.name for home in HOMES])
def test_no_two_migrations_follow_the_same_one(home: Path) -> None:
    assert len(last_of(home)) == 1, sorted(last_of(home))


def test_two_that_follow_one_are_found(tmp_path: Path) -> None:
    home = tmp_path / "people" / "migrations"
    home.mkdir(parents=True)
    for name in ("0001_initial", "0002_one", "0002_other"):
        before = '("people", "0001_initial")' if name != "0001_initial" else ""
        (home / f"{name}.py").write_text(f"dependencies = [{before}]")
    assert last_of(home) == {"0002_one", "0002_other"}
