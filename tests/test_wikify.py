"""What a night does with an article that has grown: its lead, its links, and what is remembered."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline import assemble
from pipeline.config import Config
from pipeline.errors import InvalidReply, ModelFault, PromptTooLong
from pipeline.models import Ask, Choice
from pipeline.store import Store
from pipeline.store.ledger import Folding, PageFile
from tests.support_night import NIGHT, files, make_vault, run_night
from tests.support_wikify import (
    BEFORE,
    BETTER,
    ENGLISH,
    FEED,
    FOUNDING,
    GROWTH,
    LAST,
    LEAD,
    LONG,
    MORROW,
    SHORT,
    article,
    asked,
    changelog,
    cited,
    grown,
    lead_of,
    prefer,
    same,
    script,
    tell,
)


@pytest.fixture
def config(home: Path) -> Config:
    """An empty vault."""
    return make_vault()


# ------------------------------------------------------------------ the lead


def test_a_stale_lead_makes_way_for_a_sentence_that_stands_there(config: Config) -> None:
    """The two change places with their marks; every other byte stays."""
    grown(config, [*FOUNDING, *GROWTH], *GROWTH)
    assert lead_of(article(config)) == LEAD
    with assemble.rehearsal(config) as copies:
        run_night(copies, script(*FOUNDING, *GROWTH), at=MORROW)
        stale = article(copies)
    night = run_night(config, script(*FOUNDING, *GROWTH, lead=prefer(BETTER)), at=MORROW)
    lead, better, last = (cited(stale, text) for text in (LEAD, BETTER, LAST))
    wanted = stale.replace(f" {better}", "").replace(last, f"{last} {lead}")
    wanted = wanted.replace(lead, better, 1)
    assert article(config) == wanted
    assert "- tidied [[Lantern project]]: lead refreshed" in changelog(config)
    assert all(one.call == "choose" for one in night.model.asked if one.stage == "wikify")


def test_a_lead_of_which_the_model_is_not_sure_stays(config: Config) -> None:
    """A choice that leads by little changes nothing."""
    grown(config, [*FOUNDING, *GROWTH], *GROWTH)

    def unsure(ask: Ask) -> Choice:
        share = 1 / (len(ask.options) + 0.1)
        return Choice(ask.options, (*[share] * (len(ask.options) - 1), 1.1 * share))

    night = run_night(config, script(*FOUNDING, *GROWTH, lead=unsure), at=MORROW)
    assert len(asked(night, "lead")) == 1
    assert lead_of(article(config)) == LEAD
    assert "tidied" not in changelog(config)


OWN_LEADS = {
    "reworded": LEAD.replace("place", "spot"),
    "longer": f"{LEAD}[^1] It is a nice project.",
    "uncited": LEAD,
    "with a note beside it": f"{LEAD}[^1]\n\n> [!note] Ask Amina.",
}


@pytest.mark.parametrize("own", OWN_LEADS.values(), ids=OWN_LEADS.keys())
def test_a_lead_the_user_wrote_is_never_touched(config: Config, own: str) -> None:
    """P7: nothing is asked about it, and it keeps its bytes and its place."""
    grown(config, [*FOUNDING, *GROWTH], *GROWTH)
    path = config.vault / "articles" / "Lantern project.md"
    path.write_text(article(config).replace(f"{LEAD}[^1]\n", f"{own}\n"), encoding="utf-8")
    night = run_night(config, script(*FOUNDING, *GROWTH, lead=prefer(BETTER)), at=MORROW)
    assert asked(night, "lead") == []
    assert f"# Lantern project\n\n{own}\n\n## Background" in article(config)
    assert cited(article(config), BETTER)


def test_a_lead_the_user_put_back_stays(config: Config) -> None:
    """P7: by hand or by undoing; the same change is not made twice."""
    grown(config, [*FOUNDING, *GROWTH], *GROWTH)
    before = run_night(config, script(*FOUNDING, *GROWTH, lead=prefer(BETTER)), at=MORROW)
    assert asked(before, "lead")
    lead, better = cited(article(config), LEAD), cited(article(config), BETTER)
    back = article(config).replace(lead, "X").replace(better, lead).replace("X", better)
    (config.vault / "articles" / "Lantern project.md").write_text(back, encoding="utf-8")
    tell(config, MORROW + timedelta(hours=5), ENGLISH[8])
    answers = script(*ENGLISH, *GROWTH, lead=prefer(BETTER))
    night = run_night(config, answers, at=MORROW + timedelta(days=1))
    assert asked(night, "lead") == []
    assert lead_of(article(config)) == LEAD
    assert cited(article(config), ENGLISH[8])


def test_no_sentence_leads_twice_however_flighty_the_model(config: Config) -> None:
    """A lead that was left does not return, night after night of news."""
    news = [*GROWTH, *ENGLISH[8:11]]
    texts = [*FOUNDING, *news]
    tell(config, BEFORE, *FOUNDING)
    run_night(config, script(*FOUNDING))
    leads = [lead_of(article(config))]
    for number, text in enumerate(news):
        day = NIGHT + timedelta(days=number)
        tell(config, day + timedelta(hours=9), text)
        flighty = script(*texts, lead=lambda ask: ask.options[-1])
        run_night(config, flighty, at=day + timedelta(days=1))
        if lead_of(article(config)) != leads[-1]:
            leads.append(lead_of(article(config)))
    assert len(leads) >= 2
    assert len(set(leads)) == len(leads)


# ------------------------------------------------------------------ a model that is no help

HARBOR = [
    "The Harbor project keeps the archives of the shops in the cellar of the data centre.",
    "The Harbor importer reads blocks of 64 MB.",
    "Bruno Costa tests the restore of Harbor.",
    "The Harbor archives are packed with zstd.",
    "A broken disk stops the Harbor writer.",
    "The Harbor index lists all files by day.",
]


@pytest.mark.parametrize(("purpose", "fault"), [("lead", InvalidReply), ("repeat", PromptTooLong)])
def test_without_an_answer_the_links_are_made_alone(
    config: Config, purpose: str, fault: type[ModelFault]
) -> None:
    """A question without a usable answer changes nothing of its kind, and stops nothing else."""
    texts = [*ENGLISH, *GROWTH]

    def fails(ask: Ask) -> str:
        raise fault("no answer")

    tell(config, BEFORE - timedelta(days=1), *HARBOR)
    run_night(config, script(*HARBOR), at=NIGHT - timedelta(days=2))
    grown(config, texts, LONG, *GROWTH, FEED)
    night = run_night(config, script(*texts, FEED, **{purpose: fails}), at=MORROW)
    assert asked(night, purpose)
    assert night.status == "done"
    text = article(config)
    assert cited(text, FEED.replace("Harbor project", "[[Harbor project]]"))
    assert cited(text, SHORT) and cited(text, LONG)
    assert lead_of(text) == LEAD
    assert "tidied" not in changelog(config)


def test_a_silent_night_after_it_asks_nothing(config: Config) -> None:
    """P4, P6: what was looked over is looked over again only once it changed."""
    grown(config, [*ENGLISH, *GROWTH], LONG, *GROWTH)
    answers = script(*ENGLISH, *GROWTH, repeat=same, lead=prefer(BETTER))
    first = run_night(config, answers, at=MORROW)
    assert asked(first, "lead") and asked(first, "repeat")
    assert "1 repeat merged, lead refreshed" in changelog(config)
    before = files(config.vault, git=True)
    night = run_night(config, answers, at=MORROW + timedelta(days=1))
    assert night.model.asked == []
    assert files(config.vault, git=True) == before


# ------------------------------------------------------------------ what the store remembers


def test_what_was_announced_is_remembered_after_a_kill(tmp_path: Path) -> None:
    """P5: an intent read back after a kill tells all that the undisturbed run would have kept."""
    folding = Folding(
        stem="Lantern",
        merged=("A repeat.",),
        led="A lead.",
        told=(("Lantern", "A question."), ("Harbor", "Another.")),
    )
    store = Store(tmp_path / "memory.sqlite")
    store.ledger.announce("run", PageFile("articles/Lantern.md", "", "x"), "s", {}, folding)
    store.close()
    store = Store(tmp_path / "memory.sqlite")
    (intent,) = store.ledger.intents()
    assert intent.folding == folding
    store.ledger.settle(intent, "commit", NIGHT)
    assert store.ledger.merged("Lantern") == {"A repeat."}
    assert store.ledger.led("Lantern") == {"A lead."}
    assert store.ledger.told("Lantern") == {"A question."}
    assert store.ledger.told("Harbor") == {"Another."}
    store.ledger.rename("Lantern", "Lantern project")
    assert store.ledger.told("Lantern project") == {"A question."}
    assert store.ledger.led("Lantern project") == {"A lead."}
    assert store.ledger.merged("Lantern project") == {"A repeat."}
    store.close()
