"""The language model that runs here, on the smallest registry model."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm import load

from pipeline.errors import ModelFault, OutOfMemory
from pipeline.models import Ask, Grammar
from pipeline.models.check import check
from pipeline.models.mlx import MlxModel
from pipeline.records import Call

pytestmark = pytest.mark.model

SYSTEM = "You are a terse assistant that answers in one sentence."
PROMPTS = (
    "What is the capital of France?",
    "Name a colour.",
    "Why is the sky blue? Explain it with the physics, as a teacher would to a class.",
)
ASKS = [Ask(SYSTEM, prompt) for prompt in PROMPTS]
LONG_SYSTEM = (
    f"{SYSTEM} " + "You never add greetings, apologies, warnings or follow-up questions. " * 4
)


def _texts(model: MlxModel, asks: list[Ask], max_tokens: int = 24, **more: object) -> list[str]:
    replies = model.write(asks, stage="s", purpose="p", max_tokens=max_tokens, **more)  # type: ignore[arg-type]
    return [reply.text for reply in replies]


def test_greedy_text_is_the_same_alone_batched_and_reordered(smollm: MlxModel) -> None:
    """What else is in a batch makes no difference to a reply."""
    together = _texts(smollm, ASKS)
    assert together[::-1] == _texts(smollm, ASKS[::-1])
    assert together == [_texts(smollm, [ask])[0] for ask in ASKS]


def test_a_shared_prefix_is_computed_once_and_changes_no_text(
    smollm: MlxModel, models_dir: Path
) -> None:
    """Asks with one system turn share its cache, within a batch and in later calls."""
    asks = [Ask(LONG_SYSTEM, prompt) for prompt in PROMPTS]
    fresh = MlxModel("fresh", models_dir / "smollm2-135m", account=lambda call: None)
    first = fresh.write(asks, stage="s", purpose="p", max_tokens=16)
    again = fresh.write(asks[:1], stage="s", purpose="p", max_tokens=16)[0]
    alone = []
    for ask in asks:
        fresh.close()  # forgets every cache
        alone.append(fresh.write([ask], stage="s", purpose="p", max_tokens=16)[0])
    fresh.close()
    assert [reply.text for reply in first] == [reply.text for reply in alone]
    assert [reply.cached_tokens for reply in alone] == [0, 0, 0]
    assert sorted(reply.cached_tokens == 0 for reply in first) == [False, False, True]
    assert again.cached_tokens >= 40
    assert again.text == first[0].text
    assert again.prompt_tokens == alone[0].prompt_tokens > again.cached_tokens


def test_sampled_text_depends_on_its_seed_alone(smollm: MlxModel) -> None:
    """A seed gives the same text alone, batched and reordered; another seed gives another."""
    together = _texts(smollm, ASKS, seeds=[7, 8, 9], temperature=1.0)
    backwards = _texts(smollm, ASKS[::-1], seeds=[9, 8, 7], temperature=1.0)
    assert together == backwards[::-1]
    assert _texts(smollm, ASKS[2:], seeds=[9], temperature=1.0) == together[2:]
    assert _texts(smollm, ASKS[2:], seeds=[10], temperature=1.0) != together[2:]


def test_a_temperature_without_seeds_is_refused(smollm: MlxModel) -> None:
    """Unseeded sampling could not be repeated."""
    with pytest.raises(ValueError, match="seed"):
        smollm.write(ASKS, stage="s", purpose="p", max_tokens=4, temperature=1.0)


def test_a_reply_says_whether_it_ended_by_itself(smollm: MlxModel) -> None:
    """finish is "length" exactly when the cap cut the reply, and tokens are counted."""
    capped, ended = (
        smollm.write(ASKS[:1], stage="s", purpose="p", max_tokens=cap)[0] for cap in (3, 60)
    )
    assert (capped.finish, capped.output_tokens) == ("length", 3)
    assert ended.finish == "stop"
    assert 3 < ended.output_tokens < 60
    assert "<|im_end|>" not in ended.text
    assert ended.text.startswith(capped.text)


def test_a_json_grammar_binds_every_row_of_a_batch(smollm: MlxModel) -> None:
    """Each reply is the schema's JSON, whatever the model would have said; other rows too."""
    schema = {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "maxLength": 30},
            "sure": {"type": "boolean"},
        },
        "required": ["answer", "sure"],
        "additionalProperties": False,
    }
    grammar = Grammar("json", json.dumps(schema))
    for text in _texts(smollm, ASKS, grammar=grammar):
        value = json.loads(text)
        assert set(value) == {"answer", "sure"}
        assert isinstance(value["sure"], bool)


def test_a_reply_ends_where_the_grammar_lets_it_and_not_before(smollm: MlxModel) -> None:
    """The end token counts only once the grammar is satisfied; at the cap it was not."""
    ask = Ask(SYSTEM, "Say yes.")
    grammar = Grammar("regex", "(yes|no)( and (yes|no)){6}")
    given = {"stage": "s", "purpose": "p", "grammar": grammar}
    (whole,) = smollm.write([ask], max_tokens=60, **given)  # type: ignore[arg-type]
    assert re.fullmatch(grammar.text, whole.text) and whole.finish == "stop"
    (cut,) = smollm.write([ask], max_tokens=5, **given)  # type: ignore[arg-type]
    assert cut.finish == "length" and whole.text.startswith(cut.text)


def test_what_every_reply_begins_with_is_read_and_not_decoded(smollm: MlxModel) -> None:
    """It is part of the text and of the prompt's tokens; what is open alone counts as output."""
    (open_,) = smollm.write(ASKS[:1], stage="s", purpose="p", max_tokens=3)
    forced = '{"claims":[' + "7" * 9
    for tail, most in (("(yes|no)", 4), ("", 1)):
        grammar = Grammar("regex", re.escape(forced) + tail)
        (reply,) = smollm.write(ASKS[:1], stage="s", purpose="p", max_tokens=20, grammar=grammar)
        assert re.fullmatch(grammar.text, reply.text) and reply.finish == "stop"
        assert reply.output_tokens <= most < smollm.count(forced)
        read = reply.prompt_tokens - open_.prompt_tokens
        assert 0 < read <= smollm.count(forced)


@pytest.mark.parametrize("seed", [1, 2])
def test_regex_and_lark_grammars_bind_too(smollm: MlxModel, seed: int) -> None:
    """Also when sampling at a high temperature."""
    (text,) = _texts(
        smollm,
        ASKS[:1],
        grammar=Grammar("regex", "[ab]{3}-[0-9]{2}"),
        seeds=[seed],
        temperature=2.0,
    )
    assert len(text) == 6
    assert set(text[:3]) <= set("ab")
    assert text[3] == "-"
    assert text[4:].isdigit()
    lark = Grammar("lark", 'start: "left" | "right"')
    assert _texts(smollm, ASKS[:1], grammar=lark, seeds=[seed], temperature=2.0)[0] in (
        "left",
        "right",
    )


@pytest.mark.parametrize(
    "grammar",
    [Grammar("json", "{"), Grammar("lark", "start: missing"), Grammar("smoke", "signals")],
)
def test_a_bad_grammar_is_a_model_fault(smollm: MlxModel, grammar: Grammar) -> None:
    """A grammar that cannot be compiled is named, and nothing is decoded."""
    with pytest.raises(ModelFault, match="grammar"):
        _texts(smollm, ASKS[:1], grammar=grammar)


def test_choose_gives_probabilities_in_the_order_of_the_options(smollm: MlxModel) -> None:
    """They sum to 1, and follow the options when these are reordered."""
    options = ("sport", "cooking", "weather")
    asks = [
        Ask("You sort sentences by topic.", prompt, options=options)
        for prompt in ("The goalkeeper saved a penalty.", "It snows and the wind blows.")
    ]
    sport, weather = smollm.choose(asks, stage="s", purpose="p")
    assert (sport.best, weather.best) == ("sport", "weather")
    assert sum(sport.probabilities) == pytest.approx(1)
    turned = Ask("You sort sentences by topic.", asks[0].prompt, options=options[::-1])
    (choice,) = smollm.choose([turned], stage="s", purpose="p")
    assert choice.options == options[::-1]
    assert choice.probabilities[::-1] == pytest.approx(sport.probabilities, abs=1e-3)


def test_choose_takes_out_what_the_model_leans_to(smollm: MlxModel) -> None:
    """Asked without content, no option is more likely than another, one-token or not."""
    for options in (("yes", "no"), ("the first one", "the second one", "neither of them")):
        ask = Ask("Answer the question.", "N/A", options=options)
        (choice,) = smollm.choose([ask], stage="s", purpose="p")
        assert choice.probabilities == pytest.approx([1 / len(options)] * len(options), abs=1e-3)


def test_choose_weighs_options_that_begin_alike_by_all_their_tokens(
    smollm: MlxModel, models_dir: Path
) -> None:
    """Equal, within rounding, to the likelihood of each whole reply over that after "N/A".

    One option is the beginning of another, and the batch mixes long and short prompts. The
    expected values come from one plain forward pass of mlx_lm over each whole conversation.
    """
    options = ("the weather", "the weather report", "the kitchen")
    prompts = ("Rain falls.", "Stir the soup for ten minutes, then add the salt and the pepper.")
    asks = [Ask("Sort.", prompt, options=options) for prompt in prompts]
    choices = smollm.choose(asks, stage="s", purpose="p")

    model: Any
    tokenizer: Any
    model, tokenizer = load(str(models_dir / "smollm2-135m"))[:2]

    def likelihood(prompt: str, option: str) -> float:
        turns = [{"role": "system", "content": "Sort."}, {"role": "user", "content": prompt}]
        before = tokenizer.apply_chat_template(turns, add_generation_prompt=True)
        reply = tokenizer.encode(f"{option}<|im_end|>", add_special_tokens=False)
        logits = model(mx.array([before + reply]))[0].astype(mx.float32)
        steps = logits[len(before) - 1 : -1]
        steps = steps - mx.logsumexp(steps, axis=-1, keepdims=True)
        return sum(float(steps[place, token].item()) for place, token in enumerate(reply))

    for prompt, choice in zip(prompts, choices, strict=True):
        ratios = [math.exp(likelihood(prompt, o) - likelihood("N/A", o)) for o in options]
        expected = [ratio / sum(ratios) for ratio in ratios]
        assert choice.probabilities == pytest.approx(expected, rel=1e-2)


def test_options_must_be_distinct(smollm: MlxModel) -> None:
    """A doubled or missing option is a mistake of the caller."""
    for options in ((), ("yes", "yes")):
        with pytest.raises(ValueError, match="distinct"):
            smollm.choose([Ask("", "x", options=options)], stage="s", purpose="p")


def test_every_call_is_accounted(models_dir: Path) -> None:
    """Tokens and finish of each reply, and the content-free prompt of choose once only."""
    calls: list[Call] = []
    model = MlxModel("m", models_dir / "smollm2-135m", account=calls.append)
    replies = model.write(ASKS, stage="chunk", purpose="label", max_tokens=5)
    assert [(call.stage, call.purpose) for call in calls] == [("chunk", "label")] * 3
    for call, reply in zip(calls, replies, strict=True):
        assert call.prompt_tokens == reply.prompt_tokens
        assert call.output_tokens == reply.output_tokens <= 5
        assert call.finish == reply.finish
    calls.clear()
    ask = Ask("Answer.", "Is water wet?", options=("yes", "no"))
    model.choose([ask, ask], stage="s", purpose="p")
    assert len(calls) == 3
    model.choose([ask], stage="s", purpose="p")
    assert len(calls) == 4
    assert {call.output_tokens for call in calls} == {0}
    model.close()


def test_a_prompt_over_the_limit_is_refused_with_its_size(models_dir: Path) -> None:
    """It is never cut in silence."""
    model = MlxModel(
        "m", models_dir / "smollm2-135m", account=lambda call: None, max_prompt_tokens=50
    )
    with pytest.raises(ModelFault, match=r"label has \d+ tokens.*50"):
        model.write([Ask("", "word " * 100)], stage="s", purpose="label", max_tokens=1)
    model.close()


def test_no_asks_load_no_model(tmp_path: Path) -> None:
    """A night without news touches no weights: here there are none to touch."""
    model = MlxModel("m", tmp_path, account=lambda call: None)
    assert model.choose([], stage="s", purpose="p") == []
    assert model.write([], stage="s", purpose="p", max_tokens=5) == []
    model.close()


def test_what_holds_a_model_is_light_until_it_is_asked() -> None:
    """Making a model and an embedder imports no array library: an idle night starts at once."""
    program = (
        "import sys; from pathlib import Path; from pipeline.models import fetch;"
        "from pipeline.models.mlx import MlxModel; from pipeline.models.minilm import MiniLM;"
        "MlxModel('m', Path('.'), account=print); MiniLM('e', Path('.'));"
        "heavy = {'mlx', 'mlx_lm', 'transformers', 'huggingface_hub', 'gguf', 'llguidance'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


def test_a_missing_or_broken_folder_is_a_model_fault(tmp_path: Path, models_dir: Path) -> None:
    """The fault names the folder and the command that mends it."""
    with pytest.raises(ModelFault, match=str(tmp_path)) as caught:
        MlxModel("smollm2-135m", tmp_path, account=lambda call: None).count("x")
    assert caught.value.mend.startswith("Run `memory model fetch smollm2-135m`")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((models_dir / "smollm2-135m" / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelFault, match="cannot be loaded"):
        MlxModel("m", tmp_path, account=lambda call: None).count("x")


def test_after_close_a_call_loads_again(smollm: MlxModel) -> None:
    """And answers as before."""
    before = _texts(smollm, ASKS[:1])
    smollm.close()
    smollm.close()
    assert _texts(smollm, ASKS[:1]) == before


def test_a_loaded_model_may_not_ask_the_network(smollm: MlxModel) -> None:
    """Loading puts the hub library into offline mode."""
    smollm.count("x")
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_check_reports_a_broken_model_instead_of_raising(tmp_path: Path) -> None:
    """The fault is a finding, and so is the verdict."""
    findings = check(MlxModel("m", tmp_path, account=lambda call: None))
    assert [finding.what for finding in findings] == ["fault", "verdict"]
    assert not findings[-1].ok


def test_out_of_memory_makes_the_batches_smaller(models_dir: Path, smollm: MlxModel) -> None:
    """The replies are those of a machine with enough memory; the smaller batch stays."""
    asks = [Ask(SYSTEM, f"{prompt} ({number})") for number in range(2) for prompt in PROMPTS]
    expected = _texts(smollm, asks, 6)
    poor = MlxModel("poor", models_dir / "smollm2-135m", account=lambda call: None, batch=8)
    engine: Any = poor.engine
    forward, seen = engine._reader.forward, list[int]()

    def cramped(tokens: Any, cache: Any) -> Any:
        seen.append(len(tokens))
        if len(tokens) > 2:
            raise RuntimeError("[malloc] Unable to allocate 12345678901 bytes.")
        return forward(tokens, cache)

    engine._reader.forward = cramped
    assert _texts(poor, asks, 6) == expected
    assert max(seen) > 2
    seen.clear()
    assert _texts(poor, asks, 6) == expected
    assert max(seen) <= 2 == engine.batch
    poor.close()


@pytest.mark.parametrize(
    "said",
    [
        "[metal::malloc] Attempting to allocate 20 bytes which is greater than the maximum",
        "[METAL] Command buffer execution failed: Insufficient Memory (00000008:kIOGPU...)",
        "[METAL] Command buffer execution failed: Impacting Interactivity (0000000e:kIOGPU...)",
        "[METAL] Command buffer execution failed: Caused GPU Timeout Error (00000002:kIOGPU...)",
    ],
)
def test_one_request_alone_is_too_much(models_dir: Path, said: str) -> None:
    """That is its own fault, which fails one job and not the run; other faults of mlx are not."""
    poor = MlxModel("poor", models_dir / "smollm2-135m", account=lambda call: None)
    engine: Any = poor.engine

    def never(*_: Any, **_more: Any) -> Any:
        raise RuntimeError(said)

    engine._reader.feed = never
    with pytest.raises(OutOfMemory):
        poor.choose([Ask(SYSTEM, "Is it so?", options=("yes", "no"))], stage="s", purpose="p")

    def broken(*_: Any, **_more: Any) -> Any:
        raise RuntimeError("[matmul] shapes do not match")

    engine._reader.feed = broken
    with pytest.raises(ModelFault, match="shapes") as caught:
        poor.choose([Ask(SYSTEM, "Is it so?", options=("yes", "no"))], stage="s", purpose="p")
    assert not isinstance(caught.value, OutOfMemory)
    poor.close()


@pytest.mark.parametrize("damage", ["torn weights", "no weights", "no json", "empty tokenizer"])
def test_damaged_files(models_dir: Path, tmp_path: Path, damage: str) -> None:
    """A fault that names the folder and the command that looks at it."""
    folder = tmp_path / "model"
    shutil.copytree(models_dir / "smollm2-135m", folder)
    weights = next(folder.glob("*.safetensors"))
    if damage == "torn weights":
        with weights.open("r+b") as file:
            file.truncate(weights.stat().st_size // 2)
    elif damage == "no weights":
        weights.unlink()
    elif damage == "no json":
        (folder / "config.json").write_text("{")
    else:
        (folder / "tokenizer.json").write_text("")
    model = MlxModel("damaged", folder, account=lambda call: None)
    with pytest.raises(ModelFault, match="cannot be loaded") as caught:
        model.write([Ask(SYSTEM, "Hello.")], stage="s", purpose="p", max_tokens=4)
    assert str(folder) in str(caught.value) and "memory model" in caught.value.mend
