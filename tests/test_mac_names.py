"""A vault on a Mac's volume: one file answers to many names, and git knows it by one of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.spelling import spelt
from tests.support_command import printed as memory
from tests.support_forget import conv_of
from tests.support_mac import composed, decomposed, volume
from tests.support_night import Script, files, make_vault, run_night, write_sessions
from tests.test_git_elsewhere import git
from tests.test_git_settings import MINE, commit_all
from tests.test_night import MORROW, NEWS, add_news, with_news

pytestmark = pytest.mark.xdist_group("mac")
_LEFT = 9  # exit code of what was done in part
LANTERN, HARBOR = "Lantern project.md", "Harbor project.md"


@pytest.fixture(scope="module")
def mac(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Mac's volume, for all tests of this file."""
    with (
        pytest.MonkeyPatch.context() as patch,
        volume(tmp_path_factory.mktemp("mac"), patch) as mounted,
    ):
        yield mounted


@pytest.fixture
def config(home: Path, mac: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Transcripts, and an empty vault on the volume, which is asked about each folder of a path."""
    monkeypatch.setenv("MEMORY_VAULT", str(mac / home.name))
    write_sessions(home)
    return make_vault()


def put(config: Config, name: str, title: str = "Lantern project") -> Path:
    """The user's own page of the topic, committed."""
    page = config.vault / "articles" / name
    page.parent.mkdir(exist_ok=True)
    page.write_text(MINE.replace("Lantern project", title))
    commit_all(config)
    return page


def pages(config: Config) -> list[str]:
    """The articles as committed."""
    listed = git(
        config.vault, "-c", "core.quotepath=off", "ls-tree", "-r", "--name-only", "HEAD", "articles"
    )
    return [name.removeprefix("articles/") for name in listed.splitlines()]


def status(config: Config) -> str:
    """What git takes for uncommitted."""
    return git(config.vault, "status", "--porcelain")


def on_disk(config: Config) -> set[str]:
    """The names that the folder of articles shows."""
    return {path.name for path in (config.vault / "articles").iterdir()}


def naming(title: str) -> Script:
    """The topic of the Lantern project is called so."""
    names = {"Lantern": title, "Harbor": HARBOR.removesuffix(".md")}
    return Script(
        {"cluster/name": lambda ask: next(n for word, n in names.items() if word in ask.prompt)}
    )


def moved(config: Config) -> Path:
    """After a night the user changes the case of one name, and files the other page away."""
    articles = config.vault / "articles"
    folder = articles / decomposed("Réseau")
    folder.mkdir()
    (articles / HARBOR).rename(folder / HARBOR)
    return (articles / LANTERN).rename(articles / "lantern Project.md")


def test_the_volume_is_as_a_mac_s(mac: Path) -> None:
    """Case and form are kept and not told apart; git is told composed names."""
    place = mac / "sample"
    place.mkdir()
    (place / decomposed("Café.md")).write_text("x")
    assert (place / composed("cAFÉ.MD")).read_text() == "x"
    assert [path.name for path in place.iterdir()] == [decomposed("Café.md")]
    git(place, "init", "--quiet")
    git(place, "add", decomposed("Café.md"))
    assert git(place, "ls-files", "-z") == composed("Café.md") + "\0"


# ------------------------------------------------------------------ one page stays one


@pytest.mark.parametrize("before", ["lantern project.md", "LANTERN PROJECT.md"])
def test_a_page_renamed_by_case_is_committed_once(config: Config, before: str) -> None:
    """Git goes on with the name it has; the folder with the user's. Undo brings the bytes back."""
    page = put(config, before).rename(config.vault / "articles" / LANTERN)
    run_night(config)
    assert "The Lantern" in page.read_text()
    assert pages(config) == sorted([HARBOR, before])
    assert on_disk(config) == {HARBOR, LANTERN}
    assert status(config) == ""
    memory("undo")
    assert page.read_text() == MINE
    assert on_disk(config) == {LANTERN}
    assert status(config) == ""


def test_a_page_in_a_folder_renamed_by_case_is_committed_once(config: Config) -> None:
    """So is a page of the user's that is new in that folder: it goes where its neighbours are."""
    folder = put(config, f"work/{LANTERN}").parent.rename(config.vault / "articles" / "Work")
    run_night(config)
    assert "The Lantern" in (folder / LANTERN).read_text()
    assert pages(config) == [HARBOR, f"work/{LANTERN}"]
    assert status(config) == ""


def test_names_that_the_finder_wrote_are_committed_once(config: Config) -> None:
    """Folder and page are decomposed on the disk, and composed where git has them."""
    title = composed("Lantern projét")
    page = put(config, decomposed(f"Réseau/{title}.md"), title)
    edited = page.read_text().replace("My note", "My newest note")
    page.write_text(edited)
    run_night(config, naming(title))
    assert "The Lantern" in page.read_text()
    assert pages(config) == [HARBOR, composed(f"Réseau/{title}.md")]
    assert status(config) == ""
    memory("undo")
    assert page.read_text() == edited
    assert status(config) == ""


def test_edits_under_another_name_are_the_users_and_come_first(config: Config) -> None:
    """What was uncommitted stands in a commit of the user's, under the name git has."""
    page = put(config, "lantern project.md").rename(config.vault / "articles" / LANTERN)
    edited = MINE.replace("My note", "My newest note")
    page.write_text(edited)
    run_night(config)
    assert pages(config) == [HARBOR, "lantern project.md"]
    theirs = git(config.vault, "log", "--author=You", "-1", "--format=%H", "--", "articles").strip()
    assert git(config.vault, "show", f"{theirs}:articles/lantern project.md") == edited.strip()
    memory("undo")
    assert page.read_text() == edited


# ------------------------------------------------------------------ what comes after


@pytest.mark.parametrize("committed", [False, True])
def test_the_next_night_and_its_undo(config: Config, home: Path, *, committed: bool) -> None:
    """News go into the page by its new name; git tells of an update of the one page."""
    run_night(config)
    page = moved(config)
    first = page.read_text()
    if committed:
        commit_all(config)
    add_news(home)
    night = run_night(config, with_news(), at=MORROW)
    assert night.results.problems == []
    assert NEWS in page.read_text()
    assert pages(config).count(LANTERN) == 1 and "lantern Project.md" not in pages(config)
    memory("undo")
    assert page.read_text() == first
    assert "lantern Project.md" in on_disk(config)


def renamed_in_git(config: Config, old: str, new: str) -> None:
    """By case alone, and git knows."""
    git(config.vault, "mv", old, f"{new}.x")
    git(config.vault, "mv", f"{new}.x", new)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"articles/{LANTERN}", "articles/lantern Project.md"),
        ("articles/work", "articles/Work"),
        ("articles", "Articles"),
    ],
)
def test_what_was_written_before_a_renaming_in_git_is_taken_back(
    config: Config, old: str, new: str, *, committed: bool
) -> None:
    """The commit has the older name, and what it did is found there."""
    page = put(config, f"work/{LANTERN}" if old.endswith("work") else LANTERN)
    run_night(config)
    assert "The Lantern" in page.read_text()
    renamed_in_git(config, old, new)
    if committed:
        git(config.vault, "commit", "--quiet", "-m", "renamed")
    assert "The Lantern" in memory("diff")
    memory("undo")
    assert page.read_text() == MINE
    assert [name for name in pages(config) if name == HARBOR] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"articles/{LANTERN}", "articles/lantern Project.md"),
        ("articles", "Articles"),
        ("Meta", "meta"),
    ],
)
@pytest.mark.parametrize("committed", [False, True])
def test_a_night_after_a_renaming_in_git(
    config: Config, home: Path, old: str, new: str, *, committed: bool
) -> None:
    """No file has two names in what is committed, and the night is the one that undo means."""
    run_night(config)
    first = (config.vault / "articles" / LANTERN).read_text()
    renamed_in_git(config, old, new)
    if committed:
        git(config.vault, "commit", "--quiet", "-m", "renamed")
    add_news(home)
    night = run_night(config, with_news(), at=MORROW)
    assert night.results.problems == []
    listed = git(config.vault, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert len({name.casefold() for name in listed}) == len(listed)
    memory("undo")
    assert (config.vault / "articles" / LANTERN).read_text() == first


@pytest.mark.parametrize("committed", [False, True])
def test_a_night_that_was_killed_before_the_page_was_renamed(
    config: Config, home: Path, monkeypatch: pytest.MonkeyPatch, *, committed: bool
) -> None:
    """What the user commits with their renaming was the night's, and undo takes that alone back."""
    run_night(config)
    page = config.vault / "articles" / LANTERN
    first = page.read_text()
    add_news(home)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.publish._commit", stopped)
        with pytest.raises(KeyboardInterrupt):
            run_night(config, with_news(), at=MORROW)
    assert NEWS in page.read_text()
    renamed_in_git(config, f"articles/{LANTERN}", "articles/lantern Project.md")
    if committed:
        git(config.vault, "commit", "--quiet", "-a", "-m", "renamed")
    run_night(config, with_news(), at=MORROW)
    memory("undo")
    assert page.read_text() == first


def stopped(*_: object) -> str:
    """In the place of a step that is not reached."""
    raise KeyboardInterrupt


def test_a_topic_is_forgotten_where_git_has_another_folder(config: Config) -> None:
    """What rests on the conversation alone is struck out of `Articles/` too."""
    run_night(config)
    renamed_in_git(config, "articles", "Articles")
    git(config.vault, "commit", "--quiet", "-m", "renamed")
    # the transcript and older commits hold it still
    memory("forget", conv_of(config), "--from-articles", "--yes", code=_LEFT)
    assert "queue length of each worker" not in (config.vault / "articles" / LANTERN).read_text()


def test_what_is_left_is_told_once_where_the_folder_has_another_name(config: Config) -> None:
    """A page in `Articles/` is one of the wiki's, and no file of somebody else's besides."""
    run_night(config)
    (config.vault / "articles").rename(config.vault / "Articles")
    told = memory("forget", conv_of(config), "--yes", code=_LEFT)
    assert f"left in articles/{LANTERN}: --from-articles" in told
    assert "is not ours" not in told


@pytest.mark.parametrize("form", [composed, decomposed])
def test_an_article_is_meant_by_any_form_of_its_name(
    config: Config, form: Callable[[str], str]
) -> None:
    """As by any case: a name that the Finder wrote is copied decomposed."""
    title = composed("Lantern projét")
    run_night(config, naming(title))
    assert "4 claims" in memory("log", form(title))
    memory("undo", form(title).lower())
    assert on_disk(config) == {HARBOR}


def test_a_backup_comes_back_with_the_names_of_the_disk(config: Config, tmp_path: Path) -> None:
    """Every file is as it was, and git sees what it saw."""
    run_night(config)
    moved(config)
    held, seen = files(config.vault), status(config)
    made = json.loads(memory("backup", str(tmp_path / "disk"), "--json"))["backup"]
    for folder in (config.vault, config.cache_dir, config.data_dir):
        shutil.rmtree(folder)
    memory("restore", made)
    assert files(config.vault) == held
    assert status(config) == seen


def test_a_lost_database_comes_back_under_the_names_of_the_disk(config: Config, home: Path) -> None:
    """The night after a rebuild asks nothing and changes nothing."""
    run_night(config)
    moved(config)
    add_news(home)
    run_night(config, with_news(), at=MORROW)
    for path in config.cache_dir.glob("memory.sqlite*"):
        path.unlink()
    memory("rebuild")
    held = files(config.vault)
    night = run_night(config, with_news(), at=MORROW)
    assert night.results.problems == [] and night.model.asked == []
    assert files(config.vault) == held


# ------------------------------------------------------------------ elsewhere


def test_where_every_name_is_another_file_git_is_not_asked(tmp_path: Path) -> None:
    """As on most volumes of Linux: two pages may differ in case, or in form, alone."""
    (tmp_path / ".git").mkdir()
    for name in ("a.md", decomposed("é.md"), composed("é.md")):
        (tmp_path / name).write_text(name)

    def asked() -> list[str]:
        raise AssertionError("git was asked")

    for name in ("a.md", "A.md", decomposed("é.md"), composed("é.md")):
        assert spelt(name, tmp_path, asked) == name
