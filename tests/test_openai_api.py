"""A model on another server: faults are told apart, forms are kept, keys are seen by nobody."""

from __future__ import annotations

import json
import logging
import signal
import threading
import traceback
from typing import Any

import pytest

from pipeline.errors import InvalidReply, ModelFault, OutOfMemory, PromptTooLong
from pipeline.models import Ask, Grammar
from pipeline.models.address import address
from pipeline.models.completions import body
from pipeline.models.openai_api import ServedModel
from pipeline.models.server import Refused, Server
from tests.support_openai import ASK, KEY, SCHEMA, choose, said, served, write
from tests.support_server import Fault, Upstream, reply, serving

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
