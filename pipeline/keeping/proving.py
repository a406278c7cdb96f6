"""Whether anything of a forgotten conversation is left, and where."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import gettempdir

from pipeline.config import Config
from pipeline.history import History
from pipeline.keeping import project_stores
from pipeline.keeping.asides import BEFORE
from pipeline.keeping.backing_up import known_backups, own_folders, walk
from pipeline.keeping.pages import as_read, citing, pages
from pipeline.keeping.searching import Needles
from pipeline.spelling import in_vault
from pipeline.sqlite import files_of
from pipeline.store import Store
from pipeline.tables import APP

_MOST = 1 << 24  # bytes of a file beside the pages; a larger one is a picture or a film
# tables that know what stands in the vault's pages
_KNOWN_OF_PAGES = ("written_sentences", "merged", "led", "told", "buckets")


def holding(config: Config, store: Store, needles: Needles) -> Iterator[tuple[str, str]]:
    """Every place of ours where a piece stands, with what to do: tables, then files, unpacked."""
    # what stands in the vault is known there, and told of as the vault's
    standing = needles.without(needles.in_texts(text for _, text in as_read(config.vault)))
    tables = [
        table
        for table, values in groupby(store.forgetting.cells(), itemgetter(0))
        if (standing if table in _KNOWN_OF_PAGES else needles).in_texts(v for _, v in values)
    ]
    yield from ((f"{store.path} ({table})", "do it again") for table in tables)
    folders = (config.cache_dir, config.data_dir, config.log_dir)
    files = dict.fromkeys(
        path for folder in folders for path in walk(folder, (config.models_dir, config.vault))
    )
    at_work = files_of(store.path)
    if not tables and standing.in_blocks(store.forgetting.pages()):
        yield str(store.path), "do it again, or delete the file"
    for path in files:
        of_store = path.name.startswith(store.path.name)
        if path.is_symlink() or path in at_work or (tables and of_store):
            continue
        mild = of_store or path.parent == config.journal_dir
        try:
            found = (standing if mild else needles).in_file(path)
        except OSError as error:
            yield str(path), f"it cannot be read: {error}"
            continue
        if found:
            yield str(path), "do it again, or delete the file"


def left_outside(
    config: Config,
    convs: Collection[str],
    needles: Needles,
    transcripts: Sequence[str],
    commits: int,
) -> Iterator[tuple[str, str]]:
    """What is not ours to change and holds it still, with what to do.

    transcripts: the files it was read from. commits: how many of the vault's tell of it.
    """
    memories = set(map(str, project_stores.stores(config)))
    for transcript in transcripts:
        if Path(transcript).is_file() and transcript not in memories:
            yield transcript, "the agent's own transcript: delete it there"
    for cited in citing(config.vault, convs, needles):
        if cited.sentences:
            yield cited.path, "--from-articles strikes out what rests on nothing else"
        elif cited.quotes:
            yield cited.path, "it quotes the conversation: edit it by hand"
    read = {path for path, _ in pages(config.vault)}
    for path in walk(config.vault, (config.vault / ".git", *own_folders(config))):
        name = in_vault(path.relative_to(config.vault).as_posix(), config.vault)
        with suppress(OSError):  # somebody else's, who may have it closed
            if name in read or not path.is_file() or path.stat().st_size > _MOST:
                continue
            if needles.in_file(path):
                yield name, "it quotes the conversation, and is not ours: see to it by hand"
    if commits:
        yield str(History(config.vault).git_dir()), f"{commits} commits of the vault hold it"
    for memory in project_stores.holding(config, needles):
        yield str(memory), "a project's memory: there, anvil-memory delete --match TEXT --yes"
    for kept in known_backups(config):
        yield str(kept), "a backup: make a new one, delete this one"
    for place in (config.data_dir, config.vault):
        for aside in sorted(place.parent.glob(f"{glob.escape(place.name)}{BEFORE}*")):
            yield str(aside), "moved aside by `memory restore`: delete it"
    # a dry run works on copies, and one that is killed leaves them
    for copies in sorted(Path(gettempdir()).glob(f"{APP}-*")):
        with suppress(OSError):
            if any(needles.in_file(path) for path in walk(copies) if not path.is_symlink()):
                yield str(copies), "copies of a dry run that was killed: delete them"
