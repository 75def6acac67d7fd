"""The report that docs/use/report.md shows: who saw a doctor, on the public RAND data.

python -m bench.figures.report report.html
chromium --headless --hide-scrollbars --window-size=780,1180 --screenshot=docs/images/report.png report.html
"""

import sys

import dplr
from bench.data.rand import BOUNDS, load
from dplr.report import write_report


def main(path):
    X, y, _, _ = load()
    est = dplr.fit(X, y, mechanism="score", eps=2.0, delta=1e-6, bounds=dplr.Bounds(BOUNDS))
    write_report(est, path, title="Who saw a doctor in the year?")


if __name__ == "__main__":
    main(sys.argv[1])
