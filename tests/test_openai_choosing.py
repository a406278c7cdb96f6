"""Choosing by the tokens that a server lists, or by what it says; and whatever it may answer."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InvalidReply
from pipeline.models import Ask
from pipeline.models.completions import parsed
from pipeline.models.weighing import Listed, probabilities, weigh
from tests.support_openai import ASK, CHOICE, choose, said, served, write
from tests.support_server import Fault, Upstream, listing, reply


def neutral_first(neutral: dict[str, Any], asked: dict[str, Any]) -> Upstream:
    """One list for the content-free prompt, another for any other."""
    return lambda body: reply(
        "?", logprobs=neutral if body["messages"][-1]["content"] == "N/A" else asked
    )


def test_choose_weighs_the_listed_tokens_and_takes_the_lean_out() -> None:
    """Asked: yes .6, no .3. Without content: yes .8, no .1. So yes : no is .75 : 3, a fifth."""
    log = math.log
    upstream = neutral_first(
        listing([("yes", log(0.8)), ("no", log(0.1))]),
        listing([("yes", log(0.6)), ("no", log(0.3)), ("maybe", log(0.1))]),
    )
    with served(upstream) as (model, place, calls):
        assert (
            choose(model, CHOICE, CHOICE)
            == [{"yes": pytest.approx(0.2), "no": pytest.approx(0.8)}] * 2
        )
        assert {body["max_tokens"] for body in place.asked} == {1}
        assert len(calls) == 3  # the lean is measured once
        choose(model, CHOICE)
        assert len(calls) == 4


def test_choose_knows_tokens_by_any_spelling() -> None:
    """A leading space, capitals, and how vocabularies write spaces and bytes, add up."""
    log = math.log
    flat = listing([("yes", log(0.5)), ("no", log(0.5))])
    asked = listing([(" Yes", log(0.2)), ("Ġyes", log(0.2)), ("▁ye", log(0.2)), ("no", log(0.2))])
    with served(neutral_first(flat, asked)) as (model, _, _):
        (found,) = choose(model, CHOICE)
    assert found["yes"] == pytest.approx(0.75)
    ask = Ask("", "Which?", options=("Überblick", "Verlauf"))
    flat = listing([("Ü", log(0.5)), ("V", log(0.5))])
    asked = listing([("Ãľber", log(0.9)), ("Ver", log(0.1))])
    with served(neutral_first(flat, asked)) as (model, _, _):
        (found,) = choose(model, ask)
    assert found["Überblick"] == pytest.approx(0.9)


def test_options_that_begin_alike_are_followed_until_they_part() -> None:
    """The reply goes "back", then "ground" .75 or "up" .25; "other" had .2 of the first place."""
    log = math.log
    flat = listing([("x", log(0.5)), ("b", log(0.25)), ("o", log(0.2)), ("z", log(0.05))])
    asked = listing(
        [("back", log(0.8)), ("other", log(0.2))], [("ground", log(0.75)), ("up", log(0.25))]
    )
    ask = Ask("", "Which?", options=("background", "backup", "other"))
    with served(neutral_first(flat, asked)) as (model, place, _):
        (found,) = choose(model, ask)
    assert place.asked[0]["max_tokens"] == 5  # "back" may be four tokens
    # the content-free reply goes nowhere: "b" is shared by two, "o" is one's own
    raw = {"background": 0.6 / 0.125, "backup": 0.2 / 0.125, "other": 0.2 / 0.2}
    assert found == {name: pytest.approx(value / sum(raw.values())) for name, value in raw.items()}


def test_what_is_not_listed_wins_nothing_by_where_lists_end() -> None:
    """Asked: yes .9, the list ends at .05. Without content it ends at .0001: "no" is not listed in
    either, and .05 to .0001 says nothing for it. It stays at .05 to the .9 of "yes".
    """
    log = math.log
    flat = listing([("yes", log(0.9)), ("hm", log(0.0001))])
    asked = listing([("yes", log(0.9)), ("hm", log(0.05))])
    with served(neutral_first(flat, asked)) as (model, _, _):
        (found,) = choose(model, CHOICE)
    assert found["yes"] == pytest.approx(0.9 / 0.95)


def test_a_model_that_thinks_of_no_option_prefers_none() -> None:
    """Nothing listed begins one: equal probabilities, no margin."""
    nothing = listing([("well", -0.1), ("hm", -3.0)])
    with served(neutral_first(nothing, nothing)) as (model, _, _):
        (choice,) = model.choose([CHOICE], stage="s", purpose="p")
    assert choice.probabilities == (0.5, 0.5) and choice.margin == 0


def test_a_server_that_lists_no_tokens_is_asked_to_name_the_option() -> None:
    """What it says is certain; a longer option goes before its beginning; found out once."""
    ask = Ask("", "Which?", options=("part", "part of it", "none"))
    with served(said("Part of it."), parallel=1) as (model, place, _):
        assert choose(model, ask) == [{"part": 0.0, "part of it": 1.0, "none": 0.0}]
        assert model.without == {"logprobs"}
        place.asked.clear()
        assert choose(model, ask)[0]["part of it"] == 1.0
        assert len(place.asked) == 1 and "logprobs" not in place.asked[0]


def test_a_server_that_refuses_to_list_tokens() -> None:
    """The same, after it has said so."""
    refusal = Fault("status", 400, "logprobs are not enabled")
    with served(said("no"), [refusal], parallel=1) as (model, _, _):
        assert choose(model, CHOICE) == [{"yes": 0.0, "no": 1.0}]


def test_a_reply_that_names_no_option() -> None:
    """Asked again with seeds; never one, and it is InvalidReply, not a guess."""
    texts = ["", "nothing", "Perhaps.", "yes, surely"]
    with served(lambda body: reply(texts.pop(0)), parallel=1) as (model, place, _):
        model._without.add("logprobs")
        place.asked.clear()
        with pytest.raises(InvalidReply, match="options"):
            choose(model, CHOICE)
        assert choose(model, CHOICE) == [{"yes": 1.0, "no": 0.0}]
        assert [body.get("seed") for body in place.asked] == [None, 1, 2, None]


@pytest.mark.parametrize(
    "logprobs", [{"content": [{}]}, {"content": None}, {}, "x", {"content": [3]}]
)
def test_lists_of_another_form_are_no_lists(logprobs: Any) -> None:
    """Servers differ; a crash would end the night."""
    with served(lambda body: reply("no", logprobs=logprobs)) as (model, _, _):
        assert choose(model, CHOICE)[0]["no"] == 1.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["message", "content", "finish_reason", "logprobs", "top_logprobs"]),
            inner,
        )
    ),
    max_leaves=8,
)
TOKENS = st.lists(
    st.builds(Listed, st.text("abAB ĠÃ▁", max_size=3), st.floats(-30, 0)), min_size=1, max_size=4
)


@given(
    answer=st.dictionaries(st.sampled_from(["choices", "usage", "error"]), JSON)
    | st.builds(lambda inner: {"choices": [inner]}, JSON)
    | st.builds(lambda inner: reply("x", logprobs={"content": inner}), JSON)
    | st.builds(lambda inner: reply("x") | {"usage": inner}, JSON)
)
def test_whatever_a_server_answers_is_a_reply_or_no_reply(answer: dict[str, Any]) -> None:
    """No form of it is a crash, which would end the night."""
    try:
        got = parsed(answer, ASK)
    except InvalidReply:
        return
    assert got.finish in ("stop", "length") and min(got.prompt_tokens, got.output_tokens) >= 0
    got.text.encode("utf-8")


@given(
    options=st.lists(st.text("abAB", min_size=1, max_size=4), min_size=1, max_size=4, unique=True),
    places=st.lists(TOKENS, max_size=4),
)
def test_weighing_gives_each_option_its_number(
    options: list[str], places: list[list[Listed]]
) -> None:
    """Finite whatever is listed, and the same for an option wherever it stands among them."""
    found = weigh(options, places)
    turned = weigh(options[::-1], places)
    if found is None or turned is None:
        assert found == turned
        return
    scores = [weight.score for weight in found]
    assert all(math.isfinite(score) for score in scores)
    assert scores == pytest.approx([weight.score for weight in turned[::-1]])
    assert sum(probabilities(found, turned[::-1])) == pytest.approx(1)


def test_text_that_no_database_takes() -> None:
    """Half a character and NUL, which JSON can say and a model that runs here never does."""
    with served(lambda body: reply("a\ud800b\0c")) as (model, _, _):
        assert write(model) == ["a?bc"]


def test_a_nested_answer_is_no_crash() -> None:
    """Deeper than Python counts."""
    deep = Fault("status", 200, b"[" * 100_000)
    worse = Fault("status", 500, b"[" * 100_000)
    with served(said("It."), [deep, worse]) as (model, _, _):
        assert write(model) == ["It."]


def test_options_must_be_distinct() -> None:
    """A caller's mistake is no fault of the model."""
    with served(said("x")) as (model, _, _):
        for options in ((), ("a", "a")):
            with pytest.raises(ValueError, match="distinct"):
                choose(model, Ask("", "x", options=options))
