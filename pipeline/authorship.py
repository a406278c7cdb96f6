"""What a commit of ours did to its page, told in its message: somebody may add to the commit later.

`git commit --amend`, a squash, or the edge of a clone with a depth leave our trailers on a commit
that holds more than a night wrote. What a user put there must not be taken back as ours.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from pipeline.history import Commit
from pipeline.prose import flat
from pipeline.spelling import folded

_PAGE, _CHANGE = "Page", "Change"


def signed(path: str, before: str | None, after: str | None) -> dict[str, str]:
    """The trailers that tell of this change to this page; None for no file."""
    return {_PAGE: path, _CHANGE: _digest(before, after)}


def own_pages(commit: Commit, files: Sequence[str], shallow: Collection[str]) -> list[str]:
    """Of the files of a commit of ours the one that we wrote with it, if that can be told.

    shallow: commits whose parents are not here, as the history tells; all they hold looks new.
    """
    if named := commit.trailers.get(_PAGE):
        return [path for path in files if folded(flat(path)) == folded(named)]
    # older ones do not say, and each of ours is of one page
    return list(files) if len(files) == 1 and commit.sha not in shallow else []


def holds_more(trailers: Mapping[str, str], before: str | None, after: str | None) -> bool:
    """Whether the page changed otherwise in this commit than we changed it.

    Not in one that was put onto another by a rebase: what it takes out and brings is the same.
    """
    return trailers.get(_CHANGE, "") not in ("", _digest(before, after))


def _digest(before: str | None, after: str | None) -> str:
    """Of the lines that go and those that come, wherever they stand and however they end."""
    old, new = (
        Counter([] if text is None else text.replace("\r\n", "\n").split("\n"))
        for text in (before, after)
    )
    gone, come = sorted((old - new).elements()), sorted((new - old).elements())
    told = "\n".join([f"-{line}" for line in gone] + [f"+{line}" for line in come])
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]
