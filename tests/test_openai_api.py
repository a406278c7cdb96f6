"""A model on another server: faults are told apart, forms are kept, keys are seen by nobody."""

from __future__ import annotations

import json
import logging
import math
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InvalidReply, ModelFault, OutOfMemory, PromptTooLong
from pipeline.models import Ask, Grammar, Model
from pipeline.models.address import address
from pipeline.models.completions import body, parsed
from pipeline.models.openai_api import ServedModel
from pipeline.models.server import Refused, Server
from pipeline.models.weighing import Listed, probabilities, weigh
from pipeline.records import Call
from tests.support_server import Fault, Place, Upstream, listing, reply, serving

ASK = Ask("You are terse.", "Say it.", (("One?", "1"),))
CHOICE = Ask("Answer.", "Is it?", options=("yes", "no"))
KEY = "k-7Tq0vXw2ZrN4mB8c"
SCHEMA = Grammar("json", '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}')


def said(text: str) -> Upstream:
    """An upstream that always says this."""
    return lambda body: reply(text)


@contextmanager
def served(
    upstream: Upstream, faults: Sequence[Fault | None] = (), **how: Any
) -> Iterator[tuple[ServedModel, Place, list[Call]]]:
    """A model on a server on loopback. how: key, seconds, pause of the server; rest the model's."""
    of_server = {"seconds": 30.0, "pause": 0.0} | {
        name: how.pop(name) for name in ("seconds", "pause") if name in how
    }
    key, calls = how.pop("key", ""), list[Call]()
    with serving(upstream, faults) as place:
        server = Server(address(place.url, remote=False, keyed=bool(key)), key, **of_server)
        yield ServedModel("openai:m", "m", server, account=calls.append, **how), place, calls


def write(model: Model, asks: Sequence[Ask] = (ASK,), **how: Any) -> list[str]:
    """The texts of the replies."""
    how = {"max_tokens": 9} | how
    return [reply.text for reply in model.write(asks, stage="s", purpose="p", **how)]


def choose(model: Model, *asks: Ask) -> list[dict[str, float]]:
    """The probability of each option."""
    choices = model.choose(asks, stage="s", purpose="p")
    return [dict(zip(c.options, c.probabilities, strict=True)) for c in choices]


# ------------------------------------------------------------------ what is sent, what comes back


def test_an_ask_becomes_turns_and_a_reply_is_counted() -> None:
    """System, examples and prompt in order; tokens as the server counts them."""
    with served(said("It.")) as (model, place, calls):
        (got,) = model.write([ASK], stage="chunk", purpose="chunk/label", max_tokens=9)
    (body,) = place.asked
    assert [(turn["role"], turn["content"]) for turn in body["messages"]] == [
        ("system", "You are terse."),
        ("user", "One?"),
        ("assistant", "1"),
        ("user", "Say it."),
    ]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 9, 0.0)
    assert "seed" not in body and "Authorization" not in place.headers[0]
    assert (got.text, got.finish, got.prompt_tokens, got.output_tokens) == ("It.", "stop", 7, 3)
    (call,) = calls
    assert (call.stage, call.purpose, call.prompt_tokens) == ("chunk", "chunk/label", 7)
    assert (call.output_tokens, call.cached_tokens, call.finish) == (3, 0, "stop")


def test_tokens_nobody_counted_are_estimated() -> None:
    """A server without usage: three bytes a token, rounded up, and no call goes uncounted."""
    with served(lambda body: reply("abcdefg") | {"usage": None}) as (model, _, calls):
        write(model, [Ask("", "12345678")])
    assert (calls[0].prompt_tokens, calls[0].output_tokens) == (3, 3)
    assert model.count("äöü") == 2


def test_replies_come_in_the_order_of_the_asks_and_are_accounted_by_the_caller() -> None:
    """Side by side on many threads; the accounts are kept on the one that asked."""
    here = threading.get_ident()
    seen: list[int] = []
    upstream: Upstream = lambda body: reply(body["messages"][-1]["content"].upper())  # noqa: E731
    asks = [Ask("", f"word {number}") for number in range(20)]
    with serving(upstream) as place:
        server = Server(address(place.url, remote=False, keyed=False), "", seconds=30)
        account = lambda call: seen.append(threading.get_ident())  # noqa: E731
        model = ServedModel("openai:m", "m", server, account=account, parallel=4)
        assert write(model, asks) == [f"WORD {number}" for number in range(20)]
    assert seen == [here] * 20


def test_sampling_sends_each_asks_own_seed() -> None:
    """And a temperature without seeds is refused, as for a model that runs here."""
    with served(said("x"), parallel=1) as (model, place, _):
        write(model, [ASK, ASK], temperature=0.7, seeds=[5, 6])
        with pytest.raises(ValueError, match="seed"):
            write(model, [ASK], temperature=0.7)
    assert [(body["temperature"], body["seed"]) for body in place.asked] == [(0.7, 5), (0.7, 6)]


def test_no_temperature_is_sent_that_the_api_refuses() -> None:
    """It takes 2 at most; tries again of a prompt that is warm already would go beyond."""
    assert body("m", ASK, max_tokens=9, temperature=2.6, seed=3)["temperature"] == 2.0


@pytest.mark.parametrize(
    "hostile",
    [
        "<|im_end|>",
        "<|im_start|>system",
        "<end_of_turn>",
        "<turn|>",
        "</s>",
        "[/INST]",
        "<<SYS>>",
        "<｜User｜>",
    ],
)
def test_a_transcript_ends_no_turn(hostile: str) -> None:
    """What a chat template marks turns with never reaches the server whole."""
    with served(said("x")) as (model, place, _):
        write(model, [Ask("", f"before {hostile} after <b>bold</b> a<b|c>d")])
    content = place.asked[0]["messages"][-1]["content"]
    assert hostile not in content
    assert content.replace(" ", "") == f"before{hostile}after<b>bold</b>a<b|c>d".replace(" ", "")
    assert "<b>bold</b>" in content


def test_no_asks_ask_no_server() -> None:
    """Nothing is listening at all."""
    server = Server(address("http://127.0.0.1:9/v1", remote=False, keyed=False), "", seconds=1)
    model = ServedModel("openai:m", "m", server, account=lambda call: None)
    assert write(model, []) == [] and choose(model) == []
    model.close()


# ------------------------------------------------------------------ faults of the server


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", 429),
        Fault("status", 500),
        Fault("status", 503),
        Fault("reset"),
        Fault("cut"),
        Fault("garbage"),
    ],
    ids=lambda fault: f"{fault.kind} {fault.status}",
)
def test_a_passing_fault_is_tried_again(fault: Fault) -> None:
    """Twice in a row, and the reply is as if nothing had been; for ever, and it is a ModelFault."""
    with served(said("It."), [fault, fault]) as (model, place, calls):
        assert write(model) == ["It."]
        assert len(place.asked) == 3 and len(calls) == 1
        place.faults[:] = [fault] * 50
        place.asked.clear()
        with pytest.raises(ModelFault, match=place.url) as caught:
            write(model)
        assert type(caught.value) not in (InvalidReply, PromptTooLong, OutOfMemory)
        assert caught.value.mend and len(place.asked) == 4


@pytest.mark.parametrize("after", ["0", "Mon, 01 Jan 2001 00:00:00 GMT"])
def test_the_wait_is_the_one_the_server_asks_for(after: str) -> None:
    """Nothing else: our own first pause would be longer than any test."""
    fault = Fault("status", 429, headers={"Retry-After": after})
    with served(said("It."), [fault], pause=10**6) as (model, _, _):
        assert write(model) == ["It."]


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    """The run ends, and says how long it would have been."""
    fault = Fault("status", 429, headers={"Retry-After": "3600"})
    with served(said("It."), [fault]) as (model, place, _):
        with pytest.raises(ModelFault, match="3600 seconds"):
            write(model)
        assert len(place.asked) == 1


@pytest.mark.parametrize("kind", ["trickle", "hang"])
def test_a_slow_server_is_given_up(kind: str) -> None:
    """Also one that sends a byte now and then; it is not asked the same thing twice."""
    with served(said("It."), [Fault(kind)], seconds=0.5) as (model, place, _):
        with pytest.raises(ModelFault, match=r"within 0\.5 seconds") as caught:
            write(model)
        assert "timeout_seconds" in caught.value.mend and len(place.asked) == 1


def test_nobody_listens() -> None:
    """The fault names the address."""
    with serving(said("x")) as place:
        url = place.url
    server = Server(address(url, remote=False, keyed=False), "", seconds=5, pause=0)
    model = ServedModel("openai:m", "m", server, account=lambda call: None)
    with pytest.raises(ModelFault, match=f"{url} cannot be reached"):
        write(model)


@pytest.mark.parametrize(
    ("status", "mend"), [(401, "key"), (403, "key"), (404, "openai:NAME"), (302, "Redirects")]
)
def test_a_refusal_is_not_tried_again(status: int, mend: str) -> None:
    """One request; the cure fits the refusal; a redirect is not followed."""
    headers = {"Location": "http://127.0.0.1:9/elsewhere"}
    with served(said("x"), [Fault("status", status, "no", headers)]) as (model, place, _):
        with pytest.raises(ModelFault, match=rf"{status}: no") as caught:
            write(model)
        assert mend in caught.value.mend and len(place.asked) == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "This model's maximum context length is 4096 tokens"),
        (413, "too large"),
        (422, "exceeds the context window"),
    ],
)
def test_a_prompt_too_long_for_the_server_fails_its_job_alone(status: int, words: str) -> None:
    """Whatever the server calls it."""
    with served(said("x"), [Fault("status", status, words)]) as (model, place, _):
        with pytest.raises(PromptTooLong):
            write(model)
        assert len(place.asked) == 1


def test_a_prompt_over_our_own_limit_is_not_sent() -> None:
    """By the estimate: 3,000 bytes are 1,000 tokens."""
    with served(said("x"), max_prompt_tokens=999) as (model, place, _):
        with pytest.raises(PromptTooLong, match=r"1000 tokens.*999"):
            write(model, [Ask("", "x" * 3000)])
        assert place.asked == []


def test_out_of_memory_is_tried_once_more_alone() -> None:
    """After the others are done; what is too much alone too is that job's own fault."""
    full = Fault("status", 500, "CUDA out of memory. Tried to allocate 2 GiB")
    asks = [ASK, ASK, ASK]
    with served(said("It."), [full], parallel=3) as (model, place, _):
        assert write(model, asks) == ["It."] * 3
        assert len(place.asked) == 4
        place.faults[:] = [full] * 6
        with pytest.raises(OutOfMemory, match="out of memory"):
            write(model, asks)


@pytest.mark.parametrize(
    ("words", "dropped"),
    [
        ("response_format is not supported", "response_format"),
        ({"message": "unknown field `chat_template_kwargs`"}, "chat_template_kwargs"),
        ("'seed' was unexpected", "seed"),
    ],
)
def test_what_a_server_refuses_to_do_is_left_out(words: Any, dropped: str) -> None:
    """From then on, not for one request only; the form is kept all the same."""
    with served(said('{"a": 1}'), [Fault("status", 400, words)], parallel=1) as (model, place, _):
        how: dict[str, Any] = {"grammar": SCHEMA, "temperature": 0.5, "seeds": [1, 2]}
        assert write(model, [ASK, ASK], **how) == ['{"a": 1}'] * 2
        assert [dropped in body for body in place.asked] == [True, False, False]
        assert model.without == {dropped}


def test_another_refusal_of_a_request_is_a_fault() -> None:
    """Nothing of what it names can be left out."""
    refusal = Fault("status", 400, "no such model")
    with served(said("x"), [refusal]) as (model, *_), pytest.raises(Refused, match="no such model"):
        write(model)


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": []},
        {"choices": None},
        {"error": {"message": "overloaded"}},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
        reply("half a", "content_filter"),
    ],
)
def test_an_answer_without_a_reply(answer: dict[str, Any]) -> None:
    """Asked again, and in the end the fault of that job alone."""
    answers = [answer, answer, reply("It.")]
    with served(lambda body: answers.pop(0)) as (model, _, _):
        assert write(model) == ["It."]
        answers[:] = [answer] * 3
        with pytest.raises(InvalidReply):
            write(model)
        assert answers == []


def test_a_reply_that_was_cut_says_so() -> None:
    """finish is "length", the text is what there is, and nothing is asked again."""
    with served(lambda body: reply('{"a": ', "length")) as (model, place, _):
        (got,) = model.write([ASK], stage="s", purpose="p", max_tokens=3, grammar=SCHEMA)
    assert (got.text, got.finish, len(place.asked)) == ('{"a": ', "length", 1)


def test_a_signal_ends_requests_under_way() -> None:
    """Those that hang and those that wait; no thread is left, and the next call works."""

    class Alarm(BaseException):
        pass

    def ring(number: int, frame: object) -> None:
        raise Alarm

    before, hanging = signal.signal(signal.SIGALRM, ring), [Fault("hang")] * 9
    try:
        with served(said("It."), hanging, seconds=600, parallel=2) as (model, place, calls):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(Alarm):
                write(model, [ASK] * 4)
            assert not [t for t in threading.enumerate() if "ThreadPoolExecutor" in t.name]
            assert calls == []
            place.faults.clear()
            assert write(model) == ["It."]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_what_was_answered_before_a_fault_is_counted() -> None:
    """Tokens that were paid for do not vanish from the accounts."""
    faults = [None, None, Fault("status", 401)]
    how = {"parallel": 1}
    with served(said("It."), faults, **how) as (model, _, calls), pytest.raises(ModelFault):
        write(model, [ASK] * 5)
    assert len(calls) == 2


# ------------------------------------------------------------------ keys


def test_the_key_goes_into_the_header_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    """Not into messages, though the server quotes it; not into logs, tracebacks or repr."""
    caplog.set_level(logging.DEBUG)
    echo = Fault("status", 401, {"message": f"Incorrect API key provided: {KEY}."})
    with served(said("It."), [None, echo, Fault("status", 400, KEY)], key=KEY) as (model, place, _):
        assert write(model) == ["It."]
        assert place.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert KEY not in json.dumps(place.asked)
        for _ in range(2):
            with pytest.raises(ModelFault) as caught:
                write(model)
            shown = "".join(traceback.format_exception(caught.value)) + caught.value.mend
            assert KEY not in shown and "[REDACTED:key]" in shown
        assert KEY not in repr(model) + repr(vars(model)) + caplog.text


def test_secrets_in_what_a_server_says_are_taken_out() -> None:
    """It may quote a header of somebody else's, or the prompt; at most a line of it is kept."""
    words = "bad header Authorization: Bearer " + "Zk3n8Qw1Lr7Ty5Vb" + "\n" + "prompt " * 200
    refusal = Fault("status", 403, words)
    with served(said("x"), [refusal]) as (model, _, _), pytest.raises(ModelFault) as caught:
        write(model)
    assert "Zk3n8Qw1Lr7Ty5Vb" not in str(caught.value)
    assert len(str(caught.value)) < 400 and "\n" not in str(caught.value)


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would see every conversation."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with served(said("It.")) as (model, _, _):
        assert write(model) == ["It."]


# ------------------------------------------------------------------ forms


def test_a_reply_without_the_form_is_asked_again_warmer() -> None:
    """With other seeds; the third time it is InvalidReply."""
    texts = ["no", '{"a": "x"}', '{"a": 3}']
    with served(lambda body: reply(texts.pop(0)), parallel=1) as (model, place, calls):
        assert write(model, grammar=SCHEMA, seeds=[40]) == ['{"a": 3}']
        assert [body["temperature"] for body in place.asked] == [0.0, 0.4, 0.8]
        assert [body.get("seed") for body in place.asked] == [None, 41, 42]
        schema = place.asked[0]["response_format"]["json_schema"]["schema"]
        assert schema == json.loads(SCHEMA.text)
        assert len(calls) == 3  # every try is paid for
        texts[:] = ["no"] * 3
        with pytest.raises(InvalidReply):
            write(model, grammar=SCHEMA)
        assert texts == []


@pytest.mark.parametrize(
    ("text", "finish"),
    [
        ('{"a": 1}', "stop"),
        ('\n {"a": 1} \n', "stop"),
        ('```json\n{"a": 1}\n```', "stop"),
        ('Here you are: {"a": 1} I hope it', "length"),
    ],
)
def test_what_stands_around_json_is_left_off(text: str, finish: str) -> None:
    """The reply is the JSON alone, and complete."""
    with served(lambda body: reply(text, finish)) as (model, place, _):
        (got,) = model.write([ASK], stage="s", purpose="p", max_tokens=9, grammar=SCHEMA)
    assert (got.text, got.finish, len(place.asked)) == ('{"a": 1}', "stop", 1)


def test_a_regular_expression_is_kept_though_no_server_is_told() -> None:
    """The first line that has the form counts; what has it not is asked again."""
    texts = ["far too long a label", "two words\n\nExplanation: because"]
    with served(lambda body: reply(texts.pop(0))) as (model, place, _):
        assert write(model, grammar=Grammar("regex", "[a-z]+ [a-z]+")) == ["two words"]
    assert "response_format" not in place.asked[0]


@pytest.mark.parametrize("grammar", [Grammar("regex", "("), Grammar("smoke", "signals")])
def test_a_bad_grammar_is_a_model_fault(grammar: Grammar) -> None:
    """As for a model that runs here."""
    with served(said("x")) as (model, _, _), pytest.raises(ModelFault, match="grammar"):
        write(model, grammar=grammar)


# ------------------------------------------------------------------ choosing


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
