"""Transactions as a producer sees them (`TransactionManager` of the Java client; KIP-98, KIP-360, KIP-890).

| state | what the application may do | event => next state |
|---|---|---|
| uninitialized | initialize | InitProducerId is asked => initializing |
| initializing | wait | an id and an epoch are there => ready |
| ready | begin | => in transaction |
| in transaction | send, send offsets, commit, abort | => committing, aborting; an error => abortable error |
| committing | wait | EndTxn is answered => ready; an error => abortable error |
| abortable error | abort | => aborting |
| aborting | wait | EndTxn is answered => ready, or with a new epoch to be asked for => initializing |
| fatal error | nothing: another producer has this transactional id, or nobody knows how to go on | |

Every request waits for the one before it, and no record leaves while one is on its way. EndTxn waits until every record
is settled. An abort drops what has not left yet.

The **version** is the cluster's feature `transaction.version`, as the brokers told it when the transaction began. With
2 nothing is added beforehand (the leaders do it when the first record comes), and each transaction has an epoch of its
own, which the answer to EndTxn brings. With 0 and 1 the producer asks for another epoch only after an error.

What became of a transaction, for the history:

| outcome | when |
|---|---|
| committed, aborted | EndTxn was answered |
| aborted | the producer has ended without having asked for a commit |
| unknown | it asked for a commit, and never heard |
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from broker_core.clients.connections import Connections, error_of
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.settings import ProducerSettings
from broker_core.clients.transaction_requests import (
    ABORTED_BY_IT, ADD, BUMP, END, INITIALIZE, GroupOffsets, Question, Sequences, Verdict, add_group, add_partitions,
    commit_offsets, end, error_in, initialize, verdict,
)  # fmt: skip
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node
from broker_core.kernel.transitions import Transitions
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey, api_name
from broker_core.wire.errors import ErrorCode

UNINITIALIZED, INITIALIZING, READY, IN_TRANSACTION = "uninitialized", "initializing", "ready", "in transaction"
COMMITTING, ABORTING, ABORTABLE, FATAL = "committing", "aborting", "abortable error", "fatal error"
STATES = Transitions("transactional producer", {
    UNINITIALIZED: (INITIALIZING, FATAL),
    INITIALIZING: (READY, ABORTABLE, FATAL),
    READY: (IN_TRANSACTION, FATAL),
    IN_TRANSACTION: (COMMITTING, ABORTING, ABORTABLE, FATAL),
    COMMITTING: (READY, INITIALIZING, ABORTABLE, FATAL),
    ABORTING: (READY, INITIALIZING, FATAL),
    ABORTABLE: (ABORTABLE, ABORTING, FATAL),
    FATAL: (FATAL,),
})  # fmt: skip
COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"
GROUP_KEY, TRANSACTION_KEY = 0, 1  # FindCoordinator's key types
FEATURE = "transaction.version"
FIRST_ADD_BACKOFF_MS = 20  # the markers of the last transaction are being written: that is soon over
FENCED = {ErrorCode.INVALID_PRODUCER_EPOCH: ErrorCode.PRODUCER_FENCED}  # what coordinators of old say
CLIENT_ADD_VERSION, V1_OFFSETS, V1_END = 3, 4, 4
Done = Callable[[str], None]  # "" or the name of an error


def _nothing(error: str) -> None:
    """Nobody waits: whoever has failed says so itself."""


def _no_error(done: Done, _: Any) -> None:
    done("")


class Transactions:
    """One producer's transactions, one after the other.

    changed: called when the sender may be able to do more. ended(outcome): a transaction is over, before the
    application hears of it. failed: it can only be aborted now, or nothing more can be done.
    """

    def __init__(
        self, node: Node, settings: ProducerSettings, connections: Connections, metadata: Metadata,
        sequences: Sequences, changed: Callable[[], None], ended: Callable[[str], None], failed: Callable[[], None],
    ) -> None:  # fmt: skip
        self.node = node
        self.settings = settings
        self.name = settings.transactional_id
        self.connections = connections
        self.metadata = metadata
        self.sequences = sequences
        self.changed = changed
        self.ended = ended
        self.failed = failed
        self.state = UNINITIALIZED
        self.error = ""
        self.version_2 = False
        self.count = 0  # transactions begun
        self.partitions: set[TopicPartition] = set()  # of this transaction: records may go there
        self._new: dict[TopicPartition, None] = {}
        self._features_of = -1
        self._started = False  # the coordinator may know of this transaction
        self._bump = False
        self._new_epoch_told = False  # by the answer to EndTxn
        self._uncertain = False  # a commit was asked for, and the answer said nothing
        self._queue: list[Question] = []
        self._busy: Question | None = None
        self._coordinators: dict[str, str] = {}  # group, "" for transactions -> node
        self._waiting: Done | None = None  # the application, for initialize, commit or abort

    # -- what the application asks for ----------------------------------------------------------
    def initialize(self, done: Done) -> None:
        """initTransactions()."""
        self._initialize(done, INITIALIZE)

    def begin(self) -> None:
        """beginTransaction()."""
        self._look_at_features(False)
        self._step(IN_TRANSACTION)
        self.count += 1

    def add(self, topic: str, partition: int) -> None:
        """A record for this partition has been taken in."""
        key = (topic, partition)
        if key in self.partitions or key in self._new:
            return
        if self.version_2:
            self.partitions.add(key)
            self._started = True
        else:
            self._new[key] = None
            self.changed()

    def send_offsets(self, what: GroupOffsets, done: Done) -> None:
        """sendOffsetsToTransaction(): they count when the transaction is committed."""
        if self.state != IN_TRANSACTION:
            done(self.error)
            return
        if self.version_2:
            self._started = True
            self._ask_offsets(what, done)
            return

        self._ask(Question(
            ApiKey.ADD_OFFSETS_TO_TXN, ADD, partial(add_group, self.name, self.sequences, what.group),
            partial(self._group_added, what, done), done,
        ))  # fmt: skip

    def _group_added(self, what: GroupOffsets, done: Done, _: Any) -> None:
        self._started = True
        self._ask_offsets(what, done)

    def _ask_offsets(self, what: GroupOffsets, done: Done) -> None:
        self._ask(Question(
            ApiKey.TXN_OFFSET_COMMIT, ADD, partial(commit_offsets, self.name, self.sequences, what),
            partial(_no_error, done), done, what.group, None if self.version_2 else V1_OFFSETS,
        ))  # fmt: skip

    def commit(self, done: Done) -> None:
        """commitTransaction()."""
        if self.state != IN_TRANSACTION:
            done(self.error)
            return
        self._step(COMMITTING)
        self._complete(True, done)

    def abort(self, done: Done) -> None:
        """abortTransaction()."""
        if self.state == FATAL:
            done(self.error)
            return
        self._step(ABORTING)
        self._new = {}
        self._complete(False, done)

    def _complete(self, committed: bool, done: Done) -> None:
        version = None if self.version_2 else V1_END
        self._new_epoch_told = self.version_2
        self._look_at_features(False)
        if self.error in [one.name for one in ABORTED_BY_IT]:  # the coordinator has forgotten what there was to end
            self._over(UNKNOWN if self._uncertain else ABORTED)
            self._step(INITIALIZING)
            self._initialize(done, BUMP)
            return
        self._waiting = done
        self._ask(Question(
            ApiKey.END_TXN, END, partial(end, self.name, self.sequences, committed),
            partial(self._end_answered, committed), self._give_up, version=version,
        ))  # fmt: skip

    # -- the version ----------------------------------------------------------------------------
    def _look_at_features(self, initializing: bool) -> None:
        """Which version counts from now on; who comes to 2 while it works asks for an epoch of its own first."""
        connections = self.connections
        if connections.features_epoch <= self._features_of:
            return
        self._features_of = connections.features_epoch
        was, self.version_2 = self.version_2, connections.features.get(FEATURE, 0) >= 2
        if self.version_2 and not was and not initializing:
            self._bump = True

    # -- the requests' turns ----------------------------------------------------------------------
    def _ask(self, question: Question) -> None:
        self._queue.append(question)
        self._queue.sort(key=lambda one: one.priority)
        self.changed()

    def take_turn(self, incomplete: bool) -> bool:
        """Send what is due; whether records have to wait. `incomplete`: some are not settled."""
        if self._new and self.state in (IN_TRANSACTION, COMMITTING):
            self._add_new()
        while self._busy is None and self._queue:
            question = self._queue[0]
            if question.priority == END and incomplete:
                return False
            del self._queue[0]
            if self.state in (FATAL, ABORTABLE):
                question.failed(self.error)
            elif question.priority == END and not self._started:
                self._end_answered(self.state == COMMITTING, None)
            else:
                self._busy = question
                self._try()
        return self._busy is not None

    def _add_new(self) -> None:
        partitions, self._new = list(self._new), {}

        self._queue.append(Question(
            ApiKey.ADD_PARTITIONS_TO_TXN, ADD, partial(add_partitions, self.name, self.sequences, partitions),
            partial(self._added, partitions), _nothing, version=CLIENT_ADD_VERSION,
        ))  # fmt: skip
        self._queue.sort(key=lambda one: one.priority)

    def _added(self, partitions: list[TopicPartition], _: Any) -> None:
        self.partitions.update(partitions)
        self._started = True

    def _try(self) -> None:
        question = self._busy
        assert question is not None
        question.tries += 1
        coordinator = self._coordinators.get(question.group)
        if coordinator is None:
            self._find(question.group)
            return
        self.connections.call(
            coordinator, question.api, question.body(), self._answered, (coordinator, question), limit=question.version
        )

    def _answered(self, context: tuple[str, Question], response: Any) -> None:
        coordinator, question = context
        commits = question.api == ApiKey.END_TXN and self.state == COMMITTING
        if response is None:
            self.connections.failed(coordinator)
            self._coordinators.pop(question.group, None)
            self._uncertain = self._uncertain or commits
            self._later()
            return
        error = error_in(question.api, response)
        found = verdict(question.api, error)
        if found in (Verdict.AGAIN, Verdict.LOOK_UP):
            if found is Verdict.LOOK_UP:
                self._coordinators.pop(question.group, None)
            self._uncertain = self._uncertain or commits
            self._note(question.api, error, "retry")
            first = question.api == ApiKey.ADD_PARTITIONS_TO_TXN and not self.partitions
            self._later(FIRST_ADD_BACKOFF_MS if first and error == ErrorCode.CONCURRENT_TRANSACTIONS else None)
            return
        self._busy = None
        if self.state == FATAL:
            question.failed(self.error)
        elif found is Verdict.DONE:
            question.answered(response)
        else:
            self._note(question.api, error, "abort" if found is Verdict.ABORT else "give up")
            self.fail(FENCED.get(error, error).name, fatal=found is Verdict.FATAL)
            question.failed(self.error)
        self.changed()

    def _later(self, at_most_ms: int | None = None) -> None:
        wait_ms = self.settings.retry_backoff_ms
        self.node.after(min(wait_ms, at_most_ms or wait_ms) * 1000, self._try)

    def _find(self, group: str) -> None:
        dest = self.metadata.any_broker()
        if dest is None:
            self.metadata.request_update()
            self._later()
            return
        key = group or self.name
        body = m.FindCoordinatorRequest(
            key_type=GROUP_KEY if group else TRANSACTION_KEY, key=key, coordinator_keys=[key]
        )
        self.connections.call(dest, ApiKey.FIND_COORDINATOR, body, self._found, (dest, group))

    def _found(self, context: tuple[str, str], response: Any) -> None:
        dest, group = context
        if response is None:
            self.connections.failed(dest)
            self._later()
            return
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code:
            self._note(ApiKey.FIND_COORDINATOR, error_of(found.error_code), "retry")
            self._later()
            return
        self._coordinators[group] = broker_node(found.node_id)
        self._try()

    def _note(self, api: int, error: ErrorCode, reaction: str) -> None:
        if self.node.messages:
            self.node.emit(
                events.CLIENT_ERROR, api=api_name(api), error=error.name, reaction=reaction, topic="", partition=-1
            )

    # -- what answers bring -----------------------------------------------------------------------
    def _initialize(self, done: Done, priority: int) -> None:
        bump = priority == BUMP
        if not bump:
            self._step(INITIALIZING)
        self._waiting = done
        wanted = partial(initialize, self.name, self.sequences, self.settings.transaction_timeout_ms, bump)
        self._ask(Question(ApiKey.INIT_PRODUCER_ID, priority, wanted, self._initialized, self._give_up))

    def _initialized(self, response: Any) -> None:
        self.sequences.begin(response.producer_id, response.producer_epoch)
        self._bump = False
        self._look_at_features(True)
        self.error = ""
        self._step(READY)
        self._tell("")

    def _end_answered(self, committed: bool, response: Any) -> None:
        if response is not None and self._new_epoch_told and response.producer_id >= 0:
            self.sequences.begin(response.producer_id, response.producer_epoch)
        self._over(COMMITTED if committed else ABORTED)
        if self._bump and self._waiting is not None:
            self._step(INITIALIZING)
            self._initialize(self._waiting, BUMP)
            return
        self.error = ""
        self._step(READY)
        self._tell("")

    def _over(self, outcome: str) -> None:
        self.partitions = set()
        self._new = {}
        self._started = self._uncertain = False
        self.ended(outcome)

    def fail(self, error: str, fatal: bool = False, new_epoch: bool = False) -> None:
        """Something has gone wrong in this transaction: it can only be aborted; `fatal`: nothing can be done any more.

        new_epoch: sequence numbers do not go on where they were; with version 2 they begin anew anyway.
        """
        if self.state == FATAL:
            return
        self.error = error
        self._bump = self._bump or (new_epoch and not self.version_2)
        if fatal:
            was_open = self.state in (IN_TRANSACTION, COMMITTING, ABORTING, ABORTABLE)
            self._step(FATAL)
            if was_open:
                self._over(UNKNOWN if self._uncertain else ABORTED)
        elif self.state != ABORTING:
            self._step(ABORTABLE)
        self.changed()
        self.failed()

    def _give_up(self, error: str) -> None:
        self._tell(error)

    def _tell(self, error: str) -> None:
        done, self._waiting = self._waiting, None
        if done is not None:
            done(error)

    def _step(self, after: str) -> None:
        self.state = STATES.step(self.state, after)
