"""What others do, on the same dialogues: the rows beside ours."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from benchmarks.recall_locomo import Dialogue, Place, conv
from pipeline.recall.terms import Term, terms

_PLAIN = "unicode61 remove_diacritics 2"
_PORTER = f"porter {_PLAIN}"
_FUSED = 60  # what reciprocal rank fusion adds to each rank

Ranked = tuple[list[list[Place]], list[list[int]]]  # of each question turns, and sessions


@dataclass(frozen=True, slots=True)
class Rival:
    """A way to rank the turns and the sessions of a dialogue for each of its questions."""

    name: str
    ranked: Callable[[Dialogue], Ranked]


def rivals() -> Iterator[Rival]:
    """The rows, the plainest first."""
    yield Rival("FTS5 as it comes", lambda d: _by_fts(d, _PLAIN, _all_words))
    yield Rival("BM25, stems, stop words dropped", lambda d: _by_fts(d, _PORTER, _content))
    yield Rival("BM25 fused over turn, window and session", _fused)


def _all_words(question: str) -> str:
    words = "".join(c if c.isalnum() else " " for c in question).split()
    return " OR ".join(f'"{word}"' for word in words)


def _content(question: str) -> str:
    wanted: Iterable[Term] = terms(question)
    # single words, without other forms of them
    return " OR ".join(f'"{term.word}"' for term in wanted if term.word)


# ------------------------------------------------------------------ by words


def _turns(dialogue: Dialogue) -> tuple[list[Place], list[str]]:
    places, texts = [], []
    for number, (_, said) in enumerate(dialogue.sessions):
        for position, text in enumerate(said):
            places.append((conv(number), position))
            texts.append(text)
    return places, texts


def _bm25(texts: Sequence[str], questions: Iterable[str], tokenizer: str) -> list[list[int]]:
    with closing(sqlite3.connect(":memory:")) as found:
        found.execute(f"CREATE VIRTUAL TABLE t USING fts5(x, tokenize='{tokenizer}')")
        found.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(texts))
        query = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank"
        return [
            [row[0] for row in found.execute(query, (question,))] if question else []
            for question in questions
        ]


def _by_fts(dialogue: Dialogue, tokenizer: str, read: Callable[[str], str]) -> Ranked:
    places, texts = _turns(dialogue)
    questions = [read(one.text) for one in dialogue.questions]
    turns = _bm25(texts, questions, tokenizer)
    sessions = _bm25(["\n".join(said) for _, said in dialogue.sessions], questions, tokenizer)
    return [[places[row] for row in each] for each in turns], sessions


def _windows(dialogue: Dialogue) -> list[str]:
    """Each turn with its neighbours."""
    return [
        "\n".join(said[max(0, position - 1) : position + 2])
        for _, said in dialogue.sessions
        for position in range(len(said))
    ]


def _fused(dialogue: Dialogue) -> Ranked:
    places, texts = _turns(dialogue)
    questions = [_content(one.text) for one in dialogue.questions]
    own = _bm25(texts, questions, _PORTER)
    wide = _bm25(_windows(dialogue), questions, _PORTER)
    whole = _bm25(["\n".join(said) for _, said in dialogue.sessions], questions, _PORTER)
    of_session: defaultdict[int, list[int]] = defaultdict(list)
    for row, (name, _) in enumerate(places):
        of_session[int(name, 16)].append(row)
    turns = []
    for alone, window, sessions in zip(own, wide, whole, strict=True):
        scores = _fusion([alone, window])
        for rank, session in enumerate(sessions):
            for row in of_session[session]:
                if row in scores:
                    scores[row] += 1 / (_FUSED + rank)
        best = sorted(scores, key=scores.__getitem__, reverse=True)
        turns.append([places[row] for row in best])
    return turns, whole


def _fusion(rankings: Iterable[Sequence[int]]) -> dict[int, float]:
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, row in enumerate(ranking):
            scores[row] += 1 / (_FUSED + rank)
    return scores
