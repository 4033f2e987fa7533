"""`up`: brokers first, then the page, in one process, until Ctrl-C or SIGTERM.

The page's socket is bound before anything is loaded, so that a taken port is told at once and a browser
that comes early waits instead of being refused; Django is imported only when the brokers already listen.
"""

from __future__ import annotations

import argparse
import errno
import gc
import os
import random
import socket
import sys
import threading
import time
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from broker_core.drivers.tcp import stream_socket
from broker_core.kernel.errors import what_of
from broker_core.kernel.problems import problem
from cli.broker_settings import Overrides, parse_settings
from cli.directory import claimable
from cli.errors import CommandError
from cli.page_home import page_home
from cli.signals import Signals, Stop
from cli.words import Words
from lab.clusters import eras
from lab.clusters.brokers import ClusterSpec
from lab.clusters.checks import SpecError
from lab.clusters.generation import shape_of
from lab.clusters.presets import replicated
from lab.clusters.spec import RunSpec, run_from_dict
from lab.limits import Limits
from lab.live import Addresses, LiveLab
from lab.open_runs import LabError
from lab.places import home

HOST = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::", "")
PATIENCE_S = 4.0
NAMES = tuple(one.name for one in fields(Limits))
ELSEWHERE = ("DATABASE_URL", "REDIS_URL")
STOP_PATIENCE_S = 10.0


@dataclass(slots=True, frozen=True)
class More:
    """Room for so many `labs` beside the one that is started, which sleep after so many seconds, in so many processes
    (`hosts`), each with these `limits`."""

    labs: int
    sleep_after: int
    hosts: int
    limits: Limits


def up(arguments: argparse.Namespace) -> int:
    """Start, print the addresses, serve until a signal, stop cleanly."""
    data = Path(arguments.data or home()).absolute()
    spec = make_spec(arguments)
    if arguments.kafka_host in EVERYWHERE and not _all_advertised(spec):
        raise CommandError(problem("clients_are_told"), 2)
    limits = limits_of(arguments)
    claimable(data)
    listener = None if arguments.no_web else bind("page", arguments.host, arguments.port, "--port", "--host")
    for index, broker in enumerate(spec.cluster.brokers if arguments.kafka_port else []):
        port = arguments.kafka_port + index
        bind(f"broker {broker.id}", arguments.kafka_host, port, "--kafka-port", "--kafka-host").close()
    signals = Signals()
    signals.install()
    try:
        _serve(LiveLab(spec, data, arguments.kafka_host, arguments.speed), listener, signals,
               More(arguments.labs, arguments.sleep_after, arguments.hosts, limits), arguments.words)
    except Stop:
        pass
    finally:
        if listener is not None:
            listener.close()
    return 0


def limits_of(arguments: argparse.Namespace) -> Limits:
    """What each lab beside the first may take: `--lab-limit NAME=NUMBER`, else as the command usually has it."""
    found = dict(arguments.usual_limits)
    for text in arguments.lab_limits:
        name, _, number = text.partition("=")
        if name not in NAMES or not number.isdigit():
            raise CommandError(problem("no_such_limit", given=text, names=list(NAMES)), 2)
        found[name] = int(number)
    return Limits(**found)


def make_spec(arguments: argparse.Namespace) -> RunSpec:
    """What the lab is built from; CommandError when a setting is unknown or does not fit."""
    controller, controllers, combined = _shape(arguments)
    common, single = parse_settings(arguments.settings, arguments.brokers, controller, arguments.words)
    brokers = [_broker(number, single.get(number, {})) for number in range(1, arguments.brokers + 1)]
    common = {**replicated(arguments.brokers, controller), **common}
    cluster = {"brokers": brokers, "controller": controller, "controllers": controllers,
               "combined": combined, "quorum": arguments.quorum, "ensemble": arguments.ensemble,
               "preset": arguments.preset, "settings": common, "host": arguments.kafka_host,
               "port": arguments.kafka_port}
    if arguments.era:
        cluster["era"] = arguments.era
    seed = random.SystemRandom().randrange(1 << 31) if arguments.seed is None else arguments.seed
    try:
        return run_from_dict({"cluster": cluster, "seed": seed, "record_level": arguments.record_level,
                              "epoch_ms": time.time_ns() // 1_000_000})
    except SpecError as error:
        option = "--era" if error.problem["code"] == "era_controller" else "--set"
        raise CommandError(problem("wrong_in", place=option, what=what_of(error)), 2) from None


def _shape(arguments: argparse.Namespace) -> tuple[str, int, int]:
    """Kind of controller, how many are dedicated, how many brokers are controllers, too: as asked for, else as the
    directory has them, else as usual, which is today's KRaft, the era's own, and ZooKeeper where an ensemble of it is
    wanted."""
    if arguments.controller is None and not arguments.era:
        try:
            found = shape_of(Path(arguments.data or home()))
        except (OSError, SpecError):
            found = None  # what cannot be read is told when it is opened
        if found is not None:
            return found[0], arguments.controllers or found[1], arguments.combined or found[2]
    usual = eras.controller(arguments.era) if arguments.era else "zookeeper" if arguments.ensemble > 1 else "kraft"
    return arguments.controller or usual, arguments.controllers, arguments.combined


def _all_advertised(spec: RunSpec) -> bool:
    common = spec.cluster.settings
    return all("advertised.listeners" in {**common, **broker.settings} for broker in spec.cluster.brokers)


def _broker(number: int, settings: Overrides) -> dict[str, Any]:
    """A broker's id is its number unless `--set NUMBER:broker.id=ID` says otherwise."""
    others = {name: value for name, value in settings.items() if name not in ("broker.id", "node.id")}
    return {"id": int(settings.get("broker.id", settings.get("node.id", number))), "settings": others}


def bind(who: str, host: str, port: int, option: str, address_option: str) -> socket.socket:
    """A socket bound to the port; one clear line when that cannot be."""
    found = stream_socket(host)
    try:
        found.bind((host, port))
    except OverflowError:
        found.close()
        raise CommandError(problem("no_such_port", place=who, port=port, name=option), 2) from None
    except OSError as error:
        found.close()
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise CommandError(problem("no_address", place=who, address=host, name=address_option)) from None
        if error.errno == errno.EADDRINUSE:
            raise CommandError(problem("port_taken", place=who, port=port, name=option)) from None
        why = str(error.strerror)
        raise CommandError(problem("port_unusable", place=who, port=port, why=why, name=option)) from None
    return found


def _serve(
    lab: LiveLab, listener: socket.socket | None, signals: Signals, more: More, words: Words
) -> None:
    try:
        with signals.waiting():
            addresses = _start(lab, words)
        if listener is not None:
            listener.listen(128)
        # What has to be reached elsewhere is tried before anybody is told that the lab is there.
        needed = any(name in os.environ for name in ELSEWHERE)
        server = _page(lab, listener, more, words) if listener and needed else None
        announce(lab, [(host, port) for _, host, port in addresses.kafka], listener, words, more.labs > 0)
        if listener is None:
            gc.enable()
            with signals.waiting():
                lab.stopped.wait()
        else:
            _serve_page(lab, listener, server or _page(lab, listener, more, words), signals)
        if lab.stopped.is_set():
            raise CommandError(problem("brokers_ended"))
    finally:
        _stop(lab, signals, words)


def _stop(lab: LiveLab, signals: Signals, words: Words) -> None:
    """Wait until the brokers have stopped. When it takes a while that is told, and may be cut short."""
    signals.ignore()
    if not lab.stop(STOP_PATIENCE_S):
        print(words.say("up.stopping"), file=sys.stderr, flush=True)
        signals.let_through()
        lab.stop(None)


def _start(lab: LiveLab, words: Words) -> Addresses:
    """After a crash the old sessions of the brokers have to expire first: that takes a while, and is told."""
    try:
        lab.begin()
        try:
            return lab.wait(PATIENCE_S)
        except TimeoutError:
            setting = "broker.session.timeout.ms" if lab.spec.cluster.is_kraft else "zookeeper.session.timeout.ms"
            print(words.say("up.starting", setting=setting), file=sys.stderr, flush=True)
            return lab.wait()
    except LabError as error:
        raise CommandError(error.problem) from None
    except TimeoutError:
        raise CommandError(problem("brokers_not_up")) from None


def _page(lab: LiveLab, listener: socket.socket, more: More, words: Words) -> Any:
    """Load the web only now."""
    os.environ["BROKERLAB_DATA"] = str(page_home(lab.data, words))
    from web.server import CannotServe, build, hold

    try:
        server = build(lab, listener)
        hold(more.labs, lab.data / "labs", lab.host, lab.spec.cluster.port, more.sleep_after, more.hosts, more.limits)
        return server
    except CannotServe as error:
        raise CommandError(problem("failed_with", why=str(error))) from None


def _serve_page(lab: LiveLab, listener: socket.socket, server: Any, signals: Signals) -> None:
    """Let the web run in this thread until a signal, or until the brokers end."""
    from web.server import invitations

    for line in invitations(listener):
        print(line, flush=True)
    gc.enable()
    threading.Thread(target=_end_with, args=(lab, server), daemon=True).start()
    signals.when_wanted = partial(setattr, server, "should_exit", True)
    signals.check()
    server.run(sockets=[listener])


def _end_with(lab: LiveLab, server: Any) -> None:
    lab.stopped.wait()
    server.should_exit = True


def announce(
    lab: LiveLab, brokers: list[tuple[str, int]], listener: socket.socket | None, words: Words, room: bool = False
) -> None:
    """Addresses first, then how to attach and how to stop. `room`: for more labs, so for a class."""
    host, port = brokers[0]
    lines = [] if listener is None else [f"Page: {page_address(listener)}"]
    if listener is not None and room:
        lines.append(f"Classes: {page_address(listener)}classes/    ({words.say('up.classes')})")
    lines += [
        f"Kafka: {','.join(f'{host}:{port}' for host, port in brokers)}",
        f"Attach: kcat -b {host}:{port} -t orders -P    ({words.say('up.attach')})",
        f"Data: {lab.data}",
    ]
    if lab.spec.cluster.preset != "default":
        lines.append(f"Preset: {lab.spec.cluster.preset} ({words.say('up.preset_is')})")
    if lab.spec.cluster.era:
        lines.append(f"Era: {lab.spec.cluster.era} ({words.say('up.era_is')})")
    lines.append(f"Metadata: {_keeper(lab.spec.cluster, words)}")
    lines.append(f"Stop: {words.say('up.stop')}")
    print("\n".join(lines), flush=True)


def _keeper(cluster: ClusterSpec, words: Words) -> str:
    """Where the cluster keeps what it has decided: the generation of Kafka that it is of."""
    if not cluster.is_kraft:
        return f"ZooKeeper ({words.say('up.other_kraft')})"
    ids = ", ".join(map(str, cluster.controller_ids() or cluster.voters()))
    return words.say("up.of_quorum", ids=ids)


def page_address(listener: socket.socket) -> str:
    """Where a browser on this machine finds the page."""
    host, port = listener.getsockname()[:2]
    host = HOST if host in EVERYWHERE else host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
