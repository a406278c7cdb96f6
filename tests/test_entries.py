"""What the catalog keeps of the articles is what a first look at them tells, only sooner."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.store import Store
from pipeline.store.derived import Derived, Worked
from pipeline.vault import ArticleEntry, Vault
from tests.support_audited import audited
from tests.support_store import opened

KIND = "entry 1"
OTHER_TITLE = b'["A", "From the store", [], "", []]'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = opened(tmp_path)
    yield store
    store.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "articles" / "sub").mkdir(parents=True)
    return root


def page(root: Path, text: str, name: str = "A.md") -> Path:
    path = root / "articles" / name
    path.write_text(text, encoding="utf-8")
    return path


def titles(root: Path, derived: Derived | None) -> list[str]:
    """As a new process sees them."""
    return [entry.title for entry in Vault(root, derived).catalog()]


def tamper(derived: Derived) -> None:
    """Give what is kept of the one article a title that no file has, to see when it is used."""
    ((name, kept),) = derived.all(KIND).items()
    derived.put(KIND, {name: Worked(kept.digest, OTHER_TITLE, kept.stamp)})


def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock of the catalog stand a minute after everything that was written."""
    now = time.time_ns
    monkeypatch.setattr("pipeline.entries.time.time_ns", lambda: now() + 60_000_000_000)


def test_an_unchanged_article_is_not_read_again(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P6: what another night worked out is taken as it is."""
    path = page(root, "# One\n")
    page(root, "# Two\n", name="B.md")
    long_ago(monkeypatch)
    assert titles(root, store.derived) == ["One", "Two"]
    with audited("open") as found:
        assert titles(root, store.derived) == ["One", "Two"]
        assert [name for name in found if name.endswith(".md")] == []
        path.write_text("# Three\n", encoding="utf-8")
        found.clear()
        assert titles(root, store.derived) == ["Three", "Two"]
    assert [name for name in found if name.endswith(".md")] == [str(path)]


def test_an_edit_that_keeps_size_and_time_is_seen(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync program may set the time of change back; what stands there counts."""
    path = page(root, "# One\n")
    status = path.stat()
    long_ago(monkeypatch)
    assert titles(root, store.derived) == ["One"]
    time.sleep(0.03)  # file systems count in steps of some milliseconds
    path.write_text("# Two\n", encoding="utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert titles(root, store.derived) == ["Two"]


def test_a_file_that_was_just_written_is_read_again(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems count in two seconds: a second edit may leave it looking as it did."""
    path = page(root, "# One\n")
    written = path.stat().st_ctime_ns
    for seconds, times in ((1.9, 1), (2.1, 1), (2.1, 0)):
        now = written + int(seconds * 1e9)
        monkeypatch.setattr("pipeline.entries.time.time_ns", lambda now=now: now)
        vault = Vault(root, store.derived)
        with audited("open") as found:
            vault.catalog()
        assert found.count(str(path)) == times


def test_a_copied_or_touched_article_is_known_by_its_bytes(root: Path, store: Store) -> None:
    """A rehearsal works on a copy of the vault, which nobody wants to wait for."""
    path = page(root, "# One\n")
    assert titles(root, store.derived) == ["One"]
    tamper(store.derived)
    path.touch()
    assert titles(root, store.derived) == ["From the store"]
    copy = root.parent / "copy"
    shutil.copytree(root, copy)
    assert titles(copy, store.derived) == ["From the store"]
    path.write_text("# Two\n", encoding="utf-8")
    assert titles(root, store.derived) == ["Two"]


def test_what_is_gone_is_not_kept(root: Path, store: Store) -> None:
    """The words of a deleted or renamed article do not stay behind in the store."""
    path = page(root, "# Secret plan\n\nIts lead.\n")
    assert titles(root, store.derived) == ["Secret plan"]
    path.rename(path.with_name("B.md"))
    assert [e.stem for e in Vault(root, store.derived).catalog()] == ["B"]
    assert list(store.derived.all(KIND)) == ["articles/B.md"]
    (root / "articles" / "B.md").unlink()
    assert titles(root, store.derived) == []
    assert store.derived.all(KIND) == {}


def test_a_store_that_cannot_be_written_is_no_hindrance(root: Path, store: Store) -> None:
    """Who only reads the wiki goes on when the disk is full."""
    page(root, "# One\n")
    connection = sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)
    for _ in range(2):
        assert titles(root, Derived(connection)) == ["One"]
    connection.close()
    assert store.derived.all(KIND) == {}


def test_a_file_name_that_is_no_text_harms_nothing(root: Path, store: Store) -> None:
    """Some systems allow any bytes as a name; the store takes text alone."""
    try:
        page(root, "# One\n", name=os.fsdecode(b"caf\xe9.md"))
    except OSError:
        pytest.skip("this file system takes text alone")
    page(root, "# Two\n")
    for _ in range(2):
        assert titles(root, store.derived) == ["Two", "One"]


def test_the_whole_entry_is_kept(root: Path, store: Store) -> None:
    """Title, aliases, lead and headings come back as they went in, whatever the script."""
    text = "---\ntitle: Größe\naliases: [长, Ü]\n---\n# x\n\nDer *Anfang*.\n\n## Teil\n\n## 部\n"
    page(root, text)
    wanted = [ArticleEntry("A", "Größe", ("长", "Ü"), "Der *Anfang*.", ("Teil", "部"))]
    assert Vault(root, store.derived).catalog() == wanted
    assert Vault(root, store.derived).catalog() == wanted


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "rename", "touch", "swap", "look"]),
        st.sampled_from(["A.md", "B.md", "sub/A.md", "sub/C.md"]),
        st.sampled_from(["# One\n", "# Two\n", "---\ntitle: T\n---\nLead.\n", "\xff", "## H\n"]),
    ),
    max_size=12,
)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(edits=EDITS)
def test_whatever_the_user_does_the_catalog_is_as_from_nothing(
    edits: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """P7: hand edits are seen at once, by a vault that lives on and by one of the next night."""
    root = tmp_path_factory.mktemp("edited") / "vault"
    (root / "articles" / "sub").mkdir(parents=True)
    store = opened(root.parent)
    living = Vault(root, store.derived)
    for what, name, text in edits:
        path = root / "articles" / name
        if what == "write":
            path.write_bytes(text.encode("latin-1"))
        elif what == "delete":
            path.unlink(missing_ok=True)
        elif what == "rename" and path.exists():
            path.replace(path.with_name("D.md"))
        elif what == "touch" and path.exists():
            os.utime(path, (1, 1))
        elif what == "swap" and path.exists():
            status = path.stat()
            path.write_bytes(path.read_bytes().swapcase())
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        wanted = Vault(root).catalog()
        assert living.catalog() == wanted
        assert Vault(root, store.derived).catalog() == wanted
    store.close()
