"""The command that opens the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm.faces.cli.output import MemoryOption, WorkspaceOption, command, opened


def serve(
    workspace: WorkspaceOption = None,
    host: Annotated[
        str, typer.Option(help="Listen at this address. If other computers can reach it, the page asks for a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Listen at this port (default: 8020, or the next free one).")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="Read the token from this file (default: VISTERM_TOKEN, or a new token).")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show everything, but allow no changes.")] = False,
    learn: Annotated[
        str | None,
        typer.Option(
            help="Who decides when to learn from new labels: off, ask or self (default: as before, at first ask)."
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    memory: MemoryOption = None,
) -> None:
    """Open a page in the browser: look, search, review, teach. Nothing leaves this computer."""
    with command(as_json=False), opened(workspace, memory) as photos:
        from visterm.faces.web.running import Address
        from visterm.faces.web.running import serve as run

        if learn is not None:
            photos.learn_when(learn)

        def started(address: Address) -> None:
            typer.echo(f"Your pictures are at {address.url}")
            if address.is_local:
                typer.echo("Anyone who has this address can change the collection; it stays on this computer.")
            else:
                typer.echo("Anyone who has this address can see and change the collection; others are refused.")
            typer.echo("Press Ctrl+C to stop.")

        run(photos, host=host, port=port, token_file=token_file, read_only=read_only, browser=browser, started=started)
