"""Chunk → claims: the model proposes sentences, code finds their evidence and refuses the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ValidationError

from pipeline.errors import InvalidReply
from pipeline.gates import dangers
from pipeline.identity import claim_id
from pipeline.models import Model, Reply
from pipeline.policy import Policy
from pipeline.prompts import Prompts
from pipeline.prose import plain
from pipeline.records import Chunk, Claim, ClaimKind, Message
from pipeline.support import check, evidence, well_formed
from pipeline.synthesis.asking import written
from pipeline.synthesis.entailment import entailed
from pipeline.text import content_words, sentences, similarity
from pipeline.transcript import windows

STAGE = "synthesize"
PURPOSE = "synthesize/claims"
_NOT_ENTAILED = "the model does not find it in its messages"
_REDACTED = "[REDACTED:"
_WORTH_ASKING = 3  # content words; "yes, do that" states nothing by itself


_TWO_STOPS = re.compile(r"(?<!\.)\.\.(?=\s|$)")  # one too many; three would be meant


def _parts(said: object) -> dict[str, str]:
    """A claim as the model writes it, `kind: sentence`: a frame of its own for each would cost more
    tokens than the sentence.
    """
    if not isinstance(said, str):
        raise ValueError("a claim is a string")
    kind, _, text = said.partition(":")
    # what no grammar bound writes the kind as a sentence begins, too
    return {"kind": kind.strip().casefold(), "text": text.strip()}


class _Proposed(BaseModel):
    text: str
    kind: ClaimKind


class _Reply(BaseModel):
    claims: list[Annotated[_Proposed, BeforeValidator(_parts)]]


@dataclass(frozen=True, slots=True)
class Found:
    """What was stated in a chunk, refused claims included with their reason, in the model's order.

    unread: pieces of it about which no answer could be read, of so many `pieces`.
    """

    claims: tuple[Claim, ...]
    pieces: int = 0
    unread: int = 0


def extract(
    chunks: Sequence[tuple[Chunk, Sequence[Message]]],
    *,
    model: Model,
    prompts: Prompts,
    policy: Policy,
    rules: str,
) -> list[Found | InvalidReply]:
    """The claims of each chunk, or why there are none.

    The model is asked message by message (small models make good sentences of one message and
    return a whole conversation as it is), all messages of all chunks in one batch. InvalidReply
    where half of a chunk's pieces or more were answered, in no try, with the JSON that was asked
    for. rules: the user's own, from Editorial_Guidelines.md.
    """
    prompt = prompts.get(PURPOSE)
    worth = [
        [message for message in messages if len(content_words(message.text)) >= _WORTH_ASKING]
        for _, messages in chunks
    ]
    window = policy.chunk.window_tokens
    if any(worth):
        # a message is read in pieces that fit; shortened, its end would never be read
        window = min(window, prompts.room(PURPOSE, {"rules": rules}))
    pieces = [
        [text for message in told for text in windows([message], window, model.count)]
        for told in worth
    ]
    asks = [
        prompts.ask(PURPOSE, {"transcript": text, "rules": rules})
        for texts in pieces
        for text in texts
    ]
    proposals = iter(
        written(
            asks,
            lambda _, reply: _parsed(reply),
            model=model,
            prompt=prompt,
            stage=STAGE,
            purpose=PURPOSE,
            attempts=policy.synthesize.attempts,
        )
    )
    found = [
        _gathered(chunk, messages, [next(proposals) for _ in texts], policy)
        for (chunk, messages), texts in zip(chunks, pieces, strict=True)
    ]
    if not policy.synthesize.entailment:
        return found
    return _asked(found, [messages for _, messages in chunks], model=model, prompts=prompts)


def _gathered(
    chunk: Chunk,
    messages: Sequence[Message],
    answers: Sequence[list[_Proposed] | InvalidReply],
    policy: Policy,
) -> Found | InvalidReply:
    """What comes of the answers about the pieces of a chunk.

    A few that cannot be read take nothing with them: a long message has hundreds of pieces, and
    asked again the model would answer the same.
    """
    unread = [answer for answer in answers if isinstance(answer, InvalidReply)]
    if unread and 2 * len(unread) >= len(answers):
        return unread[0]
    proposals = [p for a in answers if not isinstance(a, InvalidReply) for p in a]
    return Found(_judged(chunk, messages, proposals, policy), len(answers), len(unread))


def _asked(
    found: Sequence[Found | InvalidReply],
    told: Sequence[Sequence[Message]],
    *,
    model: Model,
    prompts: Prompts,
) -> list[Found | InvalidReply]:
    """The claims again, those dropped that the model does not find in their own messages."""
    kept = [
        (claim, [message for message in messages if message.position in claim.messages])
        for one, messages in zip(found, told, strict=True)
        if isinstance(one, Found)
        for claim in one.claims
        if not claim.dropped_reason
    ]
    said = entailed([(claim.text, cited) for claim, cited in kept], model=model, prompts=prompts)
    missed = {claim.id for (claim, _), yes in zip(kept, said, strict=True) if not yes}
    return [
        replace(one, claims=_without(one.claims, missed)) if isinstance(one, Found) else one
        for one in found
    ]


def _without(claims: Sequence[Claim], missed: Collection[str]) -> tuple[Claim, ...]:
    return tuple(
        replace(claim, dropped_reason=_NOT_ENTAILED) if claim.id in missed else claim
        for claim in claims
    )


def _parsed(reply: Reply) -> list[_Proposed]:
    """The proposals of one reply; of one cut at the cap, those that were complete.

    Raises InvalidReply when it is not the JSON asked for, or cut before its first claim.
    """
    cut = reply.finish == "length"
    try:
        found = _Reply.model_validate_json(_closed(reply.text) if cut else reply.text).claims
        if cut and not found:
            raise InvalidReply("the model's claims were cut off before the first was complete")
        return found
    except ValidationError as error:
        raise InvalidReply(f"the model's claims are not the JSON asked for: {error}") from error


def _closed(text: str) -> str:
    """A list that was cut off, ended after its last complete string; an empty one if none is."""
    decoder = json.JSONDecoder()
    found, at = [], text.find("[") + 1
    while at > 0:
        start = text.find('"', at)
        if start < 0:
            break
        try:
            item, at = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            break
        found.append(item)
    return json.dumps({"claims": found}, ensure_ascii=False)


def _single(text: str) -> list[str]:
    """The sentences of a proposal: one claim is one sentence, whatever the model put together."""
    line = _TWO_STOPS.sub(".", " ".join(text.split()))
    return [line[start:end] for start, end in sentences(line)] or [line]


def _judged(
    chunk: Chunk, messages: Sequence[Message], proposals: Sequence[_Proposed], policy: Policy
) -> tuple[Claim, ...]:
    claims: list[Claim] = []
    single = [(text, p.kind) for p in proposals for text in _single(p.text)]
    for ordinal, (text, kind) in enumerate(single):
        kept = [claim for claim in claims if not claim.dropped_reason]
        messages_found: tuple[int, ...] = ()
        score, reason = 0.0, ""
        if len(kept) >= policy.synthesize.claims_per_chunk:
            reason = "more claims than one chunk may give"
        elif any(similarity(text, k.text) >= policy.synthesize.duplicate for k in kept):
            reason = "says what another claim says"
        elif _REDACTED in text:
            reason = "speaks of something that was redacted"
        else:
            # what the gate would refuse later would keep its whole article from being written
            reason = well_formed(text, max_words=policy.synthesize.claim_words) or "; ".join(
                dangers(plain(text))
            )
        if not reason:
            messages_found = evidence(text, messages)
            cited = [message for message in messages if message.position in messages_found]
            verdict = check(text, cited, threshold=policy.gate.support, kind=kind)
            score = verdict.score
            if not verdict.supported:
                reason = "; ".join(verdict.reasons)
        claims.append(
            Claim(
                id=claim_id(chunk.id, ordinal),
                chunk_id=chunk.id,
                ordinal=ordinal,
                text=text,
                kind=kind,
                messages=messages_found,
                support=score,
                dropped_reason=reason,
            )
        )
    return tuple(claims)
