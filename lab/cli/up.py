"""`up`: brokers first, then the page, in one process, until Ctrl-C or SIGTERM.

The page's socket is bound before anything is loaded, so that a taken port is told at once and a browser
that comes early waits instead of being refused; Django is imported only when the brokers already listen.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from lab.cli.broker_settings import Overrides, parse_settings
from lab.cli.directory import claimable
from lab.cli.errors import CommandError

HOST = "127.0.0.1"
STOP_TIMEOUT_S = 30.0
CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What `up` was asked for. `settings` are for all brokers, `broker_settings` for one, by its number from 1."""

    data: Path
    host: str = HOST
    kafka_port: int = 9092
    brokers: int = 3
    controller: str = "zookeeper"
    preset: str = "default"
    speed: float = 1.0
    seed: int | None = None
    settings: Overrides | None = None
    broker_settings: dict[int, Overrides] | None = None


class Stop(BaseException):
    """SIGINT or SIGTERM while nobody else listens for it."""


def up(arguments: argparse.Namespace) -> int:
    """Start, print the addresses, serve until a signal, stop cleanly."""
    if arguments.controller == "kraft":
        raise CommandError("--controller kraft is not there yet; --controller zookeeper is")
    options = read_options(arguments)
    claimable(options.data)
    listener = None if arguments.no_web else bind("page", HOST, arguments.port, "--port")
    for number in range(options.brokers if options.kafka_port else 0):
        bind(f"broker {number + 1}", options.host, options.kafka_port + number, "--kafka-port").close()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        _serve(options, listener)
    except Stop:
        pass
    finally:
        if listener is not None:
            listener.close()
    return 0


def read_options(arguments: argparse.Namespace) -> UpOptions:
    """The options of the command line, checked."""
    common, single = parse_settings(arguments.settings, arguments.brokers, arguments.controller)
    return UpOptions(
        data=Path(arguments.data or CHECKOUT / "brokerlab-data").absolute(),
        kafka_port=arguments.kafka_port, brokers=arguments.brokers, controller=arguments.controller,
        preset=arguments.preset, speed=arguments.speed, seed=arguments.seed,
        settings=common, broker_settings=single,
    )


def bind(who: str, host: str, port: int, option: str) -> socket.socket:
    """A socket bound to the port; one clear line when that is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        reason = "is taken" if error.errno == 98 or "in use" in str(error) else f"cannot be used ({error.strerror})"
        raise CommandError(f"{who}: port {port} {reason}; choose another one with {option}") from None
    return found


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise Stop


def _serve(options: UpOptions, listener: socket.socket | None) -> None:
    live = importlib.import_module("lab.live")
    lab = live.LiveLab(options)
    try:
        try:
            addresses = lab.start()
        except live.LabError as error:
            raise CommandError(str(error)) from None
        if listener is not None:
            listener.listen(128)
        announce(options, [(host, port) for _, host, port in addresses.kafka], listener)
        if listener is None:
            threading.Event().wait()
        else:
            _serve_page(options, lab, listener)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        lab.stop(STOP_TIMEOUT_S)


def _serve_page(options: UpOptions, lab: Any, listener: socket.socket) -> None:
    """Load the web only now and let it run in this thread until a signal."""
    os.environ["BROKERLAB_DATA"] = str(options.data)
    build: Callable[..., Any] = importlib.import_module("web.server").build
    build(lab, listener).run(sockets=[listener])


def announce(options: UpOptions, brokers: list[tuple[str, int]], listener: socket.socket | None) -> None:
    """Addresses first, then how to attach and how to stop."""
    addresses = ",".join(f"{host}:{port}" for host, port in brokers)
    host, port = brokers[0]
    lines = [] if listener is None else [f"Page: http://{HOST}:{listener.getsockname()[1]}/"]
    lines += [
        f"Kafka: {addresses}",
        f"Attach: kcat -b {host}:{port} -t orders -P    (-C reads; any Kafka client will do)",
        f"Data: {options.data}",
    ]
    if options.preset != "default":
        lines.append(f"Preset: {options.preset} (shorter timeouts than Kafka's)")
    lines.append("Stop: Ctrl-C; what was written is there at the next start")
    print("\n".join(lines), flush=True)
