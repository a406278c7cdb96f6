"""The prompts: rendered, and made to fit what a model may read.

Values are inserted once and never looked at again, so a transcript may hold dollar signs, headings
and delimiters of every kind. Where a prompt would be too long, the values are shortened in the
order its file states; what instructs the model (own words, examples, the user's rules) never is.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from pipeline.errors import ConfigFault, PromptTooLong
from pipeline.identity import SENTINEL
from pipeline.models import Ask
from pipeline.prompt_files import RULES, Prompt, each
from pipeline.shortening import fitted

# What a chat template puts around each turn and at the beginning, in tokens, rather too many.
_TURN, _OPENING = 8, 32
_LEAST = 64  # tokens: a prompt with less room for its values asks about nothing
_DENSEST = 16  # characters of a token, in any text that says something
_COUNTED = 64  # texts whose size is remembered
_LOG = logging.getLogger(__name__)


class Prompts:
    """The shipped prompts, each replaced by the file of the same name under `override`.

    All are read and checked at once: a broken prompt stops a run before it starts, as ConfigFault
    that names the file.
    """

    def __init__(self, folder: Traversable, override: Path | None = None) -> None:
        self._prompts: dict[str, Prompt] = {}
        for name, found in each(folder, override):
            if isinstance(found, ConfigFault):
                raise found
            self._prompts[name] = found
        self._limit = sys.maxsize
        self._count: Callable[[str], int] = len
        self._counted: dict[str, int] = {}

    def within(self, limit: int, count: Callable[[str], int]) -> Prompts:
        """The same prompts, each made to fit `limit` tokens, as `count` counts them, from here on.

        `count` is asked about long prompts only: no text has more tokens than bytes.
        """
        self._limit, self._count = limit, count
        self._counted.clear()
        return self

    def get(self, name: str) -> Prompt:
        """The prompt of that name, e.g. "synthesize/claims". Raises ConfigFault if unknown."""
        try:
            return self._prompts[name]
        except KeyError:
            raise ConfigFault(
                f"there is no prompt named {name}", mend=f"Known: {', '.join(self._prompts)}."
            ) from None

    def all(self) -> list[Prompt]:
        """Every prompt, by name."""
        return list(self._prompts.values())

    def ask(self, name: str, values: Mapping[str, str], options: Sequence[str] = ()) -> Ask:
        """The request to send: every place filled, the system turn opened by the sentinel.

        What would be too long is shortened as the prompt's file says. options: for a choice; the
        file's own where none are given. Raises ConfigFault when a place has no value or a value has
        no place, and when what instructs the model is too long by itself; PromptTooLong for values
        that the file does not let be shortened.
        """
        prompt = self.get(name)
        places = prompt.places()
        for missing in sorted(places - values.keys()):
            raise ConfigFault(
                f"{prompt.origin} has a place ${missing} that nothing fills",
                mend=f"Use only {_listed(values)}; write $$ for a dollar sign.",
            )
        for left in sorted(values.keys() - places):
            raise ConfigFault(
                f"{prompt.origin} has no place ${left}, so the model would never see it",
                mend=f"Put ${left} into one of its parts.",
            )
        ask = _filled(prompt, values, options)
        if self._surely_fits(ask):
            return ask
        self._room(prompt, values)
        kept = fitted(values, prompt.cut, lambda tried: self._fits(_filled(prompt, tried, options)))
        if kept is None:
            raise PromptTooLong(
                f"a prompt of {name} has more than {self._limit} tokens, and {prompt.origin} lets "
                "nothing more of it be shortened",
                mend="name all its places under `cut`, or raise `max_prompt_tokens`",
            )
        if shorter := [place for place in values if kept[place] != values[place]]:
            _LOG.info("%s: shortened to fit: %s", name, ", ".join(shorter))
        return _filled(prompt, kept, options)

    def room(self, name: str, values: Mapping[str, str]) -> int:
        """Tokens that the prompt has for its values beside the user's rules, if these are among
        `values`. Raises ConfigFault as `ask` does.
        """
        return self._room(self.get(name), values)

    def digests(self) -> dict[str, str]:
        """Name → digest of every prompt, for the run results."""
        return {name: prompt.digest for name, prompt in self._prompts.items()}

    def _surely_fits(self, ask: Ask) -> bool:
        turns = _turns(ask)
        size = sum(len(text.encode("utf-8", "replace")) for text in turns)
        return size + _around(turns) <= self._limit

    def _fits(self, ask: Ask) -> bool:
        if self._surely_fits(ask):
            return True
        # a huge text is not counted to learn that it is one
        if sum(map(len, _turns(ask))) > _DENSEST * self._limit:
            return False
        return self._size(ask) <= self._limit

    def _size(self, ask: Ask) -> int:
        """Tokens of the ask, rather too many."""
        *same, last = turns = _turns(ask)
        for text in same:  # the same all night
            if text not in self._counted:
                if len(self._counted) >= _COUNTED:
                    self._counted.clear()
                self._counted[text] = self._count(text)
        return sum(self._counted[text] for text in same) + self._count(last) + _around(turns)

    def _room(self, prompt: Prompt, values: Mapping[str, str]) -> int:
        empty = dict.fromkeys(prompt.places(), "")
        ruled = {**empty, RULES: values[RULES]} if RULES in values else empty
        needed = self._size(_filled(prompt, ruled, ()))
        if self._limit - needed >= _LEAST:
            return self._limit - needed
        own = self._size(_filled(prompt, empty, ()))
        if self._limit - own >= _LEAST:
            pages = " and ".join(f"Meta/{page}" for page in prompt.pages)
            raise ConfigFault(
                f"what {pages or 'the owner'} asks for is about {needed - own} tokens long, and "
                f"the prompt {prompt.name} has room for {self._limit - own - _LEAST}",
                mend="shorten it, or raise `max_prompt_tokens`, if the model can read more",
            )
        raise ConfigFault(
            f"the prompt {prompt.name} is about {own} tokens long before anything is put into it, "
            f"and `max_prompt_tokens` is {self._limit}",
            mend="raise `max_prompt_tokens`, if the model can read more",
        )


def _filled(prompt: Prompt, values: Mapping[str, str], options: Sequence[str]) -> Ask:
    def fill(text: str) -> str:
        return Template(text).substitute(values)

    return Ask(
        system=f"{SENTINEL}\n{fill(prompt.system)}",
        prompt=fill(prompt.user),
        examples=tuple((fill(user), fill(reply)) for user, reply in prompt.examples),
        options=tuple(options) or prompt.options,
    )


def _turns(ask: Ask) -> list[str]:
    return [ask.system, *(text for pair in ask.examples for text in pair), ask.prompt]


def _around(turns: Sequence[str]) -> int:
    return _OPENING + _TURN * len(turns)


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"${name}" for name in sorted(values)) or "no places"
