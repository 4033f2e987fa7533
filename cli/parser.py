"""The words of the command line. They are kept stable: scripts and lessons use them.

What they mean is told in the viewer's language: each option finds its help in the catalogue under the name of its
command (`cli.words`), so a new one stands there, too.
"""

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
from cli.language import asked_for, spoken
from cli.words import Words

Command = Callable[[argparse.Namespace], int]
FOR_A_CLASS = {"brokers": 5, "records": 2000, "disk_mb": 1000, "memory_mb": 250, "processor_percent": 50}
"""What a student's lab may take (`lab.limits`), unless `serve` is told otherwise."""


def main(arguments: list[str]) -> int:
    """Run one command; its exit code. Expected trouble is one line on standard error."""
    words = Words(spoken(asked_for(arguments), os.environ))
    with words.in_argparse():
        chosen = build_parser(words).parse_args(arguments)
    module, function = chosen.command
    language = chosen.speaks = spoken(chosen.language, os.environ)
    chosen.words = Words(language)
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

    def __init__(self, *arguments: Any, words: Words, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.words = words
        self.key = ""

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        self.exit(2, self.words.say("mistake", prog=self.prog, message=message) + "\n")

    def option(self, *names: str, of: Any = None, said: dict[str, str] | None = None, **more: Any) -> None:
        """An argument (in the group `of`) with the help that the catalogue has for it; `said`: its parameters."""
        action = (of or self).add_argument(*names, **more)
        action.help = self.words.say(f"{self.key}.{action.dest}", **(said or {}))


class Kinds:
    """Kinds of values. What is not one of them is told in words."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def port(self, text: str) -> int:
        return self._whole(text, "wrong.port", range(65536))

    def brokers(self, text: str) -> int:
        return self._whole(text, "wrong.brokers", range(1, 10))

    def labs(self, text: str) -> int:
        return self._whole(text, "wrong.labs", range(65))

    def seconds(self, text: str) -> int:
        return self._whole(text, "wrong.seconds", range(86401))

    def seed(self, text: str) -> int:
        return self._whole(text, "wrong.seed", range(1 << 62))

    def speed(self, text: str) -> float:
        """A speed: `1`, `0.1`, `1/1000`."""
        above, slash, below = text.partition("/")
        try:
            number = float(above) / (float(below) if slash else 1)
        except (ValueError, ZeroDivisionError):
            raise self._wrong("wrong.speed", repr(text)) from None
        if not 0.001 <= number <= 1:
            raise self._wrong("wrong.speed_range", text)
        return number

    def _whole(self, text: str, key: str, possible: range) -> int:
        try:
            number = int(text)
        except ValueError:
            raise self._wrong(key, repr(text)) from None
        if number not in possible:
            raise self._wrong(key, str(number))
        return number

    def _wrong(self, key: str, given: str) -> argparse.ArgumentTypeError:
        return argparse.ArgumentTypeError(self._words.say(key, given=given))


def build_parser(words: Words | None = None) -> argparse.ArgumentParser:
    """All commands with their options."""
    words = words or Words(LANGUAGES[0])
    parser = Parser(prog="brokerlab", description=words.say("prog"), epilog=words.say("prog.epilog"), words=words)
    parser.set_defaults(words=words)
    _language_option(parser, None)
    commands = parser.add_subparsers(title=words.say("commands"), metavar="COMMAND", required=True)
    build = Build(commands, words)
    for commands_of in (
        _up, _serve, _test, _pictures, _run, _validate, _verify, _pack, _lessons, _exercises, _dump_log, _replay,
        _sweep, _class_report,
    ):  # fmt: skip
        commands_of(build)
    _bench(build)
    _settings(build)
    return parser


class Build:
    """The commands under construction."""

    def __init__(self, commands: Any, words: Words) -> None:
        self._commands = commands
        self.words = words
        self.kinds = Kinds(words)

    def command(self, name: str, place: tuple[str, str]) -> Parser:
        """A command, what the catalogue says of it, and the module and function that carry it out."""
        words, epilog = self.words, f"{name}.epilog"
        more = {"epilog": words.say(epilog)} if words.knows(epilog) else {}
        parser: Parser = self._commands.add_parser(
            name, help=words.say(name), description=words.say(name), words=words, **more
        )
        parser.key = name
        parser.set_defaults(command=place)
        if name != "pictures":  # which has languages of its own
            _language_option(parser, argparse.SUPPRESS)
        return parser


def _language_option(parser: Parser, default: str | None) -> None:
    parser.add_argument("--language", choices=LANGUAGES, default=default, help=parser.words.say("language"))


def _json_option(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help=parser.words.say("json"))


def _era_option(parser: Parser) -> None:
    parser.add_argument("--era", choices=eras.NAMES, help=parser.words.say("era"))


def _home(words: Words) -> str:
    """Where a lab's data is when nothing is said, for --help."""
    return words.say("data.installed", home=home()) if INSTALLED else words.say("data.checkout")


def _up(build: Build) -> None:
    _lab_options(build, build.command("up", ("up", "up")))


def _serve(build: Build) -> None:
    """As `up`, with other defaults."""
    serve = build.command("serve", ("up", "up"))
    limits = " ".join(f"{name}={most}" for name, most in FOR_A_CLASS.items())
    serve.option("--class", action="store_true", required=True, dest="for_class", said={"labs": "40", "limits": limits})
    serve.key = "up"
    _lab_options(build, serve)
    serve.set_defaults(host="0.0.0.0", labs=40, hosts=os.cpu_count() or 1, usual_limits=FOR_A_CLASS)


def _lab_options(build: Build, up: Parser) -> None:
    up.option("--port", type=build.kinds.port, default=8000)
    up.option("--host", metavar="ADDRESS", default="127.0.0.1")
    up.option("--kafka-port", type=build.kinds.port, default=9092)
    up.option("--kafka-host", metavar="ADDRESS", default="127.0.0.1")
    up.option("--brokers", type=build.kinds.brokers, default=3, metavar="N")
    up.option("--controller", choices=["zookeeper", "kraft"])
    _era_option(up)
    up.option("--controllers", type=int, default=0, metavar="N")
    up.option("--combined", type=int, default=0, metavar="N")
    up.option("--quorum", choices=["static", "dynamic"], default="static")
    up.option("--ensemble", type=int, default=1, metavar="N")
    up.option("--data", metavar="DIR", said={"home": _home(build.words)})
    up.option("--speed", type=build.kinds.speed, default=1.0, metavar="X")
    up.option("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    up.option("--preset", choices=["default", "teaching"], default="default")
    up.option("--record-level", choices=["transitions", "messages", "details"], default="messages")
    up.option("--seed", type=build.kinds.seed, metavar="N")
    up.option("--labs", type=build.kinds.labs, default=0, metavar="N")
    up.option("--hosts", type=build.kinds.labs, default=0, metavar="N")
    up.option("--sleep-after", type=build.kinds.seconds, default=300, metavar="SECONDS")
    up.option("--lab-limit", action="append", default=[], metavar="NAME=NUMBER", dest="lab_limits")
    up.option("--no-web", action="store_true")
    up.set_defaults(usual_limits={})


def _test(build: Build) -> None:
    test = build.command("test", ("testing", "test"))
    test.option("--all", action="store_true")
    test.option("--learn", action="store_true")
    test.option("pytest", nargs="*")


def _pictures(build: Build) -> None:
    pictures = build.command("pictures", ("testing", "pictures"))
    pictures.option("directory", nargs="?", metavar="DIR")
    pictures.option("--language", choices=["en", "ko"])
    pictures.option("--only", metavar="PATTERN", default="")
    pictures.option("--scenes", metavar="NAMES", default="")


def _run(build: Build) -> None:
    run = build.command("run", ("scenarios", "run"))
    run.option("scenario", metavar="FILE|NAME")
    run.option("--seed", type=build.kinds.seed, metavar="N")
    run.option("--variant", metavar="NAME")
    run.option("--controller", choices=("zookeeper", "kraft"))
    _era_option(run)
    run.option("--controllers", type=int, metavar="N")
    run.option("--combined", type=int, metavar="N")
    run.option("--quorum", choices=["static", "dynamic"])
    run.option("--ensemble", type=int, metavar="N")
    run.option("--live", action="store_true")
    run.option("--out", metavar="DIR")
    _json_option(run)


def _validate(build: Build) -> None:
    validate = build.command("validate", ("scenarios", "validate"))
    validate.option("scenario", metavar="FILE")
    _json_option(validate)


def _verify(build: Build) -> None:
    verify = build.command("verify", ("scenarios", "verify"))
    verify.option("run", metavar="DIR|FILE")
    _json_option(verify)


def _pack(build: Build) -> None:
    pack = build.command("pack", ("scenarios", "pack"))
    pack.option("directory", metavar="DIR")
    pack.option("--out", metavar="FILE")
    _json_option(pack)
    unpack = build.command("unpack", ("scenarios", "unpack"))
    unpack.option("file", metavar="FILE")
    unpack.option("--out", metavar="DIR")
    _json_option(unpack)


def _lessons(build: Build) -> None:
    lessons = build.command("lessons", ("scenarios", "lessons"))
    _json_option(lessons)


def _exercises(build: Build) -> None:
    exercises = build.command("exercises", ("exercises", "exercises"))
    exercises.option("name", metavar="NAME", nargs="?")
    exercises.option("--hints", type=int, default=0, metavar="N")
    _json_option(exercises)
    attempt = build.command("try", ("exercises", "attempt"))
    attempt.option("name", metavar="NAME|FILE")
    attempt.option("attempt", metavar="FILE|DIR")
    attempt.option("--hints", type=int, default=0, metavar="N")
    attempt.option("--out", metavar="DIR")
    _json_option(attempt)


def _dump_log(build: Build) -> None:
    dump = build.command("dump-log", ("dump_log", "dump_log"))
    dump.option("files", nargs="+", metavar="FILE")
    how = dump.add_mutually_exclusive_group()
    dump.option("--deep", action="store_true", of=how)
    dump.option("--cluster-metadata-decoder", action="store_true", of=how)
    dump.option("--offsets-decoder", action="store_true", of=how)
    dump.option("--transaction-log-decoder", action="store_true", of=how)
    dump.option("--share-group-state-decoder", action="store_true", of=how)
    dump.option("--hex", action="store_true", of=how)
    dump.option("--verify-index-only", action="store_true", of=how)
    dump.option("--index-sanity-check", action="store_true", of=how)
    _json_option(dump)


def _replay(build: Build) -> None:
    replay = build.command("replay", ("replay", "replay"))
    replay.option("directories", nargs="+", metavar="DIR")
    replay.option("--out", metavar="DIR")
    replay.option("--query", action="append", metavar="NAME")
    replay.option("--master", metavar="URL")
    _json_option(replay)


def _class_report(build: Build) -> None:
    report = build.command("class-report", ("class_report", "class_report"))
    report.option("files", nargs="+", metavar="FILE")
    report.option("--out", metavar="DIR")
    report.option("--master", metavar="URL")
    _json_option(report)


def _sweep(build: Build) -> None:
    sweep = build.command("sweep", ("sweep", "sweep"))
    sweep.option("scenario", metavar="FILE|NAME")
    sweep.option("--grid", action="append", default=[], metavar="KEY=V1,V2")
    sweep.option("--seeds", default="1..10", metavar="A..B")
    sweep.option("--out", metavar="DIR")
    sweep.option("--master", metavar="URL")
    _json_option(sweep)


def _bench(build: Build) -> None:
    bench = build.command("bench", ("bench", "bench"))
    bench.option("name", nargs="?", metavar="NAME")
    bench.option("--quick", action="store_true")
    _json_option(bench)


def _settings(build: Build) -> None:
    settings = build.command("settings", ("settings", "settings"))
    settings.option("name", nargs="?", metavar="NAME")
    settings.option("--markdown", action="store_true")
    _json_option(settings)
