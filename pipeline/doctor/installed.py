"""The program itself: its settings, prompts and policy, and its name among other packages."""

from __future__ import annotations

import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pipeline
from pipeline.config import config_path
from pipeline.doctor.checks import Machine, Verdict, fail, ok, warn
from pipeline.policy import load_policy
from pipeline.prompt_files import Prompt
from pipeline.prompts import Prompts
from pipeline.resources import folder
from pipeline.schematic import faults
from pipeline.vault import Vault

_OURS = "nightly-memory"
_CHARACTERS_PER_TOKEN = 4  # of English prose, about


def prompts(_machine: Machine) -> Verdict:
    """The policy, the shipped prompts and your own can be read; your own ask for what is read."""
    load_policy()
    known, shipped = _prompts().all(), Prompts(folder("prompts"))
    # a prompt of one's own outlives updates, the form of the answer may not
    unfit = [
        prompt.name
        for prompt in known
        if prompt.digest != shipped.get(prompt.name).digest
        and faults(prompt, shipped.get(prompt.name))
    ]
    if unfit:
        return warn(
            f"{', '.join(unfit)}: your own, and has faults",
            "`memory prompts check` tells them; without your own file the shipped one is used",
        )
    return ok(f"{len(known)} prompts")


def room(machine: Machine) -> Verdict:
    """`max_prompt_tokens` leaves room for the largest prompt, your rules and a window of text."""
    allowed, window = machine.config.max_prompt_tokens, load_policy().chunk.window_tokens
    vault = Vault(machine.config.vault)

    def words(prompt: Prompt) -> int:
        pairs = (text for pair in prompt.examples for text in pair)
        rules = (vault.rules(page) for page in prompt.pages)
        return sum(map(len, (prompt.system, *pairs, prompt.user, *rules)))

    largest = max(_prompts().all(), key=words)
    own = words(largest) // _CHARACTERS_PER_TOKEN
    if allowed < window + own:
        pages = " and ".join(f"Meta/{page}" for page in largest.pages)
        return warn(
            f"a prompt may hold {allowed} tokens, but {largest.name} needs about {window + own}: "
            f"{window} of text and its own words{f' with those of {pages}' if pages else ''}",
            "raise max_prompt_tokens in the configuration, or shorten what you ask for",
        )
    return ok(f"{allowed} tokens, about {window + own} are needed")


def owner(_machine: Machine) -> Verdict:
    """No other package or folder on Python's path is named `pipeline`, as this one is."""
    rivals = sorted({found.name for found in distributions() if _brings_it(found)} - {_OURS})
    if rivals:
        return fail(
            f"{', '.join(rivals)} is installed under the name `pipeline` too",
            "install nightly-memory in an environment of its own",
        )
    here = Path(pipeline.__file__).resolve().parent
    for entry in sys.path:
        for other in (Path(entry) / "pipeline", Path(entry) / "pipeline.py"):
            if other.exists() and other.resolve() != here:
                return warn(
                    f"{other} has the same name and may be taken for this program",
                    "install nightly-memory in an environment of its own",
                )
    return ok(str(here))


def _brings_it(found: Distribution) -> bool:
    """Whether a distribution has files of a package `pipeline`, by what its installer noted."""
    record = found.read_text("RECORD") or ""
    return any(f"\n{name}" in f"\n{record}" for name in ("pipeline/", "pipeline.py,"))


def _prompts() -> Prompts:
    return Prompts(folder("prompts"), config_path().parent / "prompts")
