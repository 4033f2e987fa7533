"""A run is packed on one page and opened on another lab's, which executes it again; a file that was touched is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.lab_page import Open, open_pages
from tests.sampling import every


@pytest.fixture(scope="module")
def here(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("packed") / "lab")


@pytest.fixture(scope="module")
def elsewhere(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("unpacked") / "lab", "--seed", "6")


@pytest.fixture(scope="module")
def packed(here: Open, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lesson's run as the page hands it out."""
    seen = here()
    page = seen.page
    page.click("[data-panel=scenarios]")
    page.click('[data-scenario="session-expiry"]')
    page.click('[data-guess-broker="3"]')
    page.click("[data-lesson=run]")
    seen.wait("lab.app.desk.watch.active")
    page.click("[data-panel=runs]")
    seen.see("[data-pack]")
    page.click("[data-verify]")
    seen.see("#drawer [data-verdict=same]")
    with page.expect_download() as download:
        page.click("[data-pack]")
    path = tmp_path_factory.mktemp("file") / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.parametrize("language", every(["en", "ko"], keep=["ko"]))
def test_a_packed_run_is_taken_in_and_comes_out_the_same(packed: Path, elsewhere: Open, language: str) -> None:
    seen = elsewhere(language)
    seen.page.click("[data-panel=runs]")
    seen.wait("document.querySelector('[data-file=pack]')")
    seen.page.set_input_files("[data-file=pack]", packed)
    seen.see("#drawer [data-verdict=same]")
    assert seen.page.locator("#drawer [data-pack]").count() >= 1


def test_a_pack_that_was_touched_is_refused_by_name(packed: Path, elsewhere: Open, tmp_path: Path) -> None:
    seen = elsewhere()
    content = bytearray(packed.read_bytes())
    content[len(content) // 2] ^= 0xFF
    touched = tmp_path / "touched.tar.gz"
    touched.write_bytes(content)
    seen.page.click("[data-panel=runs]")
    seen.wait("document.querySelector('[data-file=pack]')")
    before = seen.value("lab.app.desk.runs.open.length")
    seen.page.set_input_files("[data-file=pack]", touched)
    seen.told(touched.name)
    assert [text for text in seen.complaints if "422" in text]
    seen.complaints[:] = [text for text in seen.complaints if "422" not in text]
    assert seen.value("lab.app.desk.runs.open.length") == before
