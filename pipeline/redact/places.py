"""Places where a secret stands, and names that announce one."""

from __future__ import annotations

import re
from re import Match

from pipeline.redact.judging import is_machine_made, is_no_placeholder, is_secret
from pipeline.redact.rules import Rule, later

_NAMES = r"""(?P<name>password|passwd|passphrase|passcode|pwd|(?<![a-z])pw|pass
    |passwort|kennwort|wachtwoord|lösenord|mot\ de\ passe|contraseña|clave\ secreta|senha
    |palavra-passe|parola|hasło|heslo|şifre|пароль|密码|密碼|パスワード|비밀번호
    |secret(?:[_ -]?(?:access[_ -]?)?key)?|token|key|hash|credentials?)"""
# what a key must be the key of, and a pass the pass of, to be a secret
_KEY_OF = re.compile(
    r"""(?:api|app|application|access|account|storage|signing|encryption|master|service|auth|private
    |client|consumer|admin|deploy|license|integration|subscription)[_ -]?\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_PASS_OF = re.compile(r"""(?:[_-]|["']|\b(?:smtp|mail|root|db|ssh|sudo|user) )\Z""")
_HASH_OF = re.compile(r"api[_ -]?\Z", re.IGNORECASE)
_VALUE = r"""(?P<quote>\\?["'`])?
    (?P<secret>(?(quote)[^"'`\\\r\n]{1,256}
      |[^\s"'`,;<>&]{0,256}(?:&(?![\w.-]{1,40}=)[^\s"'`,;<>&]{0,256}){0,3}))"""
_REST = re.compile(r"""[^\s"'`,;<>&\\]+""")
# what goes on where an answer ended, and is no secret
_OPAQUE = re.compile(r"(?:page|next|prev|previous|continuation|sync|resume|cancel)[_ -]?\Z", re.I)


def _is_named_secret(match: Match[str]) -> bool:
    name = match["name"]
    before = match.string[max(0, match.start() - 14) : match.start()]
    return _announces(name, before) and is_secret(
        match["secret"],
        named=name.lower(),
        quoted=bool(match["quote"]),
        assigned=match["by"] == "=" and name.isupper(),
    )


def _announces(name: str, before: str) -> bool:
    """Whether that name, after what stands before it, announces a secret."""
    named = name.lower()
    if named == "pass":
        camel = name == "Pass" and before[-1:].islower()
        return camel or _PASS_OF.search(before) is not None
    if named in ("key", "hash"):
        return (_KEY_OF if named == "key" else _HASH_OF).search(before) is not None
    return not _OPAQUE.search(before)


def _is_machine_made(match: Match[str]) -> bool:
    return is_machine_made(match["secret"])


def _is_no_placeholder(match: Match[str]) -> bool:
    return is_no_placeholder(match["secret"])


PLACES = (
    Rule(
        "slack",
        ("hooks.slack.com",),
        later(r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/]{20,80})"),
    ),
    Rule(
        "discord",
        ("/api/webhooks/",),
        later(r"/api/webhooks/\d{16,20}/(?P<secret>[A-Za-z0-9_-]{40,90})"),
    ),
    Rule(
        "url-password",
        ("://",),
        later(
            r"(?<=://)[^\s/:@\"'<>]{0,128}:(?P<secret>[^\s/@\"'<>]{1,256})@"
            r"(?=[A-Za-z0-9\[_])"
        ),
        _is_no_placeholder,
    ),
    Rule(
        "url-token",
        ("://",),
        later(r"(?<=://)(?P<secret>[A-Za-z0-9_-]{20,256})@(?=[A-Za-z0-9])"),
        _is_machine_made,
    ),
    Rule(
        "authorization",
        ("authorization",),
        later(
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
        later(r"\bbearer[ \t]{1,8}(?P<secret>[A-Za-z0-9._~+/=-]{16,4096})", re.IGNORECASE),
        _is_machine_made,
    ),
    Rule(
        "cookie",
        ("cookie",),
        later(
            r"\bcookie\\?[\"']?[ \t]{0,8}:[ \t]{0,8}\\?[\"']?"
            r"(?P<secret>[\w.-]{1,80}=[^\r\n\"'\\]{4,4096})",
            re.IGNORECASE,
        ),
    ),
    Rule(
        "password",
        ("curl",),
        later(
            r"\bcurl\b[^\r\n|;&]{0,200}?[ \t](?:-u|--user)[ \t=]{1,4}[\"']?[^\s:\"']{1,80}:"
            r"(?P<secret>[^\s\"']{1,200})"
        ),
        _is_no_placeholder,
    ),
    Rule(
        "password",
        ("sshpass", "docker login", "mysql", "mariadb"),
        later(
            # what MySQL takes for a password stands close to the letter, Docker's apart from it
            r"\b(?:(?:sshpass|docker login)\b[^\r\n|;&]{0,200}?[ \t]-p[ \t]{1,4}"
            r"|(?:mysql(?:dump|admin)?|mariadb)\b[^\r\n|;&]{0,200}?[ \t]-p)"
            r"[\"']?(?P<secret>[^\s\"'-][^\s\"']{1,200})"
        ),
        _is_no_placeholder,
    ),
    Rule(
        "password",
        ("auth=(",),
        later(
            r"auth=\([\"'][^\"'\r\n]{1,80}[\"'],[ \t]{0,4}[\"'](?P<secret>[^\"'\r\n]{1,200})[\"']"
        ),
        _is_no_placeholder,
    ),
    Rule(
        "secret",
        (
            *(
                "pass",
                "pwd",
                "pw",
                "kennwort",
                "wachtwoord",
                "lösenord",
                "mot de passe",
                "contraseña",
            ),
            *("clave secreta", "senha", "palavra-passe", "parola", "hasło", "heslo", "şifre"),
            *("пароль", "密码", "密碼", "パスワード", "비밀번호"),
            *("secret", "token", "key", "hash", "credential"),
        ),
        later(
            rf"""{_NAMES}(?:[_ -]?(?:value|string|hash|base|\d{{1,2}}))?
            (?:\\?["'`\]]{{1,3}})?
            (?P<by>=|[ \t]{{0,8}}(?::=|=>|[=!]==?|[:=：])[ \t]{{0,8}}(?:\(?\r?\n[ \t]{{1,8}})?
               |[ \t]{{1,4}}(?:is|was|are|to|ist|lautet|est|es|é|è|это)
                 (?:[ \t]{{0,4}}:)?[ \t]{{1,4}})
            {_VALUE}""",
            re.IGNORECASE | re.VERBOSE,
        ),
        _is_named_secret,
        anchored=True,
        rest=_REST,
    ),
    Rule(
        "secret",
        ("--",),
        later(rf"""(?<=-){_NAMES}(?P<by>[ \t]{{1,4}}){_VALUE}""", re.IGNORECASE | re.VERBOSE),
        _is_named_secret,
    ),
)
