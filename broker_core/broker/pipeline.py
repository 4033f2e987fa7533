"""The way of a request through a broker (Kafka's SocketServer, RequestChannel, KafkaRequestHandlerPool).

    acceptor -> network processor -> request queue -> handler thread -> (purgatory) -> response queue -> processor
                num.network.threads   queued.max.requests  num.io.threads

Threads are counted, not real: a stage that costs nothing passes a request on at once, in the same
event. With costs (`lab.network.us`, `lab.io.us` of the stage costs) each thread is busy for so long,
requests queue in front of it, and a learner sees which stage is the bottleneck. A slow disk keeps the
handler thread busy whose request wrote to it:

| full            | what happens                                                                  |
|-----------------|-------------------------------------------------------------------------------|
| all io threads  | requests wait in the request queue: RequestQueueTimeMs grows                   |
| request queue   | processors stand still with the request in hand; nobody on them is read        |

Thread counts are read at each step, so they can be changed while running.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from broker_core.broker.connections import Connection, RequestContext
from broker_core.broker.stages import ApiTotals, StageCosts, bytes_of
from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node
from broker_core.kernel.storage import read_all
from broker_core.wire.apis import API_NAMES, ApiKey, Mode, is_supported
from broker_core.wire.codec import (
    decode_request,
    decode_request_header,
    decode_response,
    decode_response_header,
    encode_request,
    encode_response,
    encode_unsupported_api_versions,
)
from broker_core.wire.errors import ErrorCode, WireError
from broker_core.wire.rpc import Request, Response
from broker_core.wire.summary import ERROR_FINDERS

WAITING_FRAMES = 64
WAITING_BYTES = 16 * 1024 * 1024
_log = logging.getLogger("brokerlab.broker")


class RequestPipeline:
    """All connections of one broker and the queues between its threads."""

    def __init__(
        self, node: Node, config: Any, handle: Callable[[RequestContext], None],
        disk_failed: Callable[[StorageError], None], costs: StageCosts, codec: bool, mode: Mode = "zookeeper",
    ) -> None:  # fmt: skip
        self.node = node
        self.config = config
        self.handle = handle
        self.disk_failed = disk_failed
        self.costs = costs
        self.through_codec = codec
        self.mode: Mode = mode
        self.outside: dict[int, Connection] = {}
        self.inside: dict[tuple[str, str], Connection] = {}
        self.totals: dict[int, ApiTotals] = {}
        self.request_queue: deque[RequestContext] = deque()
        self.busy_io = 0
        self.processor_queues: dict[int, deque[tuple[str, Any, Any]]] = {}
        self.busy_processors: dict[int, bool] = {}
        self.blocked: deque[tuple[int, RequestContext]] = deque()
        self._next_processor = 0

    # -- connections ------------------------------------------------------------------------
    def opened(self, number: int, peer: str) -> None:
        """An outside client has connected; connections are dealt to the processors in turn."""
        self.outside[number] = Connection(number, str(number), "outside", peer, self._processor())

    def closed(self, number: int) -> None:
        """An outside client has gone."""
        connection = self.outside.pop(number, None)
        if connection is not None:
            connection.left = True

    def peer_down(self, peer: str) -> list[Connection]:
        """A process of the world is gone: so are its connections."""
        gone = [key for key in self.inside if key[0] == peer]
        connections = [self.inside.pop(key) for key in gone]
        for connection in connections:
            connection.left = True
        return connections

    def _processor(self) -> int:
        self._next_processor += 1
        threads: int = self.config["num.network.threads"]
        return self._next_processor % max(1, threads)

    def refuse(self, connection: Connection, reason: str) -> None:
        """Close a connection because of what it sent."""
        outside = connection.number >= 0
        number = connection.number if outside else None
        self.node.emit(events.FRAME_REFUSED, connection=number, source=connection.source, reason=reason)
        connection.close()
        if outside:
            self.outside.pop(connection.number, None)
            self.node.close_connection(connection.number, reason)

    # -- arrival ----------------------------------------------------------------------------
    def frame(self, number: int, frame: memoryview) -> None:
        """A frame of an outside client."""
        connection = self.outside.get(number)
        if connection is not None:
            connection.used_us = self.node.world.now_us
            self._arrived(connection, frame)

    def message(self, source: str, request: Request) -> None:
        """A request of a machine of the world."""
        key = (source, request.connection)
        connection = self.inside.get(key)
        if connection is None:
            connection = self.inside[key] = Connection(-1, source, request.connection, source, self._processor())
        costs = self.costs
        if connection.muted or costs.network_us or costs.io_us or self.busy_io or self.through_codec:
            self._arrived(connection, request)
            return
        connection.muted = True
        connection.client_id = client_id = request.client_id
        self._serve(RequestContext(
            self, connection, request.api_key, request.api_version, request.correlation_id, client_id, request.body,
            self.node.world.now_us, 0,
        ))  # fmt: skip

    def _arrived(self, connection: Connection, item: Any) -> None:
        if connection.muted:
            connection.waiting.append(item)
            if connection.number >= 0:
                connection.waiting_bytes += len(item)
                self._hold(connection)
            return
        self._read(connection, item)

    def _hold(self, connection: Connection) -> None:
        """Read no more from a client that sends much faster than it is served."""
        full = len(connection.waiting) > WAITING_FRAMES or connection.waiting_bytes > WAITING_BYTES
        if full != connection.held:
            connection.held = full
            self.node.hold_connection(connection.number, full)

    def _read(self, connection: Connection, item: Any) -> None:
        connection.muted = True
        if self.costs.network_us:
            self._give_processor(connection.processor, ("read", connection, item))
        else:
            self._parse(connection, item)

    def _parse(self, connection: Connection, item: Any) -> None:
        now = self.node.now_us()
        try:
            if isinstance(item, Request):
                context = self._typed(connection, item, now)
            else:
                header = decode_request_header(item)
                context = RequestContext(
                    self, connection, header.api_key, header.api_version, header.correlation_id,
                    header.client_id, header.body, now, len(item),
                )  # fmt: skip
        except WireError as error:
            self.refuse(connection, str(error))
            return
        connection.client_id = context.client_id
        self._enqueue(context)

    def _typed(self, connection: Connection, item: Request, now: int) -> RequestContext:
        body = item.body
        if self.through_codec:
            frame = encode_request(item.api_key, item.api_version, item.correlation_id, item.client_id, body)
            header = decode_request_header(memoryview(bytearray(read_all(frame)))[4:])
            body = decode_request(header.api_key, header.api_version, header.body)
        return RequestContext(
            self, connection, item.api_key, item.api_version, item.correlation_id, item.client_id, body, now, 0
        )

    # -- request queue and handler threads --------------------------------------------------
    def _enqueue(self, context: RequestContext) -> None:
        if not (self.costs.io_us or self.busy_io):
            self._serve(context)
            return
        if len(self.request_queue) >= self.config["queued.max.requests"]:
            self.node.emit(events.REQUEST_QUEUE_FULL, size=len(self.request_queue))
            processor = context.connection.processor
            self.busy_processors[processor] = True
            self.blocked.append((processor, context))
            return
        self.request_queue.append(context)
        self._take()

    def _take(self) -> None:
        """Idle handler threads take requests in order of arrival."""
        while self.request_queue and self.busy_io < self.config["num.io.threads"]:
            context = self.request_queue.popleft()
            context.taken_us = self.node.now_us()
            self.busy_io += 1
            self.node.after(self.costs.io_us, self._served, context)
            if self.blocked:
                processor, waiting = self.blocked.popleft()
                self.request_queue.append(waiting)
                self._processor_free(processor)

    def _served(self, context: RequestContext) -> None:
        self.busy_io -= 1
        self._serve(context)
        self._take()

    def _serve(self, context: RequestContext) -> None:
        node = self.node
        connection = context.connection
        if connection.closed:
            return
        if node.messages:
            node.note(events.REQUEST_RECEIVED, {
                "api": API_NAMES[context.api_key], "version": context.api_version,
                "correlation": context.correlation_id, "source": connection.source, "client_id": context.client_id,
            })  # fmt: skip
        faults = node.storage.faults
        if faults is not None:
            faults.take_debt()  # of what is no request: others wait for that
        try:
            if connection.number < 0 or self._decode(context):
                self.handle(context)
        except WireError as error:
            self.refuse(context.connection, str(error))
        except StorageError as error:
            self.refuse(context.connection, f"a disk failed: {error}")
            self.disk_failed(error)
        except Exception as error:
            _log.exception("%s: %s failed", node.name, API_NAMES[context.api_key])
            node.emit(
                events.HANDLER_FAILED, api=API_NAMES[context.api_key], correlation=context.correlation_id,
                error=f"{type(error).__name__}: {error}",
            )  # fmt: skip
            self.refuse(context.connection, "the broker failed")
        context.handled_us = node.world.now_us
        if faults is not None and (debt_us := faults.take_debt()):
            context.disk_until_us = context.handled_us + debt_us
            self.busy_io += 1
            node.after(debt_us, self._disk_done)

    def _disk_done(self) -> None:
        """The disk is done, and the thread that waited for it is free."""
        self.busy_io -= 1
        self._take()

    def _disk_wait_us(self, context: RequestContext) -> int:
        """How long the disk still needs for what the request wrote."""
        faults = self.node.storage.faults
        if context.handled_us < 0:
            return 0 if faults is None else faults.debt_us
        return max(0, context.disk_until_us - self.node.world.now_us)

    def _decode(self, context: RequestContext) -> bool:
        """Turn an outside client's bytes into a message; False when that is answered already."""
        key, version = context.api_key, context.api_version
        if is_supported(key, version, self.mode):
            context.body = decode_request(key, version, context.body)
            context.connection.negotiated[API_NAMES[key]] = version
            return True
        if key != ApiKey.API_VERSIONS:
            raise WireError(f"{API_NAMES[key]} v{version}", "this version is not offered")
        context.answered = True
        self.node.write(context.connection.number, encode_unsupported_api_versions(context.correlation_id, self.mode))
        self._report_stages(context, self.node.now_us())
        self._unmute(context.connection)
        return False

    # -- answers ----------------------------------------------------------------------------
    def respond(self, context: RequestContext, response: Any) -> None:
        """Send the answer, and serve what waits behind it on the connection."""
        if context.answered:
            return
        context.answered = True
        if not context.disk_until_us and self.node.storage.faults is None and not self.costs.network_us:
            self._send(context, response, self.node.world.now_us)
        elif wait_us := self._disk_wait_us(context):
            self.node.after(wait_us, self._ready, context, response)
        else:
            self._ready(context, response)

    def _ready(self, context: RequestContext, response: Any) -> None:
        if self.costs.network_us and not context.connection.closed:
            self._give_processor(context.connection.processor, ("write", context, response))
        else:
            self._send(context, response, self.node.world.now_us)

    def finish(self, context: RequestContext) -> None:
        """No answer (acks=0): the connection goes on."""
        if context.answered:
            return
        context.answered = True
        if wait_us := self._disk_wait_us(context):
            self.node.after(wait_us, self._finished, context)
        else:
            self._finished(context)

    def _finished(self, context: RequestContext) -> None:
        self.totals.setdefault(context.api_key, ApiTotals()).requests += 1
        self._report_stages(context, self.node.now_us())
        self._unmute(context.connection)

    def _send(self, context: RequestContext, response: Any, ready_us: int) -> None:
        connection = context.connection
        if connection.left or connection.closed:
            connection.close()
            return
        node, key, correlation = self.node, context.api_key, context.correlation_id
        totals = self.totals.get(key)
        if totals is None:
            totals = self.totals[key] = ApiTotals()
        totals.requests += 1
        now_us = node.world.now_us
        if now_us != context.received_us:
            totals.add(context, ready_us, now_us)
        if node.details:
            self._report_stages(context, ready_us, response)
        if node.messages:
            error = ERROR_FINDERS[response.__class__](response)
            node.note(events.RESPONSE_SENT, {
                "api": API_NAMES[key], "to": connection.source, "correlation": correlation,
                "error": ErrorCode(error).name if error else "NONE",
            })  # fmt: skip
        if connection.number >= 0:
            node.write(connection.number, encode_response(key, context.api_version, correlation, response))
        else:
            answer = self._recoded(context, response) if self.through_codec else response
            node.send(connection.source, Response(connection.name, correlation, answer))
        if connection.waiting:
            node.soon(self._next, connection)
        else:
            connection.muted = False

    def _recoded(self, context: RequestContext, response: Any) -> Any:
        frame = read_all(encode_response(context.api_key, context.api_version, context.correlation_id, response))
        header = decode_response_header(context.api_key, context.api_version, frame[4:])
        return decode_response(context.api_key, context.api_version, header.body)

    def _unmute(self, connection: Connection) -> None:
        if connection.waiting:
            self.node.soon(self._next, connection)
        else:
            connection.muted = False

    def _next(self, connection: Connection) -> None:
        if connection.closed or not connection.waiting:
            connection.muted = False
            return
        item = connection.waiting.popleft()
        if connection.number >= 0:
            connection.waiting_bytes -= len(item)  # type: ignore[arg-type]
            self._hold(connection)
        self._read(connection, item)

    def _report_stages(self, context: RequestContext, ready_us: int, response: Any = None) -> None:
        """Where the time of a request went, and how large it is (Kafka's RequestMetrics)."""
        node, received, taken = self.node, context.received_us, context.taken_us
        if node.details:
            handled = context.handled_us if context.handled_us >= 0 else ready_us
            node.emit(
                events.REQUEST_STAGES, api=API_NAMES[context.api_key], correlation=context.correlation_id,
                queue_us=taken - received, local_us=handled - taken, remote_us=ready_us - handled,
                response_us=node.now_us() - ready_us, **bytes_of(context, response),
            )  # fmt: skip

    # -- network processors (only when they cost something) -----------------------------------
    def _give_processor(self, processor: int, job: tuple[str, Any, Any]) -> None:
        if self.busy_processors.get(processor):
            self.processor_queues.setdefault(processor, deque()).append((*job[:2], (job[2], self.node.now_us())))
        else:
            self._start_job(processor, (*job[:2], (job[2], self.node.now_us())))

    def _start_job(self, processor: int, job: tuple[str, Any, Any]) -> None:
        self.busy_processors[processor] = True
        self.node.after(self.costs.network_us, self._job_done, processor, job)

    def _job_done(self, processor: int, job: tuple[str, Any, Any]) -> None:
        self.busy_processors[processor] = False
        kind, subject, (item, since_us) = job
        if kind == "read":
            self._parse(subject, item)
        else:
            self._send(subject, item, since_us)
        if not self.busy_processors[processor]:
            self._processor_free(processor)

    def _processor_free(self, processor: int) -> None:
        self.busy_processors[processor] = False
        queue = self.processor_queues.get(processor)
        if queue:
            self._start_job(processor, queue.popleft())

