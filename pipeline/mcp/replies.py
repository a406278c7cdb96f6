"""How a reply is put: of a stated size, cut where a reader would, its text marked as data."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from pipeline.config import Config
from pipeline.errors import ConfigFault, MemoryFault

TOKENS = 4000  # of a reply, unless asked otherwise
FEWEST_TOKENS, MOST_TOKENS = 200, 10_000
BYTES_A_TOKEN = 4  # of English prose; other scripts have fewer tokens than this makes of them
_LONGEST = 2000  # characters of an error
_COMMAND = re.compile(r"`memory (search|read|toc|section|links|list|status)\b")
_PATH = re.compile(r"(?<![\w./~:-])(?:/[^\s/:'\"`,;()]+){2,}")


def quoted(text: str) -> str:
    """The text between marks that nothing in it can close: they are made of its own hash."""
    name = f"wiki-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return f"<{name}>\n{text}\n</{name}>"


def piece(text: str, offset: int, tokens: int, boundaries: Iterable[int] = ()) -> tuple[str, int]:
    """As much of the text from `offset` on as `tokens` hold, and where it goes on, 0 for nowhere.

    boundaries: offsets of sections, where it is cut best; else at the end of a line, and within a
    line only if that alone is longer. Raises ConfigFault when the text ends before `offset`.
    """
    if offset and offset >= len(text):
        raise ConfigFault(
            f"offset {offset} is past the end: there are {len(text)} characters",
            mend="begin again with offset 0",
        )
    budget = tokens * BYTES_A_TOKEN
    rest = text[offset:]
    fits = len(rest.encode("utf-8", "surrogatepass")[:budget].decode("utf-8", "ignore"))
    if fits >= len(rest):
        return rest, 0
    least = offset + max(1, fits // 2)
    cuts = [at for at in boundaries if least <= at <= offset + fits]
    line = text.rfind("\n", least - 1, offset + fits) + 1
    end = max(cuts, default=line or offset + fits)
    return text[offset:end], end


def refusal(fault: MemoryFault, config: Config | None) -> str:
    """The fault in words, with its cure by the tools' names, without paths of this machine."""
    told = _COMMAND.sub(r"`memory_\1", f"{fault}; {fault.mend}" if fault.mend else str(fault))
    said = without_places(told, config)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"


def without_places(text: str, config: Config | None) -> str:
    """The text with the names of the places for their paths, and of other paths the end alone."""
    places = {Path.home(): "~"}
    if config is not None:
        # longer paths first: the vault may stand in the home
        places = {
            config.vault: "the vault",
            config.store_path: "the store",
            config.cache_dir: "the cache",
            config.data_dir: "the data folder",
            **places,
        }
    for path, name in places.items():
        inside = "" if name == "the vault" else f"{name}/"
        text = text.replace(f"{path}/", inside).replace(str(path), name)
    return _PATH.sub(lambda found: f"…/{found[0].rpartition('/')[2]}", text)
