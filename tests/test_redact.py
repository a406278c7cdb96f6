"""Redaction: secrets go, words stay, twice is once."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.redact import redact

_RANDOM = random.Random(20)


def made(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """A made-up secret body; generated so that no line of this file looks like a real one."""
    return "1a" + "".join(_RANDOM.choices(alphabet, k=length - 2))


_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits
KEYS = {
    "aws": "AK" + "IA" + made(16, _UPPER).upper(),
    "github": "gh" + "p_" + made(36),
    "gitlab": "gl" + "pat-" + made(20),
    "slack": "xo" + "xb-" + made(12, string.digits) + "-" + made(24),
    "openai": "sk" + "-proj-" + made(48),
    "anthropic": "sk" + "-ant-api03-" + made(80),
    "google": "AI" + "za" + made(35),
    "stripe": "sk" + "_live_" + made(24),
    "npm": "np" + "m_" + made(36),
    "pypi": "py" + "pi-" + made(70),
    "huggingface": "h" + "f_" + made(34),
    "twilio": "S" + "K" + made(32, _HEX),
    "sendgrid": "S" + "G." + made(22) + "." + made(43),
    "telegram": "123456789" + ":AA" + made(33),
    "discord": "M" + made(23) + "." + made(6) + "." + made(27),
    "jwt": "ey" + "J" + made(20) + ".ey" + "J" + made(40) + "." + made(43),
}
SETTINGS = {
    "prose": "I set it to {} yesterday, please check.",
    "end of a sentence": "It is {}.",
    "code": 'client = Client("{}")',
    "json": '{{"value": "{}"}}',
    "env": "VALUE={}",
    "url": "https://example.org/?v={}&x=1",
    "header": "X-Thing: {}",
    "yaml": "value: {}\nnext: 1",
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", KEYS)
def test_a_known_shape_goes_wherever_it_stands(kind: str, setting: str) -> None:
    """The key is gone, named by its kind, and what stands around it is as it was."""
    done = redact(SETTINGS[setting].format(KEYS[kind]))
    assert done.text == SETTINGS[setting].format(f"[REDACTED:{kind}]")
    assert done.counts == {kind: 1}


SECRETS = [
    ("password=hunter2", "hunter2"),
    ("Password: hunter2.", "hunter2"),
    ('"password": "letmein"', "letmein"),
    (r"{\"password\": \"hunter22\"}", "hunter22"),
    ("my password is `hunter`, fine?", "hunter"),
    ("DB_PASSWORD=correct-horse", "correct-horse"),
    ("password:\n  s3cr3t!x", "s3cr3t!x"),
    ("if password == 'hunter2':", "hunter2"),
    ("passphrase: 'correct horse battery staple'", "correct horse battery staple"),
    ("mysql --password=abc123 --host db", "abc123"),
    ("login --password s3cr3t-1", "s3cr3t-1"),
    ("curl -u bob:hunter2 https://example.org", "hunter2"),
    ("Server=x;User=sa;Password=Abc123!;", "Abc123!"),
    ("postgres://bob:s3cr3t@db:5432/x", "s3cr3t"),
    ("redis://:s3cr3t@cache:6379", "s3cr3t"),
    ("https://bob:dots.and.more@example.org/", "dots.and.more"),
    ("https://1a2b3c4d5e6f7a8b9c0d@example.org/repo.git", "1a2b3c4d5e6f7a8b9c0d"),
    ("Authorization: Bearer abcdef1234567890", "abcdef1234567890"),
    ("-H 'Authorization: Basic dXNlcjpwYXNzMTIz'", "dXNlcjpwYXNzMTIz"),
    ("Cookie: sid=abc123def; theme=dark", "abc123def"),
    ('api_key = "ab12cd34ef56ab78"', "ab12cd34ef56ab78"),
    ("client_secret: 'shh-quiet-now'", "shh-quiet-now"),
    ("AWS_SECRET_ACCESS_KEY=" + made(40), ""),
    ("the access token is 7f3kd92hfk20dkf93j", "7f3kd92hfk20dkf93j"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_named_or_placed_secret_goes(text: str, secret: str) -> None:
    """Passwords, tokens and keys announced by a name, a header, a URL or an option."""
    done = redact(text)
    assert (secret or text.partition("=")[2]) not in done.text
    assert sum(done.counts.values()) == 1


HARMLESS = [
    "The password is required.",
    "token count: 512, max_tokens: 4096",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "password: string; token: string | null",
    "const token = req.headers.authorization",
    "password = user.password",
    "password = os.environ['DB_PASSWORD']",
    "secret = generate_secret_v2()",
    "token = jwt.sign(payload, secret)",
    'password: "Enter your password"',
    'label = {"password": "Passwort"}',
    "tokenizer = AutoTokenizer.from_pretrained(name)",
    "postgres://bob:${DB_PASSWORD}@db/x",
    "postgres://user:<password>@db/x",
    "http://localhost:3000/@fs/src/main.ts",
    "https://example.org:8443/a?x=1",
    "primary key: user_id",
    "private key: /etc/ssl/private/server.key",
    "password is 8 characters long",
    "The secret is simplicity.",
    "the access token is refreshed every 3600s",
    "cookie: an optional header",
    "Authorization: required",
    "export API_KEY=$MY_API_KEY",
    "API_KEY=your-api-key-goes-here-123",
    "Output(token=TokenElement(id=1425, text='100', logprob=-1.01))",
    "token: TextGenerationStreamOutputToken",
    "see https://user:pass@host:port/path",
    "look for -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- in it",
    "git@github.com:owner/repo.git",
    "rank-and-file task-force-members-of-the-house",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_prose_code_and_placeholders_stay(text: str) -> None:
    """Words about secrets, references to them, hashes and ids are no secrets."""
    assert redact(text).text == text
    assert redact(text).counts == {}


def _key_block(end: bool) -> str:
    body = "\n".join(made(64) for _ in range(3))
    tail = "\n-----END RSA PRIVATE KEY-----" if end else ""
    return f"-----BEGIN RSA PRIVATE KEY-----\n{body}{tail}"


def test_private_key_blocks_go_whole() -> None:
    """With an end, without one, and with escaped line breaks; the text around them stays."""
    assert redact(f"a\n{_key_block(True)}\nb").text == "a\n[REDACTED:private-key]\nb"
    assert redact(f"a\n{_key_block(False)}").text == "a\n[REDACTED:private-key]"
    assert redact(f"{_key_block(False)}\nand so on").text == "[REDACTED:private-key]\nand so on"
    escaped = _key_block(True).replace("\n", "\\n")
    assert redact(f'"{escaped}"').text == '"[REDACTED:private-key]"'
    assert redact(_key_block(False) + "\n" + _key_block(True)).counts == {"private-key": 2}


def test_addresses_and_numbers_go_only_when_asked() -> None:
    """E-mail addresses and phone numbers are options; dates are no numbers to call."""
    text = "Write to jo.doe+x@mail.example.org or call +49 170 1234567 before 2024-05-06."
    assert redact(text).text == text
    assert redact(text, emails=True, phones=True).text == (
        "Write to [REDACTED:email] or call [REDACTED:phone] before 2024-05-06."
    )


_PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(list(KEYS.values())),
    st.sampled_from([text for text, _ in SECRETS] + HARMLESS),
    st.sampled_from(["[REDACTED:aws]", "password=", ": ", '"', "://a:", "@b", "-----", "\n", "="]),
)


@given(st.lists(_PIECES, max_size=8).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """What is redacted is finished: nothing is left to find and no mark is touched again."""
    once = redact(text, emails=True, phones=True)
    twice = redact(once.text, emails=True, phones=True)
    assert twice.text == once.text
    assert twice.counts == {}


_NASTY = [
    *("a", "://", "://a:", "password=", 'password: "', "token token ", "eyJ", "-eyJaaaaaaaa."),
    *("curl -u ", "curl -u a:", "cookie: a=", "bearer ", "a@", "a.", "1-", "sk-", '\\"'),
    *("[REDACTED:aws]", "password=[REDACTED:aws]", "-----BEGIN PRIVATE KEY-----"),
    *("-----BEGIN PRIVATE KEY-----\n" + "A" * 20 + "\n", "-----BEGIN PRIVATE KEY-----\nAa-a: b\n"),
    *("M" * 24 + ".", "glpat-", "authorization: "),
]


@pytest.mark.parametrize("piece", _NASTY)
def test_a_megabyte_of_anything_is_got_through(piece: str) -> None:
    """No repetition makes the search run away; a pattern that did would never end here."""
    text = piece * (1_000_000 // len(piece))
    assert len(redact(text, emails=True, phones=True).text) <= len(text) * 6
