"""The command ``dplr``, also as ``python -m dplr``."""

from __future__ import annotations

import sys

from dplr._kit.extras import missing_library


def main() -> None:
    """Run the command line; where click is missing, say how to get it. Versions are told without it."""
    if sys.argv[1:] == ["--versions"]:
        from dplr._kit.versions import versions

        print(versions())
        return
    try:
        from dplr.cli import main as command
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        sys.exit(f"Error: {missing_library('the command line', 'click', 'cli')}")
    except KeyboardInterrupt:
        sys.exit(130)
    command(prog_name="dplr")


if __name__ == "__main__":
    main()
