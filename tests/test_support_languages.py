"""Support and form in languages other than English: numbers, dates, negation, will, speakers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
import regex

from pipeline.records import Message, Role
from pipeline.support import check, evidence, well_formed
from pipeline.text import content_words, negations, numbers, sentences, similarity
from pipeline.text.tongues import LATIN, TONGUES

START = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)  # a Wednesday


def chat(*turns: str) -> list[Message]:
    """Messages from "u: text" and "a: text" lines, a minute apart."""
    roles = {"u": Role.USER, "a": Role.ASSISTANT}
    return [
        Message(
            message_id=f"m{position}",
            conv="00000000",
            position=position,
            role=roles[turn[0]],
            at=START + timedelta(minutes=position),
            text=turn[3:],
        )
        for position, turn in enumerate(turns)
    ]


def supported(claim: str, *turns: str) -> bool:
    messages = chat(*turns)
    found = evidence(claim, messages)
    cited = [message for message in messages if message.position in found]
    return check(claim, cited, threshold=0.6).supported


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3億2千万円", {"320000000 jpy"}),
        ("1万8千円", {"18000 jpy"}),
        ("四十五人", {"45 person"}),
        ("三泊", {"3 night"}),
        ("一緒に行くので十分です", set()),
        ("午後2時30分", {"14:30"}),
        ("2027年3月", {"2027-03"}),
        ("3月", {"--03"}),
        ("三千二百元", {"3200 cny"}),
        ("لمدة ٩٠ يوماً", {"90 d"}),
        ("ست ساعات", {"6 h"}),
        ("2 فبراير 2026", {"2026-02-02"}),
        ("15 במרץ 2026", {"2026-03-15"}),
        ("Das kostet 1.150 Euro und zieht 4,2 kW.", {"1150 eur", "4.2 kw"}),
        ("um 14 Uhr", {"14:00"}),
        ("The ratio is 1.150.", {"1.150"}),
    ],
)
def test_numbers_have_one_spelling_in_every_language(text: str, expected: set[str]) -> None:
    """Han numerals, Arabic-Indic digits, the decimal comma and month names all compare."""
    assert numbers(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Der Server läuft nicht.", 1),
        ("Nicht nur der Server läuft.", 0),
        ("Redisは使いません。", 1),
        ("起動しなければならない。", 0),
        ("测试环境不用Kafka。", 1),
        ("效果不错。", 0),
        ("لم يتوقف الخادم.", 1),
        ("ولا يعمل الخادم.", 1),
        ("ما هو الخادم", 0),
        ("השרת לא עובד.", 1),
        ("ואין שרת.", 1),
        ("Am 3. Mai läuft der Server.", 0),
    ],
)
def test_a_negation_is_one_and_what_looks_like_one_is_none(text: str, count: int) -> None:
    """Endings, prefixes and words of their own negate; "not only" and May do not."""
    assert len(negations(text)) == count


@pytest.mark.parametrize(
    ("said", "right", "wrong"),
    [
        ("Wir nutzen Docker nicht.", "Der Nutzer nutzt Docker nicht.", "Der Nutzer nutzt Docker."),
        ("Redisは使いません。", "Redisは使われていない。",
         "Redisを使っている。"),
        ("我们不使用Redis。", "用户不使用Redis。", "用户使用Redis。"),
        ("لا أريد Docker هنا.", "لا يريد المستخدم Docker هنا.", "يريد المستخدم Docker هنا."),
        ("אני לא רוצה Docker כאן.", "המשתמש לא רוצה Docker כאן.", "המשתמש רוצה Docker כאן."),
        ("Die Frist endet übermorgen.", "Die Frist endet am 6. März 2026.",
         "Die Frist endet am 8. März 2026."),
        ("締め切りは明日です。", "締め切りは2026年3月5日である。",
         "締め切りは2026年3月7日である。"),
        ("الموعد النهائي غداً.", "الموعد النهائي في 5 مارس 2026.",
         "الموعد النهائي في 7 مارس 2026."),
        ("Die Frist endet am Freitag.", "Die Frist endet am Freitag.",
         "Die Frist endet am Montag."),
        ("会議は金曜日です。", "会議は金曜日である。", "会議は月曜日である。"),
        ("Der Umzug ist im August.", "Der Umzug ist im August 2026.",
         "Der Umzug ist im September 2026."),
        ("担当は佐藤さんです。", "担当は佐藤さんである。", "担当は鈴木さんである。"),
        ("الخادم في فرانكفورت.", "الخادم في فرانكفورت.", "الخادم في أمستردام."),
        ("Der Installateur ist Herr Brandl.", "Der Installateur ist Herr Brandl.",
         "Der Installateur ist Herr Brandt."),
        ("容量は86MBから61MBに減りました。", "容量は86MBから61MBに減った。",
         "容量は61MBから86MBに増えた。"),
        ("Das Limit steigt von 5 auf 9.", "Das Limit steigt von 5 auf 9.",
         "Das Limit steigt von 9 auf 5."),
        ("نقلنا الملفات من Dropbox إلى Nextcloud.", "نُقلت الملفات من Dropbox إلى Nextcloud.",
         "نُقلت الملفات من Nextcloud إلى Dropbox."),
    ],
)  # fmt: skip
def test_what_was_said_passes_and_its_damaged_twin_does_not(
    said: str, right: str, wrong: str
) -> None:
    """Negated, shifted, renamed and exchanged: each language knows its own way of saying it."""
    assert supported(right, f"u: {said}")
    assert not supported(wrong, f"u: {said}")


@pytest.mark.parametrize(
    ("advice", "claim"),
    [
        ("Ich empfehle borgbackup.", "Der Nutzer entschied sich für borgbackup."),
        ("Sentryを提案します。", "ユーザーはSentryを使うことに決めた。"),
        ("我建议使用Kafka。", "用户决定使用Kafka。"),
        ("أقترح استخدام Prometheus.", "قرر المستخدم استخدام Prometheus."),
        ("אני מציע להשתמש ב-Prometheus.", "המשתמש החליט להשתמש ב-Prometheus."),
    ],
)
def test_the_users_will_needs_the_users_own_words(advice: str, claim: str) -> None:
    """An assistant's advice is no decision of the user, in any language."""
    assert not supported(claim, f"a: {advice}")


def test_two_values_of_one_unit_keep_their_places() -> None:
    """Amounts that change places between two things are seen in one sentence."""
    said = "u: The dough takes 500 g flour and 360 g water."
    assert supported("The dough takes 500 g of flour and 360 g of water.", said)
    assert not supported("The dough takes 360 g of flour and 500 g of water.", said)


def test_what_a_later_message_takes_back_is_not_current() -> None:
    """The message that gives the new value is part of the evidence, so the old one is refused."""
    turns = ("u: The build takes 38 seconds.", "a: With the cache the build takes 21 seconds now.")
    assert supported("The build takes 21 seconds.", *turns)
    assert not supported("The build takes 38 seconds.", *turns)
    assert evidence("The build takes 38 seconds.", chat(*turns)) == (0, 1)


def test_amounts_are_the_same_in_another_unit() -> None:
    """Seven days are a week, and eight are not."""
    assert supported("Logs are kept for 7 days.", "u: Logs are kept for 1 week.")
    assert not supported("Logs are kept for 8 days.", "u: Logs are kept for 1 week.")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Soll die Frist im Mai enden?", "question"),
        ("デプロイは金曜日ですか？", "question"),
        ("هل الخادم في برلين؟", "question"),
        ("Danke, das passt.", "greeting"),
        ("ありがとうございます、助かりました。", "greeting"),
        ("شكراً، هذا جيد.", "greeting"),
        ("תודה, זה טוב.", "greeting"),
        ("Unsere Frist endet im Mai.", "person"),
        ("私はRedisを使う。", "person"),
        ("نحن نستخدم Redis.", "person"),
        ("אנחנו משתמשים ב-Redis.", "person"),
        ("Der Nutzer fragt nach Redis.", "conversation"),
        ("ユーザーは質問した。", "conversation"),
        ("سأل المستخدم عن Redis.", "conversation"),
        ("Es tut mir leid, das geht nicht.", "refusal"),
        ("申し訳ありませんが、できません。", "refusal"),
        ("لا أستطيع المساعدة في ذلك.", "refusal"),
        ("Die Frist endet", "end"),
    ],
)
def test_form_is_judged_in_every_language(text: str, word: str) -> None:
    """Questions, greetings, persons, meta-talk and refusals are no claims there either."""
    assert word in well_formed(text, max_words=45)


@pytest.mark.parametrize(
    "text",
    [
        "Die Frist endet am 3. Mai.",
        "締め切りは5月3日である。",
        "截止日期是5月3日。",
        "الموعد النهائي في 3 مايو.",
        "המועד האחרון הוא 3 במאי.",
    ],
)
def test_plain_sentences_are_claims_in_every_language(text: str) -> None:
    """A finished sentence in the third person is a claim."""
    assert well_formed(text, max_words=45) == ""


def test_sentences_and_words_of_other_scripts() -> None:
    """Sentences end at their own marks; words meet across articles, prefixes and endings."""
    text = "هل انتهى؟ نعم۔ 终了。次！"
    assert [text[a:b] for a, b in sentences(text)] == ["هل انتهى؟", "نعم۔", "终了。", "次！"]
    assert content_words("والخادم") == content_words("خادم")
    assert content_words("使っていました") == content_words("使う")
    assert similarity("Redisを使う。", "Redisを使わない。") < 0.9


@pytest.mark.parametrize("field", ["refusal", "elision", "meta", "order"])
def test_a_language_of_other_letters_is_not_written_in_latin_ones(field: str) -> None:
    """So a text in Latin letters need not be searched for it; "AI" alone says nothing in any."""
    for tongue in (one for one in TONGUES if one not in LATIN):
        plain = re.sub(r"\\p\{\w+\}|\\.|\(\?[:!=<]+", "", getattr(tongue, field)).replace("AI", "")
        assert not re.search("[A-Za-z]", plain), tongue.name
        assert not regex.search(getattr(tongue, field) or r"(?!)", "AI ai 1 ... ")
