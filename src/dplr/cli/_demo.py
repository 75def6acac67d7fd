"""``dplr demo``."""

from __future__ import annotations

import click

from dplr._kit.extras import missing_library
from dplr.cli._faults import USAGE, Refused


@click.command(short_help="A private model of real medical data beside the non-private one.")
def demo() -> None:
    """A private model of real medical data beside the non-private one; takes some seconds.

    The data come with statsmodels; nothing is downloaded. Needs the extra `demo`.
    """
    try:
        import pandas
        import statsmodels

        from dplr.demo import main
    except ModuleNotFoundError as missing:
        raise Refused(str(missing_library("the demo", str(missing.name), "demo")), USAGE) from None
    del pandas, statsmodels
    main()
