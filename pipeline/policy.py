"""The numbers the pipeline judges by: vault_meta/policy.toml, checked on reading."""

from __future__ import annotations

import tomllib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipeline.errors import ConfigFault
from pipeline.resources import folder

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]


class Table(BaseModel):
    """A table of a TOML file: nothing unknown in it, nothing changed after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class IngestPolicy(Table):
    """Table [ingest] of policy.toml, explained there; so are the other policy tables."""

    quiet_minutes: Annotated[int, Field(ge=0)]


class CutPolicy(Table):
    """Table [chunk.cuts]: what each cue of segmentation/cues.py adds to the log-odds of a cut."""

    near: float
    topic1: float
    topic2: float
    topic3: float
    onward: float
    dip: float
    shared: float
    pending: float
    user_leads: float
    asks: float
    longer: float
    empty: float
    refers: float
    opens: float
    closes: float
    closed: float
    pause: float
    base: float
    own_bar: Share
    cohesion: Annotated[float, Field(ge=0)]


class ChunkPolicy(Table):
    """Table [chunk]."""

    window_tokens: Count
    min_messages: Count
    max_messages: Count
    cuts: CutPolicy
    gist_words: Count
    drop_bar: Share


class ClusterPolicy(Table):
    """Table [cluster]."""

    accept: Share
    sure_from: Count
    reject: Share
    candidates: Count
    buckets_per_chunk: Count
    bar: Share
    margin: Share
    same_name: Share
    min_chunks: Count
    min_claims: Count


class SynthesizePolicy(Table):
    """Table [synthesize]."""

    claims_per_chunk: Count
    claim_words: Count
    duplicate: Share
    related: Share
    relations: Count
    relation_margin: Share
    paragraph_sentences: Count
    chunks_per_fold: Count
    compose_from: Annotated[int, Field(ge=2)]
    attempts: Count
    max_attempts: Count
    pause_hours: Positive
    entailment: bool


class NightPolicy(Table):
    """Table [night]."""

    slice: Count


class GatePolicy(Table):
    """Table [gate]."""

    word_floor: Share
    floor_window: Count
    growth: Positive
    upheaval: Share
    support: Share


class WikifyPolicy(Table):
    """Table [wikify]."""

    see_also: Annotated[int, Field(ge=0)]
    margin: Share
    lead_after: Positive
    tidy_after: Count
    tidy_pairs: Count
    split_after: Count
    merge_likeness: Share


class Policy(Table):
    """vault_meta/policy.toml as shipped. headings: a claim's kind -> heading of its section."""

    ingest: IngestPolicy
    chunk: ChunkPolicy
    cluster: ClusterPolicy
    synthesize: SynthesizePolicy
    gate: GatePolicy
    night: NightPolicy
    wikify: WikifyPolicy
    headings: dict[str, str]


def load_policy() -> Policy:
    """The shipped policy. Raises ConfigFault when it is broken, which a sound install never is."""
    page = folder("vault_meta") / "policy.toml"
    try:
        return Policy.model_validate(tomllib.loads(page.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:  # tomllib's and Pydantic's faults are ValueErrors
        raise ConfigFault(
            f"the shipped policy {page} cannot be used: {error}",
            mend="install nightly-memory again",
        ) from error
