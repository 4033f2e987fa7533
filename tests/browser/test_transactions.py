"""Transactions as bands over the logs, share groups record by record."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations

COMMITTED = "lab.app.state.topics.sales?.partitions[0].transactions?"


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("transactions") / "lab", "--controller", "kraft")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    """One producer commits and aborts, another one stands still in its transaction; workers share a queue, one of them works slowly. Then time stands still."""
    page = visit()
    for topic in ("sales", "jobs"):
        page.command(do="create_topic", topic=topic, partitions=1, replication_factor=3)
    page.command(do="alter_config", group="mill", set={"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "60000"})
    page.command(do="start_client", name="producer-quick", kind="producer", topic="sales", rate=10, transaction_ms=400, abort_share=0.4,
                 settings={"transactional.id": "quick"})
    page.command(do="start_client", name="producer-slow", kind="producer", topic="sales", rate=4, transaction_ms=30_000, settings={"transactional.id": "slow"})
    # The slow worker takes its records before the quick one begins, and there are no more of them than a row has room for:
    # however slow the machine is, one that is done stands beside one that is held.
    records = "Object.values(lab.app.state.shares.mill?.['jobs-0']?.records ?? {})"
    worker = {"kind": "worker", "topic": "jobs", "settings": {"group.id": "mill", "share.acknowledgement.mode": "explicit", "max.poll.records": 3}}
    page.command(do="start_client", name="worker-b", process_ms=55_000, **worker)
    page.command(do="start_client", name="producer-jobs", kind="producer", topic="jobs", rate=2, count=8)
    held = f"{records}.some(([state, , who]) => state === 'acquired' && who === 'worker-b')"
    page.wait(held)
    page.command(do="start_client", name="worker-a", process_ms=200, fail_share=0.5, **worker)
    page.wait(f"{COMMITTED}.some(([, , , outcome]) => outcome === 'commit') && {COMMITTED}.some(([, , , outcome]) => outcome === 'abort')")
    page.wait("lab.app.state.transactions.slow?.state === 'Ongoing'")
    page.command(do="pause", node="producer-slow")
    page.wait(f"{records}.some(([state]) => state === 'acknowledged') && {held}")
    page.command(do="time", speed="pause")
    page.wait("lab.app.clock.cluster.paused")
    return page


def test_the_row_of_each_replica_has_bands_markers_and_the_last_stable_offset(seen: LabPage) -> None:
    seen.page.evaluate("lab.app.choose('sales', '0')")
    seen.see("#scene-svg .band.open")
    seen.see("#scene-svg .band-named.open")
    seen.wait("document.querySelectorAll('#scene-svg .lso').length === 3")
    seen.wait("document.querySelector('#scene-svg .band-named.open text')?.textContent.startsWith('slow')")
    seen.see("#legend .legend-sign.stable")


def test_a_card_for_each_transactional_id_has_its_state_and_its_coordinator(seen: LabPage) -> None:
    seen.page.evaluate("lab.app.showTab('transactions')")
    seen.wait("document.querySelector('[data-transaction=slow] .machine [aria-current]')?.dataset.state === 'Ongoing'")
    leader = seen.value("""(() => { const all = lab.app.state.topics.__transaction_state.partitions;
        return String(all[Number(document.querySelector('[data-transaction=slow] dd code').textContent.split('-').at(-1))].leader); })()""")
    assert seen.value("document.querySelector('[data-transaction=slow] dd .badge').textContent") == leader
    seen.see("[data-transaction=quick] [data-band-line=sales-0] .band-named.commit")
    assert violations(seen.page) == []


def test_records_of_a_share_group_stand_beneath_the_leaders_cells_and_in_its_card(seen: LabPage) -> None:
    seen.page.evaluate("lab.app.choose('jobs', '0')")
    seen.see("#scene-svg .share.acquired")
    seen.see("#scene-svg .share.acknowledged")
    seen.page.evaluate("lab.app.showTab('groups')")
    seen.wait("[...document.querySelectorAll('[data-share-record]')].some((row) => row.innerText.includes('worker-b') && row.innerText.includes('s left'))")
    assert violations(seen.page) == []


def test_a_form_starts_a_member_of_either_protocol_a_worker_of_a_queue_and_a_transactional_producer(seen: LabPage) -> None:
    seen.command(do="time", speed="play")
    seen.page.evaluate("lab.app.choose('sales', '0')")
    seen.page.click("[data-fold=another]")
    for choice, group in (("consumer", "modern"), ("share", "queue"), ("transactional", None)):
        seen.page.select_option("[data-another-kind]", choice)
        if group is not None:
            seen.page.fill("[data-another] input[name=group]", group)
        seen.page.click("[data-another] button")
    seen.wait("lab.app.state.groups.modern?.members.length === 1 && lab.app.state.groups.queue?.members.length === 1")
    assert seen.value("lab.app.state.clients['consumer-sales-b'].settings['group.protocol']") == "consumer"
    seen.wait("lab.app.state.transactions['producer-sales-b']?.state")


def test_the_settings_of_a_group_stand_beside_those_for_all(seen: LabPage) -> None:
    seen.page.evaluate("lab.app.showTab('config')")
    seen.page.click('[data-choice="config:group:mill"]')
    own = "[...document.querySelectorAll('#tab-panel .setting.changed')].filter((one) => one.innerText.includes('set for this group'))"
    seen.wait(f"{own}.length === 2")
    assert "default 30000" in seen.page.inner_text("#tab-panel")


def test_who_hands_over_what_to_whom_stands_with_each_member_and_who_speaks_the_protocol_of_before(visit: Open, seen: LabPage) -> None:
    """The first one has everything and stands still, so it gives nothing back; a member of the classic protocol joins as well."""
    seen.command(do="time", speed="play")
    korean = visit(language="ko")
    for page in (seen, korean):
        page.page.evaluate("lab.app.showTab('groups')")
    member = {"kind": "consumer", "topic": "moves"}
    modern = {"group.id": "movers", "group.protocol": "consumer"}
    said = "[...document.querySelectorAll('#tab-panel li.member')].map((one) => one.innerText.replace(/\\s+/g, ' '))"
    seen.command(do="create_topic", topic="moves", partitions=4, replication_factor=3)
    seen.command(do="start_client", name="first", settings=modern, **member)
    seen.wait(f"{said}.some((text) => text.startsWith('first moves-0 moves-1 moves-2 moves-3'))")
    seen.command(do="pause", node="first")
    seen.command(do="start_client", name="second", settings=modern, **member)
    seen.wait(f"{said}.some((text) => /^second .* waits for moves-. moves-., which first still has/.test(text))")
    seen.wait(f"{said}.some((text) => /^first .* gives back moves-. moves-.: second waits for it/.test(text))")
    korean.wait(f"{said}.some((text) => /^second .* 받을 파티션: moves-. moves-. \\(아직 가진 멤버: first\\)/.test(text))")
    korean.wait(f"{said}.some((text) => /^first .* 돌려줄 파티션: moves-. moves-. \\(기다리는 멤버: second\\)/.test(text))")
    seen.command(do="resume", node="first")
    seen.command(do="start_client", name="third", settings={"group.id": "movers"}, **member)
    seen.wait(f"{said}.some((text) => /^third .* speaks the classic protocol/.test(text))")
    korean.wait(f"{said}.some((text) => /^third .* 클래식 프로토콜을 씀/.test(text))")
    assert violations(seen.page) == []
