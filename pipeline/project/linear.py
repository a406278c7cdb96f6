"""Keys of Linear issues: in what people write, and in the branches they work on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.errors import ConfigFault

_KEY = re.compile(r"(?<![\w/.-])([A-Z][A-Z0-9]{1,9}-[1-9]\d{0,6})(?![\w-]|\.\d)")
# Linear writes them small in the names of branches: user/abc-123-what-it-is-about
_IN_BRANCH = re.compile(r"(?:^|[/_])([A-Za-z][A-Za-z0-9]{1,9}-[1-9]\d{0,6})(?=$|[-_/])")
# What has the form of a key and is a standard, a format or a version.
_NO_TEAMS = frozenset((
    "AES", "AMD", "API", "ARM", "ASCII", "CP", "CRC", "CVE", "CWE", "EN", "ES", "FIPS", "FP", "GB",
    "GCC", "GPT", "HTTP", "HTTPS", "ID", "IEC", "IEEE", "INT", "ISO", "JDK", "KOI", "MD", "PEP",
    "PHP", "PKCS", "PR", "PYTHON", "RC", "RFC", "RSA", "SHA", "SHA1", "SHA2", "SHA3", "TLS", "UCS",
    "UI", "UINT", "US", "UTF", "UUID", "WIN", "X", "Y2K",
    "BUILD", "CHORE", "DOCS", "FEAT", "FEATURE", "FIX", "HOTFIX", "ISSUE", "PART", "PATCH", "PHASE",
    "RELEASE", "REV", "SPRINT", "STEP", "TEST", "VERSION",
))  # fmt: skip


def keys(text: str) -> list[str]:
    """The issue keys in a text, each once, in order."""
    return _teams(_KEY.findall(text))


def key_of_branch(branch: str) -> str:
    """The issue a branch is named after, in capitals; "" if none."""
    return next(iter(_teams(key.upper() for key in _IN_BRANCH.findall(branch))), "")


def checked(key: str) -> str:
    """A key as the user gave it, in capitals. Raises ConfigFault if it has another form."""
    if not _KEY.fullmatch(key.strip().upper()):
        raise ConfigFault(f"{key!r} is no issue key", mend="a key is a team and a number: TEAM-123")
    return key.strip().upper()


def _teams(found: Iterable[str]) -> list[str]:
    names = dict.fromkeys(found)
    return [key for key in names if key.partition("-")[0] not in _NO_TEAMS]
