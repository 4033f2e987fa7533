"""The page's files under names that change with all that they import."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage

from web.files import HashedModules


def hashed(home: Path, **modules: str) -> dict[str, str]:
    """Modules by name -> the names that they get; what is written stands in `home`."""
    source, target = home / "source", home / "target"
    for name, text in modules.items():
        (source / name.replace("_", "/")).with_suffix(".js").parent.mkdir(parents=True, exist_ok=True)
        (source / name.replace("_", "/")).with_suffix(".js").write_text(text)
    storage = HashedModules(location=str(target), base_url="/static/")
    files = FileSystemStorage(location=str(source))
    paths: dict[str, Any] = {f"{name.replace('_', '/')}.js": (files, f"{name.replace('_', '/')}.js") for name in modules}
    for _, _, processed in storage.post_process(paths):
        if isinstance(processed, Exception):
            raise processed
    found: dict[str, str] = json.loads((target / "staticfiles.json").read_text())["paths"]
    assert set(found) == set(paths)
    return found


CHAIN = {"app": 'import { a } from "./views/a.js";', "views_a": 'import { b } from "./b.js";\nexport { c } from "../c.js";', "views_b": 'import "../c.js";', "c": "export const c = 1;"}


def test_a_module_and_all_that_it_imports_are_of_one_version(tmp_path: Path) -> None:
    one = hashed(tmp_path / "one", **CHAIN)
    other = hashed(tmp_path / "other", **CHAIN | {"c": "export const c = 2;"})
    assert not set(one.values()) & set(other.values()), "each of them leads to the one that is another"
    for names, home in ((one, tmp_path / "one"), (other, tmp_path / "other")):
        assert names == hashed(home / "again", **{**CHAIN, "c": (home / "source" / "c.js").read_text()}), "in any place"
        for name in names.values():
            for named in re.findall(r'"(\.[^"]+)"', (home / "target" / name).read_text()):
                assert ((home / "target" / name).parent / named).exists(), (name, named)
        assert len(list((home / "target").rglob("*.js"))) == len(CHAIN), "each is written once"


def test_modules_in_any_order_get_the_same_names(tmp_path: Path) -> None:
    assert hashed(tmp_path / "one", **CHAIN) == hashed(tmp_path / "other", **dict(reversed(CHAIN.items())))


@pytest.mark.parametrize("modules", [
    {"a": 'import "./b.js";', "b": 'import "./a.js";'}, {"a": 'import "./a.js";'}, {"a": 'import "./gone.js";'},
])  # fmt: skip
def test_modules_that_lead_in_a_circle_or_to_nothing_are_refused(tmp_path: Path, modules: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"imports itself|could not be found"):
        hashed(tmp_path, **modules)
