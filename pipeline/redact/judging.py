"""Is a value a secret, rather than prose, code, a reference or a placeholder?"""

from __future__ import annotations

import re
from itertools import pairwise

from pipeline.redact.rules import has_mark

_PLACEHOLDER = re.compile(
    r"""[<{*%…]|\#\{|\$[A-Za-z_{(]|@[A-Za-z_]+@|\.\.\.|\[[^\]]*\]\Z|x{3,}|your\b|your[_-]
    |my[_-]?(?:password|secret|token|key)\b|(?:insert|enter|put|add|paste|type|replace)[_ -]
    |(?:os|process|import|env|config|settings|self|this|args|options|secrets|vars)\b[.\[(]
    |(?:vault|op|env|file|ssm|arn|kms|sops|keychain|keyring|secretsmanager|projects)[:/]
    |https?://
    |(?:null|none|nil|true|false|undefined|string|str|text|bytes|required|optional|example|dummy
    |password|passwd|pass|pwd|secret|token|key|changeme|change[_-]me|placeholder|redacted|hidden
    |empty|unset|todo|tbd|test|foo|bar)\b.{0,2}\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_SHOWN = re.compile(r"x{4}|\.{3}|example|placeholder|your[_-]|change[_-]?me", re.IGNORECASE)
_SERIES = re.compile(r"(.)\1{5}|1234567890|0123456789|abcdefgh", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z_][\w.]*(?:[.(\[]|::|->)[\w.()\[\]>:-]*|[A-Za-z_]+\d?")
_CALL = re.compile(r"[A-Za-z_][\w.]*\(")
_FILE = re.compile(r"(?:~|\.{1,2})?/[a-z0-9._-]+/[a-z0-9._/-]+\Z")
_WORDS = re.compile(r"[a-z]+(?:[-_.][a-z]+)*", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.,:%-]+[a-z]{0,2}\Z")


def is_lifelike(value: str) -> bool:
    """Of a key's shape, and not made up to show the shape."""
    return not _SHOWN.search(value) and not _SERIES.search(value)


def is_machine_made(value: str) -> bool:
    """Drawn rather than written: a digit, or upper and lower case in no word's order."""
    drawn = any(char.isdigit() for char in value) or _is_mixed(value)
    return drawn and not _SHOWN.search(value) and not _PLACEHOLDER.match(value)


def is_no_placeholder(value: str) -> bool:
    """Not a word that stands for a secret in documentation."""
    return not _PLACEHOLDER.match(value)


def is_secret(value: str, *, named: str, quoted: bool, assigned: bool) -> bool:
    """Whether what follows a telling name is a secret.

    named: the name, in lower case. assigned: `NAME=value` without blanks, as in an env file.
    """
    value = value.rstrip(".!?:)") if not quoted else value
    made_up = _PLACEHOLDER.match(value) or _SHOWN.search(value) or has_mark(value)
    if len(value) < 4 or made_up:
        return False
    if not named.startswith(("token", "key", "hash", "credential")) and "key" not in named:
        return _is_password(value, named=named, quoted=quoted, assigned=assigned)
    # tokens and keys are made by machines: long, and with a digit or both cases in no word's order
    if (
        len(value) < 12
        or " " in value
        or _FILE.match(value)
        or (_CODE.fullmatch(value) and not value.isalnum())
    ):
        return False
    digit = any(char.isdigit() for char in value)
    if not quoted and (not digit or _CALL.match(value)):
        return False
    letters = any(char.isalpha() for char in value)
    return letters and ((digit and len(set(value)) >= 6) or (len(value) >= 20 and _is_mixed(value)))


def _is_password(value: str, *, named: str, quoted: bool, assigned: bool) -> bool:
    """People choose these, so there is less to go by."""
    if named == "pass" and _NUMBER.match(value):
        return False  # tests pass, and so do seconds
    digit = any(char.isdigit() for char in value)
    if quoted:
        phrase = named == "passphrase" and value.count(" ") >= 2
        return phrase or (" " not in value and not (value.isalpha() and value.istitle()))
    if assigned:
        return not _CODE.fullmatch(value) or (digit and value.isalnum())
    if _WORDS.fullmatch(value) or (_CODE.fullmatch(value) and not value.isalnum()):
        return False
    return len(value) >= 5 and (digit or any(char in "!@#$%^&*+=~" for char in value))


def _is_mixed(value: str) -> bool:
    """Upper and lower case change places more often than in any name made of words."""
    return sum(a.islower() != b.islower() for a, b in pairwise(value)) >= 6
