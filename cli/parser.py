"""The words of the command line. They are kept stable: scripts and lessons use them."""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from broker_core.kernel.problems import LANGUAGES, problem, told
from lab import heap
from lab.clusters import eras
from lab.places import INSTALLED, home
from cli.errors import INTERRUPTED, CommandError
from cli.language import spoken

Command = Callable[[argparse.Namespace], int]


def main(arguments: list[str]) -> int:
    """Run one command; its exit code. Expected trouble is one line on standard error."""
    chosen = build_parser().parse_args(arguments)
    module, function = chosen.command
    language = chosen.speaks = spoken(chosen.language, os.environ)
    command: Command = getattr(importlib.import_module(f"cli.{module}"), function)
    if module != "up":
        gc.enable()
        heap.settle()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    as_json = getattr(chosen, "json", False)
    try:
        return command(chosen)
    except CommandError as error:
        return refuse(error, language, as_json=as_json)
    except KeyboardInterrupt:
        return refuse(CommandError(problem("interrupted"), INTERRUPTED), language, as_json=as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def refuse(error: CommandError, language: str, *, as_json: bool) -> int:
    """Tell what is wrong and return the exit code."""
    if as_json:
        print(json.dumps({"error": str(error), "problem": error.problem}))
    print(f"brokerlab: {told(error.problem, language)}", file=sys.stderr)
    return error.code


class Parser(argparse.ArgumentParser):
    """A mistake is told in one line; all options are what --help is for."""

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help lists what is possible\n")


def build_parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    parser = Parser(
        prog="brokerlab", description="A Kafka cluster that a person can take apart.",
        epilog="brokerlab COMMAND --help tells more.")
    _language_option(parser, None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _up(commands)
    _test(commands)
    _pictures(commands)
    _run(commands)
    _validate(commands)
    _verify(commands)
    _pack(commands)
    _lessons(commands)
    _dump_log(commands)
    _replay(commands)
    _sweep(commands)
    _bench(commands)
    _settings(commands)
    return parser


def _add(commands: Any, name: str, command: tuple[str, str], text: str, **more: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, **more)
    parser.set_defaults(command=command)
    if name != "pictures":  # which has languages of its own
        _language_option(parser, argparse.SUPPRESS)
    return parser


def _language_option(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument("--language", choices=LANGUAGES, default=default,
                        help="of what is told (default: the terminal's: LC_ALL, LC_MESSAGES, LANG)")


def _json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")


def _whole(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None


def _port(text: str) -> int:
    number = _whole(text, "a port (0 to 65535)")
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is not a port (0 to 65535)")
    return number


def _brokers(text: str) -> int:
    number = _whole(text, "a number of brokers (1 to 9)")
    if not 1 <= number <= 9:
        raise argparse.ArgumentTypeError(f"{number} brokers: 1 to 9 are possible")
    return number


def _seed(text: str) -> int:
    number = _whole(text, "a seed (0, 1, 2, ...)")
    if not 0 <= number < 1 << 62:
        raise argparse.ArgumentTypeError(f"{number} is not a seed (0, 1, 2, ...)")
    return number


def _speed(text: str) -> float:
    """A speed: `1`, `0.1`, `1/1000`."""
    above, slash, below = text.partition("/")
    try:
        number = float(above) / (float(below) if slash else 1)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed; 1, 0.1 and 1/1000 are") from None
    if not 0.001 <= number <= 1:
        raise argparse.ArgumentTypeError(f"speed {text}: 1 to 1/1000 are possible")
    return number


def _era_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--era", choices=eras.NAMES,
                        help="defaults of that Kafka for cluster and built-in clients: 2.x as in textbooks, 3.9 with"
                             " ZooKeeper, 4.3 with KRaft (docs/eras.md)")


def _home() -> str:
    """Where a lab's data is when nothing is said, for --help."""
    return f"{home()}, or in XDG_DATA_HOME" if INSTALLED else "brokerlab-data in the checkout"


def _up(commands: Any) -> None:
    up = _add(commands, "up", ("up", "up"), "Start the brokers and the page in this process.",
              epilog="Brokers have the ids 1, 2, 3, ... and listen on the Kafka port, +1, +2, ... of the loopback."
                     " Ctrl-C stops; what was written is there at the next start.")
    up.add_argument("--port", type=_port, default=8000, help="port of the page (default: %(default)s)")
    up.add_argument("--host", metavar="ADDRESS", default="127.0.0.1",
                    help="address that the page listens on; 0.0.0.0 lets other machines in, with a token"
                         " (default: %(default)s)")
    up.add_argument("--kafka-port", type=_port, default=9092, help="port of the first broker (default: %(default)s)")
    up.add_argument("--kafka-host", metavar="ADDRESS", default="127.0.0.1",
                    help="address that the brokers listen on and tell their clients; nobody is asked for a password"
                         " there (default: %(default)s)")
    up.add_argument("--brokers", type=_brokers, default=3, metavar="N", help="how many brokers (default: %(default)s)")
    up.add_argument("--controller", choices=["zookeeper", "kraft"],
                    help="which kind of controller (default: the era's, else zookeeper)")
    _era_option(up)
    up.add_argument("--controllers", type=int, default=0, metavar="N",
                    help="with kraft: controllers of their own, ids 101, 102, ...; 0: brokers are controllers, too"
                         " (default: %(default)s)")
    up.add_argument("--ensemble", type=int, default=1, metavar="N",
                    help="with zookeeper: servers of the coordination tree, 1 to 5 (default: %(default)s)")
    up.add_argument("--data", metavar="DIR", help=f"directory of the lab (default: {_home()})")
    up.add_argument("--speed", type=_speed, default=1.0, metavar="X",
                    help="virtual seconds per second, 1 to 1/1000 (default: 1)")
    up.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings",
                    help="a Kafka broker setting for all brokers, or ID:KEY=VALUE for one; may be repeated")
    up.add_argument("--preset", choices=["default", "teaching"], default="default",
                    help="default: Kafka's own timeouts; teaching: shorter ones, told on the page")
    up.add_argument("--record-level", choices=["transitions", "messages", "details"], default="messages",
                    help="what the journal keeps; details: stages of single requests, what waits in purgatory, the"
                         " controller's state machines (default: %(default)s)")
    up.add_argument("--seed", type=_seed, metavar="N", help="seed of the world's random streams (default: drawn)")
    up.add_argument("--no-web", action="store_true", help="brokers only, no page")


def _test(commands: Any) -> None:
    test = _add(commands, "test", ("testing", "test"), "Run the tests: everything but the browser, then the browser.",
                epilog="Arguments after -- go to pytest, for example: brokerlab test -- tests/log -x")
    test.add_argument("--all", action="store_true", help="the slow ones, too, as in CI")
    test.add_argument("--learn", action="store_true",
                      help="write down what takes long (tests/lengths.json): by it the workers share the tests")
    test.add_argument("pytest", nargs="*", help="arguments for pytest; with any, pytest runs once, with just these")


def _pictures(commands: Any) -> None:
    pictures = _add(commands, "pictures", ("testing", "pictures"),
                    "Take pictures of the running page in every state, in English and Korean, with Chromium.",
                    epilog="Without DIR the pictures of the README are taken anew.")
    pictures.add_argument("directory", nargs="?", metavar="DIR", help="where all pictures go")
    pictures.add_argument("--language", choices=["en", "ko"], help="of one language only")
    pictures.add_argument("--only", metavar="PATTERN", default="", help="pictures whose file name has this pattern")


def _run(commands: Any) -> None:
    run = _add(commands, "run", ("scenarios", "run"),
               "Run a scenario and print the receipt: what was acked, read, lost.",
               epilog="Exit code: 0 expectations met, 1 not met, 2 invalid scenario.")
    run.add_argument("scenario", metavar="FILE|NAME", help="a scenario file, or the name of one of the lab's own")
    run.add_argument("--seed", type=_seed, metavar="N", help="another seed than the file's")
    run.add_argument("--variant", metavar="NAME", help="another of its settings; fork: its other course")
    run.add_argument("--controller", choices=("zookeeper", "kraft"), help="another generation of Kafka than the file's")
    _era_option(run)
    run.add_argument("--controllers", type=int, metavar="N", help="with kraft: so many dedicated controllers")
    run.add_argument("--ensemble", type=int, metavar="N", help="with zookeeper: so many coordination servers")
    run.add_argument("--live", action="store_true", help="in step with the wall clock instead of as fast as it goes")
    run.add_argument("--out", metavar="DIR", help="directory that the run leaves (default: a new one)")
    _json_option(run)


def _validate(commands: Any) -> None:
    validate = _add(commands, "validate", ("scenarios", "validate"),
                    "Check a scenario file; exit code 2 when it is invalid.")
    validate.add_argument("scenario", metavar="FILE")
    _json_option(validate)


def _verify(commands: Any) -> None:
    verify = _add(commands, "verify", ("scenarios", "verify"),
                  "Execute a recorded run again; exit code 0 only if journal, operations, disks and receipt come out"
                  " as they are recorded.")
    verify.add_argument("run", metavar="DIR|FILE", help="the directory of a run, or a run that was packed")
    _json_option(verify)


def _pack(commands: Any) -> None:
    pack = _add(commands, "pack", ("scenarios", "pack"),
                "Pack a run that has ended into one file, with a hash over everything, to be handed in.")
    pack.add_argument("directory", metavar="DIR", help="the directory of a run")
    pack.add_argument("--out", metavar="FILE", help="the file (default: the run's name and .tar.gz)")
    _json_option(pack)
    unpack = _add(commands, "unpack", ("scenarios", "unpack"),
                  "Open a run that was packed, if all of it is as it was then.")
    unpack.add_argument("file", metavar="FILE")
    unpack.add_argument("--out", metavar="DIR", help="directory of the run (default: the file's name)")
    _json_option(unpack)


def _lessons(commands: Any) -> None:
    lessons = _add(commands, "lessons", ("scenarios", "lessons"),
                   "List the lab's own scenarios and which features each of them teaches.")
    _json_option(lessons)


def _dump_log(commands: Any) -> None:
    dump = _add(commands, "dump-log", ("dump_log", "dump_log"),
                "Print what stands in segment, index and time index files, of ours or of Apache Kafka's.",
                epilog="Exit code: 1 when a check found a fault, 2 when a file cannot be read or is of another kind.")
    dump.add_argument("files", nargs="+", metavar="FILE")
    how = dump.add_mutually_exclusive_group()
    how.add_argument("--deep", action="store_true", help="each record, not only each batch")
    how.add_argument("--cluster-metadata-decoder", action="store_true",
                     help="each record, as a decision of __cluster_metadata (a log or a snapshot of a KRaft cluster)")
    how.add_argument("--hex", action="store_true", help="each byte of a .log, with the field that it belongs to")
    how.add_argument("--verify-index-only", action="store_true",
                     help="hold each entry of an index (of a .log: of both its indexes) against the .log beside it")
    how.add_argument("--index-sanity-check", action="store_true",
                     help="look at an index's size and last entry only, as Kafka does when it starts")
    _json_option(dump)


def _replay(commands: Any) -> None:
    replay = _add(commands, "replay", ("replay", "replay"),
                  "Ask Spark about recorded runs: what was lost, how long nothing could be written, and why.")
    replay.add_argument("directories", nargs="+", metavar="DIR", help="a run, many runs, or the disks of any Kafka")
    replay.add_argument("--out", metavar="DIR", help="write the tables as Parquet and a report there")
    replay.add_argument("--query", action="append", metavar="NAME",
                        help="only this question; may be repeated (a wrong name lists them all)")
    replay.add_argument("--master", metavar="URL", help="where Spark works (default: here, or SPARK_REMOTE)")
    _json_option(replay)


def _sweep(commands: Any) -> None:
    sweep = _add(commands, "sweep", ("sweep", "sweep"), "Run a scenario over a grid of settings and seeds, on Spark.",
                 epilog="A key is a setting of the producers (acks), of the brokers (min.insync.replicas) or of the"
                        " consumers, or a place in the file (cluster.preset). Exit code 1 when a run failed.")
    sweep.add_argument("scenario", metavar="FILE|NAME", help="a scenario file, or the name of one of the lab's own")
    sweep.add_argument("--grid", action="append", default=[], metavar="KEY=V1,V2",
                       help="values of a setting; may be repeated")
    sweep.add_argument("--seeds", default="1..10", metavar="A..B",
                       help="seeds, as 1..500 or 3,7,9 (default: %(default)s)")
    sweep.add_argument("--out", metavar="DIR", help="write results, heat map and the runs of each cell there")
    sweep.add_argument("--master", metavar="URL", help="where Spark works (default: here, or SPARK_REMOTE)")
    _json_option(sweep)


def _bench(commands: Any) -> None:
    bench = _add(commands, "bench", ("bench", "bench"), "Measure this lab beside Apache Kafka on this machine.")
    bench.add_argument("name", nargs="?", metavar="NAME", help="one benchmark (default: all); `list` names them")
    bench.add_argument("--quick", action="store_true", help="short runs: less exact, minutes instead of an hour")
    _json_option(bench)


def _settings(commands: Any) -> None:
    settings = _add(commands, "settings", ("settings", "settings"),
                    "Print every broker and topic setting, with what it means.")
    settings.add_argument("name", nargs="?", metavar="NAME", help="only settings whose name contains this")
    settings.add_argument("--markdown", action="store_true", help="as docs/settings.md")
    _json_option(settings)
