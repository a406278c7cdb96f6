"""`memory mcp`: the wiki for agents, and making it known to them."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.printing import JsonOption, VaultOption, err, print_diff, print_json, say

if TYPE_CHECKING:
    from pipeline.mcp.clients import Plan

app = typer.Typer()


class Client(StrEnum):
    """Programs that the server is made known to."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    PI = "pi"
    CLAUDE_DESKTOP = "claude-desktop"


class Scope(StrEnum):
    """Where Claude Code keeps it."""

    USER = "user"
    PROJECT = "project"


ClientOption = Annotated[Client, typer.Option(help="Whose settings.")]
ScopeOption = Annotated[
    Scope, typer.Option(help="For Claude Code: everywhere, or in this folder for everybody.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show the change.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Make the change without asking.")]


@app.callback(invoke_without_command=True)
def serve(context: typer.Context, vault: VaultOption = None) -> None:
    """The wiki for agents: a server of the Model Context Protocol, which agents start themselves.

    It answers over standard input and output, and ends with its input. Its tools search, read and
    list, and cannot write. Needs the extra named mcp.

    Example: memory mcp
    """
    if context.invoked_subcommand is not None:
        return
    from pipeline.config import load_config
    from pipeline.errors import ConfigFault
    from pipeline.mcp.clients import NEEDS

    try:
        from pipeline.mcp.server import serve as answer
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise ConfigFault(
            "the server needs a package that is not installed",
            mend=NEEDS,
        ) from error
    if sys.stdin.isatty():
        err.print("waiting for an agent; `memory mcp install` makes this known to one")
    answer(lambda: load_config(vault=vault))


@app.command()
def install(
    client: ClientOption,
    scope: ScopeOption = Scope.USER,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the server known to an agent, and tell it by a skill when to look; shows the change.

    Everything else in its settings stays byte for byte as it is. pi has no MCP: it gets the skill
    alone, which names the commands. Claude Desktop has no skills: it gets the server alone.

    Example: memory mcp install --client claude-code --dry-run
    """
    from pipeline.mcp.clients import installing

    arguments = ["--vault", str(vault.expanduser().absolute())] if vault else []
    _change(installing(client.value, scope.value, arguments), dry_run, yes, as_json)


@app.command()
def uninstall(
    client: ClientOption,
    scope: ScopeOption = Scope.USER,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Take the server and the skill out of an agent's settings again, and nothing else.

    Example: memory mcp uninstall --client claude-code
    """
    from pipeline.mcp.clients import uninstalling

    _change(uninstalling(client.value, scope.value), dry_run, yes, as_json)


def _change(changes: Plan, dry_run: bool, yes: bool, as_json: bool) -> None:
    from pipeline.user_files import diff, put

    wanted = [change for change in changes.files if change.before != change.after]
    shown = ["\n".join(diff(change)) for change in wanted]
    if not as_json:
        for text in shown:
            print_diff(text)
        for line in changes.said:
            say(line)
    if wanted and dry_run and not as_json:
        say("nothing is changed: this is a dry run")
    asks = wanted and not (dry_run or yes)
    if asks and (as_json or not sys.stdin.isatty()):
        dry_run = True
        if not as_json:
            say("nothing is changed: add --yes")
    elif asks and not typer.confirm("make this change?", err=True):
        dry_run = True
    if not dry_run:
        for change in wanted:
            put(change)
    if as_json:
        print_json(
            {
                "files": [str(change.path) for change in wanted],
                "changed": bool(wanted) and not dry_run,
                "diff": [line for text in shown for line in text.splitlines()],
                "said": changes.said,
            }
        )
    elif not wanted:
        say("nothing to change")
    elif not dry_run:
        say("; ".join(f"changed {change.path}" for change in wanted))
