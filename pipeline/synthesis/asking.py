"""Replies that are read as they come: what cannot be read is asked again, warmer and anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from pipeline.errors import InvalidReply
from pipeline.models import Ask, Model, Reply
from pipeline.prompt_files import Prompt

_WARMER = 0.4  # temperature gained with each further try, since greedy repeats its own failure
_T = TypeVar("_T")


class _SomeRefused(Exception):
    """Not every reply could be read."""


def written(
    asks: Sequence[Ask],
    read: Callable[[int, Reply], _T],
    *,
    model: Model,
    prompt: Prompt,
    stage: str,
    purpose: str,
    attempts: int,
) -> list[_T | InvalidReply]:
    """What `read` makes of each reply; where it refused the last of `attempts` tries, why.

    read: gets the number of the ask and the reply; InvalidReply asks for another try. All that are
    open are asked in one batch, with the number of the try as seed. A model that refuses the batch
    with InvalidReply, having tried by itself, is asked about each half of it, down to a single ask:
    one takes no other with it. What else it raises is no reply and is not tried again here.
    """
    found: list[_T | InvalidReply] = [InvalidReply("never asked")] * len(asks)
    open_ = list(range(len(asks)))

    def replies(numbers: Sequence[int], seed: int) -> list[Reply | InvalidReply]:
        try:
            return [
                *model.write(
                    [asks[number] for number in numbers],
                    stage=stage,
                    purpose=purpose,
                    max_tokens=prompt.max_tokens,
                    grammar=prompt.grammar,
                    seeds=[seed] * len(numbers),
                    temperature=prompt.temperature + _WARMER * seed,
                )
            ]
        except InvalidReply as refusal:
            half = len(numbers) // 2
            if not half:
                return [refusal]
            return [*replies(numbers[:half], seed), *replies(numbers[half:], seed)]

    def ask(seed: int) -> None:
        tried = tuple(open_)
        for number, reply in zip(tried, replies(tried, seed), strict=True):
            try:
                if isinstance(reply, InvalidReply):
                    raise reply
                found[number] = read(number, reply)
                open_.remove(number)
            except InvalidReply as refusal:
                found[number] = refusal
        if open_:
            raise _SomeRefused

    tries = Retrying(
        stop=stop_after_attempt(attempts),
        retry=retry_if_exception_type(_SomeRefused),
        retry_error_callback=lambda _: None,
    )
    for attempt in tries:
        with attempt:
            ask(attempt.retry_state.attempt_number - 1)
    return found
