"""What is no secret but says who somebody is; taken out only when asked."""

from __future__ import annotations

import re
from re import Match

from pipeline.redact.rules import Rule, later

EMAIL = Rule(
    "email",
    ("@",),
    later(
        r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}"
    ),
)
PHONE = Rule(
    "phone",
    tuple("0123456789"),
    later(
        r"(?<![\w.+-])(?:\+\d{1,3}(?:[ .-]?\(?\d{2,5}\)?){2,5}|\(\d{3}\) ?\d{3}[ .-]\d{4}"
        r"|\d{3}[ .-]\d{3}[ .-]\d{4})(?![\w-])"
    ),
)


def _is_iban(match: Match[str]) -> bool:
    """ISO 13616: country and check digits to the end, letters as 10 to 35, is 1 modulo 97."""
    plain = match[0].replace(" ", "")
    digits = "".join(str(int(char, 36)) for char in plain[4:] + plain[:4])
    return int(digits) % 97 == 1


def _is_card(match: Match[str]) -> bool:
    """ISO 7812: from the right, every second digit doubled, their digit sums add up to tens."""
    digits = [int(char) for char in match[0] if char.isdigit()][::-1]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


PAYMENTS = (
    Rule(
        "iban",
        tuple("0123456789"),
        later(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b", re.ASCII),
        _is_iban,
    ),
    Rule(
        "card",
        tuple("0123456789"),
        later(
            r"(?<![\w.+-])(?:[2-6]\d{3}(?:[ -]?\d{4}){3}|3[47]\d{2}[ -]?\d{6}[ -]?\d{5})"
            r"(?![\w-]|\.\d)",
            re.ASCII,
        ),
        _is_card,
    ),
)
