"""Claims of one section → the sentences that say them, in the model's words if those hold.

The model writes sentences only; code finds which claims each one says and attaches their citations.
What does not hold is not used: the claims themselves are good sentences already.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from pipeline.desk import Desk
from pipeline.errors import InvalidReply
from pipeline.records import Citation, CitedSentence, Message
from pipeline.support import check, well_formed
from pipeline.synthesis.placement import STAGE, Statement
from pipeline.text import identifiers, numbers, proper_nouns, similarity

PURPOSE = "synthesize/compose"
_SAYS = 0.5  # a sentence at least this similar to a claim says it


class _Sentence(BaseModel):
    text: str


class _Reply(BaseModel):
    sentences: list[_Sentence]


def compose(added: Sequence[Statement], tone: str, desk: Desk) -> tuple[CitedSentence, ...]:
    """The sentences for one section, each with the citations of the claims it says.

    tone: the section's last paragraph, "" in a new one. Every claim is said, every sentence holds
    against the messages of its claims; else, after `attempts` tries, the claims are returned.
    """
    plain = tuple(CitedSentence(s.text, tuple(s.citations)) for s in added)
    if len(added) < 2:
        return plain
    retrying = Retrying(
        stop=stop_after_attempt(desk.policy.synthesize.attempts),
        retry=retry_if_exception_type(InvalidReply),
        reraise=True,
    )
    try:
        for attempt in retrying:
            with attempt:
                number = attempt.retry_state.attempt_number
                return _checked(added, _written(added, tone, number, desk), desk)
    except InvalidReply:
        return plain
    return plain


def _written(added: Sequence[Statement], tone: str, number: int, desk: Desk) -> list[str]:
    """One try; the first is greedy, later ones are warmer, since greedy repeats its own failure."""
    prompt = desk.prompts.get(PURPOSE)
    claims = "\n".join(f"- {statement.text}" for statement in added)
    reply = desk.model.write(
        [desk.prompts.ask(PURPOSE, {"claims": claims, "tone": tone})],
        stage=STAGE,
        purpose=PURPOSE,
        max_tokens=prompt.max_tokens,
        grammar=prompt.grammar,
        seeds=[number],
        temperature=prompt.temperature + 0.4 * (number - 1),
    )[0]
    if reply.finish != "stop":
        raise InvalidReply("the composed text was cut off")
    try:
        return [" ".join(s.text.split()) for s in _Reply.model_validate_json(reply.text).sentences]
    except ValidationError as error:
        raise InvalidReply(f"the composed text is not the JSON asked for: {error}") from error


def _checked(
    added: Sequence[Statement], sentences: Sequence[str], desk: Desk
) -> tuple[CitedSentence, ...]:
    """The sentences with their citations. Raises InvalidReply when one does not hold."""
    if len(set(sentences)) != len(sentences):
        raise InvalidReply("a sentence repeats another")
    said: set[int] = set()
    cited = []
    for sentence in sentences:
        if reason := well_formed(sentence, max_words=desk.policy.synthesize.claim_words * 2):
            raise InvalidReply(reason)
        told = [i for i, s in enumerate(added) if _says(sentence, s.text)]
        if not told:
            raise InvalidReply("a sentence says none of the claims")
        said.update(told)
        citations = tuple(dict.fromkeys(c for i in told for c in added[i].citations))
        verdict = check(sentence, messages_of(citations, desk), threshold=desk.policy.gate.support)
        if not verdict.supported:
            raise InvalidReply("; ".join(verdict.reasons))
        cited.append(CitedSentence(sentence, citations))
    if len(said) < len(added):
        raise InvalidReply("a claim was left out")
    return tuple(cited)


def _says(sentence: str, claim: str) -> bool:
    """Whether the sentence says the claim: its values all, and enough of its words."""
    values = numbers(claim) | identifiers(claim) | proper_nouns(claim)
    there = numbers(sentence) | identifiers(sentence) | proper_nouns(sentence)
    return values <= there and similarity(sentence, claim) >= _SAYS


def messages_of(citations: Sequence[Citation], desk: Desk) -> list[Message]:
    """The messages that these citations point at, in order, each once."""
    found: dict[str, Message] = {}
    for citation in citations:
        for message in desk.store.conversations.messages(
            citation.conv, first=citation.first, last=citation.last
        ):
            found[message.message_id] = message
    return list(found.values())
