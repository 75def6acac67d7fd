"""``dplr demo``."""

from __future__ import annotations

import click

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
        message = f'the demo needs {missing.name}. Install it with: pip install "dplr[demo]"'
        raise Refused(message, USAGE) from None
    del pandas, statsmodels
    main()
