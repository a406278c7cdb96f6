"""Whether a short reply, such as a label or a name, is an answer at all."""

from __future__ import annotations

from pipeline.models import Ask
from pipeline.support.phrases import aimed_at_agent, elision, meta_talk, prompt_echo, refusal
from pipeline.text import content_words

_FINDERS = (refusal, elision, meta_talk, prompt_echo, aimed_at_agent)


def no_answer(text: str) -> str:
    """The words that show it is none (an excuse, an order, talk about the task), "" if it is one.

    A non-answer taken for the value would head an article and be shown to every later prompt.
    """
    return next((found for finder in _FINDERS if (found := finder(text))), "")


def of_example(text: str, ask: Ask) -> bool:
    """Whether the text is the answer of one of the prompt's examples: small models give it to
    anything.
    """
    said = set(content_words(text))
    return any(said == set(content_words(answer)) for _, answer in ask.examples)
