"""What an agent's last reply says of the work: what comes next, and what was decided.

It is found by the words that open such a line or list, in the languages people work in. Nothing is
understood: a reply that says it in another way gives nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NEXT = "Next: "  # opens the line of a session's summary that tells of it
_LOOK = 20_000  # characters of a reply, at its end
_ITEMS = 5  # of a list
_LIST = 2000  # characters of a list
_SHORT = 300  # characters of what is told
_FOLLOWING = (
    r"next(?: up| steps?)?|what'?s next|remaining(?: work| steps?| tasks?)?|still (?:to do|open)|"
    r"to-?dos?|left to do|what(?: i)?s left|outstanding|pending|"
    r"nächste[rs]? schritte?|als nächstes|noch offen|noch zu tun|offen|verbleibend|"
    r"(?:próximos?|siguientes?) pasos?|pendientes?|"
    r"(?:prochaines?|étapes?) (?:étapes?|suivantes?)|reste à faire|à faire|"
    r"próximos? passos?|prossimi passi|prossimo passo|volgende stap(?:pen)?|następne kroki|"
    r"nästa steg|следующие шаги|дальше|次のステップ|次にやること|残り(?:の作業|タスク)?|"
    r"下一步|接下来|待办(?:事项)?|다음 단계"
)
_DECIDED = (
    r"decisions?|decided|entscheidung|entschieden|décisions?|decisión|decisões|decisão|decisione|"
    r"besluit|decyzja|beslut|решение|決定(?:事項)?|决定|결정"
)
# A line of its own or the beginning of one, as a heading, in bold, or behind a bullet.
_OPENED = r"^[ \t]*(?:[#>*+-]{{1,6}}[ \t]*)?(?:\*\*|__)?(?:{})[ \t]*(?:[:：][ \t]*(?:\*\*|__)?|(?:\*\*|__)[ \t]*[:：]?|$)[ \t]*(.*)$"  # noqa: E501
_NEXT = re.compile(_OPENED.format(_FOLLOWING), re.IGNORECASE | re.MULTILINE)
_DECISION = re.compile(_OPENED.format(_DECIDED), re.IGNORECASE | re.MULTILINE)
_BULLET = re.compile(r"[ \t]*(?:[-*+•・]|\d{1,3}[.)、]|\[[ x]\])[ \t]*(?:\[ \][ \t]*)?(.+)")


class Said(NamedTuple):
    """What a reply says. "" for nothing."""

    following: str = ""
    decision: str = ""


def said(reply: str) -> Said:
    """The last mention of what comes next, and of a decision."""
    text = reply[-_LOOK:]
    return Said(_last(_NEXT, text), _last(_DECISION, text))


def steps(plan: str) -> str:
    """The items of a plan's list."""
    found = [_BULLET.fullmatch(line) for line in plan[:_LOOK].splitlines()]
    return _joined([one[1] for one in found if one])


def of_summary(summary: str) -> str:
    """What comes next by a session's summary."""
    return next(
        (line.removeprefix(NEXT) for line in summary.splitlines() if line.startswith(NEXT)), ""
    )


def _last(opening: re.Pattern[str], text: str) -> str:
    for match in reversed([*opening.finditer(text)]):
        if found := match[1].strip() or _listed(text[match.end() :][:_LIST]):
            return _joined([found])
    return ""


def _listed(text: str) -> str:
    """The list that stands here, after empty lines at most; else the first line."""
    lines = iter(text.lstrip("\n").split("\n"))
    told: list[str] = []
    for line in lines:
        bullet = _BULLET.fullmatch(line)
        if bullet is None:
            return _joined(told) or line.strip()
        told.append(bullet[1])
    return _joined(told)


def _joined(told: list[str]) -> str:
    line = "; ".join(" ".join(one.split()) for one in told[:_ITEMS])
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1].rstrip()}…"
