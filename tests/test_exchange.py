"""What an editor saves in the very moment a page is written stays, whichever way it saves."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline import vault as vaults
from pipeline.exchange import exchange
from pipeline.publish import digest
from pipeline.vault import ChangedUnderneath, Vault

OLD, NEW, THEIRS = "# Page\n\nOld.\n", "# Page\n\nNew.\n", "# Page\n\nOld, and mine.\n"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """A vault with one page."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles" / "Page.md").write_text(OLD)
    return Vault(tmp_path)


def test_two_files_change_names(tmp_path: Path) -> None:
    """Each has the other's bytes and inode afterwards."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    inodes = one.stat().st_ino, other.stat().st_ino
    assert exchange(one, other)
    assert (one.read_text(), other.read_text()) == ("2", "1")
    assert (other.stat().st_ino, one.stat().st_ino) == inodes


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """An error that names it; the other stays."""
    (tmp_path / "one").write_text("1")
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "one").read_text() == "1"


def in_place(path: Path) -> None:
    """As most editors save."""
    path.write_text(THEIRS)


def by_rename(path: Path) -> None:
    """As careful editors save."""
    beside = path.with_name("swap")
    beside.write_text(THEIRS)
    beside.replace(path)


@pytest.mark.parametrize("save", [in_place, by_rename])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_save_between_the_check_and_the_write(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save: object, moment: str
) -> None:
    """The page is as the editor saved it, and the write says so instead of overwriting it."""
    page = tmp_path / "articles" / "Page.md"
    seen: list[Path] = []

    def meanwhile(one: Path, other: Path) -> bool:
        first = not seen
        seen.append(one)
        if first and moment == "before":
            save(page)  # type: ignore[operator]
        done = exchange(one, other)
        if len(seen) == 1 and moment == "after":
            # ours has its name already: an editor that saves now saves over it, which is its right
            save(page)  # type: ignore[operator]
        return done

    monkeypatch.setattr(vaults, "exchange", meanwhile)
    if moment == "before":
        with pytest.raises(ChangedUnderneath):
            vault.write("articles/Page.md", NEW, expect=digest(OLD))
    else:
        vault.write("articles/Page.md", NEW, expect=digest(OLD))
    assert page.read_text() == THEIRS
    assert sorted(p.name for p in page.parent.iterdir()) == ["Page.md"]


def test_saved_twice_while_the_first_is_put_back(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last save stands."""
    page = tmp_path / "articles" / "Page.md"
    calls: list[int] = []

    def meanwhile(one: Path, other: Path) -> bool:
        calls.append(1)
        if len(calls) < 3:
            page.write_text(f"saved {len(calls)}\n")
        return exchange(one, other)

    monkeypatch.setattr(vaults, "exchange", meanwhile)
    with pytest.raises(ChangedUnderneath):
        vault.write("articles/Page.md", NEW, expect=digest(OLD))
    assert page.read_text() == "saved 2\n"


def test_a_new_page_never_takes_the_place_of_one_made_meanwhile(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's new page stays."""
    page = tmp_path / "articles" / "Other.md"
    link = Path.hardlink_to

    def meanwhile(self: Path, target: Path) -> None:
        page.write_text("mine\n")
        link(self, target)

    monkeypatch.setattr(Path, "hardlink_to", meanwhile)
    with pytest.raises(ChangedUnderneath):
        vault.write("articles/Other.md", NEW, expect="")
    assert page.read_text() == "mine\n"


def test_an_edit_at_the_moment_of_deletion(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is not deleted."""
    page = tmp_path / "articles" / "Page.md"
    replace = Path.replace

    def meanwhile(self: Path, target: Path) -> Path:
        if self == page and page.read_text() == OLD:
            page.write_text(THEIRS)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", meanwhile)
    with pytest.raises(ChangedUnderneath):
        vault.remove("articles/Page.md", expect=digest(OLD))
    assert page.read_text() == THEIRS


def test_where_the_file_system_cannot_exchange(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is written all the same."""
    monkeypatch.setattr(vaults, "exchange", lambda one, other: False)
    vault.write("articles/Page.md", NEW, expect=digest(OLD))
    assert (tmp_path / "articles" / "Page.md").read_text() == NEW
