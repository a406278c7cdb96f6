"""Messages as the model gets to read them: one line each, the speaker first.

The speaker stands on every line, so that an assistant's guess is not read as the user's decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.records import Message

Count = Callable[[str], int]
_ENDS = (".", "!", "?", "。", "！", "？", "؟", "।")  # of a sentence, at the end of its last word
_LONG_WORD = 24  # characters: a longer one is several words, or none
_ASCII_WORD, _OTHER_WORD = 10, 2  # characters of each of these


def line(message: Message) -> str:
    """One message on one line: "USER: …" or "ASSISTANT: …"."""
    return f"{message.role.upper()}: {' '.join(message.text.split())}"


def gist(messages: Sequence[Message], words: int) -> str:
    """The beginning of each message, `words` words in all at most, every message heard."""
    share = max(8, words // max(1, len(messages)))
    lines = []
    for message in messages[: max(1, words // 8)]:
        lines.append(_beginning(line(message), share + 1))
    return "\n".join(lines)


def _beginning(text: str, words: int) -> str:
    """The first words of a text; what is written without spaces counts by its length."""
    kept: list[str] = []
    for word in text.split():
        each = _ASCII_WORD if word.isascii() else _OTHER_WORD
        cost = 1 if len(word) <= _LONG_WORD else -(-len(word) // each)
        if cost > words:
            return " ".join([*kept, *([word[: words * each]] if words else []), "…"])
        kept.append(word)
        words -= cost
    return " ".join(kept)


def windows(messages: Sequence[Message], budget: int, count: Count) -> list[str]:
    """The whole text in pieces of at most `budget` tokens, cut between messages where possible.

    A message that does not fit is cut between sentences, or else words; its further pieces start
    with the speaker again. `count` counts tokens.
    """
    pieces: list[str] = []
    current: list[str] = []
    used = 0
    for message in messages:
        for part in _parts(line(message), budget, count):
            size = count(part) + 1
            if current and used + size > budget:
                pieces.append("\n".join(current))
                current, used = [], 0
            current.append(part)
            used += size
    if current:
        pieces.append("\n".join(current))
    return pieces


def _parts(text: str, budget: int, count: Count) -> list[str]:
    if count(text) < budget:
        return [text]
    speaker, _, said = text.partition(" ")
    words = said.split(" ")
    # halved until a part fits; one huge word is cut too
    if len(words) == 1:
        half = len(said) // 2
        left, right = said[:half], said[half:]
    else:
        half = _middle(words)
        left, right = " ".join(words[:half]), " ".join(words[half:])
    if not left or not right:
        return [text]
    return [
        *_parts(f"{speaker} {left}", budget, count),
        *_parts(f"{speaker} {right}", budget, count),
    ]


def _middle(words: Sequence[str]) -> int:
    """Where to cut in two: after the sentence that ends nearest to the middle, if one is near."""
    half = len(words) // 2
    for step in range(half // 2):
        for at in (half - step, half + step):
            if words[at - 1].endswith(_ENDS):
                return at
    return half
