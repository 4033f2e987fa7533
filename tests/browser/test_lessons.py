"""Every lesson on the screen, in Korean, as a learner takes it: choose, predict, run, receipt, moment, fork, compare.

At each step the page is read as a whole: not an English word may be left that is no name of Kafka's or the lab's.
What the screen has run is what `run` runs: the same journal, byte for byte, in a process with another order of hashes; what
the screen has opened of it is that journal once more, executed again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.lab_page import NOTHING, LabPage, Open, open_pages
from tests.browser.test_looks import NAMES
from tests.sampling import every
from tests.shared_runs import assert_has_the_past_of, assert_same, documents, run_once
from tests.web.rest import Caller

from broker_core.clients.assignors import ASSIGNORS
from broker_core.clients.settings import ConsumerSettings, ProducerSettings, ShareConsumerSettings
from broker_core.kernel.events import REGISTRY
from broker_core.metadata import configs_group
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from broker_core.metadata.configs_group import LIMITED
from broker_core.records import compression
from broker_core.wire.apis import ApiKey, api_name
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol
from lab.checkers.invariants import described
from lab.clusters.spec import PROTECTIONS
from lab.clusters.vocabulary import KINDS
from lab.faults.disks import BATCH_FIELDS
from lab.scenarios import grammar, variants
from lab.scenarios.conditions import SUBJECTS

LESSONS = grammar.names()
IN_ENGLISH = ("min-isr-blocks-writes", "leader-epoch-truncation", "retry-duplicates")
JOURNAL = "journal.jsonl"
SETTINGS = (ProducerSettings, ConsumerSettings, ShareConsumerSettings)

# Words on the Korean page that are names: of settings, events, commands, requests, errors, metrics, things of the lab.
WORDS = NAMES | {
    *BROKER_SETTINGS, *TOPIC_SETTINGS, *LIMITED, *configs_group.WORDS, *(key for kind in KINDS.values() for key in kind.keys), *KINDS, *REGISTRY,
    *(name for name, one in vars(protocol).items() if getattr(one, "__module__", "") == protocol.__name__),  # messages of the tree
    protocol.NODE_CREATED, protocol.NODE_DELETED, protocol.NODE_DATA_CHANGED, protocol.NODE_CHILDREN_CHANGED,
    *(api_name(key) for key in ApiKey), *(code.name for code in ErrorCode), *PROTECTIONS, *ASSIGNORS, *described(), *SUBJECTS, *BATCH_FIELDS, *compression.BY_NAME,
    "true", "false", "Kafka", "meta.properties", "JSON", "YAML", "TCP", "CRC", "ZooKeeper", "KRaft", "ELR", "zxid", "GC", "KB", "kB", "LIVE", "RF", "U", "T",
    "UnderReplicatedPartitions", "OfflinePartitionsCount", "UnderMinIsrPartitionCount", "fsync", "checker", "FetchMessageConversionsPerSec", "ProduceMessageConversionsPerSec", "sendfile", "TLS",
    "earliest", "latest", "none", "read_committed", "read_uncommitted", "compact", "delete", "kind", "linger", "torn", "dump-log", "Stable", "PrepareCommit", "CompleteCommit", "kafka-transactions", "find-hanging", "abort", "poison", "audit", "ACL", "API", "ASCII", "data", "null", "max-buffer-utilization-percent", "reject", "release", "mill", "jobs", "kafka-cluster", "unregister", "verify-index-only", "index", "kraft.version", "Spark", "ephemeral", "unclean", "murmur2",
    "group.version", "worker", "explicit", "implicit", "record_limit", "batch_optimized", "RE2", "classic", "disabled", "upgrade", "downgrade", "bidirectional",  # group.protocol, group.consumer.migration.policy
    *(word for document in documents().values() for one in document.get("clients", ())
      for word in (one["name"], one["name"].removeprefix(one["kind"] + "-"), one["name"].rsplit("-", 1)[-1])),  # and its badge
}  # fmt: skip
NEIGHBOURS = [one for document in documents().values() for one in document["cluster"].get("neighbours", ())]
WORDS |= {"chroot", *(one["name"] for one in NEIGHBOURS)}
WORDS |= {word["name"] for one in NEIGHBOURS for word in one["clients"]}
WORDS |= {"kafka-log-dirs", "kafka-reassign-partitions", "log_dirs", "replicas"}
TOPICS = {one["name"] for document in documents().values() for one in document.get("topics", ())} | {
    one["topic"] for document in documents().values()
    for one in (*document.get("steps", ()), *document.get("fork", {}).get("steps", ())) if one.get("do") == "create_topic"
} | {topic["name"] for one in NEIGHBOURS for topic in one["topics"]}
NAME = re.compile(
    r"(?:broker|controller|producer|consumer|zookeeper|reader|key|orders|carts|billing|lesson|run)(?:-[\w-]+)?|__[\w-]+|[0-9a-f]{4,}|[\w-]{20,22}|(?:KIP|KAFKA)-\d+|[ev]\d+|"
    r"(?:brokers|controller|topics|config|admin|cluster|ids|partitions|state|seqid|latest_producer_id_block)(?:/[\w/]*)?"
)
PATH = re.compile(r"/[\w/.\-]+")  # of a znode, of a file
TYPED = re.compile(r"\./brokerlab [^\n]*")  # a command, to be typed as it stands
QUOTED = re.compile(r"\(([A-Z_]+): “[^”]*”\)")  # what a broker has answered, in its own words
WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_.\-]*")
READ = """() => {
    const shown = [];
    const walk = (node) => {
        if (node.nodeType === 3) shown.push(node.textContent);
        if (node.nodeType !== 1 || node.matches('script, style, template, select#language, [lang=en]')) return;
        if (node.tagName === 'DIALOG' && !node.open) return;
        if (node.hidden || (node.offsetParent === null && node.tagName !== 'BODY' && getComputedStyle(node).position !== 'fixed' && !(node instanceof SVGElement))) return;
        for (const name of ['aria-label', 'title', 'placeholder', 'aria-valuetext']) if (node.getAttribute(name)) shown.push(node.getAttribute(name));
        for (const child of node.childNodes) walk(child);
    };
    walk(document.body);
    return JSON.stringify([...new Set(shown)]);
}"""

DRAWN = "!lab.app.dirty && !lab.screen.stale.stage && !lab.screen.stale.table"
COMPARED = """(() => {
    const { result } = lab.app.desk.lessons;
    const shown = [...document.querySelectorAll('#compare-dialog [data-receipt-of]')].filter((one) => one.querySelector('.receipt'));
    return shown.map((one) => one.dataset.receiptOf).join() === [result.run, result.other.run].join();
})()"""


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("lessons") / "lab")


@pytest.fixture(scope="module")
def learners(visit: Open) -> LabPage:
    """A page in Korean on which one lesson is taken after the other, as a learner does."""
    return visit("ko")


@pytest.fixture
def korean(learners: LabPage) -> Iterator[LabPage]:
    """That page, on the list of lessons; loaded anew where a lesson ended elsewhere."""
    if learners.value("lab.app.desk.panel !== null && (lab.app.desk.panel !== 'scenarios' || lab.app.desk.lessons.one !== null)"):
        learners.page.goto(learners.lab.page)
        learners.wait("globalThis.lab?.app?.online && lab.app.desk.greeted")
    yield learners
    wrong = learners.wrong()
    learners.complaints.clear()
    learners.foreign.clear()
    assert wrong == NOTHING


def english(seen: LabPage) -> list[str]:
    """Words of the page that are no names, with what stands around them."""
    settings = {one.replace("_", ".") for kind in SETTINGS for one in vars(kind)}
    settings |= {one.replace("_", ".") for kind in SETTINGS for one in kind.__dataclass_fields__}
    found = {}
    for text in json.loads(seen.value(READ)):
        for word in WORD.findall(PATH.sub(" ", QUOTED.sub(r" \1 ", TYPED.sub(" ", text)))):
            plain = word.strip(".-")
            is_named = plain in WORDS or plain in settings or plain in TOPICS or re.sub(r"-\d+$", "", plain) in TOPICS
            if not is_named and not NAME.fullmatch(plain):
                found[plain] = text[:90]
    return [f"{word}: {text}" for word, text in found.items()]


class Walk:
    """One lesson on one page; after each step the page is read."""

    def __init__(self, seen: LabPage, name: str, language: str) -> None:
        self.seen = seen
        self.name = name
        self.language = language

    def read(self, step: str) -> None:
        self.seen.wait(DRAWN)
        self.seen.picture(f"{self.name}-{self.language}-{step}")
        if self.language == "ko":
            assert english(self.seen) == [], (self.name, step)

    def pick(self) -> None:
        page = self.seen.page
        if self.seen.value("lab.app.desk.panel") != "scenarios":
            page.click("[data-panel=scenarios]")
        self.seen.see(f'[data-scenario="{self.name}"]')
        self.read("1-list")
        page.click(f'[data-scenario="{self.name}"]')
        self.seen.see("[data-lesson=run]")

    def predict(self, choice: int, variant: str | None = None) -> None:
        page = self.seen.page
        if variant:
            page.click(f'[data-variant="{variant}"]')
        assert page.is_disabled("[data-lesson=run]")
        guess(page, choice)
        self.read("2-prediction")

    def run(self) -> dict[str, Any]:
        page, seen = self.seen.page, self.seen
        page.click("[data-lesson=run]")
        seen.wait("lab.app.desk.lessons.job !== null || lab.app.desk.lessons.result !== null")
        self.read("3-running")
        seen.see("[data-watch]")
        seen.wait("lab.app.desk.work === null && lab.feed.run === lab.app.desk.lessons.result.run")
        facts: dict[str, Any] = seen.whole("lab.app.desk.lessons.result.facts")
        self.watch(facts)
        self.read("5-receipt")
        return facts

    def watch(self, facts: dict[str, Any]) -> None:
        """To the first stop, whose caption stands over the picture; the others are read as what the marks are called."""
        page, seen = self.seen.page, self.seen
        assert not page.query_selector("[data-guess]"), "the verdict comes after the run"
        assert len(page.query_selector_all("[data-stop]")) == len(facts["stops"]) + 1
        page.click('[data-stop="0"]')  # where a lesson begins with a step the run stands there at once
        seen.see('[data-watch="0"]')
        assert seen.value("lab.history.at(lab.clock.viewed - 1).seq") == facts["stops"][0]["seq"]
        own = facts["stops"][0].get("say")
        assert own is None or own[self.language] in page.inner_text("[data-watch]")
        self.read("4-stop")
        page.click("[data-watch-verdict]")
        seen.see("[data-guess]")

    def story(self) -> None:
        page = self.seen.page
        page.click('[data-segment="story:all"]')
        self.read("6-story")
        page.click('[data-segment="story:main"]')

    def moment(self, facts: dict[str, Any]) -> None:
        page, seen = self.seen.page, self.seen
        page.click("[data-lesson=moment]")
        code = facts["scenario"]["moment"]["event"]
        seen.wait(f"!lab.clock.live && lab.history.at(lab.clock.viewed - 1)?.code === '{code}'")
        assert seen.value("lab.history.at(lab.clock.viewed - 1).seq") == facts["moment"]["seq"]
        self.read("7-moment")

    def fork(self) -> dict[str, Any]:
        page, seen = self.seen.page, self.seen
        page.click("[data-lesson=fork]")
        seen.see("[data-other]")
        seen.wait("lab.app.desk.work === null && lab.feed.run === lab.app.desk.lessons.result.other.run && !lab.clock.live")
        facts: dict[str, Any] = seen.whole("lab.app.desk.lessons.result.other.facts")
        assert seen.value("lab.history.at(lab.clock.viewed - 1).seq") <= facts["forked_at_seq"]
        self.read("8-fork")
        own = seen.value("lab.app.desk.lessons.result.facts.scenario.fork.see ?? null")
        if own is not None:
            assert facts["scenario"]["see"] == own
            assert " ".join(own[self.language].split()) in " ".join(page.inner_text("[data-other]").split())
        return facts

    def compare(self, first: dict[str, Any], other: dict[str, Any]) -> None:
        page, seen = self.seen.page, self.seen
        page.click("[data-lesson=compare]")
        seen.wait(COMPARED)  # an earlier comparison stands in the dialog until it is drawn anew
        self.read("9-comparison")
        sides = [self.figures(side) for side in page.query_selector_all("#compare-dialog [data-receipt-of]")]
        assert sides == [_figures(first), _figures(other)]
        page.keyboard.press("Escape")

    def figures(self, element: Any) -> dict[str, int]:
        """The figures of a receipt that stands on the page."""
        return {one.get_attribute("data-figure"): int(one.inner_text().replace(",", "")) for one in element.query_selector_all("[data-figure]")}


def guess(page: Any, choice: int) -> None:
    """A choice; where a number is asked for, this number, and where a broker is, this broker."""
    if page.query_selector("[data-guess-number]"):
        page.fill("[data-guess-number]", str(choice))
    elif page.query_selector("[data-guess-broker]"):
        page.click(f'[data-guess-broker="{choice or -1}"]')
    else:
        page.click(f'[data-choice="{choice}"]')


def grade(facts: dict[str, Any], choice: int) -> str:
    """What is said of a guess."""
    asked, answer = facts["scenario"]["predict"], facts["answer"]
    if "choices" in asked:
        return "right" if facts["prediction"] == choice else "wrong"
    if "broker" in asked:
        return "right" if answer == (choice or -1) else "wrong"
    if choice == answer:
        return "right"
    return "near" if abs(choice - answer) * 100 <= abs(answer) * asked["number"].get("near", 25) else "wrong"


SHOWN = ("acked", "read", "lost", "unread", "at_risk", "duplicated", "reordered")


def _figures(facts: dict[str, Any]) -> dict[str, int]:
    receipt = facts["receipt"]
    return {name: receipt[name] for name in (*SHOWN, *(name for name in ("removed", "aborted") if receipt[name]))}


def _same_as_run(seen: LabPage, ended: str, name: str, variant: str | None) -> Path:
    """What `run` leaves, and what was opened of it; its directory."""
    found = seen.whole(f"({{ recorded: {ended}.recorded, run: {ended}.run, facts: {ended}.facts }})")
    result, facts, path = run_once(name, variant), found["facts"], seen.lab.data / "runs" / found["recorded"]
    assert_same(path, result.directory)
    assert facts["receipt"] == result.receipt.to_dict() and facts["passed"] is True and facts["unmet"] == []
    rest = Caller(seen.lab.page)
    assert rest.get(f"runs/{found['run']}/journal").body == (path / JOURNAL).read_bytes()
    receipt, source = (rest.get(f"runs/{run}/receipt").json for run in (found["run"], found["recorded"]))
    assert receipt == {**source, "run": found["run"]} and receipt["finished"]
    return path


def _take(seen: LabPage, name: str, language: str, choice: int = 0, variant: str | None = None) -> None:
    """The whole lesson. The live cluster stands still meanwhile: of it nothing is asked, and a picture of it costs as much as
    the lesson."""
    seen.command(do="time", speed="pause")
    walk = Walk(seen, name, language)
    walk.pick()
    walk.predict(choice, variant)
    facts = walk.run()
    guessed = seen.page.get_attribute("[data-guess]", "data-guess")
    assert guessed == grade(facts, choice)
    shown = walk.figures(seen.page.query_selector("#drawer .outcome"))
    assert shown == _figures(facts) and facts["unmet"] == []
    assert len(seen.page.query_selector_all("[data-unmet] li")) == len(facts["notes"])
    ran = seen.value("lab.app.desk.lessons.variant") or None
    if ran:
        title = facts["scenario"]["variants"][ran]["title"][walk.language]
        assert facts["variant"] == ran and title in seen.page.inner_text("#drawer [data-ran]")
    path = _same_as_run(seen, "lab.app.desk.lessons.result", walk.name, ran)
    walk.story()
    walk.moment(facts)
    other = walk.fork()
    assert other["parent"] == path.name and 0 < other["forked_at_us"] <= facts["end_us"]
    course = f"{ran}/{variants.FORK}" if ran else variants.FORK
    assert_has_the_past_of(_same_as_run(seen, "lab.app.desk.lessons.result.other", walk.name, course), path)
    walk.compare(facts, other)
    seen.page.click("[data-lesson=back]")
    seen.see(f'[data-scenario="{walk.name}"]')
    assert "✓" in seen.page.inner_text(f'[data-scenario="{walk.name}"]')


@pytest.mark.parametrize("name", every(LESSONS, nth=12))
def test_a_lesson_is_taken_in_korean_from_prediction_to_comparison(korean: LabPage, name: str) -> None:
    _take(korean, name, "ko")


@pytest.mark.parametrize("name", every(IN_ENGLISH, nth=3))
def test_a_lesson_is_taken_in_english_in_its_other_setting(visit: Open, name: str) -> None:
    """The other variant, and the other choice."""
    other = list(grammar.load(name).document["variants"])[1]
    _take(visit("en"), name, "en", choice=1, variant=other)
