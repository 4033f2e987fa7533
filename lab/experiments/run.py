"""Executes a scenario: form the cluster, load it, carry out the steps, let it settle, read everything back, judge.

| phase | ends when |
|---|---|
| form | a controller is elected and every broker is registered; then topics are created and have leaders |
| load | clients run and steps happen until `duration` |
| settle | producers are stopped and flushed, faults end, dead brokers start again, every partition has a leader |
| read back | a consumer without a group has read every partition up to its high watermark |

Everything that is done to the world is a command, injected as a recorded input at a virtual time: the
same directory can be executed again without this module's decisions (`verify`).
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_core.clients.consumer import ConsumerMachine
from broker_core.kernel import events
from broker_core.kernel.errors import CommandError
from broker_core.kernel.names import CHECKER, OPERATOR, is_machine
from broker_core.kernel.node import STOPPED
from broker_core.kernel.problems import Problem, problem, told
from lab.checkers.invariants import InvariantMonitor
from lab.checkers.copies import copies_of
from lab.checkers.lineage import read_lineage
from lab.checkers.receipt import Receipt, make_receipt
from lab.checkers.receipt_fates import Evidence
from lab.clusters import observe
from lab.clusters.build import StorageFactory, memory
from lab.experiments.directory import JOURNAL, RunDirectory, write_disks
from lab.experiments.driven import Driven, RunError
from lab.experiments.findings import (
    Findings,
    Row,
    delays_ms,
    groups_work,
    kinds,
    longest_gaps_ms,
    plain,
    read_rows,
    standstills_ms,
)
from lab.scenarios import grammar
from lab.scenarios.expectations import DELAYS, STANDSTILL
from lab.scenarios.grammar import Scenario, Step
from lab.scenarios.stops import stops_of
from lab.truth import truth_of

SCENARIO = "scenario"
UNDER_WAY = ("deliver_next", "drop_next")
"""They act on the message that is first on its way. In another execution there may be none, which is only noted."""


@dataclass(slots=True)
class RunResult:
    """How a run ended."""

    scenario: str
    seed: int
    passed: bool
    receipt: Receipt
    directory: Path
    unmet: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    virtual_s: float = 0.0
    wall_s: float = 0.0
    variant: str = ""
    prediction: int | None = None
    answer: int | None = None
    moment: dict[str, int] | None = None
    stops: list[dict[str, Any]] = field(default_factory=list)
    violations: dict[str, int] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    """Those of `Scenario.asked`."""

    def to_dict(self) -> dict[str, Any]:
        """The line that `run --json` prints."""
        return {
            "scenario": self.scenario, "seed": self.seed, "passed": self.passed,
            "receipt": self.receipt.total.to_dict(), "dir": str(self.directory),
            "unmet": [told(one) for one in self.unmet], "notes": [told(one) for one in self.notes],
            "variant": self.variant, "prediction": self.prediction, "answer": self.answer,
            "moment": self.moment, "stops": self.stops, "violations": self.violations,
        }  # fmt: skip


def run_scenario(
    scenario: Scenario | str, seed: int | None = None, live: bool = False, out: Path | str | None = None,
    storage_factory: StorageFactory = memory, variant: str | None = None,
) -> RunResult:  # fmt: skip
    """Run a scenario, by object, file or name; leaves a directory (a new temporary one without `out`).

    Raises ScenarioError, DirectoryError, RunError.
    """
    if isinstance(scenario, str):
        scenario = grammar.load(scenario, variant)
    elif variant:
        scenario = grammar.variant_of(scenario, variant)
    if seed is not None:
        scenario.spec.seed = seed
        scenario.document = {**scenario.document, "seed": seed}
    path = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix=f"brokerlab-{scenario.name}-"))
    return Execution(scenario, RunDirectory(path), live, storage_factory).run()


class Execution(Driven):
    """One run under way; `steps_by`: who decides what is done to the world."""

    steps_by = SCENARIO

    def __init__(self, scenario: Scenario, files: RunDirectory, live: bool, storage_factory: StorageFactory) -> None:
        self.scenario, self.drawn = grammar.drawn(scenario)
        super().__init__(self.scenario.spec, files, storage_factory)
        self.live = live
        self.monitor = InvariantMonitor(self.world)
        self.notes: list[Problem] = []
        self.began_us = 0
        self.loaded_us = 0
        self.findings = Findings()
        self.asked = kinds(scenario)
        self.steps: list[dict[str, int]] = []
        self.unmet: list[Problem] = []
        self.read_back = False
        self._wall_start = time.monotonic()

    def run(self) -> RunResult:
        """All phases."""
        files, world = self.files, self.world
        files.attach(world)
        files.describe(
            kind="live" if self.live else "simulated", scenario=self.scenario.document, name=self.scenario.name,
            variant=self.scenario.variant, seed=self.spec.seed, spec=self.spec.to_dict(), start=None,
            steps_by=self.steps_by,
            **({"drawn": self.drawn} if self.drawn else {}),
        )  # fmt: skip
        try:
            self._form()
            self._load()
            self._settle()
            self._read_back()
        finally:
            files.close(world)
        return self._conclude()

    def _conclude(self) -> RunResult:
        """Receipt, verdict, the moment that mattered."""
        files, world, found = self.files, self.world, self.findings
        self.monitor.finish()
        found.violations = dict(self.monitor.counts)
        told = {"read_back": self.read_back, "copies": copies_of(world, self.spec, checksums=True)}
        evidence = Evidence.of_facts(read_lineage(files.path / JOURNAL), told)
        receipt = found.receipt = make_receipt(world.operations.rows, evidence)
        found.rows = read_rows(files.path / JOURNAL, self.began_us)
        self.notes += refused_by_brokers(found.rows)
        if "group" in self.asked:
            found.groups = groups_work(world.operations.rows, found.rows, self.scenario, self.loaded_us)
        unmet = self.judge()
        prediction, answer, moment = found.right_choice(self.scenario), found.answer(self.scenario), self._moment()
        lesson = self.scenario.lesson
        stops = stops_of(lesson.stops, lesson.moment, found.rows, self.steps, self.loaded_us)
        write_disks(world, files.path)
        files.describe(
            **told, receipt=receipt.to_dict(), invariants=self.monitor.to_dict(), unmet=unmet, passed=not unmet,
            notes=self.notes, began_us=self.began_us, groups=found.groups,
            steps=self.steps, prediction=prediction, answer=answer, moment=moment, stops=stops,
        )  # fmt: skip
        return RunResult(
            self.scenario.name, self.spec.seed, not unmet, receipt, files.path, unmet, self.notes,
            world.now_us / 1e6, time.monotonic() - self._wall_start, self.scenario.variant, prediction,
            answer, moment, stops, self.monitor.red(), {key: found.value(key) for key in self.scenario.asked},
        )  # fmt: skip

    def _moment(self) -> dict[str, int] | None:
        moment = self.scenario.lesson.moment
        place = moment.find(self.findings.rows, self.steps) if moment is not None else None
        return {"seq": place[0], "t_us": place[1]} if place is not None else None

    # -- time and inputs --------------------------------------------------------------------
    def _run_until(self, time_us: int) -> None:
        """As fast as it goes, or in step with the wall clock."""
        world = self.world
        while self.live and world.now_us < time_us:
            world.run_until(min(time_us, world.now_us + 10_000))
            ahead = world.now_us / 1e6 - (time.monotonic() - self._wall_start)
            if ahead > 0:
                time.sleep(ahead)
        world.run_until(time_us)

    def _inject(self, command: dict[str, Any], must: bool = True) -> dict[str, Any]:
        try:
            return self._command(command)
        except CommandError as error:
            note = problem("command_refused", command=_phrase(command), what=error.problem)
        if must:
            raise RunError(note)
        self.notes.append(note)
        return {}

    # -- phases -----------------------------------------------------------------------------
    def _form(self) -> None:
        super()._form()
        for client in self.spec.clients:
            if client.start:
                self._inject({"do": "start_client", "name": client.name})
        self.began_us = self.world.now_us

    def _load(self) -> None:
        before = self.began_us
        for index, step in enumerate(self.scenario.steps):
            self._wait_for(step, index, before)
            self.steps.append({"seq": self.world.seq + 1, "t_us": self.world.now_us})
            if step.check is None:
                self._step(step.command, index)
            elif not step.check.holds(self.world, None):
                found = plain(step.check.value(self.world))
                self.unmet.append(at_step(index, problem("unmet_check", wanted=str(step.check), found=found)))
            before = self.world.now_us
        self._run_until(max(self.world.now_us, self.began_us + self.scenario.duration_us))
        self.loaded_us = self.world.now_us
        self.findings.look(self.world, self.scenario, settled=False)
        rows = self.world.operations.rows
        self.findings.gaps_ms = longest_gaps_ms(rows, self.began_us, self.world.now_us)
        if self.asked & set(DELAYS):
            self.findings.delays_ms = delays_ms(rows, self.began_us, self.world.now_us)
        if STANDSTILL in self.asked:
            group_of = {one.name: one.settings.get("group.id", "") for one in self.spec.clients}
            self.findings.standstills_ms = standstills_ms(rows, group_of, self.began_us, self.world.now_us)

    def _step(self, command: dict[str, Any], index: int) -> None:
        """A step that is refused is an expectation that is not met: the rest of the run tells something, too."""
        noted = len(self.notes)
        self._inject(command, must=False)
        for note in self.notes[noted:]:
            self.notes.remove(note)
            (self.notes if command["do"] in UNDER_WAY else self.unmet).append(at_step(index, note))

    def _wait_for(self, step: Step, index: int, before_us: int) -> None:
        if step.at_us is not None:
            self._run_until(max(self.world.now_us, self.began_us + step.at_us))
        elif step.after_us is not None:
            self._run_until(before_us + step.after_us)
        elif step.when is not None:
            value = step.when.value(self.world)
            if not self._wait(step.when.holds, step.within_us, self.world, value):
                missed = problem("not_true", condition=str(step.when), s=step.within_us / 1e6)
                raise RunError(at_step(index, missed))

    def _settle(self) -> None:
        """Safety is over, liveness begins: everything is healed, and must come to rest."""
        world, limit = self.world, self.scenario.settle_us
        self._inject({"do": "stop_all_faults"})
        for name in self._running_clients():
            self._inject({"do": "stop_client", "name": name}, must=False)
        until = world.now_us + limit
        while world.now_us < until and not (self._clients_ended() and self._at_rest()):
            for name in self._stopped_brokers():
                self._inject({"do": "restart", "node": name})
            self._wait(self._may_be_settled, until - world.now_us)
        if not self._clients_ended():
            self.notes.append(problem("still_running", s=limit / 1e6, names=self._running_clients()))
        if not self._all_led():
            self.notes.append(problem("leaderless"))
        elif not self._at_rest():
            self.notes.append(problem("not_in_isr", s=limit / 1e6))
        self.findings.look(world, self.scenario, settled=True)

    def _stopped_brokers(self) -> list[str]:
        return [node.name for _, node in observe.brokers(self.world) if node.state == STOPPED]

    def _may_be_settled(self) -> bool:
        """At rest, or a broker that was still shutting down has ended and wants to be started."""
        return bool(self._stopped_brokers()) or (self._clients_ended() and self._at_rest())

    def _running_clients(self) -> list[str]:
        fixed = [OPERATOR, CHECKER, *self.spec.node_names()]
        clients = [name for name in self.world.nodes if name not in fixed and not is_machine(name)]
        return [name for name in clients if self.world.nodes[name].state != STOPPED]

    def _clients_ended(self) -> bool:
        return not self._running_clients()

    def _read_back(self) -> None:
        names = [topic for topic in truth_of(self.world).topics() if not topic.startswith("__")]
        if not names:
            return
        settings = {"auto.offset.reset": "earliest", "allow.auto.create.topics": "false", "check.crcs": "false"}
        self._inject(
            {"do": "start_client", "name": CHECKER, "kind": "consumer", "topic": ",".join(names), "settings": settings}
        )
        self.read_back = self._wait(self._checker_done, self.scenario.settle_us)
        if not self.read_back:
            self.notes.append(problem("not_read_back"))

    def _checker_done(self) -> bool:
        machine = self.world.nodes[CHECKER].machine
        return isinstance(machine, ConsumerMachine) and machine.at_end()

    # -- verdict ----------------------------------------------------------------------------
    def judge(self) -> list[Problem]:
        """Expectations that are not met."""
        return [*self.unmet, *self.findings.unmet(self.scenario.expect)]


def at_step(index: int, what: Problem) -> Problem:
    """What is wrong with a step of the scenario."""
    return problem("at_step", step=index, what=what)


def refused_by_brokers(rows: list[Row]) -> list[Problem]:
    """Commands that were taken and sent, but answered with an error: what came of a step shows only later."""
    refused = [row[5] for row in rows if row[2] == OPERATOR and row[3] == events.COMMAND_REFUSED.name]
    return [problem("command_refused", command=_phrase(one["command"]), what=one["problem"]) for one in refused]


def _phrase(command: dict[str, Any]) -> str:
    """`kill (broker: 1)`."""
    rest = ", ".join(f"{key}: {value}" for key, value in command.items() if key != "do")
    return f"{command['do']} ({rest})" if rest else str(command["do"])
