"""What Meta/Buckets.md asks for that the store does not say yet. Reads two lists, writes nothing.

Whatever is not understood, or cannot be, is a problem to be told; the bucket goes on as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.buckets_page import Listing, Row, as_alias
from pipeline.gates import dangers
from pipeline.prose import plain
from pipeline.records import Bucket, BucketState
from pipeline.store.buckets import normalised
from pipeline.text import words
from pipeline.topics.handovers import Handover, Look, handovers

_LIVE = (BucketState.CAPTURED, BucketState.ARTICLE)
_NAMED = 5  # so many deleted rows are named


@dataclass(frozen=True, slots=True)
class Edits:
    """What is to be done, in this order.

    renames: (name, new name). wanted: buckets under their new names as they are to be, new ones
    too. parted: (name, host) of buckets that are no longer merged into that one. merges: (name,
    into) of those that are from now on. arrows: by row, the name its arrow leads to, where the
    page has the one before a rename. handovers: of parts of topics. obeyed: rows whose part went
    over before, which still ask for it. problems: a sentence each.
    """

    renames: tuple[tuple[str, str], ...] = ()
    wanted: tuple[Bucket, ...] = ()
    parted: tuple[tuple[str, str], ...] = ()
    merges: tuple[tuple[str, str], ...] = ()
    arrows: tuple[tuple[str, str], ...] = ()
    handovers: tuple[Handover, ...] = ()
    obeyed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether the store is to change."""
        return bool(self.renames or self.wanted or self.handovers)


def edits(
    listing: Listing,
    stored: Sequence[Bucket],
    articles: Collection[str],
    listed_before: Callable[[], Collection[str]],
    look: Look,
) -> Edits:
    """Compare the page with the store.

    articles: stems of those in the vault. listed_before: the names on the page as the pipeline last
    wrote it, looked up only where a row is missing. look: asked only where a row wants part of a
    topic.
    """
    known = {bucket.name for bucket in stored}
    odd = [row.name for row in listing.rows if row.name not in known and unfit(row.name)]
    fit = [row for row in listing.rows if row.name not in odd]
    renames, problems = _renames(fit, listing, stored)
    now = {b.name: b for b in (_renamed(b, renames) if renames else b for b in stored)}
    before = dict(now)
    rows = {row.name: row for row in fit}
    now |= {name: Bucket(name) for name in rows if name not in now}
    targets, arrows, astray = _targets(now, rows, renames)
    problems += [
        f"Buckets.md has a bucket {name!r}, and no article could be called that" for name in odd
    ]
    problems += astray + _refused(now, rows, targets)
    now |= _adopting(now, rows, frozenset(articles))
    wanted, parted, merges = [], [], []
    for name, bucket in now.items():
        final = _final(name, targets) or name
        as_wanted = _wanted(bucket, rows.get(name), "" if final == name else final)
        if as_wanted != before.get(name):
            wanted.append(as_wanted)
        now[name] = as_wanted
        host = bucket.merged_into
        if host and final not in (host, _final(host, targets)):
            parted.append((name, host))
        if final not in (name, host):
            merges.append((name, final))
    problems += _odd(now, rows, frozenset(articles))
    old = {new: name for name, new in renames.items()}
    there = {name: old.get(name, name) for name in before}
    gaining = {name for name, _ in parted} | {into for _, into in merges}
    parts = handovers(now, rows, there, gaining, look)
    problems += parts.problems
    missing = [b.name for b in stored if b.name not in listing.names and b.name not in renames]
    problems += _struck(missing and sorted({*missing} & {*listed_before()}))
    return Edits(
        tuple(renames.items()),
        tuple(wanted),
        tuple(parted),
        tuple(merges),
        tuple(arrows.items()),
        tuple(parts.todo),
        tuple(parts.obeyed),
        (*listing.problems, *problems),
    )


def unfit(name: str) -> bool:
    """Whether no article could be called so: the gate would keep all that is said of it out."""
    return bool(not words(name) or dangers(plain(name)))


# ------------------------------------------------------------------ other names


def _renames(
    rows: Sequence[Row], listing: Listing, stored: Sequence[Bucket]
) -> tuple[dict[str, str], list[str]]:
    """Which missing bucket is which new row, by the first sign that leaves no doubt."""
    known = {bucket.name for bucket in stored}
    gone = {
        bucket.name: bucket
        for bucket in stored
        if bucket.name not in listing.names and bucket.state is not BucketState.MERGED
    }
    fresh = {row.name: row for row in rows if row.name not in known}
    found: dict[str, str] = {}
    doubtful: set[str] = set()
    for sign in (_same_letters, _also_called, _same_article, _same_description):
        pairs = [
            (old, new)
            for new, row in fresh.items()
            for old, bucket in gone.items()
            if sign(bucket, row)
        ]
        olds, news = Counter(old for old, _ in pairs), Counter(new for _, new in pairs)
        for old, new in pairs:
            if olds[old] == news[new] == 1:
                found[old] = new
                del gone[old], fresh[new]
            else:
                doubtful.add(old)
    return found, [
        f"Buckets.md may call {old!r} by another name, but more than one row could be it: "
        "put the old name among the aliases of the right one"
        for old in sorted(doubtful & gone.keys())
    ]


def _same_letters(bucket: Bucket, row: Row) -> bool:
    return normalised(bucket.name) == normalised(row.name)


def _also_called(bucket: Bucket, row: Row) -> bool:
    name = normalised(as_alias(bucket.name))
    return any(normalised(alias) == name for alias in row.aliases or ())


def _same_article(bucket: Bucket, row: Row) -> bool:
    return bool(bucket.article) and row.article == bucket.article


def _same_description(bucket: Bucket, row: Row) -> bool:
    """Of buckets without an article alone: what it is about and its aliases stand as they did."""
    alike = bool(bucket.description) and row.description == bucket.description
    return alike and not (bucket.article or row.article) and row.aliases in (None, bucket.aliases)


def _renamed(bucket: Bucket, renames: Mapping[str, str]) -> Bucket:
    into = bucket.merged_into
    return replace(
        bucket,
        name=renames.get(bucket.name, bucket.name),
        merged_into=renames.get(into, into),
    )


# ------------------------------------------------------------------ merges


def _targets(
    now: Mapping[str, Bucket], rows: Mapping[str, Row], renames: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Where each bucket's arrow leads ("" = it has none); arrows to be set; what leads nowhere."""
    exact = all(not row.merged_into or row.merged_into in now for row in rows.values())
    called = {} if exact else _called(now, rows)
    targets, arrows, problems = {}, {}, []
    for name, bucket in now.items():
        row = rows.get(name)
        if row is None or row.said is None or (row.said and row.state is None):
            targets[name] = bucket.merged_into
            continue
        said = row.merged_into
        into = said if said in now else renames.get(said) or called.get(normalised(said), "")
        if said and not into:
            problems.append(f"Buckets.md merges {name!r} into {said!r}, which has no row")
        if into == name:
            problems.append(f"Buckets.md merges {name!r} into itself")
        if said and into in ("", name):
            into = bucket.merged_into
        if said in renames and into == renames[said]:
            arrows[name] = into
        targets[name] = into
    return targets, arrows, problems


def _called(now: Mapping[str, Bucket], rows: Mapping[str, Row]) -> dict[str, str]:
    """The bucket that goes by each name or alias, as normalised."""
    called = {normalised(name): name for name in now}
    for name, bucket in now.items():
        row = rows.get(name)
        for alias in bucket.aliases if row is None or row.aliases is None else row.aliases:
            called.setdefault(normalised(alias), name)
    return called


def _refused(
    now: Mapping[str, Bucket], rows: Mapping[str, Row], targets: dict[str, str]
) -> list[str]:
    """Put back the arrows that lead in a circle or into what is ignored; say which."""
    problems = []
    while circle := next((c for name in targets if (c := _circle(name, targets))), None):
        fresh = [name for name in circle if targets[name] != now[name].merged_into]
        problems += [f"Buckets.md merges {name!r} in a circle" for name in fresh]
        # back to what is, in which there is no circle
        targets.update({name: now[name].merged_into for name in fresh} or {circle[0]: ""})
    for name, into in list(targets.items()):
        if not into or now[name].merged_into:
            continue
        final = _final(into, targets)
        row, state = rows.get(final), now[final].state
        if row is not None and row.said is not None and (row.state or not row.said):
            state = row.state or BucketState.CAPTURED
        if state is BucketState.IGNORED:
            problems.append(f"Buckets.md merges {name!r} into {final!r}, which is ignored")
            targets[name] = ""
    return problems


def _circle(name: str, targets: Mapping[str, str]) -> list[str]:
    """The buckets of the circle this one is part of, none if it is part of none."""
    passed = [name]
    while (name := targets.get(name, "")) and name not in passed:
        passed.append(name)
    return passed if name == passed[0] else []


def _final(name: str, targets: Mapping[str, str]) -> str:
    """Where a chain of arrows ends."""
    while targets.get(name):
        name = targets[name]
    return name


# ------------------------------------------------------------------ what a row says


def _adopting(
    now: Mapping[str, Bucket], rows: Mapping[str, Row], articles: frozenset[str]
) -> dict[str, Bucket]:
    """Buckets without an article that have one by their rows, which is no other bucket's.

    Another machine made it that writes to this vault, or a store before this one.
    """
    free = articles - {bucket.article for bucket in now.values()}
    called = {normalised(name) for name in now}
    naming = Counter(row.article for row in rows.values())
    found = {}
    for name, row in rows.items():
        stem, bucket = row.article or "", now[name]
        nobodys = normalised(stem) not in called and naming[stem] == 1
        if (
            stem in free
            and not bucket.article
            and (nobodys or normalised(stem) == normalised(name))
        ):
            captured = bucket.state is BucketState.CAPTURED
            state = BucketState.ARTICLE if captured else bucket.state
            found[name] = replace(bucket, article=stem, state=state)
    return found


def _wanted(bucket: Bucket, row: Row | None, into: str) -> Bucket:
    """The bucket with the user's word on aliases, description, ignoring and merging.

    Whether its article is there is the pipeline's to say: the page may lag behind by a night.
    """
    state = bucket.state
    if into:
        state = BucketState.MERGED
    elif row is not None and row.state is BucketState.IGNORED:
        state = BucketState.IGNORED
    elif state is BucketState.MERGED or (
        row is not None and row.said is not None and (row.state or not row.said)
    ):
        state = BucketState.ARTICLE if bucket.article else BucketState.CAPTURED
    wanted = replace(bucket, state=state, merged_into=into)
    if row is not None and row.aliases is not None:
        wanted = replace(wanted, aliases=row.aliases)
    if row is not None and row.description is not None:
        wanted = replace(wanted, description=row.description)
    return wanted


def _odd(now: Mapping[str, Bucket], rows: Mapping[str, Row], articles: frozenset[str]) -> list[str]:
    """What is understood and has no effect, or one that cannot be meant."""
    problems = []
    live = {normalised(b.name): b.name for b in now.values() if b.state in _LIVE}
    for name, row in rows.items():
        bucket = now[name]
        for alias in bucket.aliases if bucket.state in _LIVE else ():
            other = live.get(normalised(alias), name)
            if other != name:
                problems.append(
                    f"Buckets.md has {alias!r} as an alias of {name!r}, and as a bucket of its own"
                )
        if row.article and row.article != bucket.article and row.article in articles:
            problems.append(
                f"Buckets.md gives {name!r} the article {row.article!r}, which is not its own: "
                "to merge two buckets, write an arrow and a name as the state"
            )
        elif row.state is BucketState.ARTICLE and not (bucket.article or row.article):
            problems.append(
                f"Buckets.md gives {name!r} an article; it has none before a second conversation "
                "comes to it"
            )
    return problems


def _struck(names: Sequence[str]) -> list[str]:
    """The rows that the user has deleted."""
    if not names:
        return []
    some = ", ".join(repr(name) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return [
        f"Buckets.md has no row any more for {some}{more}, and gets it again: to keep a topic out "
        "of the wiki, write `ignored` as its state"
    ]
