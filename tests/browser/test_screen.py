"""The screen in a real browser: what happens is seen, what is clicked is done, time can be walked."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.browser.conftest import Visit
from tests.conftest import PATIENCE_S
from tests.web.recorded_lab import RecordedLab, start_state

from broker_core.kernel.problems import problem
from web.live.hub import hub

Open = Callable[..., Visit]


def test_events_change_the_table_and_the_stage(visit: Open) -> None:
    seen = visit()
    row = seen.page.locator('[data-partition="orders-0"]')
    assert row.locator("td.number").all_inner_texts() == ["40", "40"]
    seen.evening.traffic(0.5)
    seen.caught_up()
    end = str(seen.evening.offsets[0])
    assert row.locator("td.number").all_inner_texts() == [end, end]
    assert seen.page.locator("#scene-svg .leads .cell-text.committed").last.text_content()
    assert seen.page.locator("#ledger-body .crc").count() >= 3


def test_the_kill_button_sends_the_command_and_the_page_shows_the_death(visit: Open) -> None:
    seen = visit()
    seen.page.click('[data-do="kill"][data-broker="1"]')
    seen.wait("lab.app.state.brokers[1].state === 'stopped'")
    seen.caught_up()
    assert seen.lab.commands == [{"do": "kill", "broker": 1}]
    assert "Under-replicated: 6" in seen.page.text_content("#lights")
    story = seen.page.inner_text("#story-list")
    assert "Broker 2 becomes leader of orders-0" in story or "Broker 2 becomes leader" in story
    assert "Broker 1 is gone: session expired." in story
    assert seen.page.locator('[data-do="restart"][data-broker="1"]').is_visible()
    seen.page.click('[data-do="restart"][data-broker="1"]')
    seen.wait("lab.app.state.topics.orders.partitions[0].isr.length === 3")
    seen.caught_up()
    assert "Under-replicated: 0" in seen.page.text_content("#lights")


def test_pause_resume_and_stop_are_commands(visit: Open) -> None:
    seen = visit()
    seen.page.click('[data-do="pause"][data-broker="2"]')
    seen.page.click('[data-do="resume"][data-broker="2"]')
    seen.page.click('[data-do="stop"][data-broker="3"]')
    assert [(c["do"], c["broker"]) for c in seen.commanded(3)] == [("pause", 2), ("resume", 2), ("stop", 3)]


def test_a_record_is_written_by_hand_with_the_chosen_acks(visit: Open) -> None:
    seen = visit()
    seen.page.fill("#produce input[name=key]", "user-7")
    seen.page.fill("#produce input[name=value]", "42")
    seen.page.click('[data-segment="acks:1"]')
    seen.page.wait_for_selector('[data-segment="acks:1"][aria-pressed=true]')
    seen.page.click("#produce-send")
    seen.page.wait_for_selector("#produce-result:not(:empty)")
    wanted = {"do": "produce", "topic": "orders", "key": "user-7", "value": "42", "acks": "1"}
    assert seen.lab.commands[-1] == wanted


def test_a_topic_is_created_in_a_dialog(visit: Open) -> None:
    seen = visit()
    seen.page.click("#topic-open")
    seen.page.fill("#topic-form input[name=name]", "payments")
    seen.page.fill("#topic-form input[name=partitions]", "4")
    seen.page.click("#topic-form .main")
    configs = {"min.insync.replicas": "2"}
    wanted = {"do": "create_topic", "topic": "payments", "partitions": 4, "replication_factor": 3, "configs": configs}
    assert seen.commanded(1) == [wanted]


def test_a_refused_command_is_told(visit: Open) -> None:
    seen = visit()
    seen.lab.refuse = problem("in_state", node="broker-1", state="stopped")
    seen.page.click('[data-do="kill"][data-broker="1"]')
    seen.page.wait_for_selector("#notices p:has-text('broker-1 is stopped.')")  # in one look: it goes after seconds


def test_a_newcomer_is_led_from_an_empty_cluster_to_the_first_topic(visit: Open) -> None:
    seen = visit(lab=RecordedLab(start_state()))
    seen.page.click('[data-coach="create_topic"]')
    (command,) = seen.commanded(1)
    assert (command["do"], command["topic"]) == ("create_topic", "orders")


def test_after_a_gap_the_page_asks_for_what_it_missed(visit: Open) -> None:
    seen = visit()
    seen.evening.traffic(0.2)
    seen.caught_up()
    seen.lab.lose((seen.lab.t + 1000, "broker-3", "process_paused", 0, {}))
    hub.seq = seen.lab.seq  # as if the delta had gone out and was lost on its way
    seen.evening.traffic(0.2)
    seen.caught_up()
    assert seen.page.evaluate("lab.app.state.brokers[3].state") == "paused"


def test_a_lost_connection_comes_back_without_losing_events(visit: Open) -> None:
    seen = visit()
    seen.lab.play((500, "broker-1", "process_paused", 0, {}))
    seen.caught_up()
    seen.page.evaluate("lab.socket.socket.close()")
    seen.lab.play((1000, "broker-2", "process_paused", 0, {}))
    seen.caught_up()
    assert seen.page.evaluate("[lab.app.online, lab.app.state.brokers[2].state]") == [True, "paused"]


def test_the_past_can_be_walked_while_the_cluster_goes_on(visit: Open) -> None:
    seen = visit()
    seen.evening.traffic(0.4)
    seen.caught_up()
    end = seen.page.evaluate("lab.history.end")
    seen.page.keyboard.press("ArrowLeft")
    assert seen.page.evaluate("lab.clock.viewed") == end - 1
    seen.page.wait_for_selector(".coach.turn")
    assert "REWOUND" in seen.page.inner_text("#mode")
    seen.evening.traffic(0.2)
    seen.caught_up()
    assert seen.page.evaluate("lab.clock.viewed") == end - 1
    seen.page.keyboard.press("l")
    assert seen.page.evaluate("lab.clock.live") is True


def test_a_sentence_leads_to_its_moment(visit: Open) -> None:
    seen = visit()
    seen.page.click('[data-do="kill"][data-broker="1"]')
    seen.commanded(1)
    seen.caught_up()
    seen.page.click("#story-list .say:has-text('Broker 1 has crashed')")
    assert seen.page.evaluate("lab.app.state.topics.orders.partitions[0].leader") == 1
    assert seen.page.evaluate("lab.app.state.brokers[1].state") == "stopped"


def test_time_control_at_the_live_edge_goes_to_the_cluster(visit: Open) -> None:
    seen = visit()
    seen.page.keyboard.press(" ")
    seen.page.wait_for_selector(".mode.paused")
    seen.page.keyboard.press("ArrowRight")
    seen.page.keyboard.press("Shift+ArrowRight")
    seen.page.keyboard.press(" ")
    seen.page.wait_for_selector(".mode.live")
    seen.page.select_option("#speed", "0.01")
    seen.wait("lab.clock.cluster.speed === 0.01")
    speeds = [command["speed"] for command in seen.commanded(5)]
    assert speeds == ["pause", "step_event", "step_state", "play", 0.01]


def test_keys_kill_choose_and_help(visit: Open) -> None:
    seen = visit()
    seen.page.keyboard.press("k")
    seen.page.keyboard.press("2")
    seen.wait("lab.app.state.brokers[2].state === 'stopped'")
    seen.page.keyboard.press("?")
    assert seen.page.locator("#help").is_visible()
    seen.page.keyboard.press("Escape")
    assert seen.page.locator("#help").is_hidden()


def test_each_tab_of_the_inspector_has_contents(visit: Open) -> None:
    seen = visit()
    wanted = {"brokers": "127.0.0.1:9092", "groups": "billing-1", "tree": "/controller", "attach": "kcat -C -b"}
    for tab, text in wanted.items():
        seen.page.evaluate("(tab) => lab.app.showTab(tab)", tab)
        seen.wait(f"document.querySelector('#tab-panel').innerText.includes({text!r})")
    seen.page.click("[data-tab=metrics]")
    seen.page.click("[data-view=tree]")
    seen.wait("lab.app.tab === 'tree'")
    seen.page.focus("[data-tab=metrics]")
    seen.page.keyboard.press("ArrowRight")
    seen.page.wait_for_selector("[data-tab=partitions][aria-selected=true]")


def test_the_teaching_preset_says_which_timeouts_are_shorter(visit: Open) -> None:
    state = start_state()
    settings = {"zookeeper.session.timeout.ms": "3000"}
    state["cluster"] |= {"preset": "teaching", "settings": settings}
    seen = visit(lab=RecordedLab(state))
    seen.page.wait_for_selector(".banner")
    assert "zookeeper.session.timeout.ms=3000" in seen.page.inner_text(".banner")


def test_six_hundred_partitions_put_few_rows_into_the_page(visit: Open) -> None:
    from tests.web.recorded_lab import topic_state

    seen = visit(lab=RecordedLab(start_state({"big": topic_state(600)})))
    seen.page.wait_for_selector('[data-partition="big-0"]')
    assert seen.page.locator("#tab-panel tbody tr").count() < 90
    seen.page.evaluate("document.querySelector('#inspector').scrollTop = 12000")
    seen.page.wait_for_selector('[data-partition="big-440"]')


def test_what_a_class_may_not_do_looks_so_and_says_why(visit: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKERLAB_CLASS_TOKEN", "student")
    seen = visit(extra_http_headers={"Authorization": "Bearer student"}, view="explore")
    seen.page.evaluate("globalThis.said = []; lab.app.notice = (text) => said.push(text)")
    for closed in ("#levers [data-do=kill]", "#topic-open", "#traffic button", "[data-time=fork]"):
        before = seen.page.evaluate("said.length")
        box = seen.page.locator(closed).first.bounding_box()
        seen.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert seen.page.evaluate("said.slice()")[before:] == [seen.page.evaluate("lab.app.words.t('look_only')")], closed
    assert seen.lab.commands == []


def test_a_page_that_asks_another_host_complains(visit: Open) -> None:
    seen = visit(bypass_csp=True)
    seen.page.evaluate("(url) => fetch(url, { mode: 'no-cors' }).catch(() => null)", seen.served.url.replace("127.0.0.1", "localhost"))
    deadline = time.monotonic() + PATIENCE_S
    while not any("asked another host: http://localhost" in one for one in seen.complaints):
        assert time.monotonic() < deadline, seen.complaints
        seen.page.wait_for_timeout(50)
    seen.complaints.clear()
