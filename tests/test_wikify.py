"""What a night does with an article that has grown: it tidies, and takes nothing away."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pipeline import assemble
from pipeline.config import Config
from pipeline.errors import InvalidReply, ModelFault, PromptTooLong
from pipeline.models import Ask, Choice
from pipeline.review.undoing import undo
from pipeline.store import Store
from pipeline.store.ledger import Folding, PageFile
from tests.support_night import (
    NIGHT,
    Night,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)

MORROW = NIGHT + timedelta(days=1)
BEFORE = NIGHT - timedelta(days=2)
A_SESSION = 5  # sentences told in one session

# A section of thirteen statements; SHORT says nothing that LONG does not say.
SHORT, LONG = (
    "The Lantern retention job quietly removes stale sessions.",
    "The Lantern retention job removes stale sessions before every backup of the cluster.",
)
ENGLISH = [
    "The Lantern project of the platform team is the place in which the sessions of all shops are.",
    "The Lantern dashboard shows the queue length of each worker.",
    "The Lantern session table lives in db/sessions.sql.",
    SHORT,
    "Amina Okafor wrote the login page of Lantern.",
    "The Lantern mirror copies its tables to another region.",
    "The alarm of Lantern rings when a disk is full.",
    LONG,
    "The Lantern importer refuses files larger than 2 GB.",
    "Search in Lantern ignores accents and case.",
    "The archive of Lantern is compressed with zstd.",
    "The Lantern parser accepts comments in its settings.",
    "Every release of Lantern is signed by the build server.",
    "The Lantern documents are translated into Spanish.",
]
GERMAN_SHORT, GERMAN_LONG = (
    "Der Lantern Aufräumdienst löscht veraltete Sitzungen.",
    "Der Lantern Aufräumdienst löscht veraltete Sitzungen nachts gründlich.",
)
GERMAN = [
    "Das Projekt Lantern ist der Dienst, in dem die Sitzungen von allen Läden der Gruppe sind.",
    "Die Lantern Übersicht zeigt die Warteschlange jedes Arbeiters.",
    "Die Tabelle der Sitzungen von Lantern liegt in db/sessions.sql.",
    GERMAN_SHORT,
    "Amina Okafor schrieb die Anmeldeseite von Lantern.",
    "Der Spiegel von Lantern kopiert seine Tabellen in eine andere Region.",
    "Der Alarm von Lantern klingelt bei voller Festplatte.",
    GERMAN_LONG,
    "Der Lantern Import verweigert Dateien über 2 GB.",
    "Die Suche in Lantern beachtet keine Akzente.",
    "Das Archiv von Lantern wird mit zstd gepackt.",
    "Der Lantern Parser erlaubt Kommentare in seinen Einstellungen.",
    "Jede Ausgabe von Lantern wird vom Bauserver signiert.",
    "Die Lantern Dokumente werden ins Spanische übersetzt.",
]
CHINESE_SHORT, CHINESE_LONG = (
    "Lantern的清理任务删除过期会话。",
    "Lantern的清理任务删除过期会话并压缩日志文件。",
)
CHINESE = [
    "Lantern项目保存所有商店的会话，Lantern的数据表、Lantern的归档和Lantern的文档都在里面。",
    "Lantern的仪表盘显示每个工作进程的队列长度。",
    "Lantern的会话表保存在db/sessions.sql里。",
    CHINESE_SHORT,
    "登录页面是Lantern最早的页面。",
    "Lantern的镜像把数据表复制到另一个地区。",
    "磁盘写满时Lantern的警报会响。",
    CHINESE_LONG,
    "Lantern的导入器拒绝超过2 GB的文件。",
    "Lantern的搜索忽略重音和大小写。",
    "Lantern的归档用zstd压缩保存。",
    "Lantern的解析器接受配置里的注释。",
    "构建服务器给Lantern的每个版本签名。",
    "Lantern的文档翻译成西班牙语。",
]
RUSSIAN_SHORT, RUSSIAN_LONG = (
    "Служба очистки Lantern удаляет устаревшие сессии.",
    "Служба очистки Lantern удаляет устаревшие сессии каждую ночь.",
)
RUSSIAN = [
    "Проект Lantern есть служба компании, в которой хранится база каждого магазина и сессии.",
    "Панель Lantern показывает длину очереди каждого процесса.",
    "Таблица сессий Lantern хранится в db/sessions.sql.",
    RUSSIAN_SHORT,
    "Страница входа Lantern появилась раньше остальных страниц.",
    "Зеркало Lantern копирует таблицы в другой регион.",
    "Сигнал Lantern звучит при заполненном диске.",
    RUSSIAN_LONG,
    "Загрузчик Lantern отклоняет файлы больше 2 GB.",
    "Поиск Lantern пропускает знаки ударения.",
    "Архив Lantern сжимается программой zstd.",
    "Анализатор Lantern принимает комментарии в настройках.",
    "Каждый выпуск Lantern подписывает сервер сборки.",
    "Документы Lantern переводятся на испанский язык.",
]
LANGUAGES = {
    "English": (ENGLISH, SHORT, LONG),
    "German": (GERMAN, GERMAN_SHORT, GERMAN_LONG),
    "Chinese": (CHINESE, CHINESE_SHORT, CHINESE_LONG),
    "Russian": (RUSSIAN, RUSSIAN_SHORT, RUSSIAN_LONG),
}

# What leads the article of its first night, and the news of the second, of which BETTER has most in
# common with what the article says then.
LEAD = ENGLISH[0]
FOUNDING = [text for text in ENGLISH[:8] if text != LONG]
BETTER, LAST = (
    "The Lantern project stores user sessions for web shops.",
    "Web shops ask Lantern for the user sessions by key.",
)
GROWTH = [BETTER, "The Lantern sessions of web shops are stored in memory first.", LAST]


@pytest.fixture
def config(home: Path) -> Config:
    """An empty vault."""
    return make_vault()


def tell(config: Config, start: datetime, *texts: str) -> None:
    """Conversations, an hour apart, in which the user says these sentences."""
    for number in range(0, len(texts), A_SESSION):
        at = start + timedelta(hours=number // A_SESSION)
        said = [("user", text) for text in texts[number : number + A_SESSION]]
        session = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{at} {said}"))
        write_session(config.vault.parent, "claude-code", session, at, said)


def script(*texts: str, **answers: Callable[[Ask], str | Choice]) -> Script:
    """A model that makes each of these sentences a claim, and answers so where it is told."""
    made = Script({f"wikify/{name}": answer for name, answer in answers.items()})
    made.claims = {text: [(text, "fact")] for text in texts}
    return made


def changelog(config: Config) -> str:
    """The text of the changelog."""
    return (config.vault / "Meta" / "Changelog.md").read_text(encoding="utf-8")


def article(config: Config, name: str = "Lantern project") -> str:
    """The text of an article."""
    return (config.vault / "articles" / f"{name}.md").read_text(encoding="utf-8")


def asked(night: Night, purpose: str) -> list[Ask]:
    """What the model was asked for a purpose."""
    return [one.ask for one in night.model.asked if one.purpose == f"wikify/{purpose}"]


def cited(text: str, sentence: str) -> str:
    """A sentence of a page with its marks."""
    found = re.search(re.escape(sentence) + r"(?:\[\^\d+\])+", text)
    assert found, f"{sentence!r} is not in {text}"
    return found.group()


def marks(sentence: str) -> list[str]:
    """Labels of the marks of a sentence."""
    return re.findall(r"\[\^(\d+)\]", sentence)


def same(ask: Ask) -> str:
    """A model to whom everything is the same."""
    return "same"


def without_dates(text: str) -> str:
    """A page without the day of its last change."""
    return re.sub(r"(?m)^updated: .*$", "", text)


# ------------------------------------------------------------------ repeats


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_repeat_goes_into_the_sentence_that_says_more(config: Config, language: str) -> None:
    """Its citation passes on; every other byte of the article is as without tidying."""
    texts, short, long = LANGUAGES[language]
    first = grown(config, texts, long)
    assert asked(first, "repeat") == []  # twelve statements are few enough
    with assemble.rehearsal(config) as copies:
        run_night(copies, script(*texts), at=MORROW)
        untidied = article(copies)
    night = run_night(config, script(*texts, repeat=same), at=MORROW)
    repeat, kept = cited(untidied, short), cited(untidied, long)
    assert not set(marks(repeat)) & set(marks(kept))
    wanted = untidied.replace(f"{repeat} ", "").replace(repeat, "")
    wanted = wanted.replace(kept, kept + repeat.removeprefix(short))
    assert article(config) == wanted
    assert "- tidied [[Lantern project]]: 1 repeat merged" in changelog(config)
    assert night.status == "done"


def grown(config: Config, texts: list[str], *later: str) -> Night:
    """A night that folds all but the later ones of these; those are told the day after."""
    early = [text for text in texts if text not in later]
    tell(config, BEFORE, *early)
    night = run_night(config, script(*early))
    tell(config, NIGHT + timedelta(hours=9), *later)
    return night


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The Lantern retention job keeps sessions for 45 days.",
            "The Lantern retention job keeps sessions for 30 days.",
        ),
        (
            "The Lantern retention job keeps sessions for 45 days.",
            "The Lantern retention job keeps sessions for 45 hours.",
        ),
        (
            "The Lantern retention job writes to db/old.sql every night.",
            "The Lantern retention job writes to db/new.sql every night.",
        ),
        (
            "The Lantern retention job of Amina removes stale sessions.",
            "The Lantern retention job of Bruno removes stale sessions.",
        ),
        (
            "The Lantern retention job removes stale sessions of guests.",
            "The Lantern retention job never removes stale sessions of guests.",
        ),
        (
            "The Lantern retention job is enabled on the small cluster of the shop.",
            "The Lantern retention job is disabled on the small cluster of the shop.",
        ),
    ],
)
def test_a_model_to_whom_all_is_the_same_merges_no_two_statements(
    config: Config, one: str, other: str
) -> None:
    """A number, a unit, a path, a name, a denial or a word apart: both stand, cited."""
    rest = [text for text in ENGLISH if text not in (SHORT, LONG)]
    texts = [*rest, one, other]
    grown(config, texts, other)
    run_night(config, script(*texts, repeat=same), at=MORROW)
    text = article(config)
    for sentence in texts:
        assert cited(text, sentence)
    assert "tidied" not in changelog(config)


def test_a_pair_is_merged_only_if_the_model_sees_it_both_ways_round(config: Config) -> None:
    """Who says "same" to one order of two sentences alone is not sure of them."""
    grown(config, ENGLISH, LONG)

    def first_is_short(ask: Ask) -> str:
        return "same" if f"One: {SHORT}" in ask.prompt else "different"

    night = run_night(config, script(*ENGLISH, repeat=first_is_short), at=MORROW)
    assert len(asked(night, "repeat")) == 2
    assert cited(article(config), SHORT)


def test_a_repeat_the_user_touched_stays(config: Config) -> None:
    """P7: neither of two sentences is merged when one of them is the user's by now."""
    grown(config, ENGLISH, LONG)
    path = config.vault / "articles" / "Lantern project.md"
    own = SHORT.replace("quietly", "gently")
    path.write_text(article(config).replace(SHORT, own), encoding="utf-8")
    night = run_night(config, script(*ENGLISH, repeat=same), at=MORROW)
    assert asked(night, "repeat") == []
    assert cited(article(config), own) and cited(article(config), LONG)


def test_tidying_that_the_user_took_back_is_not_done_again(config: Config) -> None:
    """P11: undo gives the article its repeat and its lead back, and they are left alone then."""
    texts = [*ENGLISH, *GROWTH]
    grown(config, texts, LONG, *GROWTH)
    with assemble.rehearsal(config) as copies:
        run_night(copies, script(*texts), at=MORROW)
        untidied = article(copies)
    # a night of its own for the tidying, so that it alone is taken back
    run_night(config, script(*texts), at=MORROW)
    store = Store(config.store_path)
    store._connection.execute("UPDATE articles SET linked = 0")
    store.close()
    answers = script(*texts, FEED, repeat=same, lead=prefer(BETTER))
    run_night(config, answers, at=MORROW + timedelta(hours=1))
    assert "1 repeat merged, lead refreshed" in changelog(config)
    with assemble.reviewer(config, now=lambda: MORROW + timedelta(hours=5)) as reviewer:
        undo("", "", reviewer)
    assert article(config) == untidied

    tell(config, MORROW + timedelta(hours=9), FEED)
    run_night(config, answers, at=MORROW + timedelta(days=1))
    text = article(config)
    assert cited(text, SHORT) and cited(text, LONG) and cited(text, FEED)
    assert lead_of(text) == LEAD


def test_a_repeat_put_back_by_undo_is_the_programs_own(config: Config) -> None:
    """It is superseded by newer evidence like any other sentence, and deleted it stays away."""
    grown(config, ENGLISH, LONG)
    run_night(config, script(*ENGLISH, repeat=same), at=MORROW)
    with assemble.reviewer(config, now=lambda: MORROW + timedelta(hours=5)) as reviewer:
        undo("", "", reviewer)
    path = config.vault / "articles" / "Lantern project.md"
    repeat = cited(article(config), SHORT)
    path.write_text(article(config).replace(f" {repeat}", ""), encoding="utf-8")
    tell(config, MORROW + timedelta(hours=9), SHORT)
    run_night(config, script(*ENGLISH), at=MORROW + timedelta(days=1))
    assert SHORT not in article(config)


def test_what_was_merged_may_be_news_again(config: Config) -> None:
    """A merged repeat was not deleted by the user: said again, it finds the sentence it went into.

    Where that sentence is gone by then, it is written anew.
    """
    grown(config, ENGLISH, LONG)
    run_night(config, script(*ENGLISH, repeat=same), at=MORROW)
    path = config.vault / "articles" / "Lantern project.md"
    kept = cited(article(config), LONG)
    path.write_text(article(config).replace(f" {kept}", ""), encoding="utf-8")
    tell(config, MORROW + timedelta(hours=5), SHORT)
    run_night(config, script(*ENGLISH), at=MORROW + timedelta(days=1))
    assert cited(article(config), SHORT)
    assert LONG not in article(config)


# ------------------------------------------------------------------ the lead


def prefer(sentence: str) -> Callable[[Ask], str]:
    """Whatever it is asked, it chooses this sentence, or else the present lead."""

    def choose(ask: Ask) -> str:
        for line in ask.prompt.splitlines():
            if line[1:].startswith(f". {sentence}"):
                return line[0]
        return ask.options[0]

    return choose


def lead_of(text: str) -> str:
    """The lead of an article, without marks."""
    found = re.search(r"(?m)^# .*\n\n(.+)$", text)
    assert found
    return re.sub(r"\[\^\d+\]", "", found.group(1))


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

FEED = "The Lantern importer feeds the Harbor project with archives."
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


# ------------------------------------------------------------------ proposals


def add_dashboard(config: Config, heading: str) -> None:
    """The user writes forty sentences about the dashboard into a section of the article."""
    path = config.vault / "articles" / "Lantern project.md"
    own = " ".join(f"The dashboard of Lantern has a button for order {n}." for n in range(40))
    before, mark, references = article(config).partition("## References")
    assert mark
    if f"## {heading}\n" not in before:
        before += f"## {heading}\n\n"
    path.write_text(f"{before}{own}\n\n{mark}{references}", encoding="utf-8")


def talk(config: Config, name: str = "Lantern project") -> str:
    """The text of a Talk page, "" when there is none."""
    path = config.vault / "Talk" / f"{name}.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.parametrize(
    ("heading", "topic"),
    [("Dashboard of the shops", "Dashboard of the shops"), ("Background", "dashboard")],
)
def test_a_split_is_proposed_once_and_never_done(config: Config, heading: str, topic: str) -> None:
    """The article is as without the proposal; the entry says how, and once settled stays away."""
    grown(config, ENGLISH, LONG)
    add_dashboard(config, heading)
    with assemble.rehearsal(config) as copies:
        run_night(copies, script(*ENGLISH), at=MORROW)
        alone = article(copies)
    night = run_night(config, script(*ENGLISH, split=lambda ask: "own"), at=MORROW)
    assert len(asked(night, "split")) == 1
    assert article(config) == alone
    entries = [line for line in talk(config).splitlines() if line.startswith("- ")]
    assert len(entries) == 1
    assert f"“{topic}”" in entries[0] and "Meta/Buckets.md" in entries[0]
    assert "has a proposal" in changelog(config)

    (config.vault / "Talk" / "Lantern project.md").write_text("# Settled\n", encoding="utf-8")
    tell(config, MORROW + timedelta(hours=9), FEED)
    answers = script(*ENGLISH, FEED, split=lambda ask: "own")
    again = run_night(config, answers, at=MORROW + timedelta(days=1))
    assert asked(again, "split") == []
    assert talk(config) == "# Settled\n"
    assert cited(article(config), FEED)


def test_a_topic_that_is_a_part_is_not_proposed(config: Config) -> None:
    """The model's doubtful "own" writes nothing on Talk."""
    grown(config, ENGLISH, LONG)
    add_dashboard(config, "Background")
    doubtful = Choice(("own", "part"), (0.55, 0.45))
    night = run_night(config, script(*ENGLISH, split=lambda ask: doubtful), at=MORROW)
    assert len(asked(night, "split")) == 1
    assert talk(config) == ""


def test_a_topic_that_has_an_article_is_not_proposed_again(config: Config) -> None:
    """Once the user split it off, or made a bucket of that name, nothing is asked."""
    grown(config, ENGLISH, LONG)
    add_dashboard(config, "Background")
    own = config.vault / "articles" / "Dashboard.md"
    own.write_text("# Dashboard\n\nMine.\n", encoding="utf-8")
    night = run_night(config, script(*ENGLISH, split=lambda ask: "own"), at=MORROW)
    assert not any("Topic: dashboard" in ask.prompt for ask in asked(night, "split"))


TWIN = [
    "The Beacon project of the platform team is the place in which the sessions of all shops are.",
    "Beacon has a login page with two fields.",
    "Carla Brandt reviews the Beacon releases.",
    "The Beacon backup copies tables at noon.",
    "A red lamp in Beacon means trouble.",
    "Beacon answers queries from a small cache.",
]


def two_projects(**answers: Callable[[Ask], str | Choice]) -> Script:
    """A model that files what names Beacon under that name."""
    made = script(*FOUNDING, *TWIN, FEED, **answers)

    def route(ask: Ask) -> str:
        topics, _, said = ask.prompt.partition("Piece:")
        name = "Beacon" if "Beacon" in said else "Lantern"
        return next((row[0] for row in topics.splitlines() if name in row), "none of these")

    def name(ask: Ask) -> str:
        return "Beacon project" if "Beacon" in ask.prompt else "Lantern project"

    made.overrides = {**made.overrides, "cluster/route": route, "cluster/name": name}
    return made


def test_a_merge_is_proposed_once_and_never_done(config: Config) -> None:
    """Both articles stand; one Talk page tells how to merge them by Meta/Buckets.md."""
    tell(config, BEFORE, *FOUNDING)
    tell(config, BEFORE + timedelta(hours=8), *TWIN)
    with assemble.rehearsal(config) as copies:
        run_night(copies, two_projects())
        alone = files(copies.vault / "articles")
    run_night(config, two_projects(merge=same))
    assert files(config.vault / "articles") == alone
    entries = [line for line in talk(config, "Beacon project").splitlines() if line[:2] == "- "]
    assert len(entries) == 1
    assert "“→ Lantern project”" in entries[0] and "Meta/Buckets.md" in entries[0]
    assert talk(config) == ""

    (config.vault / "Talk" / "Beacon project.md").write_text("", encoding="utf-8")
    tell(config, NIGHT + timedelta(hours=9), FEED)
    again = run_night(config, two_projects(merge=same), at=MORROW)
    assert cited(article(config), FEED)
    assert asked(again, "merge") == []
    assert talk(config, "Beacon project") == ""


def test_articles_about_different_things_are_not_compared(home: Path) -> None:
    """P6: what has neither name nor words in common costs no question."""
    write_sessions(home)
    night = run_night(make_vault())
    assert asked(night, "merge") == []


def test_a_settled_contradiction_does_not_come_back(config: Config) -> None:
    """What synthesize asks on Talk is told once, too."""
    old = "The Lantern retention job keeps sessions for 45 days."
    new = "The Lantern retention job keeps sessions for 30 days."
    texts = [*FOUNDING[:2], *FOUNDING[4:], old]
    grown(config, [*texts, new], new)

    def contradicts(*claims: str) -> Script:
        made = script(*texts, *claims)
        made.overrides = {"synthesize/relation": lambda ask: "contradicts"}
        return made

    run_night(config, contradicts(new), at=MORROW)
    assert new in talk(config)
    (config.vault / "Talk" / "Lantern project.md").write_text("# Settled\n", encoding="utf-8")
    # the article loses what was said; said in the same words again, it contradicts as before
    path = config.vault / "articles" / "Lantern project.md"
    path.write_text(article(config).replace(cited(article(config), new), ""), encoding="utf-8")
    tell(config, MORROW + timedelta(hours=9), f"{new} Lantern is well.")
    run_night(config, contradicts(new), at=MORROW + timedelta(days=1))
    assert talk(config) == "# Settled\n"


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
