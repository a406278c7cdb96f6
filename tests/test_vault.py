"""The vault's files: nothing is overwritten unseen, nothing written outside, nothing half."""

from __future__ import annotations

import hashlib
import stat
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import VaultFault
from pipeline.markdown import list_items
from pipeline.resources import folder
from pipeline.vault import ArticleEntry, ChangedUnderneath, Vault, prepend_section


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "articles" / "sub").mkdir(parents=True)
    (root / ".git").mkdir()
    return root


@pytest.fixture
def vault(root: Path) -> Vault:
    return Vault(root)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def everything(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


# ------------------------------------------------------------------ reading


def test_an_article_is_found_where_the_user_moved_it(vault: Vault, root: Path) -> None:
    """Stems are file names in articles/ and its subfolders; the nearer file wins."""
    (root / "articles" / "sub" / "Moved.md").write_text("moved")
    (root / "articles" / "sub" / "Both.md").write_text("far")
    (root / "articles" / "Both.md").write_text("near")
    (root / "articles" / ".hidden.md").write_text("no")
    (root / "articles" / "sub" / "note.txt").write_text("no")
    assert vault.stems() == ("Both", "Moved")
    assert vault.article_path("Moved") == "articles/sub/Moved.md"
    assert (vault.read("Moved"), vault.read("Both")) == ("moved", "near")
    assert vault.article_path("Not yet") == "articles/Not yet.md"
    assert vault.read("Not yet") is None


def test_text_is_read_byte_for_byte(vault: Vault, root: Path) -> None:
    """Line ends and a byte order mark are part of the text."""
    (root / "articles" / "A.md").write_bytes(b"\xef\xbb\xbf# A\r\nb\rc\n")
    assert vault.read("A") == "\ufeff# A\r\nb\rc\n"
    assert vault.hash("articles/A.md") == sha("\ufeff# A\r\nb\rc\n")
    assert vault.hash("articles/none.md") == ""


def test_a_page_that_is_not_utf8_is_named(vault: Vault, root: Path) -> None:
    """Such a page is not guessed at; the others are still in the catalog."""
    (root / "articles" / "Bad.md").write_bytes(b"# caf\xe9\n")
    (root / "articles" / "Good.md").write_text("# Good\n")
    with pytest.raises(VaultFault, match=r"Bad\.md is not UTF-8"):
        vault.read("Bad")
    assert [entry.stem for entry in vault.catalog()] == ["Good"]


def test_decomposed_file_names_are_the_same_article(vault: Vault, root: Path) -> None:
    """A file system may store ü as u and an accent; the stem is the composed form."""
    (root / "articles" / (unicodedata.normalize("NFD", "Prüfung") + ".md")).write_text("x")
    assert vault.stems() == ("Prüfung",)
    assert vault.read("Prüfung") == "x"


def test_catalog_tells_what_others_need(vault: Vault, root: Path) -> None:
    """Title and aliases from the frontmatter, the lead as read, headings without closing ones."""
    (root / "articles" / "Kiwi- Store.md").write_text(
        '---\ntitle: "Kiwi: Store"\naliases: [KW, 7]\n---\n# Kiwi\n\nThe [[x|lead]].[^1]\n\n'
        "## Facts\n\n## history\n\n## References\n"
    )
    (root / "articles" / "Plain.md").write_text("# A *title*\n")
    (root / "articles" / "Broken.md").write_text("---\ntitle: [unclosed\n---\ntext\n")
    (root / "articles" / "One.md").write_text("---\naliases: single\ntitle:\n---\n")
    assert vault.catalog() == [
        ArticleEntry("Broken", "Broken", (), "text", ()),
        ArticleEntry("Kiwi- Store", "Kiwi: Store", ("KW", "7"), "The lead.", ("Facts",)),
        ArticleEntry("One", "One", ("single",), "", ()),
        ArticleEntry("Plain", "A *title*", (), "", ()),
    ]


def test_catalog_sees_edits_and_deletions(vault: Vault, root: Path) -> None:
    """What was read once is read again when the file changed."""
    page = root / "articles" / "A.md"
    page.write_text("# One\n")
    assert [entry.title for entry in vault.catalog()] == ["One"]
    page.write_text("# Other title\n")
    assert [entry.title for entry in vault.catalog()] == ["Other title"]
    page.unlink()
    assert vault.catalog() == []


# ------------------------------------------------------------------ writing


def test_a_page_is_written_whole(vault: Vault, root: Path) -> None:
    """New and existing pages get the text's bytes; permissions stay; nothing else is left."""
    vault.write("articles/A.md", "one\r\n", expect="")
    page = root / "articles" / "A.md"
    assert page.read_bytes() == b"one\r\n"
    page.chmod(0o640)
    vault.write("articles/A.md", "two\n", expect=sha("one\r\n"))
    assert page.read_bytes() == b"two\n"
    assert stat.S_IMODE(page.stat().st_mode) == 0o640
    vault.write("Talk/A.md", "talk\n", expect="")
    assert everything(root) == {"articles/A.md": b"two\n", "Talk/A.md": b"talk\n"}


def test_a_vault_without_git_is_written_too(vault: Vault, root: Path) -> None:
    """Without a .git folder the new text waits beside the page, and is gone afterwards."""
    (root / ".git").rmdir()
    vault.write("Meta/Changelog.md", "x\n", expect="")
    assert everything(root) == {"Meta/Changelog.md": b"x\n"}


def test_what_changed_meanwhile_is_not_overwritten(vault: Vault, root: Path) -> None:
    """An edit, a deletion or a new file since the draft was made: their bytes stand."""
    page = root / "articles" / "A.md"
    page.write_text("the user's\n")
    for expect in (sha("what we read\n"), ""):
        with pytest.raises(ChangedUnderneath, match=r"A\.md"):
            vault.write("articles/A.md", "ours\n", expect=expect)
    page.unlink()
    with pytest.raises(ChangedUnderneath):
        vault.write("articles/A.md", "ours\n", expect=sha("the user's\n"))
    assert everything(root) == {}


@pytest.mark.parametrize(
    "path",
    [
        "README.md", "articles", "../out.md", "articles/../../out.md", "/etc/out.md",
        "articles/../Meta/x.md", ".git/config", "other/x.md", "",
    ],
)  # fmt: skip
def test_nothing_is_written_outside_the_pages(vault: Vault, root: Path, path: str) -> None:
    """Only articles/, Talk/ and Meta/ are written, however the path is put."""
    with pytest.raises(VaultFault, match="outside"):
        vault.write(path, "x", expect="")
    assert everything(root.parent) == {}


def test_links_out_of_the_vault_are_refused(vault: Vault, root: Path, tmp_path: Path) -> None:
    """A folder or page that is a link to elsewhere is not written through."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "A.md").write_text("theirs\n")
    (root / "articles" / "away").symlink_to(outside, target_is_directory=True)
    (root / "articles" / "B.md").symlink_to(outside / "A.md")
    (root / "Talk").symlink_to(outside, target_is_directory=True)
    for path in ("articles/away/A.md", "articles/B.md", "Talk/A.md"):
        with pytest.raises(VaultFault, match=r"outside|is a link"):
            vault.write(path, "x", expect=sha("theirs\n"))
    assert everything(outside) == {"A.md": b"theirs\n"}


def test_an_articles_folder_elsewhere_is_refused(tmp_path: Path) -> None:
    """articles/ itself may not be a link out of the vault."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "articles").symlink_to(tmp_path / "outside", target_is_directory=True)
    with pytest.raises(VaultFault, match="outside"):
        Vault(tmp_path / "vault").stems()


def test_a_write_that_fails_leaves_the_page(vault: Vault, root: Path) -> None:
    """Text that is no Unicode, and a folder in the page's place: said, and nothing changed."""
    (root / "articles" / "A.md").write_text("one\n")
    with pytest.raises(VaultFault, match="not Unicode"):
        vault.write("articles/A.md", "\ud800", expect=sha("one\n"))
    (root / "articles" / "D.md").mkdir()
    with pytest.raises(VaultFault, match=r"D\.md"):
        vault.write("articles/D.md", "x", expect="")
    assert everything(root) == {"articles/A.md": b"one\n"}


@pytest.mark.parametrize("stem", ["", ".", "..", ".git", "a/b", "a\\b", "a\0b"])
def test_stems_that_are_paths_are_refused(vault: Vault, stem: str) -> None:
    """A name with a separator could lead out of articles/."""
    with pytest.raises(VaultFault, match="cannot be the name"):
        vault.article_path(stem)


# ------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("Kiwi Store", "Kiwi Store"),
        ("TCP/IP: notes", "TCP-IP- notes"),
        ("a\\b [c] #d ^e |f", "a-b c d e f"),
        (".hidden", "hidden"),
        ("ends. ", "ends"),
        ("con", "con article"),
        ("NUL.txt", "NUL txt article"),
        ("..", "Untitled"),
        ("u\u0308ber", "über"),
        ("what? <b> \"x\" *", "what b x"),
        ("two\nlines\x00", "two lines"),
    ],
)  # fmt: skip
def test_names_are_portable(vault: Vault, title: str, stem: str) -> None:
    """A title becomes a name every file system and Obsidian accept."""
    assert vault.stem_for(title, ()) == stem


def test_names_are_unique_when_case_is_ignored(vault: Vault) -> None:
    """Two articles never share a file on a disk that ignores case."""
    assert vault.stem_for("Kiwi", ["kiwi"]) == "Kiwi 2"
    assert vault.stem_for("Kiwi", ["KIWI", "kiwi 2"]) == "Kiwi 3"
    assert vault.stem_for("U\u0308ber", ["über"]) == "Über 2"


@given(st.text(), st.lists(st.text(max_size=3), max_size=3))
def test_any_title_has_a_name(title: str, taken: list[str]) -> None:
    """The name fits, is free, and can be used as an article's."""
    vault = Vault(Path("nowhere"))
    stem = vault.stem_for(title, taken)
    assert 0 < len(stem.encode()) <= 100
    assert not set(stem) & set('/\\:#^[]|*?"<>\0\n')
    assert stem.casefold() not in {unicodedata.normalize("NFC", t).casefold() for t in taken}
    assert vault.article_path(stem) == f"articles/{stem}.md"


# ------------------------------------------------------------------ Meta, Talk, changelog


def test_seeding_twice_changes_nothing(vault: Vault, root: Path) -> None:
    """A new vault gets every page; a page the user has, changed or emptied, is left alone."""
    made = vault.seed(folder("vault_meta"))
    assert {str(path.relative_to(root)) for path in made} == {
        ".gitignore", "README.md", "Meta/Article_Conventions.md", "Meta/Buckets.md",
        "Meta/Changelog.md", "Meta/Chunking.md", "Meta/Editorial_Guidelines.md",
        "Meta/Topics_to_Ignore.md",
    }  # fmt: skip
    (root / "Meta" / "Chunking.md").write_text("")
    (root / "README.md").unlink()
    assert vault.seed(folder("vault_meta")) == [root / "README.md"]
    assert (root / "Meta" / "Chunking.md").read_text() == ""


def test_a_missing_meta_page_falls_back_to_the_shipped_one(vault: Vault, root: Path) -> None:
    """The user's page counts; where there is none, the shipped one does, and that is known."""
    vault.seed(folder("vault_meta"))
    assert vault.missing_meta() == []
    shipped = (root / "Meta" / "Chunking.md").read_text()
    (root / "Meta" / "Chunking.md").unlink()
    (root / "Meta" / "Buckets.md").write_text("mine\n")
    assert vault.meta("Chunking.md") == shipped
    assert vault.meta("Buckets.md") == "mine\n"
    assert vault.missing_meta() == ["Chunking.md"]


def test_shipped_pages_hold_nothing_to_copy(vault: Vault) -> None:
    """No topic is ignored at first, and no page has a number that a model could take for a fact."""
    assert list_items(vault.meta("Topics_to_Ignore.md")) == []
    for page in folder("vault_meta").iterdir():
        if page.name.endswith(".md"):
            assert not any(char.isdigit() for char in page.read_text("utf-8")), page.name


def test_talk_entries_are_added_once(vault: Vault, root: Path) -> None:
    """An entry that stands is not repeated; what the user wrote around it stays."""
    path, before, after = vault.talk("Kiwi", ["Is `conv:1a2b3c4d` [right]?", "Second\nline"])
    assert (path, before) == ("Talk/Kiwi.md", "")
    assert after == (
        "# Kiwi\n\nQuestions about [[Kiwi]]. Edit the article, then delete the entry that is "
        "settled.\n\n- Is `conv:1a2b3c4d` \\[right\\]?\n- Second line\n"
    )
    vault.write(path, after, expect="")
    assert vault.talk("Kiwi", ["Second line"]) == (path, after, after)
    mine = after + "\nMine"
    (root / "Talk" / "Kiwi.md").write_text(mine)
    assert vault.talk("Kiwi", ["Third", "Second line"]) == (path, mine, mine + "\n\n- Third\n")
    for tail in ("\n```\nopen\n", "\n<!-- open\n"):
        (root / "Talk" / "Kiwi.md").write_text(after + tail)
        talked = vault.talk("Kiwi", ["Third"])[2]
        assert talked == f"{after}\n- Third\n\n{tail.lstrip()}"


def test_talk_of_a_moved_article_stays_in_talk(vault: Vault, root: Path) -> None:
    """Talk pages go by file name, wherever in articles/ the article is."""
    (root / "articles" / "sub" / "Moved.md").write_text("x")
    assert vault.talk("Moved", ["x"])[0] == "Talk/Moved.md"


def section(run: str, day: int) -> str:
    return f"## 2026-11-{day} 03:04 — 1 new\n\n- new [[Kiwi]]\n\n1 conversation · model · run {run}"


def test_changelog_is_newest_first() -> None:
    """A section goes under the introduction, above the older ones, with the page's line ends."""
    page = "# Changelog\n\nWhat each night did.\n"
    once = prepend_section(page, section("01A", 28))
    assert once == f"{page}\n{section('01A', 28)}\n"
    twice = prepend_section(once, section("01B", 29))
    assert twice == f"{page}\n{section('01B', 29)}\n\n{section('01A', 28)}\n"
    windows = prepend_section(once.replace("\n", "\r\n"), section("01B", 29))
    assert windows == twice.replace("\n", "\r\n")


def test_a_run_is_told_once() -> None:
    """The same run's section does not come twice, also when worded anew."""
    page = prepend_section(prepend_section("", section("01A", 28)), section("01B", 29))
    assert prepend_section(page, section("01A", 30)) == page
    assert prepend_section(page, section("01", 30)) != page


def test_changelog_pages_of_any_shape_get_their_section() -> None:
    """An empty page, one without a line end, one with blank lines at its end."""
    text = section("01A", 28)
    assert prepend_section("", text) == f"{text}\n"
    assert prepend_section("intro", text) == f"intro\n\n{text}\n"
    assert prepend_section("intro\n\n", text) == f"intro\n\n{text}\n"
