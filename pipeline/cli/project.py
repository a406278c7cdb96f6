"""`memory project …`, from the table of commands that `anvil-memory` has too.

`anvil-memory` sends for this when it is asked for help or completion.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from keyword import iskeyword
from typing import Annotated, Any

import typer

from pipeline.cli.printing import JsonOption
from pipeline.project.call import Call, Command, Flag
from pipeline.project.commands import COMMANDS
from pipeline.project.printing import show

app = typer.Typer(
    help="The memory of one project: what was found out, done and decided in it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Entry point of `anvil-memory` for help and completion."""
    app(prog_name="anvil-memory")


def _function(command: Command) -> Callable[..., None]:
    """A function with the signature that Typer reads a command's arguments from."""

    def function(as_json: bool, **values: Any) -> None:
        given = {name.removesuffix("_"): value for name, value in values.items()}
        call = Call.here(given)
        answer = command.carry_out(call)
        show(answer, as_json=as_json)
        if answer.code:
            raise typer.Exit(answer.code)

    parameters = [_parameter(flag) for flag in command.flags]
    parameters.append(_keyword("as_json", JsonOption, False))
    # attributes that Typer reads, and mypy does not know of
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    function.__name__ = command.name
    function.__doc__ = f"{command.help}\n\nExample: memory project {command.example}"
    return function


def _parameter(flag: Flag) -> inspect.Parameter:
    kind: Any = list[flag.kind] if flag.many else flag.kind  # type: ignore[name-defined]
    if flag.kind is bool:
        return _keyword(flag.key, Annotated[bool, typer.Option(flag.name, help=flag.help)], False)
    if not flag.required:
        kind = kind | None
    told = (
        typer.Option(flag.name, help=flag.help)
        if flag.is_option
        else typer.Argument(help=flag.help, metavar=flag.name.upper())
    )
    default = inspect.Parameter.empty if flag.required else None
    return _keyword(flag.key, Annotated[kind, told], default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        f"{name}_" if iskeyword(name) else name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=annotation,
    )


for _command in COMMANDS:
    app.command(_command.name)(_function(_command))
