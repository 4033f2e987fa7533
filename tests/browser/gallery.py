"""The gallery: pictures of the running lab in every state that a learner meets, in both languages.

`./brokerlab pictures DIR` starts a lab for each language, drives it with Chromium through the scenes below
and writes one PNG a scene (`en-light-1440-load.png`). The two pictures of the README are among the scenes;
with no directory given they go to `docs/pictures`, and nothing else does.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.browser.lab_page import LabPage, view_of
from tests.conftest import CHECKOUT, PATIENCE_S, start_lab

HOME = CHECKOUT / "docs" / "pictures"
README = {("en", "readme-load"): "lab.png", ("ko", "readme-killed"): "lab-ko-dark.png"}
TABS = ("partitions", "replicas", "brokers", "groups", "transactions", "files", "config", "request", "metrics", "lights", "metadata", "attach")
PANELS = {"scenarios": "[data-scenario]", "runs": "#drawer .run", "receipt": "[data-figure=acked]"}
WIDTHS = (390, 800, 1024, 1440)
VIEWS = ("learn", "explore", "inspect")
DECISIVE = (
    "acks-1", "acks-0", "acks-all", "min-isr-blocks-writes", "unclean-election", "leader-epoch-truncation", "isr-shrink-and-catch-up",
    "controller-dies", "group-rebalance", "power-loss", "waiting-in-purgatory", "retry-duplicates",
)
"""Lessons whose decisive moment the picture alone has to tell."""
TALL = 900
SETTLE_MS = 450


@dataclass
class Gallery:
    """One page of one language, and where its pictures go."""

    seen: LabPage
    language: str
    target: Path | None
    only: re.Pattern[str]
    dark: bool = False
    width: int = 1440

    def look(self, name: str) -> None:
        """Take the picture of a scene once the page has come to rest."""
        kept = None if self.target else README.get((self.language, name))
        path = HOME / kept if kept else self.target and self.target / f"{self.language}-{'dark' if self.dark else 'light'}-{self.width}-{name}.png"
        if path is None or not self.only.search(path.name):
            return
        self.seen.page.wait_for_timeout(SETTLE_MS)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.seen.page.screenshot(path=path, full_page=390 < self.width < 1080 and not self.seen.value("Boolean(document.querySelector('dialog[open]'))"))
        print(path, flush=True)

    def dress(self, *, dark: bool = False, width: int = 1440, **media: str) -> None:
        """Another theme or width of the same page."""
        self.dark, self.width = dark, width
        self.seen.page.emulate_media(color_scheme="dark" if dark else "light", **media)
        self.seen.page.set_viewport_size({"width": width, "height": TALL})
        self.seen.page.evaluate("lab.screen.redraw()")

    def turn(self, view: str) -> None:
        """Another of the page's three views."""
        self.seen.page.evaluate("(mode) => lab.app.set({ mode })", view)

    def tab(self, name: str) -> None:
        self.seen.page.evaluate("(name) => lab.app.showTab(name)", name)
        self.seen.page.wait_for_timeout(SETTLE_MS)

    def each_width(self, name: str) -> None:
        """The scene in both themes at all widths; the README's pictures need none of them."""
        if self.target is None:
            return
        for width in WIDTHS:
            for dark in (False, True):
                self.dress(dark=dark, width=width)
                self.look(name)
        self.dress()


def first_visit(view: Gallery) -> None:
    """What somebody sees who has read nothing; then a topic and its load."""
    view.each_width("first-visit")
    view.seen.page.click("#topic-open")
    view.look("dialog-topic")
    view.seen.page.keyboard.press("Escape")
    view.seen.page.click("#help-open")
    view.look("dialog-help")
    view.seen.page.keyboard.press("Escape")
    view.seen.page.click('[data-coach="create_topic"]')
    view.seen.wait("lab.app.state.topics.orders?.partitions[2]?.isr.length === 3")
    view.look("idle")
    view.seen.page.click('[data-tour="producer"]')
    view.seen.wait("lab.app.state.clients['producer-orders']?.acked > 60")
    view.seen.see('[data-tour="kill"]')


def views(view: Gallery) -> None:
    """Learn, Explore, Inspect at work, at all widths; a menu, a record beside the story, the walk through the stage."""
    for name in VIEWS:
        view.turn(name)
        view.each_width(f"view-{name}")
    view.turn("learn")
    page = view.seen.page
    page.click('[data-menu="broker:2"]')
    view.look("menu-broker")
    page.keyboard.press("Escape")
    page.click("[data-record] >> nth=2")
    view.look("record")
    page.keyboard.press("Escape")
    page.focus("#scene-svg")
    for key in ("ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    view.look("walk")
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(5, 5)  # what it would rest on tells of itself
    view.seen.wait("document.querySelector('[data-menu^=\"link:\"]') !== null")
    page.click('[data-menu="link:broker-1~broker-2"]')
    view.look("menu-link")
    page.keyboard.press("Escape")
    view.turn("inspect")


def lessons(view: Gallery) -> None:
    """The decisive moment of twelve lessons, as Learn shows it."""
    seen, page = view.seen, view.seen.page
    live = seen.value("lab.feed.run")
    view.turn("learn")
    for name in DECISIVE:
        if not view.only.search(f"{view.language}-light-1440-moment-{name}.png"):
            continue
        page.evaluate("lab.app.desk.panel === 'scenarios' || lab.app.desk.show('scenarios')")
        page.evaluate("lab.app.desk.lessons.one && lab.app.desk.lessons.back()")
        page.click(f'[data-scenario="{name}"]')
        seen.see("[data-lesson=run]")
        for wanted in ("#drawer [data-choice]", "#drawer [data-guess-broker]"):
            if page.query_selector(wanted):
                page.click(f"{wanted} >> nth=0")
        if page.query_selector("#drawer [data-guess-number]"):
            page.fill("#drawer [data-guess-number]", "1")
        page.click("#drawer [data-lesson=run]")
        seen.wait("lab.app.desk.work === null && lab.app.desk.lessons.result !== null")
        seen.wait(f"lab.app.desk.watch.active && lab.app.desk.watch.ended.facts.scenario.scenario === '{name}'")
        page.evaluate("Object.assign(lab.clock, { playing: false, until: null })")
        page.evaluate("lab.app.desk.lessons.showMoment()")
        page.evaluate("lab.app.desk.panel && lab.app.desk.close()")
        for width in (1440, 390):
            for dark in (False, True):
                view.dress(dark=dark, width=width)
                page.evaluate("lab.app.desk.watch.reach()")
                view.look(f"moment-{name}")
        view.dress()
    page.evaluate("(run) => lab.app.desk.look(run)", live)


def load(view: Gallery) -> None:
    """The cluster at work: widths, themes, tabs, bytes, drawers."""
    view.tab("partitions")
    view.each_width("load")
    view.seen.page.evaluate("document.querySelector('[data-tour=kill]') && lab.app.desk.tour.finish()")
    for name in TABS:
        view.tab(name)
        if name == "request":
            view.seen.page.evaluate(LAST_PRODUCE)
        view.look(f"tab-{name}")
    view.tab("brokers")
    view.seen.page.evaluate("lab.app.openBroker(lab.app.chosenPartition.leader)")
    view.look("tab-broker-open")
    view.seen.page.evaluate("lab.app.showBytes(5)")
    view.look("bytes")
    view.seen.page.evaluate("lab.app.set({ledgerView: 'search'})")
    view.look("bytes-search")
    view.seen.page.evaluate("lab.app.set({ledgerView: 'batches'})")


LAST_PRODUCE = """() => {
    const { app, history } = lab;
    for (let at = history.end - 1; at >= history.begin; at -= 1) {
        const { code, params } = history.at(at);
        if (code === 'response_sent' && params.api === 'Produce') return app.lookAt(at);
    }
}"""


def readme(view: Gallery) -> None:
    """The pictures of the README."""
    view.seen.page.evaluate("lab.app.set({brokerOpen: null})")
    view.turn("learn")
    view.seen.wait("lab.app.state.clients['producer-orders']?.acked > 120")
    view.look("readme-load")
    view.turn("inspect")
    view.seen.page.evaluate("lab.app.set({ledgerView: 'batches'})")


def words(view: Gallery) -> None:
    """The way through the lessons; a term's card; the page of all terms."""
    page = view.seen.page
    page.click("[data-panel=scenarios]")
    view.seen.see("[data-course=next]")
    view.each_width("course")
    page.click('[data-scenario="acks-1"]')
    page.click('#drawer [data-term="isr"]')
    view.seen.see("#term-card")
    view.each_width("term")
    page.keyboard.press("Escape")
    page.evaluate("lab.app.desk.close()")
    here = page.url
    page.goto(view.seen.lab.page + "glossary/")
    for width in (390, *WIDTHS):
        for dark in (False, True):
            page.emulate_media(color_scheme="dark" if dark else "light")
            page.set_viewport_size({"width": width, "height": TALL})
            view.dark, view.width = dark, width
            view.look("glossary")
    page.goto(here)
    view.seen.wait("globalThis.lab?.app?.online && lab.app.desk.greeted")
    view.dress()


def messages(view: Gallery) -> None:
    """The world stands still with messages under way."""
    page = view.seen
    for broker in (1, 2, 3):
        page.command(do="delay_link", between=["producer-orders", broker], delay_ms=400, one_way=True)
    page.page.wait_for_timeout(1500)
    page.command(do="time", speed="pause")
    view.tab("request")
    page.see('[data-flight*=":request:Produce"]')
    view.look("paused-messages")
    page.page.click('[data-flight*=":request:Produce"] >> nth=0')
    page.page.click('[data-segment="message:request"]')
    page.see("#tab-panel .hex")
    page.page.evaluate("lab.app.set({messageLit: 8})")
    view.look("message-bytes")
    page.page.evaluate("document.querySelector('#tab-panel .hex').scrollIntoView()")
    view.look("message-bytes-fields")
    page.page.click("[data-deliver] >> nth=0")
    view.look("delivered")
    page.command(do="time", speed="play")
    page.command(do="stop_all_faults")


def faults(view: Gallery) -> None:
    """A link cut, a leader killed, a group that rebalances, an invariant's light."""
    page = view.seen
    page.command(do="partition_link", between=[1, 2])
    page.page.wait_for_timeout(1200)
    view.tab("partitions")
    view.look("link-cut")
    page.command(do="stop_all_faults")
    page.command(do="start_client", name="consumer-two", kind="consumer", topic="orders", settings={"group.id": "readers"})
    view.tab("groups")
    view.look("group-rebalancing")
    page.page.wait_for_timeout(4000)
    view.look("group-stable")
    page.command(do="pause", broker=3)
    view.tab("partitions")
    view.look("broker-paused")
    page.command(do="resume", broker=3)
    page.wait("lab.app.chosenPartition.isr.length === 3")
    kill(view)


def kill(view: Gallery) -> None:
    page = view.seen
    victim = page.value("lab.app.chosenPartition.leader")
    page.command(do="kill", broker=victim)
    page.page.wait_for_timeout(1500)
    view.look("leader-dead")
    page.wait(f"lab.app.chosenPartition.leader !== {victim} && lab.app.chosenPartition.leader > 0")
    page.page.wait_for_timeout(2500)
    for name in ("partitions", "replicas", "metrics", "brokers"):
        view.tab(name)
        view.look(f"elected-{name}")
    view.tab("metrics")
    view.dress(dark=True)
    view.look("readme-killed")
    view.dress()
    view.tab("partitions")
    view.each_width("elected")
    page.page.keyboard.press("x")
    page.page.evaluate("lab.app.command({do: 'resume', broker: 2})")
    view.look("refused")


def past(view: Gallery) -> None:
    """Rewound to the moment of the death; a fork; two branches compared; the drawers."""
    page = view.seen
    page.go_to("process_ended")
    page.page.keyboard.press("ArrowRight")
    view.look("rewound")
    for name, wanted in PANELS.items():
        page.page.click(f"[data-panel={name}]")
        page.see(wanted)
        view.each_width(f"drawer-{name}")
    page.page.evaluate("document.querySelector('[data-scenario=\"acks-1\"]') ?? lab.app.desk.show('scenarios')")
    page.see("[data-scenario]")
    page.page.click('[data-scenario="acks-1"]')
    view.look("lesson")
    page.page.evaluate("lab.app.desk.close()")
    page.page.keyboard.press("f")
    page.see("#fork-dialog[open]")
    view.look("dialog-fork")
    live = page.value("lab.feed.run")
    page.page.click('[data-segment^="fork-acks:0"]')
    page.page.click("[data-fork=begin]")
    page.wait(f"lab.feed.run !== '{live}'")
    page.page.wait_for_timeout(3000)
    view.look("fork")
    page.page.evaluate("lab.app.desk.panel === 'runs' || lab.app.desk.show('runs')")
    page.see("[data-compare]")
    page.page.click("[data-compare] >> nth=0")
    page.see("#compare-dialog[open] .compare")
    view.each_width("dialog-compare")
    page.page.keyboard.press("Escape")
    page.page.evaluate("lab.app.desk.close()")


def colours(view: Gallery) -> None:
    """Forced colours and reduced motion."""
    view.dress(forced_colors="active")
    view.look("forced-colours")
    view.dress(dark=True, forced_colors="active")
    view.look("forced-colours")
    view.dress(forced_colors="none")


SCENES: tuple[Callable[[Gallery], None], ...] = (first_visit, views, load, words, messages, faults, past, lessons, colours)
SHORT: tuple[Callable[[Gallery], None], ...] = (first_visit, readme, faults)


@contextmanager
def page_of(browser: Any, language: str) -> Iterator[LabPage]:
    """A page in front of a lab of its own."""
    with tempfile.TemporaryDirectory(prefix="brokerlab-pictures-") as data:
        lab = start_lab(Path(data) / "lab", "--preset", "teaching", "--seed", "5", web=True, generation=None)
        context = browser.new_context(viewport={"width": 1440, "height": TALL}, locale={"en": "en-US", "ko": "ko-KR"}[language])
        context.set_default_timeout(4 * PATIENCE_S * 1000)  # also on a machine that does much else
        seen = LabPage(context.new_page(), lab)
        seen.page.add_init_script(view_of("learn"))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        try:
            seen.page.goto(lab.page)
            seen.wait("globalThis.lab?.app?.online && lab.app.desk.greeted")
            yield seen
        finally:
            context.close()
            lab.stop()
        assert seen.complaints == []


def main(options: list[str]) -> int:
    """All scenes into a directory, or only the README's into their place."""
    from playwright.sync_api import sync_playwright
    from tests.browser.conftest import CHROMIUM

    parser = argparse.ArgumentParser(prog="brokerlab pictures", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--language", choices=("en", "ko"))
    parser.add_argument("--only", default="", help="pictures whose file name has this pattern")
    parser.add_argument("--scenes", help="of these scenes only, in this order: " + ",".join(one.__name__ for one in SCENES))
    arguments = parser.parse_args(options)
    if CHROMIUM is None:
        print("chromium is needed (Debian: apt install chromium)", file=sys.stderr)
        return 2
    scenes = SCENES if arguments.directory else SHORT
    if arguments.scenes:
        scenes = tuple(globals()[name] for name in arguments.scenes.split(","))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for language in [arguments.language] if arguments.language else ["en", "ko"]:
            with page_of(browser, language) as seen:
                view = Gallery(seen, language, arguments.directory, re.compile(arguments.only))
                for scene in scenes:
                    scene(view)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
