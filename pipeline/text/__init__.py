"""What the program knows about written language: sentences, words, numbers, names.

Pure functions over str, for any script. Nothing here knows articles, claims or messages.
"""

from pipeline.text.likeness import similarity
from pipeline.text.naming import identifiers, is_german, proper_nouns
from pipeline.text.numerals import Quantity, numbers, quantities
from pipeline.text.splitting import protected, sentences
from pipeline.text.wording import content_words, fold, is_negative, prose_words, words

__all__ = [
    "Quantity",
    "content_words",
    "fold",
    "identifiers",
    "is_german",
    "is_negative",
    "numbers",
    "proper_nouns",
    "prose_words",
    "protected",
    "quantities",
    "sentences",
    "similarity",
    "words",
]
