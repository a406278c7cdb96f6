"""Secrets out of text, before anything is written: each becomes `[REDACTED:kind]`.

Three tables: shapes that only a key has (SHAPES), places where a secret stands (PLACES), and names
that announce one (_NAMES), whose value is judged by `_is_secret`. Standard library only, since
hooks load it. Every pattern is bounded or starts where its own characters cannot reach back, so
time grows with the length of the text alone, whatever the text is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from re import Match, Pattern

_MARK_OPENS = "[REDACTED:"
_LONGEST_MARK = 40
_MARK = re.compile(r"\[REDACTED:[a-z0-9-]{1,29}\]")


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text without its secrets, and how many of each kind were taken out."""

    text: str
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Rule:
    """`pattern` matches; its group "secret", or all of it, goes if `judge` agrees.

    hints: the pattern can match only a text with one of these in it, compared in lower case.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: Pattern[str]
    judge: Callable[[Match[str]], bool] = bool  # a match always is


def redact(text: str, *, emails: bool = False, phones: bool = False) -> Redacted:
    """Take every secret out of `text`; doing it twice changes nothing more.

    emails, phones: take addresses and numbers out too.
    """
    rules = [*_RULES, *([_EMAIL] if emails else []), *([_PHONE] if phones else [])]
    counts: Counter[str] = Counter()
    # What one rule takes out may bring another's secret to light. Each round that finds something
    # leaves less outside the marks, so this ends.
    while found := _one_round(text, rules):
        text, fresh = found
        counts += fresh
    return Redacted(text, dict(sorted(counts.items())))


def _one_round(text: str, rules: list[_Rule]) -> tuple[str, Counter[str]] | None:
    counts: Counter[str] = Counter()
    text = _without_private_keys(text, counts)
    lower = text.lower()
    for rule in rules:
        if any(hint in lower for hint in rule.hints):
            text = rule.pattern.sub(lambda match, rule=rule: _replaced(match, rule, counts), text)  # type: ignore[misc]
    return (text, counts) if counts else None


def _replaced(match: Match[str], rule: _Rule, counts: Counter[str]) -> str:
    whole = match[0]
    group = "secret" if "secret" in match.re.groupindex else 0
    cuts_a_mark = any(_inside_mark(match.string, at) for at in match.span(group))
    nothing_left = not _MARK.sub("", match[group]).strip(" \t;,")
    if cuts_a_mark or nothing_left or not rule.judge(match):
        return whole
    counts[rule.kind] += 1
    start, end = (at - match.start() for at in match.span(group))
    return f"{whole[:start]}[REDACTED:{rule.kind}]{whole[end:]}"


def _inside_mark(text: str, at: int) -> bool:
    begins = text.rfind(_MARK_OPENS, max(0, at - _LONGEST_MARK), at)
    mark = _MARK.match(text, begins) if begins >= 0 else None
    return mark is not None and mark.end() > at


# ------------------------------------------------------------------ private keys

_KEY_EDGE = re.compile(r"-----(BEGIN|END) (?:[A-Z0-9]{2,10} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/]{16}")
_KEY_TAIL = re.compile(r"(?:(?:\s|\\[nr]|[A-Za-z-]{3,20}: [^\n]{1,80}\n)*[A-Za-z0-9+/=]{16,})+")


def _without_private_keys(text: str, counts: Counter[str]) -> str:
    """A key block goes from edge to edge; one without an end goes as far as it looks like one."""
    if "PRIVATE KEY" not in text:
        return text
    parts: list[str] = []
    done = 0
    edges = list(_KEY_EDGE.finditer(text))
    for edge, following in zip(edges, [*edges[1:], None], strict=True):
        if edge[1] != "BEGIN":
            continue
        if following is not None and following[1] == "END":
            if not _KEY_BODY.search(text, edge.end(), following.start()):
                continue
            end = following.end()
        elif tail := _KEY_TAIL.match(text, edge.end()):
            end = tail.end()
        else:
            continue
        parts += (text[done : edge.start()], "[REDACTED:private-key]")
        done = end
        counts["private-key"] += 1
    return "".join((*parts, text[done:]))


# ------------------------------------------------------------------ shapes


def _shape(kind: str, hints: str, pattern: str) -> _Rule:
    """A token that stands by itself: not in the middle of a longer run of its own characters."""
    bounded = rf"(?<![A-Za-z0-9_-])(?:{pattern})(?![A-Za-z0-9])"
    return _Rule(kind, tuple(hints.split()), re.compile(bounded))


SHAPES = (
    _shape("aws", "akia asia aroa aida", r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}"),
    _shape("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _shape("github", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _shape("gitlab", "gl", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt)-[A-Za-z0-9_-]{20,}"),
    _shape("slack", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    _shape("slack", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,}"),
    _shape("anthropic", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _shape("openrouter", "sk-or-", r"sk-or-[A-Za-z0-9_-]{20,}"),
    _shape("openai", "sk-", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{16,}"),
    _shape("openai", "sk-", r"sk-[A-Za-z0-9]{20,}"),
    _shape("google", "aiza", r"AIza[A-Za-z0-9_-]{35}"),
    _shape("google", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    _shape("google", "gocspx-", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    _shape("stripe", "_live_ _test_", r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _shape("webhook", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    _shape("npm", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _shape("pypi", "pypi-", r"pypi-[A-Za-z0-9_-]{50,}"),
    _shape("huggingface", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _shape("twilio", "sk", r"SK[0-9a-f]{32}"),
    _shape("sendgrid", "sg.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    _shape("telegram", ":aa", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    _shape("discord", ".", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
    _shape("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    _shape("shopify", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _shape("digitalocean", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _shape("databricks", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _shape("linear", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}"),
    _shape("notion", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    _shape("figma", "figd_", r"figd_[A-Za-z0-9_-]{32,}"),
    _shape("groq", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _shape("xai", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    _shape("replicate", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _shape("perplexity", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    _shape("mailgun", "key-", r"key-[a-f0-9]{32}"),
    _shape("mailchimp", "-us", r"[a-f0-9]{32}-us\d{1,2}"),
    _shape("square", "sq0", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    _shape("age", "age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _shape("vault", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _shape("supabase", "sbp_", r"sbp_[a-f0-9]{40}"),
    _shape("postman", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _shape("newrelic", "nrak-", r"NRAK-[A-Z0-9]{27}"),
    _shape("grafana", "gl", r"gl(?:sa|c)_[A-Za-z0-9+/_=]{32,}"),
    _shape("docker", "dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    _shape("rubygems", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _shape("sentry", "sntry", r"sntry[su]_[A-Za-z0-9+/=_-]{32,}"),
    _shape("tailscale", "tskey-", r"tskey-[a-z]{2,10}-[A-Za-z0-9-]{16,}"),
    _shape("atlassian", "atatt3", r"ATATT3[A-Za-z0-9_=-]{40,}"),
    _shape("planetscale", "pscale_", r"pscale_[a-z]{2,6}_[A-Za-z0-9_.-]{32,}"),
    _shape("airtable", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
)

# ------------------------------------------------------------------ is this value a secret?

_PLACEHOLDER = re.compile(
    r"""[<{*%…]|\$[A-Za-z_{(]|\.\.\.|x{3,}|your\b|your[_-]|my[_-]?(?:password|secret|token)\b
    |(?:os|process|import|env|config|settings|self|this|args|options|secrets)\b[.\[(]
    |(?:null|none|nil|true|false|undefined|string|str|text|bytes|required|optional|example|dummy
    |password|passwd|pass|secret|token|changeme|placeholder|redacted|hidden|empty|unset)\b.{0,2}\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_CODE = re.compile(r"[A-Za-z_][\w.]*(?:[.(\[]|::|->)[\w.()\[\]>:-]*|[A-Za-z_]+\d?")
_CALL = re.compile(r"[A-Za-z_][\w.]*\(")
_FILE = re.compile(r"(?:~|\.{1,2})?/[a-z0-9._-]+/[a-z0-9._/-]+\Z")
_WORDS = re.compile(r"[a-z]+(?:[-_.][a-z]+)*", re.IGNORECASE)


def _is_secret(value: str, *, named: str, quoted: bool, assigned: bool) -> bool:
    """Whether what follows a telling name is a secret rather than prose, code or a placeholder.

    named: the name, in lower case. assigned: `NAME=value` without blanks, as in an env file.
    """
    value = value.rstrip(".!?:)") if not quoted else value
    if len(value) < 4 or _PLACEHOLDER.match(value) or _MARK.search(value):
        return False
    digit = any(char.isdigit() for char in value)
    if named.startswith(("pass", "pwd", "secret")) and "key" not in named:
        if quoted:
            phrase = named == "passphrase" and value.count(" ") >= 2
            return phrase or (" " not in value and not (value.isalpha() and value.istitle()))
        if assigned:
            return not _CODE.fullmatch(value) or (digit and value.isalnum())
        if _WORDS.fullmatch(value) or (_CODE.fullmatch(value) and not value.isalnum()):
            return False
        return len(value) >= 5 and (digit or any(char in "!@#$%^&*+=~" for char in value))
    # tokens and keys are made by machines: long, and with a digit or both cases in no word's order
    if (
        len(value) < 12
        or " " in value
        or _FILE.match(value)
        or (_CODE.fullmatch(value) and not value.isalnum())
    ):
        return False
    letters = any(char.isalpha() for char in value)
    if not quoted and (not digit or _CALL.match(value)):
        return False
    return letters and ((digit and len(set(value)) >= 6) or (len(value) >= 20 and _mixed(value)))


def _mixed(value: str) -> bool:
    """Upper and lower case change places more often than in any name made of words."""
    return sum(a.islower() != b.islower() for a, b in pairwise(value)) >= 6


def _named_secret(match: Match[str]) -> bool:
    return _is_secret(
        match["secret"],
        named=match["name"].lower(),
        quoted=bool(match["quote"]),
        assigned=match["by"] == "=" and match["name"].isupper(),
    )


def _machine_made(match: Match[str]) -> bool:
    secret = match["secret"]
    made = any(char.isdigit() for char in secret) or _mixed(secret)
    return made and not _PLACEHOLDER.match(secret)


def _no_placeholder(match: Match[str]) -> bool:
    return not _PLACEHOLDER.match(match["secret"])


# ------------------------------------------------------------------ places and names

_NAMES = r"""(?P<name>password|passwd|passphrase|passcode|pwd|secret(?:[_-]?(?:access[_-]?)?key)?
    |(?:access|auth|bearer|refresh|session|id|api|bot|csrf)?[_-]?token
    |(?:api|access|account|shared[_-]?access|signing|encryption|master|service|auth|private|client)
    [_ -]?key|credentials?)"""
_VALUE = r"""(?P<quote>\\?["'`])?(?P<secret>(?(quote)[^"'`\\\r\n]{1,512}|[^\s"'`,;<>]{1,512}))"""

PLACES = (
    _Rule(
        "slack",
        ("hooks.slack.com",),
        re.compile(r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/]{20,80})"),
    ),
    _Rule(
        "discord",
        ("/api/webhooks/",),
        re.compile(r"/api/webhooks/\d{16,20}/(?P<secret>[A-Za-z0-9_-]{40,90})"),
    ),
    _Rule(
        "url-password",
        ("://",),
        re.compile(
            r"(?<=://)[^\s/:@\"'<>]{0,128}:(?P<secret>[^\s/@\"'<>]{1,256})@"
            r"(?=[A-Za-z0-9\[_])"
        ),
        _no_placeholder,
    ),
    _Rule(
        "url-token",
        ("://",),
        re.compile(r"(?<=://)(?P<secret>[A-Za-z0-9_-]{20,256})@(?=[A-Za-z0-9])"),
        _machine_made,
    ),
    _Rule(
        "authorization",
        ("authorization",),
        re.compile(
            r"authorization\\?[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\?[\"']?"
            r"(?:(?:bearer|basic|token|bot|apikey|digest)[ \t]{1,8})?"
            r"(?P<secret>[^\s\"'\\,;]{8,4096})",
            re.IGNORECASE,
        ),
        _machine_made,
    ),
    _Rule(
        "authorization",
        ("bearer ",),
        re.compile(r"\bbearer[ \t]{1,8}(?P<secret>[A-Za-z0-9._~+/=-]{16,4096})", re.IGNORECASE),
        _machine_made,
    ),
    _Rule(
        "cookie",
        ("cookie",),
        re.compile(
            r"\bcookie\\?[\"']?[ \t]{0,8}:[ \t]{0,8}\\?[\"']?"
            r"(?P<secret>[\w.-]{1,80}=[^\r\n\"'\\]{4,4096})",
            re.IGNORECASE,
        ),
    ),
    _Rule(
        "password",
        ("curl",),
        re.compile(
            r"\bcurl\b[^\r\n|;&]{0,200}?[ \t](?:-u|--user)[ \t=]{1,4}[\"']?[^\s:\"']{1,80}:"
            r"(?P<secret>[^\s\"']{1,200})"
        ),
        _no_placeholder,
    ),
    _Rule(
        "secret",
        ("pass", "pwd", "secret", "token", "key", "credential"),
        re.compile(
            rf"""{_NAMES}(?:[_-]?(?:value|string|hash|\d{{1,2}}))?
            (?:\\?["'`\]]{{1,3}})?
            (?P<by>=|[ \t]{{0,8}}(?::=|=>|[=!]==?|[:=])[ \t]{{0,8}}(?:\r?\n[ \t]{{1,8}})?
               |[ \t]{{1,4}}(?:is|was|ist|are)(?:[ \t]{{0,4}}:)?[ \t]{{1,4}})
            {_VALUE}""",
            re.IGNORECASE | re.VERBOSE,
        ),
        _named_secret,
    ),
    _Rule(
        "secret",
        ("--",),
        re.compile(rf"""(?<=-){_NAMES}(?P<by>[ \t]{{1,4}}){_VALUE}""", re.IGNORECASE | re.VERBOSE),
        _named_secret,
    ),
)

_RULES = (*SHAPES, *PLACES)

_EMAIL = _Rule(
    "email",
    ("@",),
    re.compile(
        r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}"
    ),
)
_PHONE = _Rule(
    "phone",
    tuple("0123456789"),
    re.compile(
        r"(?<![\w.+-])(?:\+\d{1,3}(?:[ .-]?\(?\d{2,5}\)?){2,5}|\(\d{3}\) ?\d{3}[ .-]\d{4}"
        r"|\d{3}[ .-]\d{3}[ .-]\d{4})(?![\w-])"
    ),
)
