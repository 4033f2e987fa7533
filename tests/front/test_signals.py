"""Ctrl-C and SIGTERM while a lab starts: noted at once, obeyed where it is safe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from cli.errors import INTERRUPTED
from cli.parser import main
from cli.signals import NUMBERS, Signals, Stop
from cli.up import STOP_PATIENCE_S, _stop
from cli.words import Words
from lab import heap
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import CHECKOUT


@pytest.fixture
def signals() -> Iterator[Signals]:
    before = {number: signal.getsignal(number) for number in NUMBERS}
    found = Signals()
    found.install()
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_ends_what_waits(signals, number):
    with pytest.raises(Stop), signals.waiting():
        os.kill(os.getpid(), number)
        threading.Event().wait(10)
    assert signals.wanted


def test_a_signal_in_the_middle_of_work_is_obeyed_when_somebody_asks(signals):
    os.kill(os.getpid(), signal.SIGINT)  # nothing is raised here: it could be anywhere, even in an import
    with pytest.raises(Stop):
        signals.check()
    with pytest.raises(Stop), signals.waiting():
        raise AssertionError("nothing is waited for any more")


def test_a_server_that_runs_is_told(signals):
    told = []
    signals.when_wanted = lambda: told.append(True)
    os.kill(os.getpid(), signal.SIGTERM)
    assert told == [True]


def test_a_lab_that_was_stopped_before_its_thread_began_ends_at_once(tmp_path):
    lab = LiveLab(run_from_dict({"cluster": {"brokers": 1}}), tmp_path)
    lab._unwanted = True
    thread = threading.Thread(target=lab._run)
    thread.start()
    thread.join(10)
    assert lab.stopped.is_set() and not (tmp_path / "runs").exists()


def test_control_c_while_modules_are_loaded_says_nothing():
    program = "import os, signal, sys; sys.argv = ['x', 'settings']; import cli.__main__; os.kill(os.getpid(), 2)"
    done = subprocess.run([sys.executable, "-P", "-c", program], env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


@pytest.mark.parametrize(("options", "shown"), [([], ""), (["--json"], '{"error": "interrupted", "problem": {"code": "interrupted", "params": {}}}\n')])
def test_control_c_in_a_command_is_one_line(monkeypatch, capsys, options, shown):
    monkeypatch.setattr("cli.settings.settings", lambda arguments: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setattr(heap, "settle", lambda: None)
    assert main(["settings", *options]) == INTERRUPTED
    told = capsys.readouterr()
    assert (told.out, told.err) == (shown, "brokerlab: interrupted\n")


class SlowLab:
    """A lab whose brokers need longer to stop than anybody likes to wait without a word."""

    def __init__(self) -> None:
        self.asked: list[float | None] = []

    def stop(self, timeout_s: float | None) -> bool:
        self.asked.append(timeout_s)
        return timeout_s is None


def test_a_shutdown_that_takes_long_is_told_and_the_next_signal_ends_it(signals, capsys):
    lab = SlowLab()
    _stop(lab, signals, Words("en"))
    assert {signal.getsignal(number) for number in NUMBERS} == {signal.SIG_DFL}
    assert lab.asked == [STOP_PATIENCE_S, None]
    assert "Still stopping" in capsys.readouterr().err
