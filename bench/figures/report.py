"""The report that docs/use/report.md shows: who saw a doctor, on the public RAND data of the demo.

python -m bench.figures.report report.html
chromium --headless --hide-scrollbars --window-size=780,1000 --screenshot=docs/images/report.png report.html
"""

import sys

import dplr
from dplr import demo
from dplr.report import write_report


def main(path):
    X, y, _, _ = demo.load()
    est = dplr.fit(X, y, mechanism="objective", eps=demo.SHOWN, bounds=dplr.Bounds(demo.BOUNDS))
    write_report(est, path, title="Who saw a doctor in the year?")


if __name__ == "__main__":
    main(sys.argv[1])
