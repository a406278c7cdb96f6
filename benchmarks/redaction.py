"""How much redaction finds, what it takes wrongly, and how its time grows.

    python -m benchmarks.redaction [--data FOLDER] [--show] [--quick] [--json FILE]

1. The labelled set (redaction_set): documented key formats in seven contexts, and decoys. A secret
   counts as found when no eight characters of it in a row are left; the text counts as damaged when
   anything but the secret changed. Precision counts decoys hit and texts damaged.
2. Ordinary texts: messages of --data (transcripts, locomo, dialseg) and lines of code (this
   repository and the installed packages), where every hit is taken for a false one.
3. Hostile texts of growing size: time for twice the text over time for once. About 2 is linear.

Flat JSON: recall, precision, recall_<context>, per_1000_messages, per_1000_lines, worst_growth.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.redaction_set.contexts import CONTEXTS, Case, secrets
from benchmarks.redaction_set.decoys import decoys
from benchmarks.redaction_set.formats import FORMATS
from benchmarks.redaction_set.ordinary import code_lines, messages
from pipeline.redact import redact

SEED = 4
LEFT = 8
MARK = re.compile(r"\[REDACTED:[a-z0-9-]+\]")
DATA = Path(__file__).parents[2] / "shared" / "data"
NASTY = (
    *("a", "A1", "ab12.", "://", "://a:", "password=", 'password: "', "token token ", "eyJ"),
    *("-eyJaaaaaaaa.", "curl -u a:", "cookie: a=", "bearer ", "a@", "1-", "sk-", '\\"', "=", "+/"),
    *("[REDACTED:aws]", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAa-a: b\n"),
    *(
        "secret:",
        "token=",
        "fm2_/",
        "x" * 70 + "A1\n",
        "M" * 24 + ".",
        "sk-proj-\n",
        "AKIA\\\n",
        'AKIAABCD"\n"',
        "a1B2c3D4\n",
        "\n",
        " \n",
        "?key=",
    ),
)


def found(case: Case, text: str) -> bool:
    """Whether nothing to speak of is left of the secret."""
    text = MARK.sub("", text)
    secret, size = case.secret, min(LEFT, len(case.secret))
    return not any(secret[at : at + size] in text for at in range(len(secret) - size + 1))


def whole(case: Case, text: str) -> bool:
    """Whether what stood around the secret still does."""
    between = text[len(case.before) : len(text) - len(case.after)]
    kept = text.startswith(case.before) and text.endswith(case.after)
    return kept and MARK.fullmatch(between) is not None


class Tally:
    """Of cases: how many there are and how many went well, by any name."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()
        self.good: Counter[str] = Counter()

    def add(self, name: str, good: bool) -> None:
        """One case more."""
        self.total[name] += 1
        self.good[name] += good

    def share(self, name: str) -> float:
        """Of the cases of that name."""
        return self.good[name] / max(1, self.total[name])

    def lines(self, names: Iterable[str]) -> Iterator[str]:
        """One line a name: good, total, share."""
        for name in names:
            good, total = self.good[name], self.total[name]
            yield f"  {name:24}{good:6} of{total:6}{self.share(name):8.3f}"


def labelled(show: bool) -> dict[str, float]:
    """Recall and precision on the labelled set, printed by kind and context."""
    rng = random.Random(SEED)
    kinds, contexts, spared = Tally(), Tally(), Tally()
    hits = wrong = total = 0
    for case in [*secrets(FORMATS, rng), *decoys(rng)]:
        text = redact(case.text).text
        if not case.secret:
            spared.add(f"{case.kind} ", text == case.text)
            spared.add(case.context, text == case.text)
            wrong += text != case.text
        else:
            total += 1
            good, tidy = found(case, text), whole(case, text)
            kinds.add(case.kind, good)
            contexts.add(case.context, good)
            hits += good
            wrong += good and not tidy
            if good and tidy:
                continue
        if (show and text != case.text) or (case.secret and show):
            label = "missed" if case.secret and not good else "damaged" if case.secret else "decoy"
            print(f"{label} {case.kind} {case.context}\n    {case.text!r}\n    {text!r}")
    figures = {"recall": hits / total, "precision": hits / max(1, hits + wrong)}
    print(
        f"{len(FORMATS)} formats, {total} texts with a secret, {spared.total.total() // 2} decoys"
    )
    print(f"recall {figures['recall']:.4f} ({hits} of {total})")
    print(f"precision {figures['precision']:.4f} ({wrong} decoys hit or texts damaged)")
    print("secrets found, by context", *contexts.lines(CONTEXTS), sep="\n")
    print("decoys spared, by context", *spared.lines(CONTEXTS), sep="\n")
    print("secrets found, by kind", *kinds.lines(sorted(kinds.total)), sep="\n")
    worst = [name for name in sorted(spared.total) if name.endswith(" ") and spared.share(name) < 1]
    print("decoys that were hit, by kind", *spared.lines(worst), sep="\n")
    return figures | {f"recall_{context}": contexts.share(context) for context in CONTEXTS}


def ordinary(name: str, texts: Iterable[str], show: bool) -> float:
    """False hits per thousand texts."""
    count = 0
    kinds: Counter[str] = Counter()
    shown: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        count += 1
        done = redact(text)
        kinds.update(done.counts)
        for kind in done.counts:
            shown[kind].append(text)
    if not count:
        print(f"{name}: none found, skipped")
        return 0.0
    rate = kinds.total() * 1000 / count
    print(f"{name}: {kinds.total()} hits in {count}, {rate:.3f} per 1,000 {dict(kinds)}")
    for kind, found_in in shown.items() if show else ():
        for text in found_in:
            print(f"    {kind}: {_around(text)}")
    return rate


def _around(text: str) -> str:
    """The first mark with what stood there, on one line."""
    done = redact(text).text
    mark = MARK.search(done)
    at = mark.start() if mark else 0
    return repr(text[max(0, at - 60) : at + 100])


def growth(size: int) -> float:
    """The worst ratio of the time for 2 × size characters to the time for size."""
    worst, of = 0.0, ""
    rng = random.Random(SEED)
    begun = ("".join(format_.value(rng))[:9] + ending for format_ in FORMATS for ending in "/-.")
    pieces = (*NASTY, *begun)
    for piece in pieces:
        once, twice = (_seconds(piece * (length // len(piece))) for length in (size, 2 * size))
        if twice > 0.01 and twice / once > worst:  # shorter ones measure the clock
            worst, of = twice / once, piece
    print(f"hostile texts: {len(pieces)}, worst growth for twice the text {worst:.2f} ({of!r})")
    return worst


def _seconds(text: str) -> float:
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        redact(text)
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    """Print the tables and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of ordinary texts")
    parser.add_argument("--show", action="store_true", help="print what was missed or hit")
    parser.add_argument("--quick", action="store_true", help="a tenth of the ordinary texts")
    parser.add_argument("--json", type=Path, help="write the figures here")
    asked = parser.parse_args()
    figures = labelled(asked.show)
    step = 10 if asked.quick else 1
    said = list(messages(asked.data))[::step]
    figures["per_1000_messages"] = ordinary("ordinary messages", said, asked.show)
    lines = list(code_lines())[::step]
    figures["per_1000_lines"] = ordinary("lines of code", lines, asked.show)
    figures["worst_growth"] = growth(40_000 // step)
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
