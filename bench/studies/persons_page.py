"""The tables of docs/use/persons.md, from what `persons.py` and `weights.py` measured.

    python -m bench.studies.persons_page

writes them into the page, between its markers.
"""

import csv
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "use" / "persons.md"
HEADS = {("RAND", "0.0"): "RAND, delta 0", ("RAND", "1e-06"): "RAND, 1e-6", ("skewed", "1e-06"): "skewed panel, 1e-6"}
LEVELS = ("0.3", "1.0", "3.0")


def read(name):
    """The records of a result."""
    with open(ROOT / "bench" / "results" / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def persons():
    """Rules against tables and eps; the larger k is named for both tables."""
    found, rules = {}, []
    for row in read("persons"):
        rule = "weights, k = 5 (skewed: 8)" if row["rule"] in ("weights, k = 5", "weights, k = 8") else row["rule"]
        rules += [] if rule in rules else [rule]
        found[row["table"], row["delta"], row["eps"], rule] = float(row["error"])
    lines = ["| | " + " | ".join(f"{head}: eps .3 | 1 | 3" for head in HEADS.values()) + " |"]
    lines.append("|---" * (1 + len(HEADS) * len(LEVELS)) + "|")
    for rule in rules:
        cells = [f"{found[*head, eps, rule]:.3f}" for head in HEADS for eps in LEVELS]
        lines.append(f"| {rule if rule != 'row' else 'one row is protected, no person'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def weights():
    """Caps against eps and delta."""
    found, caps, levels = {}, [], []
    for row in read("weights"):
        multiple = f" ({row['cap / mean']} x mean)" if row["cap"] == "largest code" else ""
        cap = row["cap"] + multiple
        level = f"eps {float(row['eps']):g}, delta {float(row['delta']):g}"
        caps += [] if cap in caps else [cap]
        levels += [] if level in levels else [level]
        found[cap, level] = float(row["error"])
    lines = [f"| cap | {' | '.join(levels)} |", "|---" * (1 + len(levels)) + "|"]
    return "\n".join(
        [*lines, *(f"| {cap} | {' | '.join(f'{found[cap, each]:.3f}' for each in levels)} |" for cap in caps)]
    )


def intervals():
    """Coverage and width by design, number of persons and eps."""
    methods, found, levels = ("persons ignored", "one random row", "person"), {}, []
    for row in read("persons_intervals"):
        cell = f"{float(row['coverage']):.2f}, {float(row['width']):.1f}"
        found[row["design"], row["persons"], row["eps"], row["method"]] = cell
        levels += [] if row["eps"] in levels else [row["eps"]]
    cells = list(dict.fromkeys(key[:2] for key in found))
    heads = [f"eps {float(eps):g}: {method}" for eps in levels for method in methods]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for design, persons in cells:
        numbers = [found[design, persons, eps, method] for eps in levels for method in methods]
        lines.append(f"| {design}, {int(persons):,} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def main():
    text = PAGE.read_text()
    for name, table in (("persons", persons()), ("intervals", intervals()), ("weights", weights())):
        text = re.sub(
            rf"<!-- table: {name} -->\n(\|.*\n)*", lambda _, n=name, t=table: f"<!-- table: {n} -->\n{t}\n", text
        )
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
