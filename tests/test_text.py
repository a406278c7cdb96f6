"""pipeline.text: sentences, words, numbers and names of any language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import text as language


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in language.sentences(text)]


MARKDOWN = st.text(
    st.one_of(
        st.sampled_from(list(" \n\t.!?…。！？؟।[]^()`*_-#>|~1aBé日ไה\"'”»:/")),
        st.characters(codec="utf-8"),
    ),
    max_size=80,
)


@given(MARKDOWN)
def test_sentences_cover_every_character_that_is_no_space_exactly_once(text: str) -> None:
    """Nothing is lost between two sentences, nothing counted twice, and order is kept."""
    spans = language.sentences(text)
    covered = [i for start, end in spans for i in range(start, end)]
    assert covered == sorted(set(covered))
    assert {i for i, char in enumerate(text) if not char.isspace()} <= set(covered)
    assert all(not text[s].isspace() and not text[e - 1].isspace() for s, e in spans)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith agreed. He left.", ["Dr. Smith agreed.", "He left."]),
        ("Use v1.2 or 3.5. See file.py.", ["Use v1.2 or 3.5.", "See file.py."]),
        ("The U.S. Government said so.", ["The U.S. Government said so."]),
        ("Done in the U.S. The rest stays.", ["Done in the U.S.", "The rest stays."]),
        ("Tools, e.g. Make, etc. And more.", ["Tools, e.g. Make, etc.", "And more."]),
        ("Well… not yet. Wait... what?", ["Well… not yet.", "Wait... what?"]),
        ('"Really?" he asked. "Yes."', ['"Really?" he asked.', '"Yes."']),
        ("(It works.) Good.", ["(It works.)", "Good."]),
        ("**It works.** Good.", ["**It works.**", "Good."]),
        ("One.[^1][^a] Two. [^3] Three.", ["One.[^1][^a]", "Two. [^3]", "Three."]),
        (
            "Run `a. b` at https://x.org/a.b. Then stop.",
            ["Run `a. b` at https://x.org/a.b.", "Then stop."],
        ),
        ('See [it](x.md "Yes. B.") now.', ['See [it](x.md "Yes. B.") now.']),
        ("Done. 🎉 :)", ["Done. 🎉 :)"]),
        ("これは文です。次の文！本当？", ["これは文です。", "次の文！", "本当？"]),
        ("「はい。」と言った。終わり。", ["「はい。」と言った。", "終わり。"]),
        ("هل هذا صحيح؟ نعم. انتهى", ["هل هذا صحيح؟", "نعم.", "انتهى"]),
        ("यह वाक्य है। दूसरा वाक्य।", ["यह वाक्य है।", "दूसरा वाक्य।"]),
        ("Am 5. März ging es los. Gut.", ["Am 5. März ging es los.", "Gut."]),
        ("1. First\n2. Second", ["1. First", "2. Second"]),
        ("one line\nof prose\n\nnext block", ["one line\nof prose", "next block"]),
        ("```\na. b\n\nc. d\n```\nAfter.", ["```\na. b\n\nc. d\n```", "After."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    """Abbreviations, numbers, code and links end no sentence; marks stay with theirs."""
    assert split(text) == expected


def test_words_of_scripts_without_spaces_count_about_as_many_as_a_reader_would() -> None:
    """A sentence in Japanese or Thai is neither one word nor one word per character."""
    assert 3 <= len(language.words("設定を変更した")) <= 5
    assert 2 <= len(language.words("ภาษาไทยง่าย")) <= 5
    assert language.words("Don't lose naïve हिंदी 1,000.") == [
        "Don't",
        "lose",
        "naïve",
        "हिंदी",
        "1,000",
    ]


def test_prose_words_leave_out_markdown_syntax_footnotes_and_link_targets() -> None:
    """Only what a reader reads is counted, so that structure cannot feed a word floor."""
    page = (
        "---\ntitle: Hidden\n---\n# Head\n\n- item[^1] and [link](http://a.b/c)\n"
        "1. [[Target|shown]]\n\n"
        "```c\nx[^9];\n```\n\n[^1]: `conv:1a2b3c4d` (hidden)\n    hidden too\n"
    )
    assert language.prose_words(page) == ["Head", "item", "and", "link", "shown", "c", "x", "9"]


def test_content_words_meet_across_inflection_and_drop_stop_words() -> None:
    """Two ways to inflect one English word are one content word."""
    assert language.content_words("The cached retries were running") == language.content_words(
        "caching a retry and it runs"
    )
    assert language.content_words("日本語") == ["日本", "本語"]
    assert language.content_words("is it not 5") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000 rows", {"1000"}),
        ("1000 rows", {"1000"}),
        ("10k rows", {"10000"}),
        ("8m", {"8 m"}),
        ("8 MB", {"8 mb"}),
        ("8MB", {"8 mb"}),
        ("30-minute window", {"30 min"}),
        ("40 percent", {"40%"}),
        ("40%", {"40%"}),
        ("v1.2.3", {"1.2.3"}),
        ("version 1.2.3.", {"1.2.3"}),
        ("Python 3.11", {"3.11"}),
        ("2024-03-05", {"2024-03-05"}),
        ("5 March 2024", {"2024-03-05"}),
        ("March 5th, 2024", {"2024-03-05"}),
        ("5. März 2024", {"2024-03-05"}),
        ("2024年3月5日", {"2024-03-05"}),
        ("on March 5", {"--03-05"}),
        ("March 2024", {"2024-03"}),
        ("2024-03-05T14:30:00Z", {"2024-03-05", "14:30"}),
        ("2:30 pm", {"14:30"}),
        ("at 3pm", {"15:00"}),
        ("12 am", {"00:00"}),
        ("$5", {"5 usd"}),
        ("twelve retries", {"12"}),
        ("٥٠ ملف", {"50"}),
        ("３０分", {"30 min"}),
        ("127.0.0.1:8080", {"127.0.0.1", "8080"}),
        ("utf8, conv:1a2b3c4d, e4b", set()),
        ("31 February 2024", {"2024-2-31?"}),
        ("40 s", {"40 s"}),
        ("3 h, 2 d, 12 V, 5 L", {"3 h", "2 d", "12 v", "5 l"}),
        ("60 W, 3w", {"60 w", "3 week"}),
        ("5 y 6 l'heure", {"5", "6"}),
        ("12 gallons", {"12 gallon"}),
        ("12 feet, 3 yards, 2 pints", {"12 ft", "3 yard", "2 pint"}),
        ("thirty", {"30"}),
        ("forty-two rows", {"42"}),
        ("sixty five minutes", {"65 min"}),
        ("two hundred", {"200"}),
        ("dreißig Tage", {"30 d"}),
        ("fünfundzwanzig Sekunden", {"25 s"}),
        ("zwanzig Gallonen", {"20 gallon"}),
        ("quarante jours", {"40 d"}),
        ("cuarenta minutos", {"40 min"}),
        ("quarenta dias", {"40 d"}),
        ("сорок дней", {"40 d"}),
        ("四十天", {"40 d"}),
        ("记录保存四十天", {"40 d"}),
        ("三十五秒", {"35 s"}),
        ("二十毫秒", {"20 ms"}),
        ("これで十分", set()),
        ("أربعون يوما", {"40 d"}),
        ("خمسة وأربعون يوما", {"45 d"}),
        ("ארבעים יום", {"40 d"}),
        ("ארבעים ושתיים דקות", {"42 min"}),
    ],
)
def test_a_number_has_one_spelling(text: str, expected: set[str]) -> None:
    """Whoever writes it and however, the same number, date, time or version compares equal."""
    assert language.numbers(text) == expected


@given(MARKDOWN)
def test_quantities_point_at_the_text_they_were_read_from(text: str) -> None:
    """Spans are in order, inside the text and never empty, whatever the script of the digits."""
    at = 0
    for quantity in language.quantities(text):
        assert at <= quantity.start < quantity.end <= len(text)
        at = quantity.end


def test_identifiers_are_found_and_ordinary_words_are_not() -> None:
    """Paths, addresses, code names, flags, hashes and keys count; hyphens and initials do not."""
    text = (
        "Use `foo bar` in /etc/hosts, ~/x/y.txt and src/a.py via --dry-run: snake_case, camelCase, "
        "os.path.join, README.md, ABC-123, #42, 1a2b3c4d5e, utf8, https://a.b/c?d=1. "
        "It is up-to-date, and/or well-known in the U.S., e.g. here."
    )
    assert language.identifiers(text) == {
        "foo bar", "/etc/hosts", "~/x/y.txt", "src/a.py", "--dry-run", "snake_case", "camelCase",
        "os.path.join", "README.md", "ABC-123", "#42", "1a2b3c4d5e", "utf8", "https://a.b/c?d=1",
    }  # fmt: skip


def test_proper_nouns_are_capitals_that_grammar_does_not_explain() -> None:
    """The capital of a sentence's first word says nothing unless it is repeated inside."""
    assert language.proper_nouns("Sessions live in Redis. Tell Anna.") == {"Redis", "Anna"}
    assert language.proper_nouns("Redis is fast. We keep Redis.") == {"Redis"}
    assert language.proper_nouns("PostgreSQL is fast.") == {"PostgreSQL"}
    assert language.proper_nouns("Das Haus ist nicht für den Hund.") == frozenset()
    assert language.proper_nouns("我们使用Redis存储会话。") == {"Redis"}


def test_similarity_ignores_order_and_needs_agreement_on_what_matters() -> None:
    """A duplicate may be worded otherwise; another number, name or a "not" is no duplicate."""
    assert language.similarity("Sessions live in Redis.", "In Redis live sessions.") == 1.0
    base = (
        "The nightly export job writes the compressed archive to the backup server in Oslo "
        "after 8 minutes"
    )
    for other in (
        base.replace("8", "15"),
        base.replace("Oslo", "Bergen"),
        base.replace("writes", "never writes"),
    ):
        assert 0.6 < language.similarity(base, other) < 0.9
    assert language.similarity("Sessions live in Redis.", "Lunch is at noon.") == 0.0


@given(MARKDOWN, MARKDOWN)
def test_similarity_is_symmetric_and_bounded(a: str, b: str) -> None:
    """It does not matter which sentence was there first."""
    assert language.similarity(a, b) == language.similarity(b, a)
    assert 0.0 <= language.similarity(a, b) <= 1.0


@given(MARKDOWN)
def test_no_text_makes_the_readers_fail(text: str) -> None:
    """Transcripts hold anything; every function gives an answer."""
    language.words(text)
    language.prose_words(text)
    language.content_words(text)
    language.identifiers(text)
    language.proper_nouns(text)


def test_an_address_ends_where_a_footnote_mark_begins() -> None:
    """The sentence that ends in an address ends with its mark, not with the next sentence."""
    text = "It reads http://example.com/a.png.[^1] The next one is here.[^2]"
    assert [text[a:b] for a, b in language.sentences(text)] == [
        "It reads http://example.com/a.png.[^1]",
        "The next one is here.[^2]",
    ]
