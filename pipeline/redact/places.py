"""Places where a secret stands, and names that announce one."""

from __future__ import annotations

import re
from re import Match

from pipeline.redact.judging import is_machine_made, is_no_placeholder, is_secret
from pipeline.redact.rules import Rule

_NAMES = r"""(?P<name>password|passwd|passphrase|passcode|pwd
    |(?:(?<=[_-])|(?<=smtp\ )|(?<=mail\ )|(?<=root\ )|(?<=db\ ))pass|(?-i:(?<=[a-z])Pass)
    |(?<=["'])pass(?=\\?["'])
    |secret(?:[_ -]?(?:access[_ -]?)?key)?
    |(?:access|auth|bearer|refresh|session|id|api|bot|csrf)?[_-]?token
    |(?:api|app|application|access|account|storage|shared[_-]?access|signing|encryption|master
       |service|auth|private|client|consumer|admin|deploy|license|integration|subscription)
    [_ -]?key|api[_ -]?hash|credentials?)"""
_VALUE = r"""(?P<quote>\\?["'`])?
    (?P<secret>(?(quote)[^"'`\\\r\n]{1,512}|(?:[^\s"'`,;<>&]|&(?![\w.-]{1,40}=)){1,512}))"""
# what goes on where an answer ended, and is no secret
_OPAQUE = re.compile(r"(?:page|next|prev|previous|continuation|sync|resume|cancel)[_ -]?\Z", re.I)


def _is_named_secret(match: Match[str]) -> bool:
    before = match.string[max(0, match.start() - 14) : match.start()]
    return not _OPAQUE.search(before) and is_secret(
        match["secret"],
        named=match["name"].lower(),
        quoted=bool(match["quote"]),
        assigned=match["by"] == "=" and match["name"].isupper(),
    )


def _is_machine_made(match: Match[str]) -> bool:
    return is_machine_made(match["secret"])


def _is_no_placeholder(match: Match[str]) -> bool:
    return is_no_placeholder(match["secret"])


PLACES = (
    Rule(
        "slack",
        ("hooks.slack.com",),
        re.compile(r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/]{20,80})"),
    ),
    Rule(
        "discord",
        ("/api/webhooks/",),
        re.compile(r"/api/webhooks/\d{16,20}/(?P<secret>[A-Za-z0-9_-]{40,90})"),
    ),
    Rule(
        "url-password",
        ("://",),
        re.compile(
            r"(?<=://)[^\s/:@\"'<>]{0,128}:(?P<secret>[^\s/@\"'<>]{1,256})@"
            r"(?=[A-Za-z0-9\[_])"
        ),
        _is_no_placeholder,
    ),
    Rule(
        "url-token",
        ("://",),
        re.compile(r"(?<=://)(?P<secret>[A-Za-z0-9_-]{20,256})@(?=[A-Za-z0-9])"),
        _is_machine_made,
    ),
    Rule(
        "authorization",
        ("authorization",),
        re.compile(
            r"authorization\\?[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\?[\"']?"
            r"(?:[a-z][a-z-]{2,15}[ \t]{1,8})?"
            r"(?P<secret>[^\s\"'\\,;]{8,4096})",
            re.IGNORECASE,
        ),
        _is_machine_made,
    ),
    Rule(
        "authorization",
        ("bearer ",),
        re.compile(r"\bbearer[ \t]{1,8}(?P<secret>[A-Za-z0-9._~+/=-]{16,4096})", re.IGNORECASE),
        _is_machine_made,
    ),
    Rule(
        "cookie",
        ("cookie",),
        re.compile(
            r"\bcookie\\?[\"']?[ \t]{0,8}:[ \t]{0,8}\\?[\"']?"
            r"(?P<secret>[\w.-]{1,80}=[^\r\n\"'\\]{4,4096})",
            re.IGNORECASE,
        ),
    ),
    Rule(
        "password",
        ("curl",),
        re.compile(
            r"\bcurl\b[^\r\n|;&]{0,200}?[ \t](?:-u|--user)[ \t=]{1,4}[\"']?[^\s:\"']{1,80}:"
            r"(?P<secret>[^\s\"']{1,200})"
        ),
        _is_no_placeholder,
    ),
    Rule(
        "secret",
        ("pass", "pwd", "secret", "token", "key", "hash", "credential"),
        re.compile(
            rf"""{_NAMES}(?:[_ -]?(?:value|string|hash|base|\d{{1,2}}))?
            (?:\\?["'`\]]{{1,3}})?
            (?P<by>=|[ \t]{{0,8}}(?::=|=>|[=!]==?|[:=])[ \t]{{0,8}}(?:\(?\r?\n[ \t]{{1,8}})?
               |[ \t]{{1,4}}(?:is|was|ist|are|to)(?:[ \t]{{0,4}}:)?[ \t]{{1,4}})
            {_VALUE}""",
            re.IGNORECASE | re.VERBOSE,
        ),
        _is_named_secret,
    ),
    Rule(
        "secret",
        ("--",),
        re.compile(rf"""(?<=-){_NAMES}(?P<by>[ \t]{{1,4}}){_VALUE}""", re.IGNORECASE | re.VERBOSE),
        _is_named_secret,
    ),
)
