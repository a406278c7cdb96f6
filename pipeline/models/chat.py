"""Turn an Ask into tokens through the model's own chat template, safely.

The template is rendered with placeholders and split at its control tokens first; what people wrote
is put in afterwards and encoded as plain text. So a transcript that contains `<|im_end|>` or the
like can never end its turn or open another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError

from pipeline.models import Ask

# Private-use characters: no template's own text holds them, and no template strips them.
_PLACE = "\ue000{}\ue001"
_PLACES = re.compile("\ue000(\\d+)\ue001")


@dataclass(frozen=True, slots=True)
class Prompt:
    """An encoded Ask. The first `stem` tokens depend on its system and examples alone.

    opening: so many of the last tokens begin the reply.
    """

    tokens: tuple[int, ...]
    stem: int
    opening: int = 0

    def opened(self, reply: tuple[int, ...]) -> Prompt:
        """The prompt with what the reply begins with in any case."""
        return Prompt((*self.tokens, *reply), self.stem, len(reply))


class Chat:
    """Encodes asks for one tokenizer (mlx_lm's wrapper). Keeps rendered templates."""

    def __init__(self, tokenizer: Any) -> None:
        self._wrapper = tokenizer
        self._plain = getattr(tokenizer, "_tokenizer", tokenizer)
        control = {
            token.content: index
            for index, token in self._plain.added_tokens_decoder.items()
            if token.special
        }
        self._control = control
        longest_first = sorted(control, key=len, reverse=True)
        self._split = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")
        self._rendered: dict[tuple[int, bool], str] = {}
        self.end_of_turn = self._find_end_of_turn()

    def text_tokens(self, text: str) -> list[int]:
        """`text` encoded as plain text: a control token's name in it is just letters."""
        if not text:
            return []
        # A lone surrogate, as broken transcripts hold, is no text to a tokenizer.
        whole = text.encode("utf-8", "replace").decode("utf-8")
        tokens: list[int] = self._plain.encode(
            whole,
            add_special_tokens=False,
            split_special_tokens=True,
            verbose=False,  # it warns of texts too long to be a prompt, which are only counted
        )
        return tokens

    def encode(self, ask: Ask) -> Prompt:
        """The whole conversation up to where the assistant's reply begins."""
        contents, template = self._template(ask)
        tokens: list[int] = []
        stem, last, run = 0, len(contents) - 1, ""
        for piece in self._pieces(template):
            if isinstance(piece, str) and piece in self._control:
                tokens += self.text_tokens(run)
                run = ""
                tokens.append(self._control[piece])
            elif isinstance(piece, str):
                run += piece
            else:
                if piece == last:
                    stem = len(tokens)
                run += contents[piece]
        return Prompt((*tokens, *self.text_tokens(run)), stem)

    def option_tokens(self, ask: Ask, option: str) -> list[int]:
        """The tokens `option` takes as the whole reply to `ask`, the end of the turn included."""
        _, template = self._template(ask)
        lead = self._split.split(template)[-1]
        if _PLACES.search(lead):
            lead = ""
        before, both = self.text_tokens(lead), self.text_tokens(lead + option)
        # Encoded after the template's last words where these stay as they are, as in a real reply.
        fits = both[: len(before)] == before
        return [*(both[len(before) :] if fits else self.text_tokens(option)), self.end_of_turn]

    def _pieces(self, template: str) -> list[str | int]:
        """Control tokens and literal text as str, places as their number."""
        pieces: list[str | int] = []
        for part in self._split.split(template):
            if part in self._control:
                pieces.append(part)
                continue
            for index, text in enumerate(_PLACES.split(part)):
                if index % 2:
                    pieces.append(int(text))
                elif text:
                    pieces.append(text)
        return pieces

    def _template(self, ask: Ask) -> tuple[list[str], str]:
        """The contents in order, and the template rendered with a place for each."""
        turns = [text for pair in ask.examples for text in pair] + [ask.prompt]
        template = self._render(len(turns), system=True)
        if template is not None:
            return [ask.system, *turns], template
        # This model knows no system turn: what it would say opens the first user turn.
        merged = self._render(len(turns), system=False)
        if merged is None:
            raise ValueError("the chat template cannot render a user turn")
        first = f"{ask.system}\n\n{turns[0]}" if ask.system else turns[0]
        return [first, *turns[1:]], merged

    def _render(self, turns: int, *, system: bool) -> str | None:
        """The template with places, None if it refuses or drops one of them."""
        key = (turns, system)
        if key not in self._rendered:
            roles = ["system"] if system else []
            roles += ["user" if turn % 2 == 0 else "assistant" for turn in range(turns)]
            self._rendered[key] = self._apply(roles, reply_follows=True)
        text = self._rendered[key]
        places = [int(number) for number in _PLACES.findall(text)]
        return text if places == list(range(turns + system)) else None

    def _apply(self, roles: list[str], *, reply_follows: bool) -> str:
        messages = [
            {"role": role, "content": _PLACE.format(index)} for index, role in enumerate(roles)
        ]
        try:
            text: str = self._wrapper.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=reply_follows,
                # Thinking would come before the reply and no grammar could bind it.
                enable_thinking=False,
            )
        except TemplateError:
            return ""
        return text

    def _find_end_of_turn(self) -> int:
        """The control token the template writes after an assistant's turn."""
        text = self._apply(["user", "assistant"], reply_follows=False)
        after = text.rpartition(_PLACE.format(1))[2]
        found = self._split.search(after)
        return self._control[found[0]] if found else int(self._plain.eos_token_id)
