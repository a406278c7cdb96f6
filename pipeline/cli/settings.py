"""`memory config`: the settings in force."""

from __future__ import annotations

import json

import typer

from pipeline.cli.printing import JsonOption, print_json, say

app = typer.Typer(help="The settings in force, and where they come from.", no_args_is_help=True)


@app.command("show")
def config_show(as_json: JsonOption = False) -> None:
    """Every setting in force: flags over MEMORY_… variables over the file over the defaults.

    Example: memory config show
    """
    from pipeline.config import load_config

    values = load_config().model_dump(mode="json")
    if as_json:
        print_json(values)
        return
    for key, value in values.items():
        if isinstance(value, dict):
            for inner, item in value.items():
                say(f"{key}.{inner} = {json.dumps(item)}")
        else:
            say(f"{key} = {json.dumps(value)}")


@app.command("path")
def config_path() -> None:
    """The configuration file, whether it exists or not.

    Example: memory config path
    """
    from pipeline.config import config_path as path

    say(str(path()))
