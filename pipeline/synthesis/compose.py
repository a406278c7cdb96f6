"""Claims of one section → the sentences that say them, in the model's words if those hold.

The model writes sentences only; code finds which claims each one says and attaches their citations.
What does not hold is not used: the claims themselves are good sentences already.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from pipeline.desk import Desk
from pipeline.errors import InvalidReply, PromptTooLong
from pipeline.models import Reply
from pipeline.records import Citation, CitedSentence, Message
from pipeline.support import check, well_formed
from pipeline.synthesis.asking import written
from pipeline.synthesis.placement import STAGE, Statement
from pipeline.text import identifiers, numbers, proper_nouns, sentences, similarity

PURPOSE = "synthesize/compose"
_SAYS = 0.5  # a sentence at least this similar to a claim says it


class _Reply(BaseModel):
    sentences: list[str]


@dataclass(frozen=True, slots=True)
class Passage:
    """What a section gains. tone: the section's last paragraph, "" in a new one."""

    added: tuple[Statement, ...]
    tone: str


def compose(
    passages: Sequence[Passage], desk: Desk, *, rules: str = ""
) -> list[tuple[CitedSentence, ...]]:
    """The sentences for each section, each with the citations of the claims it says.

    Every claim is said and every sentence holds against the messages of its claims; a section for
    which that fails `attempts` times, or that gains few claims, gets its claims as they are. All
    sections of a try are asked in one batch; only those that failed are asked again. rules: what
    the prompt is told beside the vault's own rules.
    """
    policy = desk.policy.synthesize
    worth = [n for n, passage in enumerate(passages) if len(passage.added) >= policy.compose_from]
    told = [as_claimed(passage) for passage in passages]  # good sentences already
    with suppress(InvalidReply, PromptTooLong):
        composed = _asked([passages[number] for number in worth], rules, desk)
        for number, said in zip(worth, composed, strict=True):
            if said and not isinstance(said, InvalidReply):
                told[number] = said
    return told


def as_claimed(passage: Passage) -> tuple[CitedSentence, ...]:
    """The claims themselves as the section's new sentences."""
    return tuple(CitedSentence(s.text, tuple(s.citations)) for s in passage.added)


def _asked(
    passages: Sequence[Passage], rules: str, desk: Desk
) -> list[tuple[CitedSentence, ...] | InvalidReply]:
    """What the model makes of each, or why the last try did not hold."""
    if not passages:
        return []
    pages = ("Editorial_Guidelines.md", "Article_Conventions.md")
    rules = "".join(desk.vault.rules(page) for page in pages) + rules
    return written(
        [
            desk.prompts.ask(
                PURPOSE,
                {
                    "claims": "\n".join(f"- {statement.text}" for statement in passage.added),
                    "tone": passage.tone,
                    "rules": rules,
                },
            )
            for passage in passages
        ],
        lambda number, reply: _checked(passages[number], _sentences(reply), desk),
        model=desk.model,
        prompt=desk.prompts.get(PURPOSE),
        stage=STAGE,
        purpose=PURPOSE,
        attempts=desk.policy.synthesize.attempts,
    )


def _sentences(reply: Reply) -> list[str]:
    if reply.finish != "stop":
        raise InvalidReply("the composed text was cut off")
    try:
        texts = [
            " ".join(said.split()) for said in _Reply.model_validate_json(reply.text).sentences
        ]
    except ValidationError as error:
        raise InvalidReply(f"the composed text is not the JSON asked for: {error}") from error
    return [text[start:end] for text in texts for start, end in sentences(text)]


def _checked(passage: Passage, texts: Sequence[str], desk: Desk) -> tuple[CitedSentence, ...]:
    """The sentences with their citations. Raises InvalidReply when one does not hold.

    What repeats the section's last paragraph or an earlier sentence is left out: small models like
    to begin with what stands there already.
    """
    policy = desk.policy.synthesize
    there = [passage.tone[start:end] for start, end in sentences(passage.tone)]
    kept: list[str] = []
    for text in texts:
        if any(similarity(text, other) >= policy.duplicate for other in [*there, *kept]):
            continue
        if reason := well_formed(text, max_words=policy.claim_words * 2):
            raise InvalidReply(reason)
        kept.append(text)
    told: dict[str, list[Statement]] = {text: [] for text in kept}
    for statement in passage.added:
        told[_teller(statement.text, kept)].append(statement)
    cited: list[CitedSentence] = []
    for text, said in told.items():
        if not said:
            raise InvalidReply("a sentence says none of the claims")
        citations = tuple(dict.fromkeys(c for statement in said for c in statement.citations))
        verdict = check(text, messages_of(citations, desk), threshold=desk.policy.gate.support)
        if not verdict.supported:
            raise InvalidReply("; ".join(verdict.reasons))
        cited.append(CitedSentence(text, citations))
    return tuple(cited)


def _teller(claim: str, texts: Sequence[str]) -> str:
    """The sentence that says a claim: of several, such as one and its denial, the most alike.

    Raises InvalidReply when none does.
    """
    telling = [text for text in texts if _says(text, claim)]
    if not telling:
        raise InvalidReply("a claim was left out")
    return max(telling, key=lambda text: similarity(text, claim))


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
