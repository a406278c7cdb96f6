"""A vault after a night, one conversation of which is forgotten, and a look for what is left."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

from pipeline.config import Config
from pipeline.keeping.searching import folded
from pipeline.store import Store
from tests.support_night import (
    files,
    make_vault,
    run_night,
    write_sessions,
)

# what only the conversation says that is forgotten
WORDS = [
    b"the queue length of each worker",
    b"reads the queue length from metrics.json",
    b"dashboard shows the queue",
]


@pytest.fixture(autouse=True)
def own_temporary_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other processes on this machine leave in theirs is looked at, and is not ours."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("temporary")))


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    config.log_dir.mkdir(parents=True)
    (config.log_dir / "20261128-030000.log").write_text(
        "2026-11-28 refused: The Lantern dashboard shows the queue length of each worker. (why)\n"
        "2026-11-28 ended: done\n"
    )
    return config


def conv_of(config: Config) -> str:
    """The conversation about the dashboard."""
    store = Store(config.store_path)
    (conv,) = store.forgetting.containing("dashboard shows", folded)
    store.close()
    return conv


def owned(config: Config) -> dict[str, bytes]:
    """Every file of ours but the vault, unpacked."""
    found = {}
    for folder in (config.cache_dir, config.data_dir, config.log_dir):
        for name, data in files(folder).items():
            if name.endswith((".zst", ".damaged")):
                reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
                data = reader.read()
            found[f"{folder}/{name}"] = data
    return found


def assert_nowhere(config: Config, words: list[bytes] = WORDS) -> None:
    """None of it in any byte, nor its own words in a search index."""
    for name, data in owned(config).items():
        for piece in words:
            assert piece not in data, name
    store = Store(config.store_path)
    for table, value in store.forgetting.cells():
        assert not any(piece.decode() in value for piece in words), table
    indexed = store._connection.execute(
        "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'dashboard'"
    ).fetchone()
    assert indexed[0] == 0
    store._connection.execute(
        "CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, messages_fts, row)"
    )
    assert not store._connection.execute("SELECT * FROM temp.v WHERE term = 'metrics'").fetchall()
    store.close()
