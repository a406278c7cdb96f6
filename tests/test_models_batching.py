"""What is computed together: bounded, shared where it is the same, with no effect on the text."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.generate import generate_step

from pipeline.models import Ask, Grammar, reading
from pipeline.models.batches import FREE, PADDING, Need, in_order, joining, padding
from pipeline.models.mlx import MlxModel
from pipeline.models.pace import READING, WRITING, Pace
from pipeline.models.prefix import Prefixes, plan
from pipeline.prompts import Prompts
from pipeline.records import Call
from pipeline.resources import folder
from tests.test_models_architectures import GEMMA4, QWEN3, SYSTEM, _folder

# ------------------------------------------------------------------ bounds

NEEDS = st.lists(
    st.tuples(st.integers(1, 4096), st.integers(0, 4096)).map(
        lambda pair: Need(pair[0], pair[0] + pair[1])
    ),
    max_size=40,
)


@given(NEEDS, st.integers(1, 16), st.integers(1, 40_000), st.randoms(use_true_random=False))
def test_every_prompt_once_and_never_more_than_the_bounds(
    needs: list[Need], rows: int, room: int, chance: Any
) -> None:
    """Whatever the lengths, and whichever replies end first: at most `rows` go on at once, their
    number times the longest is at most `room` (one alone may be longer), and of what is read
    together a quarter is padding at most, or so little that another pass would cost more.
    """
    waiting = in_order(needs)
    going: list[int] = []
    done: list[int] = []
    while waiting or going:
        count = joining(
            [needs[i] for i in waiting], [needs[i] for i in going], rows=rows, room=room
        )
        assert count or going, "nothing goes on and nothing is let in"
        joined, waiting = waiting[:count], waiting[count:]
        going += joined
        if joined:
            read = [needs[i].read for i in joined]
            filled = max(read) * len(read)
            assert filled - sum(read) <= max(FREE, PADDING * filled)
            assert padding([needs[i] for i in joined]) == filled - sum(read)
        assert len(going) <= rows
        if len(going) > 1:
            assert len(going) * max(needs[i].held for i in going) <= room
        ended = chance.sample(going, chance.randint(1, len(going)))
        done += ended
        going = [i for i in going if i not in ended]
    assert sorted(done) == list(range(len(needs)))


def test_eight_of_very_different_length_are_not_read_together() -> None:
    """From 4,096 tokens down to 32, each half the one before: two fit together, no third."""
    needs = [Need(4096 >> n, (4096 >> n) + 100) for n in range(8)]
    assert joining(needs, [], rows=8, room=10**6) == 2
    # of 8 x 4,196 tokens, 3 rows' worth is what there is room for
    assert joining([Need(4096, 4196)] * 8, [], rows=8, room=3 * 4196) == 3


# ------------------------------------------------------------------ shared beginnings

TOKENS = st.lists(st.integers(0, 1), min_size=34, max_size=120).map(tuple)


@given(st.lists(st.tuples(st.sampled_from([(0,) * 40, (1,) * 33, (0, 1)]), TOKENS), min_size=1))
def test_rows_share_only_what_they_begin_with(
    made: list[tuple[tuple[int, ...], tuple[int, ...]]],
) -> None:
    """What a row takes from a shared cache is its own beginning, worth it, and leaves one token."""
    rows = [stem + rest for stem, rest in made]
    lengths = plan(rows, [len(stem) for stem, _ in made])
    for row, (stem, _), length in zip(rows, made, lengths, strict=True):
        assert length < len(row)
        assert length == 0 or length >= 32
        if len(stem) >= 32:
            assert length >= len(stem)


def test_rows_that_go_on_alike_share_more_and_others_are_no_hindrance() -> None:
    """Two questions on one long text share it, though the batch has a third on nothing."""
    stem, text = (1,) * 40, (2,) * 50
    rows = [(*stem, *text, 3, 3), (*stem, 4), (*stem, *text, 5)]
    assert plan(rows, [40] * 3) == [90, 40, 90]


class Layer:
    """A cache of ten bytes a token."""

    def __init__(self) -> None:
        self.nbytes = 0


def _prefixes(room: int, read: list[int]) -> Prefixes:
    def feed(tokens: tuple[int, ...], cache: list[Any]) -> None:
        read.append(len(tokens))
        cache[0].nbytes += 10 * len(tokens)

    return Prefixes(room, fresh=lambda: [Layer()], read=feed)


def test_stems_outlive_what_only_a_few_requests_share() -> None:
    """Thirteen prompts in turn, each with texts of its own: each stem is computed once."""
    read: list[int] = []
    kept = _prefixes(13 * 400 + 1000, read)
    for turn in range(3):
        for prompt in range(13):
            stem = (prompt,) * 40
            text = (100 + turn,) * 60
            _, computed = kept.get((*stem, *text), 40)
            assert computed == (100 if turn == 0 else 60)
    assert sorted(read) == [40] * 13 + [60] * 39
    assert kept.held_bytes <= 13 * 400 + 1000


def test_beginnings_stay_within_their_bytes() -> None:
    """The stem used longest ago goes first; one too large for the room is used and not kept."""
    read: list[int] = []
    kept = _prefixes(1000, read)
    for prompt in (1, 2, 1, 3):
        kept.get((prompt,) * 50, 50)
    assert read == [50, 50, 50]
    assert kept.get((1,) * 50, 50)[1] == 0
    assert kept.get((2,) * 50, 50)[1] == 50
    cache, computed = kept.get((9,) * 200, 200)
    assert (cache[0].nbytes, computed) == (2000, 200)
    assert kept.held_bytes <= 1000


def test_a_beginning_belongs_to_the_adapter_it_was_computed_with() -> None:
    """With another one on it is computed anew, and found again when the first is back."""
    kept = _prefixes(10**6, [])
    assert kept.get((1,) * 50, 50, None)[1] == 50
    assert kept.get((1,) * 50, 50, Path("a"))[1] == 50
    assert kept.get((1,) * 50, 50, None)[1] == 0


# ------------------------------------------------------------------ together or one by one


def _try(pace: Pace, kind: str, alone: float, together: float) -> list[int]:
    """The sizes of the next 40 batches of up to 8 rows; seconds a token alone and together."""
    sizes = []
    for _ in range(40):
        rows = pace.rows(kind, 8, 100)
        sizes.append(rows)
        pace.took(kind, rows, 10 * rows, 10 * rows * (alone if rows == 1 else together))
    return sizes


@pytest.mark.parametrize("kind", [READING, WRITING])
@pytest.mark.parametrize(("alone", "together", "after"), [(0.1, 0.02, 8), (0.1, 0.12, 1)])
def test_the_faster_way_is_taken_for_the_rest_of_the_run(
    kind: str, alone: float, together: float, after: int, caplog: pytest.LogCaptureFixture
) -> None:
    """After a few tries of each way it is settled, once, and told in the log."""
    caplog.set_level(logging.INFO)
    pace = Pace()
    sizes = _try(pace, kind, alone, together)
    assert {*sizes[:24]} == {1, 8}
    assert {*sizes[24:]} == {after}
    assert {*_try(pace, kind, together, alone)} == {after}, "what is settled stays so"
    (said,) = caplog.messages
    assert said.startswith(kind)
    assert ("one by one from here on" in said) == (after == 1)


def test_the_kinds_are_settled_apart() -> None:
    """Reading one by one may pay where writing together does."""
    pace = Pace()
    _try(pace, READING, 0.1, 0.12)
    _try(pace, WRITING, 0.1, 0.02)
    assert (pace.rows(READING, 8, 100), pace.rows(WRITING, 8, 100)) == (1, 8)
    assert (pace.rows(READING, 0, 0), pace.rows(WRITING, 0, 0)) == (0, 0)


def test_reading_is_compared_like_with_like() -> None:
    """A row that had to be read alone, for its length, says nothing about the others."""
    pace = Pace()
    for _ in range(20):
        assert pace.rows(READING, 1, 1000) == 1
        pace.took(READING, 1, 1000, 0.001)
    assert _try(pace, READING, 0.1, 0.02)[-1] == 8


# ------------------------------------------------------------------ the real thing

PROMPTS = [
    "Say why the sea is salt.",
    "Name a colour.",
    "Tell in some detail how bread is baked, as a baker would tell a child who asks about it.",
    "Count to three.",
    "Is ice warm?",
    "What is the plural of mouse, and why is it not mouses, as it would be with houses?",
]


def _settled(*, alone: bool) -> Pace:
    pace = Pace()
    for kind in (READING, WRITING):
        _try(pace, kind, 0.1, 0.2 if alone else 0.02)
    return pace


@pytest.mark.model
@pytest.mark.parametrize(
    ("seeds", "grammar"),
    [(None, None), ([1, 2, 3, 4, 5], Grammar("regex", "[A-Za-z ]{1,50}[.]"))],
    ids=["greedy", "seeded, under a grammar"],
)
def test_text_is_the_same_however_it_is_computed(
    smollm: MlxModel,
    monkeypatch: pytest.MonkeyPatch,
    seeds: list[int] | None,
    grammar: Grammar | None,
) -> None:
    """One by one, together, and while it is being tried, with rows that end at different times."""
    asks = [Ask("You answer in a few words.", prompt) for prompt in PROMPTS[:5]]

    def texts(pace: Pace, batch: int) -> list[str]:
        monkeypatch.setattr(smollm.engine, "_pace", pace)
        monkeypatch.setattr(smollm.engine, "_batch", batch)
        replies = smollm.write(
            asks,
            stage="s",
            purpose="p",
            max_tokens=16,
            seeds=seeds,
            temperature=1.0 if seeds else 0.0,
            grammar=grammar,
        )
        if grammar is not None:
            for reply in replies:
                ended = reply.finish == "stop"
                assert re.fullmatch("[A-Za-z ]{1,50}[.]" if ended else "[A-Za-z .]*", reply.text)
        return [reply.text for reply in replies]

    widths: list[int] = []
    forward = smollm.engine._reader.forward

    def counted(tokens: mx.array, cache: list[Any]) -> mx.array:
        widths.append(len(tokens))
        return forward(tokens, cache)

    monkeypatch.setattr(smollm.engine._reader, "forward", counted)
    together = texts(_settled(alone=False), 3)
    assert max(widths) == 3
    widths.clear()
    assert texts(_settled(alone=True), 3) == together
    assert max(widths) == 1
    assert texts(Pace(), 3) == together


@pytest.mark.model
@pytest.mark.parametrize("config", [GEMMA4, QWEN3], ids=["gemma4", "qwen3"])
def test_rows_may_join_others_that_go_on(
    config: dict[str, Any], smollm: MlxModel, models_dir: Path, tmp_path: Path
) -> None:
    """Twelve replies of chance lengths in batches of four equal one plain decode each, also where
    the caches slide.
    """
    smollm.count("x")  # fetched
    place = _folder(config, models_dir / "smollm2-135m", tmp_path)
    ends = [0, 2, *range(5, 49152, 9)]
    (place / "config.json").write_text(json.dumps({**config, "eos_token_id": ends}))
    model = MlxModel("tiny", place, account=lambda call: None, batch=4)
    asks = [Ask(SYSTEM, prompt * (1 + n)) for n in range(2) for prompt in PROMPTS]
    model.engine._pace = _settled(alone=False)
    replies = model.write(asks, stage="s", purpose="p", max_tokens=30)
    lengths = set()
    for ask, reply in zip(asks, replies, strict=True):
        tokens: list[int] = []
        prompt = mx.array(model.engine.chat.encode(ask).tokens)
        for token, _ in generate_step(prompt, model.engine._model, max_tokens=30):
            if token in ends:
                break
            tokens.append(int(token))
        assert reply.text == model.engine._tokenizer.decode(tokens, skip_special_tokens=True)
        lengths.add(len(tokens))
    assert len(lengths) > 3
    model.close()


@pytest.mark.model
def test_a_stem_is_computed_once_a_run(models_dir: Path, smollm: MlxModel) -> None:
    """Two stages' own prompts in turn, twice: the second time all of every stem is cached."""
    smollm.count("x")  # fetched
    calls: list[Call] = []
    model = MlxModel("m", models_dir / "smollm2-135m", account=calls.append)
    prompts = Prompts(folder("prompts"))
    found = []
    for text in ("The lamp is lit.", "The door is shut."):
        for name, values in (
            ("synthesize/section", {"headings": "Lamps\nDoors", "claim": text, "rules": ""}),
            ("chunk/label", {"transcript": f"USER: {text}", "rules": ""}),
        ):
            ask = prompts.ask(name, values, ("Lamps", "Doors"))
            calls.clear()
            if name == "synthesize/section":
                model.choose([ask], stage="s", purpose=name)
            else:
                model.write([ask], stage="s", purpose=name, max_tokens=1)
            found.append((calls[0].cached_tokens, model.engine.chat.encode(ask).stem))
    assert [cached for cached, _ in found[:2]] == [0, 0]
    assert [cached for cached, _ in found[2:]] == [stem for _, stem in found[2:]]
    model.close()


@pytest.mark.model
def test_no_pass_is_longer_than_its_bound(
    models_dir: Path, smollm: MlxModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of stems, of one long prompt and of several together: the tokens of all rows count."""
    smollm.count("x")  # fetched
    monkeypatch.setattr(reading, "STEP", 64)
    model = MlxModel("m", models_dir / "smollm2-135m", account=lambda call: None, batch=3)
    engine: Any = model.engine
    engine._pace = _settled(alone=False)
    forward, passes = engine._reader.forward, list[tuple[int, ...]]()

    def seen(tokens: Any, cache: Any) -> Any:
        passes.append(tokens.shape)
        return forward(tokens, cache)

    engine._reader.forward = seen
    asks = [Ask("Copy. " * 30, f"{n} " + "again and again " * (15 + n)) for n in range(4)]
    model.write(asks, stage="s", purpose="p", max_tokens=2)
    model.choose(
        [Ask(a.system, a.prompt, options=("a", "b")) for a in asks], stage="s", purpose="p"
    )
    assert max(rows * tokens for rows, tokens in passes) <= 64
    assert max(rows for rows, _ in passes) == 3
    model.close()


@pytest.mark.model
def test_freed_buffers_are_kept_within_their_limit(models_dir: Path, smollm: MlxModel) -> None:
    """What MLX keeps for reuse after a batch is no more than it was told."""
    smollm.count("x")  # fetched
    before = mx.set_cache_limit(2**30)
    model = MlxModel("m", models_dir / "smollm2-135m", account=lambda call: None, cache_bytes=2**22)
    try:
        model.write([Ask("Count.", p) for p in PROMPTS], stage="s", purpose="p", max_tokens=3)
        assert mx.get_cache_memory() <= 2**22
    finally:
        model.close()
        mx.set_cache_limit(before)
