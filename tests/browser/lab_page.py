"""A page before a lab that really runs, for tests of time, forks, scenarios and receipts."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import PATIENCE_S, StartedLab, start_lab

NOTHING: tuple[list[str], int, list[str], list[str]] = ([], 0, [], [])
QUIETLY = 30_000  # events that a page loads without being asked (static/time/past.js)
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 40.0, 250.0

# Twins: siblings of one key. A picture with twins is made anew with every patch, and loses its focus and its clicks.
WATCH_FOR_TWINS = """{
    const twins = globalThis.twins = {}, changed = new Set(), added = new Set();
    const look = (parent) => {
        const keys = new Set();
        for (const { described } of parent.children) {
            if (described?.key === undefined) continue;
            if (keys.has(described.key)) twins[`${described.key} in ${parent.tagName} ${parent.getAttribute('class')}`] = true;
            keys.add(described.key);
        }
    };
    new MutationObserver((changes) => {
        for (const { target, addedNodes } of changes) {
            changed.add(target);
            for (const node of addedNodes) if (node.firstElementChild) added.add(node);
        }
    }).observe(document, { childList: true, subtree: true });
    setInterval(() => {
        for (const node of added) if (node.isConnected) for (const parent of [node, ...node.querySelectorAll('*')]) changed.add(parent);
        for (const parent of changed) look(parent);
        for (const some of [changed, added]) some.clear();
    }, 500);
}"""

# What is told for seconds only, on a page of a machine that may stand still for longer: kept, for a test that asks later.
KEEP_NOTICES = """globalThis.told = [];
document.addEventListener('DOMContentLoaded', () => {
    const notices = document.getElementById('notices');
    const keep = (changes) => { for (const { addedNodes } of changes) for (const note of addedNodes) globalThis.told.push(note.textContent); };
    if (notices) new MutationObserver(keep).observe(notices, { childList: true });
})"""

# What the page asks and is not answered yet, for the report of a failed test.
KEEP_QUESTIONS = """{
    const unanswered = globalThis.unanswered = new Set(), ask = globalThis.fetch;
    globalThis.fetch = (what, ...more) => {
        const question = { url: String(what?.url ?? what) };
        unanswered.add(question);
        return ask(what, ...more).finally(() => unanswered.delete(question));
    };
}"""

# What is asked of another host, as a complaint of the page: of each request to be told costs as much as to answer it.
TELL_OF_OTHERS = """new PerformanceObserver((list) => {
    for (const { name } of list.getEntries()) {
        if (/^(http|ws)s?:/.test(name) && new URL(name).host !== location.host) console.error(`asked another host: ${name}`);
    }
}).observe({ type: 'resource', buffered: true });"""

# A first visit begins with nothing remembered. What was loaded by an earlier page of this window need not be loaded again.
FORGET = """if (sessionStorage.getItem('visited') === null) {
    localStorage.clear();
    sessionStorage.setItem('visited', 'yes');
}"""

# Ten pictures a second: each one that is drawn costs a processor what a graphics card does elsewhere.
DRAW_SELDOM = """{
    const GAP_MS = 100;
    globalThis.requestAnimationFrame = (callback) => setTimeout(() => callback(performance.now()), GAP_MS - (performance.now() % GAP_MS));
    globalThis.cancelAnimationFrame = clearTimeout;
}"""

# What a failed test is asked about first. The page's own policy forbids nothing here: it is read from outside.
SAYS = """() => {
    const text = (selector) => [...document.querySelectorAll(selector)].map((found) => found.innerText.trim()).filter(Boolean);
    const { app, clock, feed } = globalThis.lab ?? {};
    return {
        run: feed?.run, last: feed?.last, online: app?.online, live: clock?.live, cluster: clock?.cluster,
        panel: app?.desk?.panel, work: app?.desk?.work, open: app?.desk?.runs?.open?.map((one) => one.run),
        asked: [...(app?.desk?.socket?.waiting?.keys() ?? [])],
        unanswered: [...(globalThis.unanswered ?? [])].map(({ url }) => url),
        dialogs: text('dialog[open]'), notices: globalThis.told, alerts: text('[role=alert]'), coach: text('#coach'),
    };
}"""



def view_of(name: str) -> str:
    """Before the page's scripts: which of its views a first visit begins with. Most tests want all panels."""
    return f"localStorage.getItem('lab') ?? localStorage.setItem('lab', JSON.stringify({{ mode: '{name}' }}))"


# Pixels that the lab's page can be scrolled below its end: what is out of flow in a panel must not lengthen the page.
BEYOND_ITS_END = """(() => {
    const body = document.getElementById('lab') ? Math.ceil(document.body.getBoundingClientRect().height) : Infinity;
    return Math.max(0, document.documentElement.scrollHeight - Math.max(innerHeight, body));
})()"""


def take_picture(page: Any, name: str, **more: Any) -> None:
    """A picture to look at, when asked for: BROKERLAB_PICTURES=DIR."""
    pictures = os.environ.get("BROKERLAB_PICTURES")
    if pictures:
        Path(pictures).mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(300)
        page.screenshot(path=Path(pictures) / f"{name}.png", **more)


@dataclass
class LabPage:
    """A page, its lab, and what the browser complained about."""

    page: Any
    lab: StartedLab
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    left: bool = False
    windows: Windows | None = None
    """Where its window came from, if that is used again."""

    def wait(self, expression: str, seconds: float = 2 * PATIENCE_S) -> None:
        """Until an expression holds in the page, which is asked at once and then more and more seldom."""
        deadline, pause_ms = time.monotonic() + seconds, FIRST_PAUSE_MS
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, f"did not come true: {expression}"
            self.page.wait_for_timeout(pause_ms)
            pause_ms = min(LONGEST_PAUSE_MS, pause_ms * 1.5)

    def told(self, text: str) -> None:
        """Until a notice has said so, be it gone by now."""
        self.wait(f"globalThis.told.some((one) => one.includes({json.dumps(text)}))")

    def see(self, selector: str, seconds: float = 2 * PATIENCE_S) -> None:
        self.page.wait_for_selector(selector, timeout=seconds * 1000)

    def picture(self, name: str) -> None:
        take_picture(self.page, name)

    def says(self) -> str:
        """What it shows and waits for, for the report of a failed test."""
        from playwright.sync_api import Error

        if self.left or self.page.is_closed():
            return "closed"
        try:
            lines = [f"{key}: {value}" for key, value in self.page.evaluate(SAYS).items()]
        except Error as error:  # it is on its way to another page; a report that fails would end all of pytest
            lines = [str(error)]
        return "\n".join([*lines, f"complaints: {self.complaints}"])

    def command(self, **command: Any) -> dict[str, Any]:
        """A command as a click sends it."""
        answer: dict[str, Any] = self.page.evaluate("(command) => lab.app.command(command)", command)
        assert answer["ok"], answer
        return answer

    def value(self, expression: str) -> Any:
        return self.page.evaluate(expression)

    def whole(self, expression: str) -> Any:
        """A large object as one text: Playwright hands over each value in it by itself."""
        return json.loads(self.page.evaluate(f"JSON.stringify({expression})"))

    def has_its_past(self) -> None:
        """Until all of it is there: what comes by itself, and the rest of a run that has lived too long for that."""
        self.wait(f"lab.app.desk.past.complete || lab.history.end - lab.history.begin > {QUIETLY}")
        self.page.evaluate("lab.app.desk.past.toTime(-1)")
        assert self.value("lab.app.desk.past.complete")

    def go_to(self, code: str) -> None:
        """Look at the moment right before the first event of a code."""
        self.page.evaluate("lab.app.desk.past.toTime(-1)")  # all of it, also of a long run that is loaded in part
        self.page.evaluate(
            """(code) => {
                const { history, clock, app } = lab;
                let position = history.begin;
                while (history.at(position).code !== code) position += 1;
                clock.go(position);
                app.set({});
            }""",
            code,
        )

    def leave(self) -> None:
        """Close it; nothing may have gone wrong on it."""
        if self.left:
            return
        self.left = True
        wrong = self.wrong()
        if self.windows is None:
            self.page.context.close()
        else:
            self.windows.give_back(self.page.context)
        assert wrong == NOTHING

    def wrong(self) -> tuple[list[str], int, list[str], list[str]]:
        """What has gone wrong on it by now: twins, pixels beyond its end, what the browser said, pages and sockets of others."""
        closed = self.page.is_closed()
        twins, beyond = ([], 0) if closed else (self.value("Object.keys(globalThis.twins ?? {})"), self.value(BEYOND_ITS_END))
        return twins, beyond, list(self.complaints), list(self.foreign)


class Windows:
    """Windows before one lab, which are used again: a page loads some hundred and seventy files, and to open a window
    takes as long as to draw the page. Nothing but what was loaded is left in them: no cookie, nothing remembered (`FORGET`).
    """

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self._free: dict[str, list[Any]] = {}
        self._kinds: dict[Any, str] = {}

    def take(self, **options: Any) -> Any:
        """One that nobody uses, with these options of a context."""
        kind = json.dumps(options, sort_keys=True)
        free = self._free.setdefault(kind, [])
        if free:
            return free.pop()
        made = self.browser.new_context(**options)
        made.set_default_timeout(PATIENCE_S * 1000)
        made.new_page()  # stays empty: a window whose last page is closed closes, too
        self._kinds[made] = kind
        return made

    def give_back(self, context: Any) -> None:
        """The pages in it are over."""
        for page in context.pages[1:]:
            page.close()
        context.clear_cookies()
        self._free[self._kinds[context]].append(context)

    def close(self) -> None:
        for context in self._kinds:
            context.close()


Open = Callable[..., LabPage]
OPENED: list[LabPage] = []
"""All pages of this process, oldest first."""


def open_pages(browser: Any, data: Path, *options: str, generation: str | None = "zookeeper") -> Iterator[Open]:
    """`open(language="ko", width=800, path="#run=...")`: pages before one lab with `options` (`generation`: see `start_lab`). What a test opens ends with the test
    (`conftest.pages_end_with_their_test`), what a fixture opens with the lab."""
    lab = start_lab(data, "--preset", "teaching", "--seed", "5", *options, web=True, generation=generation)
    pages: list[LabPage] = []
    windows = Windows(browser)

    def start(language: str = "en", dark: bool = False, width: int = 1440, path: str = "", view: str = "inspect", **more: Any) -> LabPage:
        context = windows.take(
            viewport={"width": width, "height": 900}, locale={"en": "en-US", "ko": "ko-KR"}[language],
            color_scheme="dark" if dark else "light", **more,
        )  # fmt: skip
        made = LabPage(context.new_page(), lab, windows=windows)
        pages.append(made)
        OPENED.append(made)
        made.page.add_init_script(DRAW_SELDOM)
        made.page.add_init_script(WATCH_FOR_TWINS)
        made.page.add_init_script(KEEP_NOTICES)
        made.page.add_init_script(KEEP_QUESTIONS)
        made.page.add_init_script(TELL_OF_OTHERS)
        made.page.add_init_script(FORGET)
        made.page.add_init_script(view_of(view))
        made.page.on("console", lambda message: made.complaints.append(message.text) if message.type != "log" else None)
        made.page.on("pageerror", lambda error: made.complaints.append(str(error)))
        made.page.on("framenavigated", lambda frame: _note(made, frame.url))
        made.page.on("websocket", lambda socket: _note(made, socket.url))
        made.page.goto(lab.page + path)
        made.wait("globalThis.lab?.app?.online && lab.app.desk.greeted")
        return made

    yield start
    with ExitStack() as stack:  # to the end, whatever goes wrong
        stack.callback(lab.stop)
        stack.callback(windows.close)
        for made in pages:
            stack.callback(made.leave)


def _note(made: LabPage, url: str) -> None:
    if not url.startswith((made.lab.page, made.lab.page.replace("http", "ws"), "blob:", "about:")):
        made.foreign.append(url)


# Of a list's items and a table's rows that are built alike (elements, classes, attributes, text or none) three stay:
# axe judges how they are built, and looks at thousands for half a minute.
THREE_OF_A_KIND = """() => {
    const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
    const built = (node) => {
        const names = node.getAttributeNames().sort().map((name) => {
            const value = node.getAttribute(name);
            return ['class', 'style', 'role', 'type'].includes(name) ? `${name}=${value}` : `${name}${value === '' ? '=' : ''}`;
        });
        const inside = [...new Set([...node.childNodes].map((child) => child.nodeType === 1 ? built(child) : child.textContent.trim() && '.'))].sort();
        return `${node.tagName} ${names} {${inside}}`;
    };
    for (const parent of document.querySelectorAll('ul, ol, tbody')) {
        const kinds = {};
        for (const child of [...parent.children]) {
            const kind = built(child);
            kinds[kind] = (kinds[kind] ?? 0) + 1;
            if (kinds[kind] > 3) child.remove();
        }
    }
    return ids.filter((id, index) => ids.indexOf(id) !== index);
}"""


def violations(page: Any, long: bool = False) -> list[Any]:
    """What axe finds; on a `long` page, which is of no use behind it, of each kind of rows three are looked at."""
    from axe_playwright_python.sync_playwright import Axe

    twice = page.evaluate(THREE_OF_A_KIND) if long else []
    assert twice == [], twice
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]  # what is right is not told one by one
    return [(one["id"], [node["html"][:160] for node in one["nodes"][:4]]) for one in found]
