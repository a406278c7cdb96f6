"""The vault's files: read strictly, written atomically, never outside their folders."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from pipeline import ordinary
from pipeline.durable import flush, flush_folder
from pipeline.entries import Entries
from pipeline.errors import VaultFault
from pipeline.evicted import is_evicted, refuse_evicted, stood_for
from pipeline.exchange import exchange
from pipeline.links import ArticleEntry
from pipeline.markdown import Kind, list_items, parse
from pipeline.prose import flat, plain
from pipeline.repository import is_file, repository
from pipeline.resources import folder
from pipeline.spelling import FOLDERS, folded
from pipeline.store.derived import Derived
from pipeline.surgery import apply

__all__ = ["ArticleEntry", "ChangedUnderneath", "Vault", "apply", "prepend_section"]

_ARTICLES, _TALK, _META = FOLDERS
_STEM_BYTES = 100
# Reserved by Windows, whatever the ending; a vault may be synced there.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_RUN = re.compile(r"\brun (\S+)\s*\Z")
_TALK_INTRO = "Questions about [[{stem}]]. Edit the article, then delete the entry that is settled."


class ChangedUnderneath(VaultFault):
    """The page is not the one the text was made from: somebody edited it meanwhile."""


class Vault:
    """The folder of Markdown at `root`. Paths are relative to it, with forward slashes.

    derived: where what the catalog tells of unchanged files is kept; None for nowhere.
    Methods raise VaultFault, naming the file, for what cannot be read, written or must not be.
    """

    def __init__(self, root: Path, derived: Derived | None = None) -> None:
        self._root = root
        self._entries = Entries(derived)

    # -------------------------------------------------------------- articles

    def article_path(self, stem: str) -> str:
        """Path of the article with this stem: where the user moved it, else where it would be."""
        if not stem or stem.startswith(".") or re.search(r"[/\\\0]", stem):
            raise VaultFault(f"{stem!r} cannot be the name of an article")
        path = f"{_ARTICLES}/{stem}.md"
        return path if is_file(self._root / path) else self._articles().get(stem, path)

    def stems(self) -> tuple[str, ...]:
        """The stems of all articles, subfolders included, sorted."""
        return tuple(sorted(self._articles()))

    def read(self, stem: str) -> str | None:
        """The article's text, byte for byte; None when there is none."""
        return self._text(self._root / self.article_path(stem))

    def catalog(self) -> list[ArticleEntry]:
        """Every article that can be read, by stem. Unchanged files are not parsed again."""
        return self._entries.of(str(self._root), self._articles())

    def stem_for(self, title: str, taken: Collection[str]) -> str:
        """A file name for a new article: portable, at most 100 bytes, unlike any in `taken`."""
        name = unicodedata.normalize("NFC", flat(title))
        name = re.sub(r"[/\\:]", "-", name)
        name = flat(re.sub(r"[#^\[\]|*?\"<>]", "", name)).lstrip(". ").rstrip(". ")
        if _RESERVED.fullmatch(name):
            name = f"{name.replace('.', ' ')} article"
        used = {folded(stem) for stem in taken}
        stem = _cut(name, _STEM_BYTES) or "Untitled"
        number = 2
        while folded(stem) in used:
            ending = f" {number}"
            stem = _cut(name or "Untitled", _STEM_BYTES - len(ending)) + ending
            number += 1
        return stem

    # -------------------------------------------------------------- files

    def page(self, path: str) -> str | None:
        """The text of a page of the vault by its path, None when there is none."""
        return self._text(self._inside(path))

    def hash(self, path: str) -> str:
        """sha256 hex of the file's bytes, "" when there is none."""
        try:
            return _sha(ordinary.content(self._inside(path)))
        except FileNotFoundError:
            refuse_evicted(self._root / path)
            return ""
        except OSError as error:
            refuse_evicted(self._root / path)
            raise VaultFault(f"cannot read {self._root / path}: {error.strerror}") from error

    def write(self, path: str, text: str, *, expect: str) -> None:
        """Put `text` in the file's place, all of it or none, keeping the file's permissions.

        expect: the hash the file must have just before, "" for a new one. Raises
        ChangedUnderneath, with nothing written, when it has another; VaultFault for a page that
        its owner has write-protected, which a new file in its place would pay no heed to.
        """
        target = self._inside(path)
        try:
            if target.exists() and not target.stat().st_mode & 0o222:
                raise VaultFault(
                    f"{target} is read-only", mend="make it writable if it is to get the news"
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._scratch(target)
            temporary.unlink(missing_ok=True)
            try:
                content = text.encode("utf-8")
                self._fill(temporary, target, content)
                if self.hash(path) != expect or not _put(temporary, target, expect, content):
                    raise ChangedUnderneath(
                        f"{target} was edited meanwhile", mend="nothing to do: it is tried again"
                    )
            finally:
                temporary.unlink(missing_ok=True)
            flush_folder(target.parent)
        except UnicodeEncodeError as error:
            raise VaultFault(f"the text for {target} is not Unicode: {error.reason}") from error
        except OSError as error:
            raise VaultFault(
                f"cannot write {target}: {error.strerror}",
                mend="check the folder's permissions and the free space",
            ) from error

    def remove(self, path: str, *, expect: str) -> None:
        """Delete the file. Raises ChangedUnderneath when its hash is not `expect`."""
        target = self._inside(path)
        try:
            gone = self.hash(path) == expect and _take_out(target, self._scratch(target), expect)
        except OSError as error:
            raise VaultFault(
                f"cannot delete {target}: {error.strerror}", mend="check the folder's permissions"
            ) from error
        if not gone:
            raise ChangedUnderneath(f"{target} was edited meanwhile", mend="try again")
        flush_folder(target.parent)

    # -------------------------------------------------------------- Meta and Talk

    def meta(self, name: str) -> str:
        """The vault's Meta page of this file name, or the shipped one where the vault has none."""
        text = self._text(self._root / _META / name)
        return (folder("vault_meta") / name).read_text("utf-8") if text is None else text

    def rules(self, name: str) -> str:
        """What the user wrote into a Meta page of rules, as the end of a prompt's system turn.

        The shipped rules are worked into the shipped prompts already; only list items that the
        shipped page lacks are added, so that an untouched page leaves the prompts as they are.
        """
        shipped = set(list_items((folder("vault_meta") / name).read_text("utf-8")))
        own = [flat(item) for item in list_items(self.meta(name)) if item not in shipped]
        return f" The owner also asks: {'; '.join(own)}" if own else ""

    def missing_meta(self) -> list[str]:
        """Names of Meta pages the vault lacks, so that the shipped ones stand in for them."""
        places = [place for place in _seeds(folder("vault_meta")) if place.startswith(f"{_META}/")]
        return [PurePosixPath(p).name for p in places if not is_file(self._root / p)]

    def talk(self, stem: str, entries: Sequence[str]) -> tuple[str, str, str]:
        """Path of the article's Talk page, its text, and its text with the entries it lacks.

        An entry is one line of text. The page's text is "" when there is none yet.
        """
        path = f"{_TALK}/{PurePosixPath(self.article_path(stem)).name}"
        before = self._text(self._root / path) or ""
        known = set(list_items(before))
        wanted = dict.fromkeys(flat(entry) for entry in entries)
        lacking = [plain(entry) for entry in wanted if entry and entry not in known]
        if not lacking:
            return path, before, before
        page = parse(before or f"# {plain(stem)}\n\n{_TALK_INTRO.format(stem=stem)}\n")
        last = next((b for b in reversed(page.blocks) if b.kind is not Kind.BLANK), None)
        nl = page.newline
        lines = nl.join(f"- {entry}" for entry in lacking) + nl
        if last is not None and last.open:
            return path, before, f"{page.text[: last.start]}{lines}{nl}{page.text[last.start :]}"
        start = "" if page.text.endswith(("\n", "\r")) else nl
        if page.blocks[-1].kind not in (Kind.BLANK, Kind.LIST):
            start += nl
        return path, before, f"{page.text}{start}{lines}"

    def make_folders(self) -> None:
        """Make those of its folders that are not there. Raises OSError."""
        for name in (_ARTICLES, _TALK, _META):
            (self._root / name).mkdir(parents=True, exist_ok=True)

    def seed(self, shipped: Traversable) -> list[Path]:
        """Make the folders and every shipped page the vault lacks; return the files made."""
        made = []
        try:
            self.make_folders()
            for place, source in _seeds(shipped).items():
                target = self._root / place
                if not os.path.lexists(target) and not is_evicted(target):
                    target.write_bytes(source.read_bytes())
                    made.append(target)
        except OSError as error:
            raise VaultFault(
                f"cannot make {error.filename or self._root}: {error.strerror}",
                mend="check what stands there, its permissions and the free space",
            ) from error
        return made

    # -------------------------------------------------------------- inside

    def _articles(self) -> dict[str, str]:
        """Stem → path. Of two files with one name, the one nearer to the top counts."""
        top = self._root / _ARTICLES
        try:
            if not top.is_dir():
                return {}
        except OSError as error:  # its articles would look as if the user had deleted them
            raise _unlisted(str(top), error) from error
        self._inside(f"{_ARTICLES}/any.md")
        found: dict[str, str] = {}
        paths = _pages(str(top), f"{_ARTICLES}/")
        for path in sorted(paths, key=lambda p: (p.count("/"), p)):
            stem = path.rpartition("/")[2].removesuffix(".md")
            found.setdefault(unicodedata.normalize("NFC", stem), path)
        return found

    def _inside(self, path: str) -> Path:
        """The file, certainly in articles/, Talk/ or Meta/ of this vault and no link elsewhere."""
        parts = PurePosixPath(path).parts
        target = self._root / path
        home = Path(os.path.realpath(self._root))  # of links in a circle too, as no `resolve`
        fits = len(parts) > 1 and parts[0] in (_ARTICLES, _TALK, _META) and ".." not in parts
        if not fits or not Path(os.path.realpath(target.parent)).is_relative_to(home / parts[0]):
            raise VaultFault(
                f"{target} is outside the vault's pages",
                mend=f"a folder of {self._root} may be a link to elsewhere: put a real one there",
            )
        try:
            linked = target.is_symlink()
        except OSError as error:
            raise VaultFault(
                f"cannot read {target}: {error.strerror}", mend="check its folder's permissions"
            ) from error
        if linked:
            raise VaultFault(
                f"{target} is a link", mend="put the page itself in its place, or move it away"
            )
        return target

    def _text(self, path: Path) -> str | None:
        try:
            return ordinary.content(path).decode("utf-8")
        except FileNotFoundError:
            refuse_evicted(path)
            return None
        except UnicodeDecodeError as error:
            raise VaultFault(
                f"{path} is not UTF-8 (byte {error.start})", mend="save it as UTF-8"
            ) from error
        except OSError as error:
            refuse_evicted(path)
            raise VaultFault(f"cannot read {path}: {error.strerror}") from error

    def _scratch(self, target: Path) -> Path:
        """Where the new text waits: out of sight of Obsidian and sync, on the same file system."""
        there = repository(self._root)
        if there and there.git.is_dir() and there.git.stat().st_dev == target.parent.stat().st_dev:
            own = there.git / "nightly-memory"
            own.mkdir(exist_ok=True)
            return own / f"page-{os.getpid()}"
        return target.with_name(f".{os.getpid()}.nightly-memory")

    def _fill(self, temporary: Path, target: Path, content: bytes) -> None:
        with temporary.open("xb") as file:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
            file.write(content)
            file.flush()
            flush(file.fileno())


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _put(temporary: Path, target: Path, expect: str, content: bytes) -> bool:
    """Give the new file the page's name; False, and the page as saved, if somebody came between.

    What an editor saves at this very moment is in the file that is taken out: it is looked at.
    """
    if not expect:
        try:
            target.hardlink_to(temporary)
        except FileExistsError:
            return False
        return True
    if not exchange(temporary, target):
        temporary.replace(target)
        return True
    if _sha(temporary.read_bytes()) == expect:
        return True
    exchange(temporary, target)
    if temporary.read_bytes() != content:  # saved once more, over ours: the last save stands
        exchange(temporary, target)
    return False


def _take_out(target: Path, aside: Path, expect: str) -> bool:
    """Delete the page; False, and the page as saved, if somebody came between."""
    if not target.exists():
        return True
    target.replace(aside)
    unchanged = _sha(aside.read_bytes()) == expect
    if not unchanged and not target.exists():
        aside.replace(target)
    aside.unlink(missing_ok=True)
    return unchanged


def prepend_section(text: str, section: str) -> str:
    """The changelog with this section on top, under the page's introduction.

    A section ends in `run ID`; a page that already tells of that run stays as it is.
    """
    page = parse(text)
    run = _RUN.search(section)
    told = {_RUN.search(block.raw.rstrip()) for block in page.blocks}
    if run and run[1] in {found[1] for found in told if found}:
        return text
    nl = page.newline
    lines = nl.join(section.strip("\r\n").splitlines())
    first = next((block for block in page.blocks if block.heading_level == 2), None)
    if first is not None:
        return f"{text[: first.start]}{lines}{nl}{nl}{text[first.start :]}"
    gap = "" if not text else nl if text.endswith(("\n", "\r")) else nl + nl
    if page.blocks and page.blocks[-1].kind is Kind.BLANK:
        gap = ""
    return f"{text}{gap}{lines}{nl}"


def _seeds(shipped: Traversable) -> dict[str, Traversable]:
    """Where in a vault each shipped page goes. policy.toml stays with the program."""
    places: dict[str, Traversable] = {}
    for source in sorted(shipped.iterdir(), key=lambda entry: entry.name):
        if source.name == "gitignore":
            places[".gitignore"] = source
        elif source.name == "README.md":
            places["README.md"] = source
        elif source.name.endswith(".md"):
            places[f"{_META}/{source.name}"] = source
    return places


def _cut(name: str, size: int) -> str:
    """As many whole characters of `name` as fit into `size` bytes."""
    return name.encode("utf-8")[:size].decode("utf-8", "ignore").rstrip(". ")


def _pages(folder: str, under: str) -> Iterator[str]:
    """Paths of the pages in a folder and those below it, each with `under` before it.

    Hidden ones are left out, and a link to a folder is not followed. One that iCloud has taken
    off the disk is told all the same: whoever reads it is told where it is. Raises VaultFault for a
    folder that cannot be listed: its articles would look as if the user had deleted them.
    """
    below = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if (evicted := stood_for(entry.name)).endswith(".md"):
                    yield under + evicted
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry)
                elif entry.name.endswith(".md") and _is_file(entry):
                    yield under + entry.name
    except FileNotFoundError:  # gone since it was seen
        return
    except OSError as error:
        raise _unlisted(folder, error) from error
    for entry in below:
        yield from _pages(entry.path, f"{under}{entry.name}/")


def _unlisted(folder: str, error: OSError) -> VaultFault:
    return VaultFault(
        f"cannot list {folder}: {error.strerror}", mend="check the folder's permissions"
    )


def _is_file(entry: os.DirEntry[str]) -> bool:
    # a link may lead to itself, of which only this way to ask makes nothing
    return Path(entry.path).is_file() if entry.is_symlink() else entry.is_file()
