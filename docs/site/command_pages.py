"""The page on the command line: every command with the help that it prints."""

from __future__ import annotations

from collections.abc import Iterator

import click

from dplr.cli import main

WIDTH = 88
TOP = """# Command line

Every command, with what its `--help` prints. The command needs the extra `cli`. The
[tutorial](../use/walkthrough.md) uses most of them in one session.
"""


def helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """(full name, help) of a command and of those below it, in the order of the help."""
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from helps(below, click.Context(below, parent=context, info_name=name, max_content_width=WIDTH))


def page() -> str:
    """The Markdown of the page."""
    context = click.Context(main, info_name="dplr", terminal_width=WIDTH, max_content_width=WIDTH)
    blocks = [f"## {name}\n\n```text\n{text}\n```\n" for name, text in helps(main, context)]
    return "\n".join([TOP, *blocks])
