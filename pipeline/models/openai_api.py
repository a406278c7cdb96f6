"""The Model that runs elsewhere: any server that speaks OpenAI's chat completions.

What such a server cannot do is done here as well as can be. `choose` weighs the tokens that the
server lists as likeliest; where it lists none, what the model says counts as certain. `write` sends
a JSON schema along; whether the reply has the form is checked here in any case, and asked again
with other seeds where it has not. Tokens are estimated from bytes, since the API counts none.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from pipeline.errors import InvalidReply, ModelFault, OutOfMemory, PromptTooLong
from pipeline.models import Account, Ask, Choice, Grammar, Reply
from pipeline.models.completions import Answer, body, estimate, estimate_of, parsed
from pipeline.models.server import Refused, Server
from pipeline.models.weighing import Weight, probabilities, tokens_needed, weigh
from pipeline.records import Call

_CONTENT_FREE = "N/A"
_BIASES_KEPT = 256
_TRIES = 3
_WARMER = 0.4  # temperature gained with each further try: greedy repeats its own failure

# What a request may go without, each with the fields it stands for and the words by which a server
# that refuses it may name it.
_OPTIONAL = {
    "response_format": (("response_format",), ("response_format", "json_schema")),
    "logprobs": (("logprobs", "top_logprobs"), ("logprobs",)),
    "chat_template_kwargs": (("chat_template_kwargs",), ("chat_template_kwargs", "thinking")),
    "seed": (("seed",), ("seed",)),
}

_BiasKey = tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]
_Spent = list[tuple[Answer, bool]]  # what one ask has cost so far; True: not at its first try
_Job = Callable[[_Spent], Answer]


class ServedModel:
    """A model that a server runs. name: in the configuration. model: the server's name for it.

    parallel: requests under way at once. max_prompt_tokens: a longer prompt, by estimate, is
    refused, never cut. Faults: ModelFault where the server cannot be had, which ends a run;
    InvalidReply, PromptTooLong and OutOfMemory, which fail one job.
    """

    def __init__(
        self,
        name: str,
        model: str,
        server: Server,
        *,
        account: Account,
        max_prompt_tokens: int = 6000,
        parallel: int = 8,
    ) -> None:
        self._name = name
        self._model = model
        self._server = server
        self._account = account
        self._max_prompt_tokens = max_prompt_tokens
        self._parallel = parallel
        self._without: set[str] = set()
        self._biases: OrderedDict[_BiasKey, tuple[Weight, ...] | None] = OrderedDict()

    @property
    def name(self) -> str:
        """The name in the configuration."""
        return self._name

    @property
    def without(self) -> frozenset[str]:
        """What the server turned out not to do: "response_format", "logprobs", …"""
        return frozenset(self._without)

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """Score each ask's options by the tokens the server lists; a few tokens are decoded.

        What the model leans to whatever it is asked is taken out, as for a model that runs here. A
        model none of whose likely tokens begins an option prefers none. Where the server lists no
        tokens, the option that the reply names has all the probability; a reply that names none
        is asked again, and InvalidReply in the end.
        """
        for ask in asks:
            if not ask.options or len(set(ask.options)) < len(ask.options):
                raise ValueError(f"{purpose}: options must be distinct and not empty")
        if not asks:
            return []
        if "logprobs" not in self._without and (weighed := self._weighed(asks, stage, purpose)):
            return weighed
        jobs = [self._naming(ask, purpose) for ask in asks]
        said, _ = self._done(jobs, stage, purpose)
        return [_certain(ask, answer.text) for ask, answer in zip(asks, said, strict=True)]

    def write(
        self,
        asks: Sequence[Ask],
        *,
        stage: str,
        purpose: str,
        max_tokens: int,
        grammar: Grammar | None = None,
        seeds: Sequence[int] | None = None,
        temperature: float = 0.0,
    ) -> list[Reply]:
        """Decode a reply to each ask. One that lacks the form asked for is asked again, warmer.

        Raises InvalidReply when none of the tries has the form. A reply cut at the cap is returned
        as it is, with finish "length". Whether a reply is the same alone and beside others is up
        to the server.
        """
        if not asks:
            return []
        if temperature > 0 and (seeds is None or len(seeds) != len(asks)):
            raise ValueError(f"{purpose}: a temperature needs one seed per ask")

        def writing(number: int, ask: Ask) -> _Job:
            def once(attempt: int, spent: _Spent) -> Answer:
                answer = self._completed(
                    ask,
                    purpose,
                    spent,
                    again=attempt > 0 or bool(seeds and seeds[number]),
                    max_tokens=max_tokens,
                    grammar=grammar,
                    temperature=temperature + _WARMER * attempt,
                    seed=(seeds[number] if seeds else 0) + attempt,
                )
                return _formed(answer, grammar, purpose)

            return _tried(once)

        jobs = [writing(number, ask) for number, ask in enumerate(asks)]
        answers, seconds = self._done(jobs, stage, purpose)
        return [
            Reply(a.text, a.finish, a.prompt_tokens, a.cached_tokens, a.output_tokens, seconds)
            for a in answers
        ]

    def count(self, text: str) -> int:
        """About how many tokens `text` has, rather too many: the API counts none beforehand."""
        return estimate(text)

    def close(self) -> None:
        """Nothing is held: every request has a connection of its own."""

    # -------------------------------------------------------------- choosing

    def _weighed(self, asks: Sequence[Ask], stage: str, purpose: str) -> list[Choice] | None:
        """The choices by listed tokens; None when the server turns out to list none."""
        wanted = {_bias_key(ask): ask for ask in asks if _bias_key(ask) not in self._biases}
        batch = [*asks, *(replace(ask, prompt=_CONTENT_FREE) for ask in wanted.values())]
        answers, _ = self._done([self._listing(ask, purpose) for ask in batch], stage, purpose)
        if not all(answer.places for answer in answers):
            self._without.add("logprobs")
            return None
        scores = [weigh(ask.options, a.places) for ask, a in zip(batch, answers, strict=True)]
        biases = {key: self._biases[key] for key in map(_bias_key, asks) if key in self._biases}
        for key, lean in zip(wanted, scores[len(asks) :], strict=True):
            biases[key] = self._biases[key] = lean
            if len(self._biases) > _BIASES_KEPT:
                self._biases.popitem(last=False)
        return [
            Choice(
                ask.options,
                probabilities(row, biases[_bias_key(ask)])
                if row
                else (1 / len(ask.options),) * len(ask.options),
            )
            for ask, row in zip(asks, scores[: len(asks)], strict=True)
        ]

    def _listing(self, ask: Ask, purpose: str) -> _Job:
        tokens = tokens_needed(ask.options)

        def once(attempt: int, spent: _Spent) -> Answer:
            return self._completed(
                ask, purpose, spent, again=attempt > 0, max_tokens=tokens, listing=True
            )

        return _tried(once)

    def _naming(self, ask: Ask, purpose: str) -> _Job:
        tokens = max(estimate(option) for option in ask.options) + 2

        def once(attempt: int, spent: _Spent) -> Answer:
            warm = {"temperature": _WARMER * attempt, "seed": attempt}
            answer = self._completed(
                ask, purpose, spent, again=attempt > 0, max_tokens=tokens, **warm
            )
            if (option := _named(answer.text, ask.options)) is None:
                raise InvalidReply(f"the reply to {purpose} names none of the options")
            return replace(answer, text=option)

        return _tried(once)

    # -------------------------------------------------------------- asking

    def _completed(
        self, ask: Ask, purpose: str, spent: _Spent, *, again: bool, **how: Any
    ) -> Answer:
        """One completion, without what the server refuses to do."""
        if (size := estimate_of(ask)) > self._max_prompt_tokens:
            raise PromptTooLong(
                f"A prompt for {purpose} has about {size} tokens, more than the "
                f"{self._max_prompt_tokens} allowed.",
                mend="Raise `max_prompt_tokens`, if the model can read more.",
            )
        request = body(self._model, ask, **how)
        while True:
            left_out = {field for name in self.without for field in _OPTIONAL[name][0]}
            sent = {field: value for field, value in request.items() if field not in left_out}
            try:
                data = self._server.post("/chat/completions", sent)
                break
            except Refused as refused:
                name = _named_in(refused.words, sent)
                if name is None:
                    raise
                self._without.add(name)
        answer = parsed(data, ask)
        spent.append((answer, again))
        return answer

    def _done(self, jobs: Sequence[_Job], stage: str, purpose: str) -> tuple[list[Answer], float]:
        """The answers, and seconds each of their completions took of the whole; all accounted."""
        started = time.perf_counter()
        spent: list[_Spent] = [[] for _ in jobs]
        try:
            outcomes = self._side_by_side(jobs, spent)
            for number, outcome in enumerate(outcomes):
                if isinstance(outcome, OutOfMemory) and len(jobs) > 1:
                    outcomes[number] = _outcome(jobs[number], spent[number])  # now alone
        finally:
            made = [answer for answers in spent for answer in answers]
            seconds = (time.perf_counter() - started) / max(1, len(made))
            # here, not where they were made: what keeps the accounts belongs to this thread
            for a, again in made:
                tokens = (a.prompt_tokens, a.cached_tokens, a.output_tokens)
                self._account(Call(stage, purpose, *tokens, seconds, a.finish, again))
        answers = []
        for outcome in outcomes:
            if isinstance(outcome, ModelFault):
                raise outcome
            answers.append(outcome)
        return answers, seconds

    def _side_by_side(
        self, jobs: Sequence[_Job], spent: Sequence[_Spent]
    ) -> list[Answer | ModelFault]:
        """What became of each job. Whatever ends the run, a signal too, ends all requests."""
        pool = ThreadPoolExecutor(min(self._parallel, len(jobs)))
        try:
            waiting = [pool.submit(_outcome, *pair) for pair in zip(jobs, spent, strict=True)]
            return [future.result() for future in waiting]
        except BaseException:
            self._server.abort()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            self._server.resume()


def _outcome(job: _Job, spent: _Spent) -> Answer | ModelFault:
    """The answer, or the fault that is this job's alone. Raises what ends the run."""
    try:
        return job(spent)
    except (InvalidReply, PromptTooLong, OutOfMemory) as fault:
        return fault


def _tried(once: Callable[[int, _Spent], Answer]) -> _Job:
    """A job of several tries: InvalidReply is worth another one."""

    def job(spent: _Spent) -> Answer:
        for attempt in Retrying(
            retry=retry_if_exception_type(InvalidReply),
            stop=stop_after_attempt(_TRIES),
            reraise=True,
        ):
            with attempt:
                return once(attempt.retry_state.attempt_number - 1, spent)
        raise AssertionError("Retrying ends by a return or a fault")

    return job


def _named_in(words: str, sent: dict[str, Any]) -> str | None:
    """What of the optional things in a request the server's words name."""
    said = words.casefold()
    return next(
        (
            name
            for name, (fields, names) in _OPTIONAL.items()
            if fields[0] in sent and any(word in said for word in names)
        ),
        None,
    )


def _formed(answer: Answer, grammar: Grammar | None, purpose: str) -> Answer:
    """The answer, cut down to what has the form asked for. Raises InvalidReply for none."""
    if grammar is None:
        return answer
    # Imported here: the library of grammars takes a moment, and an idle run needs none.
    from pipeline.models.conforming import fitted  # noqa: PLC0415

    text = fitted(answer.text, grammar)
    if text is not None:
        return replace(answer, text=text, finish="stop")
    if answer.finish == "length":
        return answer
    raise InvalidReply(f"the reply to {purpose} has not the form asked for")


def _named(text: str, options: Sequence[str]) -> str | None:
    """The option that a reply begins with, the longest of several; None where it is none."""
    said = text.strip().strip("\"'`*").casefold()
    found = [
        option
        for option in options
        if said.startswith(name := option.casefold())
        and not said[len(name) : len(name) + 1].isalnum()
    ]
    return max(found, key=len, default=None)


def _certain(ask: Ask, said: str) -> Choice:
    return Choice(ask.options, tuple(float(option == said) for option in ask.options))


def _bias_key(ask: Ask) -> _BiasKey:
    return ask.system, ask.examples, ask.options
