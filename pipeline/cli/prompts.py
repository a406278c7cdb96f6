"""`memory prompts`: what the model is asked, shipped and your own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.printing import JsonOption, print_json, say, show

if TYPE_CHECKING:
    from pipeline.prompt_files import Prompt
    from pipeline.prompts import Prompts

app = typer.Typer(
    help="What the model is asked: list, show and check the prompts.", no_args_is_help=True
)


@app.command("list")
def prompts_list(as_json: JsonOption = False) -> None:
    """Every prompt: how it is answered, its limit, its places, and the file it comes from.

    A file of the same path under `prompts` beside the configuration file takes the place of the
    shipped one. The digest is recorded with every run.

    Example: memory prompts list
    """
    rows = [_facts(prompt) for prompt in _prompts().all()]
    if as_json:
        print_json(rows)
        return
    from rich.table import Table

    table = Table("prompt", "answer", "tokens", "places", "digest", "file")
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(
            row["name"],
            row["answer"],
            str(row["max_tokens"] or ""),
            ", ".join(row["places"]),
            row["digest"],
            row["file"] if row["own"] else "shipped",
        )
    show(table)


@app.command("show")
def prompts_show(
    name: Annotated[str, typer.Argument(help="Such as synthesize/claims.")],
    as_json: JsonOption = False,
) -> None:
    """The file of one prompt as it is in force: a beginning for one of your own.

    Example: memory prompts show synthesize/claims
    """
    prompt = _prompts().get(name)
    if as_json:
        examples = [{"user": user, "assistant": said} for user, said in prompt.examples]
        parts = {"system": prompt.system, "examples": examples, "user": prompt.user}
        print_json({**_facts(prompt), **parts})
        return
    say(prompt.raw.rstrip("\n"))


@app.command("check")
def prompts_check(as_json: JsonOption = False) -> None:
    """Every prompt: front matter, places, grammar, examples; and that nothing concrete is in it.

    What is concrete in a prompt (a number, a date, a name) turns up in articles. A capitalised word
    inside a sentence is taken for a name, in languages that capitalise nouns too.

    Example: memory prompts check
    """
    from pipeline.config import config_path
    from pipeline.errors import ConfigFault
    from pipeline.prompt_files import each
    from pipeline.prompts import Prompts
    from pipeline.resources import folder
    from pipeline.schematic import faults

    shipped = Prompts(folder("prompts"))
    found = {}
    for name, prompt in each(folder("prompts"), config_path().parent / "prompts"):
        if isinstance(prompt, ConfigFault):
            found[name] = [f"{prompt} {prompt.mend}".strip()]
        else:
            found[name] = faults(prompt, shipped.get(name))
    if as_json:
        rows = [{"name": name, "faults": wrong} for name, wrong in found.items()]
        print_json({"ok": not any(found.values()), "prompts": rows})
    else:
        for name, wrong in found.items():
            say(f"{'BAD' if wrong else 'ok '} {name}")
            for fault in wrong:
                say(f"      {fault}")
    if wrong_ones := [name for name, wrong in found.items() if wrong]:
        raise ConfigFault(
            f"{len(wrong_ones)} of {len(found)} prompts have faults: {', '.join(wrong_ones)}",
            mend="mend the files named above; `memory prompts show NAME` prints one as it is",
        )


def _prompts() -> Prompts:
    from pipeline.config import config_path
    from pipeline.prompts import Prompts
    from pipeline.resources import folder

    return Prompts(folder("prompts"), config_path().parent / "prompts")


def _facts(prompt: Prompt) -> dict[str, Any]:
    from pipeline.resources import folder

    answer = f"one of: {', '.join(prompt.options)}" if prompt.options else "a choice"
    if prompt.max_tokens:
        answer = prompt.grammar.kind if prompt.grammar else "free"
    return {
        "name": prompt.name,
        "answer": answer,
        "max_tokens": prompt.max_tokens,
        "temperature": prompt.temperature,
        "options": list(prompt.options),
        "places": sorted(prompt.places()),
        "cut": dict(prompt.cut),
        "digest": prompt.digest,
        "own": not prompt.origin.startswith(str(folder("prompts"))),
        "file": prompt.origin,
    }
