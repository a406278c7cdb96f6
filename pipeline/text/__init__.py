"""What the program knows about written language: sentences, words, numbers, names.

Pure functions over str, for any script. Nothing here knows articles, claims or messages.
"""

from pipeline.text.likeness import similarity
from pipeline.text.naming import identifiers, proper_nouns
from pipeline.text.negating import Negation, negations
from pipeline.text.numerals import Quantity, numbers, quantities
from pipeline.text.splitting import protected, sentences
from pipeline.text.telling import is_caseless, is_chinese, is_german, is_japanese
from pipeline.text.wording import content_words, fold, is_negative, prose_words, words

__all__ = [
    "Negation",
    "Quantity",
    "content_words",
    "fold",
    "identifiers",
    "is_caseless",
    "is_chinese",
    "is_german",
    "is_japanese",
    "is_negative",
    "negations",
    "numbers",
    "proper_nouns",
    "prose_words",
    "protected",
    "quantities",
    "sentences",
    "similarity",
    "words",
]
