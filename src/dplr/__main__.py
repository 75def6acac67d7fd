"""The command ``dplr``, also as ``python -m dplr``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; where click is missing, say how to get it."""
    try:
        from dplr.cli import main as command
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        sys.exit('Error: the command line needs click. Install it with: pip install "dplr[cli]"')
    except KeyboardInterrupt:
        sys.exit(130)
    command(prog_name="dplr")


if __name__ == "__main__":
    main()
