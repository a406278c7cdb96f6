"""What speaks for a change of topic between two messages, and what against it.

A cue is a number per gap; gap g stands between the turns g and g + 1. Most cues are of any
language: what the messages mean, the words they share, their length, who asks and who is asked.
The cues of English words are 0 in other languages.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pipeline.segmentation.turns import Turn, excerpt
from pipeline.text import content_words, words
from pipeline.text.lists import word_set

Floats = NDArray[np.float64]

CUES = (
    "near",  # likeness of the two turns, -1..1
    "topic1",  # the same, once what the whole conversation is about was taken out
    "topic2",  # of the two turns before to the two after, by how much each says
    "topic3",  # of three and three
    "onward",  # likeness of the next turn to the one after it
    "dip",  # how far `near` stands from its mean in the conversation, in deviations
    "shared",  # share of the rarer words of the next two turns that the last two have, 0..1
    "pending",  # the last turn ended in a question
    "user_leads",  # the user speaks next: 0.5, else -0.5; nearer to 0 between equals
    "asks",  # the next turn asks something, between equals: who leads also opens topics unasked
    "longer",  # words of the next turn against the mean of its speaker, in logarithms
    "empty",  # the next turn has no content word
    "refers",  # English: "it", "that", "they" in the next turn
    "opens",  # English: the next turn begins with "another", "by the way", "what about"
    "closes",  # English: the next turn says thanks or goodbye
    "closed",  # English: the last turn did
    "pause",  # logarithm of the time between the two, in half hours, to base 2
)
_CENTRED = 6.0  # turns at which a conversation's mean is half trusted
_SAYING = 5.0  # content words at which a turn counts half
_MOST = 1.5  # of a difference of logarithms: samples beyond are no stronger
_LED_BY_LENGTH = 0.3  # difference of logarithms at which the terser side surely leads
_LED_BY_TURNING = 0.12  # difference in `near` at which the side that turns away surely leads
_LONGEST_PAUSE = 6.0
_HALF_HOUR = 1800.0
_QUESTION = re.compile(r"[?？؟]")
_ASKED = re.compile(r"[?？؟][\s\"'”’)*_`]*\Z")
_REFERRING = word_set(
    """
    it its it's that that's this these those they them he she his her their one ones there then
    same
    """
)
_OPENS = re.compile(
    r"^(?:\w+\W+){0,3}?(?:by the way|btw|also|another|next|now|what about|how about|so|anyways?"
    r"|besides|hello|hi|hey|speaking)\b",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\b(?:thanks|thank you|thx|welcome|no problem|goodbye|bye"
    r"|good night|take care|talk (?:soon|later)|see you|have a (?:good|great|nice|lovely)"
    r"|anything else|(?:that is|that's|that’s) all|will be all|enjoy your)\b",
    re.IGNORECASE,
)


def saying(turns: Sequence[Turn]) -> Floats:
    """How much each turn counts for what is spoken of, 0..1: "yes, please" hardly does."""
    said = np.array([len(content_words(excerpt(turn.text))) for turn in turns], dtype=float)
    return said / (said + _SAYING) + 0.05


def about(vectors: Floats, weights: Floats) -> Floats:
    """Unit vectors without what the whole conversation is about, as far as that is known."""
    count = len(vectors)
    # the mean of few turns is mostly those turns, and would make any two look unlike
    mean = weights @ vectors / weights.sum() * count / (count + _CENTRED)
    return _unit(vectors - mean)


def cues(turns: Sequence[Turn], vectors: NDArray[np.float32]) -> Floats:
    """Every cue of every gap, shape (turns - 1, len(CUES)). vectors: a unit row a turn."""
    if len(turns) < 2:
        return np.zeros((0, len(CUES)))
    meant = _meant(vectors.astype(np.float64), saying(turns))
    columns = {
        **meant,
        **_worded([excerpt(turn.text) for turn in turns]),
        **_sided(turns, meant["near"]),
        "pause": _pauses(turns),
    }
    return np.column_stack([columns[name] for name in CUES])


def _meant(vectors: Floats, weights: Floats) -> dict[str, Floats]:
    """By the vectors: near, topic1 to topic3, onward, dip."""
    count = len(vectors)
    near = (vectors[1:] * vectors[:-1]).sum(axis=1)
    weighted = about(vectors, weights) * weights[:, None]
    sums = np.vstack([np.zeros((1, weighted.shape[1])), np.cumsum(weighted, axis=0)])
    gaps = np.arange(1, count)
    found = {"near": near, "onward": np.append(near[1:], near.mean())}
    found["dip"] = (near - near.mean()) / (near.std() + 0.05)
    for width in (1, 2, 3):
        before = sums[gaps] - sums[np.maximum(gaps - width, 0)]
        after = sums[np.minimum(gaps + width, count)] - sums[gaps]
        found[f"topic{width}"] = (_unit(before) * _unit(after)).sum(axis=1)
    return found


def _unit(rows: Floats) -> Floats:
    length: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.maximum(length, 1e-6)


def _worded(texts: Sequence[str]) -> dict[str, Floats]:
    """By the words of the turns: shared, empty, refers, opens, closes, closed."""
    content = [frozenset(content_words(text)) for text in texts]
    turns_with = Counter(word for some in content for word in some)
    weight = {word: math.log((len(texts) + 1) / turns) for word, turns in turns_with.items()}
    closing = np.array([bool(_CLOSES.search(text)) for text in texts], dtype=float)
    return {
        "shared": np.array([_shared(content, gap, weight) for gap in range(1, len(texts))]),
        "empty": np.array([not some for some in content[1:]], dtype=float),
        "refers": np.array([_refers(text) for text in texts[1:]], dtype=float),
        "opens": np.array([bool(_OPENS.match(text)) for text in texts[1:]], dtype=float),
        "closes": closing[1:],
        "closed": closing[:-1],
    }


def _refers(text: str) -> bool:
    return not _REFERRING.isdisjoint(words(text.casefold().replace("’", "'")))


def _shared(content: Sequence[frozenset[str]], gap: int, weight: dict[str, float]) -> float:
    after = content[gap].union(*content[gap + 1 : gap + 2])
    before = content[gap - 1].union(*content[max(0, gap - 2) : gap - 1])
    total = sum(weight[word] for word in after)
    return sum(weight[word] for word in after & before) / total if total > 0 else 0.0


def _sided(turns: Sequence[Turn], near: Floats) -> dict[str, Floats]:
    """By who speaks and who asks: pending, user_leads, asks, longer."""
    user = np.array([turn.by_user for turn in turns])
    asks = np.array([bool(_QUESTION.search(excerpt(turn.text))) for turn in turns], dtype=float)
    asked = np.array([bool(_ASKED.search(turn.text[-40:])) for turn in turns], dtype=float)
    length = np.log1p([len(words(excerpt(turn.text))) for turn in turns])
    leads = _led(_difference(length, ~user, user), _difference(near, ~user[1:], user[1:]))
    usual = np.where(user, _mean(length, user), _mean(length, ~user))
    return {
        "pending": asked[:-1],
        "user_leads": (user[1:] - 0.5) * leads,
        "asks": asks[1:] * (1 - leads),
        "longer": np.clip((length - usual)[1:], -_MOST, _MOST),
    }


def _led(terser: float, turning: float) -> float:
    """How surely the user leads, 0..1.

    terser: how much terser the user is. turning: how much more the user's turns turn away from the
    last one than the assistant's do.
    """
    return min(max((terser / _LED_BY_LENGTH + turning / _LED_BY_TURNING) / 2, 0.0), 1.0)


def _difference(values: Floats, mine: NDArray[np.bool_], theirs: NDArray[np.bool_]) -> float:
    if not mine.any() or not theirs.any():
        return 0.0
    return _mean(values, mine) - _mean(values, theirs)


def _mean(values: Floats, where: NDArray[np.bool_]) -> float:
    return float(values[where].mean()) if where.any() else 0.0


def _pauses(turns: Sequence[Turn]) -> Floats:
    found = np.zeros(len(turns) - 1)
    for gap, (last, following) in enumerate(pairwise(turns)):
        if last.at and following.at:
            waited = max(0.0, (following.at - last.at).total_seconds())
            found[gap] = min(math.log2(1 + waited / _HALF_HOUR), _LONGEST_PAUSE)
    return found
