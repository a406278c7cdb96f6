"""`anvil-memory`: the commands of a project's store, from the standard library alone.

An agent calls it in the middle of its work, so it must have ended within a tenth of a second, which
the library of the `memory` command takes to load. Help and completion, which nobody waits for in
the middle of anything, come from there all the same.
"""

from __future__ import annotations

import argparse
import os
import sys

from pipeline.errors import MemoryFault
from pipeline.project.call import Answer, Call, Command
from pipeline.project.commands import COMMANDS
from pipeline.project.printing import show
from pipeline.terminal import shown_on, tell

NAME = "anvil-memory"
_COMPLETING = "_ANVIL_MEMORY_COMPLETE"
_ELSEWHERE = frozenset({"--help", "-h", "--install-completion", "--show-completion"})


def main() -> None:
    """Entry point: run the command, print a fault as two lines, exit with its code."""
    arguments = sys.argv[1:]
    if not arguments or _COMPLETING in os.environ or _ELSEWHERE & {*arguments}:
        from pipeline.cli.project import main as helped

        helped()
        return
    raise SystemExit(run(arguments))


def run(arguments: list[str]) -> int:
    """Carry out a command line; the exit code."""
    command = next((one for one in COMMANDS if one.name == arguments[0]), None)
    if command is None:
        names = ", ".join(one.name for one in COMMANDS)
        sys.stderr.write(f"{NAME}: there is no command {arguments[0]!r}\n  it is one of: {names}\n")
        return 2
    values = vars(parser(command).parse_args(arguments[1:]))
    wants_json = values.pop("json")
    try:
        answer = command.carry_out(Call.here(values))
        _hand_over(answer, as_json=wants_json)
    except Exception as error:
        from pipeline.refusals import last_words

        fault = last_words(error)
        if fault is None:
            sys.excepthook = tell
            raise
        told = f"{NAME}: {fault}\n" + (f"  {fault.mend}\n" if fault.mend else "")
        sys.stderr.write(shown_on(sys.stderr, told))
        return fault.exit_code
    return answer.code


def _hand_over(answer: Answer, *, as_json: bool) -> None:
    """Print the answer. Raises MemoryFault where it cannot be written, as on a full disk."""
    if sys.stdout is None:  # whoever started us closed it
        return
    try:
        show(answer, as_json=as_json)
        sys.stdout.flush()
    except OSError as error:
        # Python tries what is left once more when it ends, and would exit with 120
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # else whoever reads it has seen enough
            raise MemoryFault(
                f"what the command prints cannot be written: {error.strerror}",
                mend="all else is done: free some space, or send its output elsewhere",
            ) from error


def parser(command: Command) -> argparse.ArgumentParser:
    """What reads the arguments of this command; help is not among them."""
    reader = argparse.ArgumentParser(
        prog=f"{NAME} {command.name}", allow_abbrev=False, add_help=False
    )
    for flag in command.flags:
        if flag.kind is bool:
            reader.add_argument(flag.name, action="store_true")
        elif flag.is_option:
            reader.add_argument(
                flag.name,
                type=flag.kind,
                required=flag.required,
                action="append" if flag.many else "store",
            )
        else:
            reader.add_argument(
                flag.name,
                type=flag.kind,
                nargs=("+" if flag.required else "*")
                if flag.many
                else None
                if flag.required
                else "?",
            )
    reader.add_argument("--json", action="store_true")
    return reader


if __name__ == "__main__":
    main()
