"""What became of a fault: the outcome, and whether the ledger tells the truth."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from bench.scale.faults import driver
from bench.scale.faults.driver import Run
from bench.scale.faults.world import EPS, SECRET, World

SAME, ERROR = "same bits", "clear error"


@dataclass
class Verdict:
    """What one fault came to.

    Attributes
    ----------
    outcome : SAME or ERROR.
    wrong : what should not be, in words; empty where all is well.
    twice : releases beyond those that were paid for.
    told : what the processes said, for whoever looks at it.
    """

    mechanism: str
    kind: str
    seed: int
    outcome: str = ""
    wrong: list[str] = field(default_factory=list)
    budget: list[str] = field(default_factory=list)
    twice: int = 0
    told: list[str] = field(default_factory=list)


class Case:
    """One fault, the processes that met it, and those that came afterwards.

    Parameters
    ----------
    world : what is there.
    expected : the model of a fit that nothing disturbed.
    rng : chooses what is tried afterwards.
    killed : whether processes are killed by the fault itself.
    returns : whether the budget must be back where no noise was drawn and nobody was killed.
    """

    def __init__(self, world: World, verdict: Verdict, expected: Any, rng: Random, *, killed: bool = False,
                 returns: bool = True) -> None:  # fmt: skip
        self.world, self.verdict, self.expected, self.rng = world, verdict, expected, rng
        self.killed, self.returns = killed, returns
        self.runs: list[Run] = []
        self._recovered: list[Any] = []

    def add(self, run: Run) -> Run:
        """Judge how a fit ended."""
        self.runs.append(run)
        self._check_end(run, may_be_killed=self.killed)
        return run

    def after(self) -> None:
        """Give back, and recover, whatever may be; then judge the ledger."""
        entries = self.world.ledger.entries()
        if any(run.status is not None and run.status < 0 for run in self.runs) and not self._models():
            if not entries:
                self._fit("again")
            elif entries[-1].state == "reserved":
                self._give_back(entries[-1].number)
            elif entries[-1].state == "committed":
                self._recover(entries[-1].number, "recovered")
        elif entries and entries[-1].number in self.world.ledger.kept() and not self._models():
            self._recover(entries[-1].number, "recovered")
        elif entries and entries[-1].state == "reserved":
            self._give_back(entries[-1].number)
        self._attack()
        self._judge()

    def _give_back(self, number: int) -> None:
        self._command(["ledger", "give-back", str(self.world.ledger_path), str(number)], "gives", True)

    def _attack(self) -> None:
        """Try to have a release a second time, from every entry: nothing may come of it."""
        for entry in self.world.ledger.entries():
            number = str(entry.number)
            self._command(["ledger", "give-back", str(self.world.ledger_path), number], f"give-{number}", False)
            kept = entry.number in self.world.ledger.kept()
            if not kept:
                self._recover(entry.number, f"recover-{number}", wanted=False)

    def _fit(self, name: str) -> None:
        run = driver.run(self.world, self.world.fit(name), name)
        self.runs.append(run)
        self._check_end(run, may_be_killed=False)
        if run.status != 0:
            self.verdict.wrong.append(f"{name} failed: {run.said}")

    def _recover(self, number: int, name: str, wanted: bool = True) -> None:
        """Write the model that the ledger kept."""
        output = self.world.output(name)
        if self._command(["ledger", "recover", str(self.world.ledger_path), str(number), "-o", str(output)], name,
                         wanted):  # fmt: skip
            self._recovered.append(self.world.model(name))

    def _command(self, command: list[str], name: str, wanted: bool) -> bool:
        """A command that must end well, or must be refused."""
        run = driver.run(self.world, command, name)
        self._check_end(run, may_be_killed=False)
        if (run.status == 0) is not wanted:
            self.verdict.wrong.append(f"{' '.join(command[:2])} {'failed' if wanted else 'worked'}: {run.said}")
        return run.status == 0

    def _check_end(self, run: Run, may_be_killed: bool) -> None:
        """A process ends well, by a sentence, or by the kill that was meant for it."""
        self.verdict.told.append(f"{run.name} {run.status}: {last_line(run.said)}")
        if run.status is None:
            self.verdict.wrong.append(f"{run.name} hung: {run.said[:1800]}")
        elif run.status < 0:
            if not may_be_killed:
                self.verdict.wrong.append(f"{run.name} ended by signal {-run.status}: {run.said[-300:]}")
        elif run.status > 0 and (fault := unclear(run, self.world.folder)):
            self.verdict.wrong.append(f"{run.name}: {fault}: {run.said[-1500:]}")
        elif SECRET in run.said:
            self.verdict.wrong.append(f"{run.name} shows a row")

    def _models(self) -> dict[str, Any]:
        return {run.name: found for run in self.runs if (found := self.world.model(run.name)) is not None}

    def _judge(self) -> None:
        """Compare models with the undisturbed one, and the ledger with what processes did."""
        models = self._models()
        for name, found in [*models.items(), *(("recovered", each) for each in self._recovered)]:
            if found != self.expected:
                self.verdict.wrong.append(f"the model of {name} has other bits")
        self.verdict.outcome = SAME if models or self._recovered else ERROR
        entries, draws = self.world.ledger.entries(), self.world.draws()
        paid = sum(entry.state == "committed" for entry in entries)
        self.verdict.twice = max(0, len(models) - paid) + max(0, draws - sum(map(_counts, entries)))
        self.verdict.budget += list(self._untrue(entries, draws, len(models)))

    def _untrue(self, entries: Any, draws: int, delivered: int) -> Any:
        """What is wrong with the budget, in words."""
        spent = self.world.ledger.spent()[0]
        if spent < EPS * max(draws, delivered) - 1e-9:
            yield f"spent {spent} for {draws} draws and {delivered} models"
        if abs(spent - EPS * sum(map(_counts, entries))) > 1e-9:
            yield f"spent {spent} for the entries {[entry.state for entry in entries]}"
        # Whoever presses Ctrl-C after a draw was announced, and before it is made, has spent it.
        announced = any(run.status == 130 for run in self.runs) and entries[-1].state == "drawing"
        if self.returns and not self.killed and not draws and spent and not announced:
            yield f"spent {spent}, and nobody drew noise"
        if self.returns and any(entry.state == "reserved" for entry in entries):
            yield "an entry is still reserved"


def _counts(entry: Any) -> bool:
    return entry.state != "refunded"


def unclear(run: Run, folder: Path) -> str:
    """What is wrong with the words of a process that failed; empty for a sentence of ours."""
    said = run.said.replace(str(folder), "FOLDER")
    errors = [line for line in said.splitlines() if line.startswith("Error: ")]
    if "Traceback" in said or run.status == 70:
        return "a traceback"
    if run.status == 1 or "fault of dplr" in said:
        return "a fault of dplr"
    if SECRET in said or "Jane" in said:
        return "a value of a row"
    if run.status not in (2, 3, 4, 130) or len(errors) != 1:
        return "no error in one line"
    return "" if re.search(r"[.?]$", errors[0]) else "no sentence"


def last_line(text: str) -> str:
    """The last line that is not empty."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
