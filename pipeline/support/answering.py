"""Whether a short reply, such as a label or a name, is an answer at all."""

from __future__ import annotations

from pipeline.support.phrases import aimed_at_agent, elision, meta_talk, prompt_echo, refusal

_FINDERS = (refusal, elision, meta_talk, prompt_echo, aimed_at_agent)


def no_answer(text: str) -> str:
    """The words that show it is none (an excuse, an order, talk about the task), "" if it is one.

    A non-answer taken for the value would head an article and be shown to every later prompt.
    """
    return next((found for finder in _FINDERS if (found := finder(text))), "")
