"""Russian."""

from pipeline.text.lists import word_set
from pipeline.text.tongues.table import Tongue

RUSSIAN = Tongue(
    name="Russian",
    negations=word_set("не нет ни без никогда"),
    days={-1: "вчера", 0: "сегодня", 1: "завтра"},
    user="пользователь",
    acceptance="да|давай|хорошо",
    person="я|мы|мой|наш",
)
