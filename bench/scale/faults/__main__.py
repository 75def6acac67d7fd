"""What becomes of a fit, its ledger and its model when something breaks in the middle?

    python -m bench.scale.faults bench/results/faults.csv

Each fault meets `dplr fit` in a process of its own, with a ledger, at a moment that the seed chooses. Then whatever may
bring a release or a budget back is tried. Noise comes from a seed, so models can be compared bit by bit.
`--kinds worker --mechanisms fm --count 2 --seed 5` is a part, `--quick` is one fault of each kind without a cluster,
and `--verbose` shows what processes said. `python -m bench.scale.faults.page` writes the table into the guide.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from bench.scale.faults import kinds
from bench.scale.faults.driver import run
from bench.scale.faults.judge import ERROR, SAME, Case, Verdict
from bench.scale.faults.kinds import Disk, Kind
from bench.scale.faults.world import LAYOUTS, MECHANISMS, World, write
from bench.scale.written import write_rows


class Lab:
    """Where faults are injected, one after another.

    Parameters
    ----------
    folder : for all that is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._number, self.points = folder, 0, dict[str, int]()
        self._references: dict[Any, tuple[Any, dict[str, int]]] = {}
        self._cluster: Any = None
        for layout in LAYOUTS:
            write(folder / layout, layout)

    @property
    def cluster(self) -> Any:
        """Workers of Dask."""
        if self._cluster is None:
            from bench.scale.faults.cluster import Cluster

            self._cluster = Cluster()
        return self._cluster

    def close(self) -> None:
        """End the workers: what a fault left of them is not the next one's."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def inject(self, kind: Kind, mechanism: str, seed: int) -> Verdict:
        """One fault, and the verdict on it."""
        rng = Random(f"{kind.name} {mechanism} {seed}")
        verdict = Verdict(mechanism, kind.name, seed)
        again = kind.again and rng.random() < 0.7
        expected, self.points = self.reference(kind, mechanism, again)
        world = self.world(kind, mechanism, again)
        with Disk(world.ledger_path.parent) if "disk" in kind.name else tempfile.TemporaryDirectory():
            world.make_ledger()
            case = Case(world, verdict, expected, rng, killed=kind.killed, returns=kind.returns)
            right = kind.inject(case, self if kind.cluster else self.points)
            self.close()
            case.after()
        if right is not None and verdict.outcome not in right:
            verdict.wrong.append(f"{verdict.outcome}, and not {' or '.join(right)}")
        return verdict

    def world(self, kind: Kind, mechanism: str, again: bool) -> World:
        """A new folder."""
        self._number += 1
        world = World(self.folder / f"{self._number}", mechanism, kind.layout, kind.fits, again)
        world.prepare(self.folder / kind.layout)
        return world

    def reference(self, kind: Kind, mechanism: str, again: bool) -> tuple[Any, dict[str, int]]:
        """The model of a fit that nothing disturbs, and how often it reaches each place.

        Exact sums do not depend on parts. Sums in float64 do, so those of a huge part are compared with one thread's.
        """
        own = kind.layout == "huge" and mechanism == "objective"
        key = (mechanism, kind.layout if own else "even", kind.cluster, again)
        if key not in self._references:
            plain = Kind("", kind.inject, 0, key[1])
            world = self.world(plain, mechanism, again)
            world.make_ledger()
            world.threads = 1 if own else None
            client = self.cluster.address if kind.cluster else None
            done = run(world, world.fit("fit"), "fit", client=client)
            if done.status:
                raise RuntimeError(f"an undisturbed fit of {key} failed: {done.said}")
            self._references[key] = (world.model("fit"), {**done.points, "milliseconds": int(1000 * done.seconds)})
        return self._references[key]


def chosen(words: list[str] | None, has_cluster: bool) -> list[Kind]:
    """The kinds whose name has one of the words; all without words."""
    every = list(kinds.KINDS)
    if has_cluster:
        from bench.scale.faults import cluster

        every += cluster.KINDS
    return [kind for kind in every if words is None or any(word in kind.name for word in words)]


def planned(given: argparse.Namespace) -> Iterator[tuple[Kind, str, int]]:
    """Kinds, mechanisms and seeds, one after another."""
    for place, kind in enumerate(chosen(given.kinds, not (given.no_cluster or given.quick))):
        mechanisms = [each for each in given.mechanisms if each in kind.mechanisms]
        if given.quick:
            yield kind, mechanisms[place % len(mechanisms)], given.seed
            continue
        for mechanism in mechanisms:
            yield from ((kind, mechanism, given.seed + number) for number in range(given.count or kind.count))


def table(verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """One line per kind and mechanism."""
    found: dict[tuple[str, str], list[Verdict]] = {}
    for each in verdicts:
        found.setdefault((each.mechanism, each.kind), []).append(each)
    return [
        {
            "mechanism": mechanism,
            "kind": kind,
            "count": len(some),
            SAME: sum(each.outcome == SAME and not each.wrong for each in some),
            ERROR: sum(each.outcome == ERROR and not each.wrong for each in some),
            "budget right": sum(not each.budget for each in some),
            "released twice": sum(each.twice for each in some),
            "wrong": sum(bool(each.wrong) for each in some),
        }
        for (mechanism, kind), some in found.items()
    ]


def main() -> int:
    """Inject, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, nargs="?")
    parser.add_argument("--kinds", nargs="*", help="words that are in the names of the kinds")
    parser.add_argument("--mechanisms", nargs="*", choices=MECHANISMS, default=list(MECHANISMS))
    parser.add_argument("--count", type=int, help="faults per kind and mechanism")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-cluster", action="store_true", help="without workers of Dask")
    parser.add_argument("--quick", action="store_true", help="each kind once, mechanisms by turns, without a cluster")
    parser.add_argument("--folder", type=Path, help="where to work")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="dplr-faults-", ignore_cleanup_errors=True) as base:
        lab = Lab(Path(base))
        try:
            for kind, mechanism, seed in planned(given):
                verdicts.append(lab.inject(kind, mechanism, seed))
                say(verdicts[-1], given.verbose)
                if given.output:
                    write_rows(given.output, table(verdicts))
        finally:
            lab.close()
    bad = [each for each in verdicts if each.wrong or each.budget or each.twice]
    print(f"{len(verdicts)} faults, {len(bad)} wrong")
    return 1 if bad else 0


def say(verdict: Verdict, verbose: bool) -> None:
    """One line per fault, and more where something is wrong."""
    bad = [*verdict.wrong, *verdict.budget, *([f"released {verdict.twice} times too often"] * (verdict.twice > 0))]
    print(f"{verdict.mechanism:9} {verdict.kind}, {verdict.seed}: {verdict.outcome}{' WRONG' if bad else ''}")
    for line in [*bad, *(verdict.told if verbose or bad else [])]:
        print(f"    {line}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
