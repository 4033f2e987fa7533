"""The command line: every command has help, expected trouble is one line, exit codes say what happened."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

from cli.broker_settings import parse_settings
from cli.words import Words
from tests.conftest import CHECKOUT, PATIENCE_S, free_ports

COMMANDS = ["up", "test", "run", "validate", "verify", "pack", "unpack", "replay", "sweep", "dump-log", "bench", "settings", "pictures"]


def brokerlab(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "cli", *arguments]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **more)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_tells_what_it_does(command):
    done = brokerlab(command, "--help")
    assert done.returncode == 0
    assert f"usage: brokerlab {command}" in done.stdout


@pytest.mark.parametrize("command", ["run", "validate", "verify", "dump-log", "bench", "settings"])
def test_commands_with_results_print_them_as_json_when_asked(command):
    assert "--json" in brokerlab(command, "--help").stdout


def test_up_has_every_option_that_was_promised():
    text = brokerlab("up", "--help").stdout
    options = ["--port", "--kafka-port", "--brokers", "--controller {zookeeper,kraft}", "--data", "--speed", "--set",
               "--no-web"]
    assert [option for option in options if option not in text] == []


@pytest.mark.parametrize(("arguments", "words"), [
    (["--set", "2:num.io.threads=many"], ["num.io.threads", "Not a number of type INT"]),
    (["--set", "4:num.io.threads=2"], ["there is no broker 4"]),
    (["--set", "num.io.threads"], ["expected KEY=VALUE or ID:KEY=VALUE"]),
    (["--set", "replica.lag.time.max.ms=100"], ["replica.fetch.wait.max.ms"]),
    (["--set", "1:broker.id=2"], ["2"]),
    (["--set", "broker.id=7"], ["--set 1:broker.id=7"]),
    (["--set", "1:listeners=PLAINTEXT://127.0.0.1:29777"], ["brokers[0].settings.listeners", "host and port"]),
    (["--set", "advertised.listeners=SSL://here:9093"], ["advertised.listeners", "PLAINTEXT://HOST:PORT"]),
    (["--controllers", "3", "--controller", "zookeeper"], ["controllers", "with kraft only"]),
    (["--speed", "100"], ["1 to 1/1000"]),
    (["--brokers", "0"], ["1 to 9"]),
    (["--port", "70000"], ["not a port"]),
    (["--data", "/proc/nowhere/lab"], ["cannot write to /proc/nowhere/lab"]),
])
def test_up_refuses_in_one_line_what_cannot_be(arguments, words, tmp_path):
    done = brokerlab("up", "--no-web", *(["--data", str(tmp_path)] if "--data" not in arguments else []), *arguments)
    assert done.returncode != 0
    assert done.stdout == ""
    line = done.stderr.strip().splitlines()[-1]
    assert [word for word in words if word not in line] == []
    assert "Traceback" not in done.stderr


def test_a_setting_that_no_broker_knows_is_a_warning_on_the_terminal(capsys):
    common, single = parse_settings(["retention.ms=1", "2:num.io.thread=1", "allow.everyone.if.no.acl.found=true"], 3, "zookeeper", Words("en"))
    assert single == {2: {"num.io.thread": "1"}} and common["retention.ms"] == "1"
    told = capsys.readouterr().err.splitlines()
    for line, words in zip(told, ("log.retention.ms", "did you mean num.io.threads", "Unknown broker setting"), strict=True):
        assert line.startswith("Warning: --set ") and words in line
    parse_settings(["2:num.io.thread=1"], 3, "zookeeper", Words("ko"))
    assert capsys.readouterr().err.startswith("경고: --set 2:num.io.thread=1: ")


def test_the_terminal_tells_in_its_language_what_a_setting_means():
    english, korean = (brokerlab("--language", one, "settings", "retention.bytes").stdout for one in ("en", "ko"))
    assert "oldest closed segments are deleted" in english and "가장 오래된 닫힌 세그먼트부터 지웁니다" in korean
    assert english.count("\n") == korean.count("\n")


def test_up_says_which_port_is_taken(tmp_path):
    first = free_ports(4)
    for taken, who in ((first + 1, "broker 2"), (first + 3, "page")):
        with socket.socket() as other:
            other.bind(("127.0.0.1", taken))
            other.listen()
            done = brokerlab("up", "--data", str(tmp_path), "--kafka-port", str(first), "--port", str(first + 3))
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert f"{who}: port {taken} is taken" in done.stderr


def test_a_scenario_that_is_not_there_is_invalid():
    done = brokerlab("run", "no-such-scenario")
    assert done.returncode == 2
    assert "no-such-scenario" in done.stderr + done.stdout


def test_dump_log_names_the_file_that_is_missing():
    done = brokerlab("dump-log", "nowhere/00000000000000000000.log")
    assert (done.returncode, "nowhere/00000000000000000000.log" in done.stderr) == (2, True)


def test_settings_are_found_by_a_part_of_their_name():
    found = json.loads(brokerlab("settings", "retention.ms", "--json").stdout)
    by_name = {(setting["of"], setting["name"]): setting for setting in found}
    assert by_name["topic", "retention.ms"]["broker_settings"][0] == "log.retention.ms"
    assert by_name["broker", "log.retention.ms"]["changes"] == "cluster-wide"


def test_the_command_line_is_quick_because_it_loads_nothing_it_does_not_need():
    code = "import sys, cli.parser, cli.up; print(*sorted(m for m in sys.modules if '.' not in m))"
    done = subprocess.run([sys.executable, "-P", "-c", code], env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
                          capture_output=True, text=True, check=True)
    assert {"django", "channels", "uvicorn", "yaml", "web"} & set(done.stdout.split()) == set()
