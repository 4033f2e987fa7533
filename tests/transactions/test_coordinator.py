"""The transaction coordinator, request by request."""

from __future__ import annotations

import pickle

import pytest

from broker_core.transactions.decisions import Producer
from broker_core.transactions.states import (
    VALID_PREVIOUS_STATES,
    IllegalTransition,
    TransactionState,
    check_transition,
)
from broker_core.transactions.transaction import decode_value, encode_value
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode as E
from tests.transactions.transaction_lab import TransactionLab


@pytest.fixture
def lab() -> TransactionLab:
    return TransactionLab()


def test_a_transaction_is_committed_in_every_partition_and_told_in_every_state(lab: TransactionLab) -> None:
    producer = lab.producer()
    assert producer == Producer(1001, 0) and lab.state() == "Empty"
    assert lab.add(producer, 0, 1).error is None, "an answer waits for the commit"
    lab.run(0)
    assert lab.state() == "Ongoing"
    lab.write(producer, 0, 1)
    ended = lab.end(producer)
    lab.run(0)
    assert ended.error is E.NONE and lab.state() == "CompleteCommit"
    assert lab.data[0].committed() == lab.data[1].committed() == ["v"] and lab.data[2].log == []
    states = [(event["before"], event["after"]) for event in lab.journal("transaction_state")]
    assert states[-3:] == [("Empty", "Ongoing"), ("Ongoing", "PrepareCommit"), ("PrepareCommit", "CompleteCommit")]


def test_an_end_that_is_repeated_is_answered_alike_and_the_other_one_is_refused(lab: TransactionLab) -> None:
    producer = lab.producer()
    lab.add(producer, 0)
    lab.run(0)
    lab.marker_delay_ms = 10
    lab.end(producer)
    lab.run(5)
    assert lab.state() == "PrepareCommit"
    # the end is prepared as soon as the markers are on their way: whatever comes meanwhile has to come again
    assert lab.end(producer).error is lab.end(producer, commit=False).error is E.CONCURRENT_TRANSACTIONS
    assert lab.add(producer, 1).error is E.CONCURRENT_TRANSACTIONS
    assert lab.init().error is E.CONCURRENT_TRANSACTIONS
    lab.run(100)
    assert lab.end(producer).error is E.NONE and lab.end(producer, commit=False).error is E.INVALID_TXN_STATE


def test_nothing_to_end_a_foreign_id_and_an_unknown_one(lab: TransactionLab) -> None:
    producer = lab.producer()
    assert lab.end(producer).error is E.INVALID_TXN_STATE
    assert lab.add(Producer(7, 0), 0).error is lab.end(Producer(7, 0)).error is E.INVALID_PRODUCER_ID_MAPPING
    assert lab.add(producer, 0, name="never").error is E.INVALID_PRODUCER_ID_MAPPING
    assert lab.end(producer, name="").error is lab.init("").error is lab.add(producer, 0, name="").error
    assert lab.init("").error is E.INVALID_REQUEST
    assert lab.init(timeout_ms=0).error is lab.init(timeout_ms=900_001).error is E.INVALID_TRANSACTION_TIMEOUT


def test_a_second_process_with_the_same_id_fences_the_first_and_aborts_what_it_had_open(lab: TransactionLab) -> None:
    zombie = lab.producer()
    lab.add(zombie, 0)
    lab.run(0)
    lab.write(zombie, 0)
    first = lab.init()
    lab.run(0)
    assert first.error is E.CONCURRENT_TRANSACTIONS and lab.state() == "CompleteAbort"
    assert lab.data[0].log[-1][:2] == (zombie.producer_id, 1), "the marker carries the raised epoch"
    heir = lab.producer()
    assert heir == Producer(zombie.producer_id, 2)
    assert lab.add(zombie, 1).error is lab.end(zombie).error is E.PRODUCER_FENCED
    assert not lab.data[0].write(zombie, "late") and lab.data[0].committed() == []


def test_a_producer_that_gives_its_id_and_epoch_goes_on_and_only_it_does(lab: TransactionLab) -> None:
    """KIP-360: after an error it asks for the next epoch without fencing itself."""
    producer = lab.producer()
    higher = lab.init(expected=producer)
    lab.run(0)
    assert (higher.error, higher.producer_id, higher.epoch) == (E.NONE, producer.producer_id, 1)
    again = lab.init(expected=producer)
    lab.run(0)
    assert again.epoch == 1, "the answer was lost: the same one"
    assert lab.producer().epoch == 2
    assert lab.init(expected=producer).error is E.PRODUCER_FENCED
    assert lab.init(expected=Producer(7, 2)).error is E.PRODUCER_FENCED


def test_epochs_that_run_out_bring_another_producer_id(lab: TransactionLab) -> None:
    lab.producer()
    transaction = lab.coordinator.registry.find("tx")[1]
    assert transaction is not None
    transaction.stored = transaction.stored._replace(producer_epoch=0x7FFE)
    assert lab.producer() == Producer(1002, 0)
    retried = lab.init(expected=Producer(1001, 0x7FFE))
    lab.run(0)
    assert retried.error is E.PRODUCER_FENCED, "that was another process: its epoch was not asked for"


def test_what_takes_too_long_is_aborted_and_its_producer_is_fenced(lab: TransactionLab) -> None:
    producer = lab.producer()
    lab.add(producer, 0, 2)
    lab.run(0)
    lab.write(producer, 0, 2)
    lab.run(60_000)
    assert lab.state() == "Ongoing"
    lab.run(10_000)
    assert lab.state() == "CompleteAbort" and len(lab.journal("transaction_timed_out")) == 1
    assert lab.data[0].open() == lab.data[2].open() == [] == lab.data[0].committed()
    assert lab.end(producer).error is E.PRODUCER_FENCED


def test_an_id_that_nobody_uses_is_forgotten_here_and_in_the_log(lab: TransactionLab) -> None:
    lab.producer()
    lab.run(604_800_000 + 3_600_000)
    assert lab.coordinator.transactions() == {} and len(lab.journal("transactional_id_expired")) == 1
    lab.crash()
    lab.run(0)
    assert lab.coordinator.transactions() == {}
    assert lab.producer() == Producer(1002, 0)


def test_a_marker_that_cannot_be_written_is_tried_again_where_the_leader_is_then(lab: TransactionLab) -> None:
    producer = lab.producer()
    lab.add(producer, 0, 1, 2)
    lab.run(0)
    lab.write(producer, 0, 1, 2)
    lab.leaderless, lab.refusing = {1}, {2: E.NOT_ENOUGH_REPLICAS}
    lab.end(producer)
    lab.run(250)
    assert lab.state() == "PrepareCommit" and lab.data[0].committed() == ["v"] and not lab.data[1].committed()
    assert lab.coordinator.transactions()["tx"]["unmarked"] == ["t-1", "t-2"]
    lab.leaderless, lab.refusing = set(), {}
    lab.run(100)
    assert lab.state() == "CompleteCommit" and lab.data[1].committed() == lab.data[2].committed() == ["v"]
    assert len(lab.data[0].log) == 2


def test_a_partition_that_was_deleted_needs_no_marker(lab: TransactionLab) -> None:
    producer = lab.producer()
    lab.add(producer, 0, 1)
    lab.run(0)
    del lab.data[1]
    lab.end(producer)
    lab.run(0)
    assert lab.state() == "CompleteCommit"


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (E.NOT_ENOUGH_REPLICAS, E.COORDINATOR_NOT_AVAILABLE),
        (E.REQUEST_TIMED_OUT, E.COORDINATOR_NOT_AVAILABLE),
        (E.NOT_LEADER_OR_FOLLOWER, E.NOT_COORDINATOR),
        (E.MESSAGE_TOO_LARGE, E.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_could_not_be_written_has_not_happened(lab: TransactionLab, failure: E, told: E) -> None:
    producer = lab.producer()
    lab.topic.failure = failure
    refused = lab.add(producer, 0)
    lab.run(0)
    assert refused.error is told and lab.state() == "Empty"
    lab.topic.failure = 0
    added = lab.add(producer, 0)
    lab.run(0)
    assert added.error is E.NONE


def test_a_fence_that_could_not_be_written_fences_all_the_same_and_is_not_raised_twice(lab: TransactionLab) -> None:
    producer = lab.producer()
    lab.add(producer, 0)
    lab.run(0)
    lab.topic.failure = E.NOT_ENOUGH_REPLICAS
    fenced = lab.init()
    lab.run(0)
    assert fenced.error is E.COORDINATOR_NOT_AVAILABLE and lab.state() == "Ongoing"
    lab.topic.failure = 0
    assert lab.end(producer).error is E.PRODUCER_FENCED
    assert lab.producer() == Producer(producer.producer_id, 2)


def test_who_waits_for_a_write_when_the_partition_moves_is_sent_to_look_for_the_coordinator(lab: TransactionLab) -> None:
    producer = lab.producer()
    lab.topic.commit_delay_ms = 10
    added = lab.add(producer, 0)
    lab.run(5)
    lab.lead("broker-2")
    lab.lead("broker-1")
    lab.run(10)
    assert added.error is E.NOT_COORDINATOR
    assert lab.state() == "Ongoing", "the record is in the log: the next coordinator has read it"


def test_only_partitions_of_the_transaction_are_verified(lab: TransactionLab) -> None:
    producer = lab.producer()
    lab.add(producer, 0)
    lab.run(0)
    verify = lab.coordinator.verify_partitions
    assert verify("tx", producer, [("t", 0), ("t", 1)]) == {("t", 0): E.NONE, ("t", 1): E.TRANSACTION_ABORTABLE}
    assert verify("tx", Producer(producer.producer_id, 9), [("t", 0)]) == {("t", 0): E.PRODUCER_FENCED}
    lab.marker_delay_ms = 10
    lab.end(producer)
    lab.run(1)
    assert verify("tx", producer, [("t", 0)]) == {("t", 0): E.CONCURRENT_TRANSACTIONS}


def test_ids_are_listed_and_described(lab: TransactionLab) -> None:
    producer = lab.producer()
    lab.producer("idle")
    lab.add(producer, 2, 0)
    lab.run(0)
    listed = lab.coordinator.list(m.ListTransactionsRequest(duration_filter=-1, state_filters=["Ongoing", "Odd"]))
    assert [one.transactional_id for one in listed.transaction_states] == ["tx"]
    assert listed.unknown_state_filters == ["Odd"]
    for pattern, names in (("tx|id.*", ["idle", "tx"]), ("t", []), ("i[[:alpha:]]+", ["idle"]), ("(x+x+)+y" * 30, [])):
        listed = lab.coordinator.list(m.ListTransactionsRequest(duration_filter=-1, transactional_id_pattern=pattern))
        assert (listed.error_code, sorted(one.transactional_id for one in listed.transaction_states)) == (E.NONE, names)
    refused = m.ListTransactionsRequest(duration_filter=-1, transactional_id_pattern=r"(t)\1")
    assert lab.coordinator.list(refused).error_code == E.INVALID_REGULAR_EXPRESSION
    (one, nobody) = lab.coordinator.describe(
        m.DescribeTransactionsRequest(transactional_ids=["tx", "nobody"])
    ).transaction_states
    assert (one.transaction_state, one.producer_id, one.topics[0].partitions) == ("Ongoing", 1001, [2, 0])
    assert nobody.error_code == E.TRANSACTIONAL_ID_NOT_FOUND


# --- version 2 ------------------------------------------------------------------------------------


def test_with_version_2_every_transaction_has_an_epoch_of_its_own() -> None:
    lab = TransactionLab(version=2)
    producer = lab.producer()
    for commit in (True, False):
        lab.add(producer, 0)
        lab.run(0)
        ended = lab.end(producer, commit)
        lab.run(0)
        assert (ended.error, ended.epoch) == (E.NONE, producer.epoch + 1)
        repeated = lab.end(producer, commit)
        assert (repeated.error, repeated.epoch) == (E.NONE, ended.epoch), "its answer was lost"
        assert lab.end(producer, not commit).error is E.INVALID_TXN_STATE
        assert lab.data[0].log[-1].epoch == ended.epoch
        producer = Producer(ended.producer_id, ended.epoch)
    assert not lab.data[0].write(Producer(producer.producer_id, 1), "of the one before"), "a late batch is refused"


def test_with_version_2_who_has_the_epoch_before_is_told_the_present_one_and_an_old_client_is_fenced() -> None:
    """Its answer was lost, or its transaction took too long: it goes on (KIP-360, KIP-588)."""
    lab = TransactionLab(version=2)
    producer = lab.producer()
    lab.add(producer, 0)
    lab.run(0)
    lab.end(producer)
    lab.run(0)
    assert lab.ask("end", "tx", producer, True, 1).error is E.PRODUCER_FENCED, "before version 2 nothing was raised"
    for _ in range(2):
        known = lab.init(expected=producer)
        lab.run(0)
        assert (known.error, known.epoch) == (E.NONE, 1)
    lab.add(Producer(1001, 1), 0)
    lab.run(0)
    other = lab.init()
    lab.run(100)
    assert other.error is E.CONCURRENT_TRANSACTIONS and lab.state() == "CompleteAbort"
    late = lab.init(expected=Producer(1001, 1))
    lab.run(0)
    assert (lab.data[0].log[-1].epoch, late.error, late.epoch) == (2, E.NONE, 2)


def test_with_version_2_what_has_not_begun_can_be_aborted_for_a_new_epoch_but_not_committed() -> None:
    lab = TransactionLab(version=2)
    producer = lab.producer()
    assert lab.end(producer).error is E.INVALID_TXN_STATE
    ended = lab.end(producer, commit=False)
    lab.run(0)
    assert (ended.error, ended.epoch) == (E.NONE, 1) and lab.state() == "CompleteAbort"


def test_with_version_2_a_transaction_that_uses_up_the_epochs_goes_on_with_another_id() -> None:
    lab = TransactionLab(version=2)
    lab.producer()
    transaction = lab.coordinator.registry.find("tx")[1]
    assert transaction is not None
    last = Producer(1001, 0x7FFE)
    transaction.stored = transaction.stored._replace(producer_epoch=last.epoch)
    lab.add(last, 0)
    lab.run(0)
    lab.marker_delay_ms = 10
    ended = lab.end(last)
    lab.run(1)
    assert (ended.error, ended.producer_id, ended.epoch) == (E.NONE, 1002, 0)
    heir = Producer(ended.producer_id, ended.epoch)
    assert lab.add(heir, 0).error is E.CONCURRENT_TRANSACTIONS, "it takes over when the markers are written"
    assert lab.init(expected=heir).error is E.CONCURRENT_TRANSACTIONS
    lab.run(20)
    assert lab.data[0].log[-1][:2] == (1001, 0x7FFF), "the marker has the largest epoch"
    repeated = lab.end(last)
    assert (repeated.error, repeated.producer_id, repeated.epoch) == (E.NONE, 1002, 0)
    lab.add(heir, 0)
    lab.run(0)
    assert lab.state() == "Ongoing"


# --- the table, the records -----------------------------------------------------------------------


def test_every_step_that_is_not_in_the_table_is_refused() -> None:
    for before in TransactionState:
        for after in TransactionState:
            if before in VALID_PREVIOUS_STATES[after]:
                check_transition(before, after)
            else:
                with pytest.raises(IllegalTransition):
                    check_transition(before, after)


def test_a_replay_that_breaks_the_rules_of_epochs_is_refused(lab: TransactionLab) -> None:
    lab.producer()
    transaction = lab.coordinator.registry.find("tx")[1]
    assert transaction is not None
    target = transaction.stored._replace(producer_epoch=5)
    transaction.prepare(target)
    with pytest.raises(IllegalTransition):
        transaction.replay(target)


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_written_of_an_id_is_read_again(lab: TransactionLab, version: int) -> None:
    producer = lab.producer()
    lab.add(producer, 2, 0)
    lab.run(0)
    transaction = lab.coordinator.registry.find("tx")[1]
    assert transaction is not None
    stored = transaction.stored
    kept = stored if version else stored._replace(previous_producer_id=-1)
    assert decode_value(encode_value(stored, version)) == kept


def test_a_coordinator_can_be_pickled_in_the_middle_of_everything(lab: TransactionLab) -> None:
    producer = lab.producer()
    lab.topic.commit_delay_ms = lab.marker_delay_ms = 5
    lab.add(producer, 0, 1)
    lab.run(7)
    lab.end(producer)
    lab.run(7)
    copy: TransactionLab = pickle.loads(pickle.dumps(lab))
    for one in (lab, copy):
        one.run(200)
        assert one.state() == "CompleteCommit"
