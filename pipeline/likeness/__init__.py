"""How likely a piece of talk belongs to a topic that is known, by vectors and words.

Everything is estimated from what the store holds already: how far the chunks of one topic lie
apart, how far the topics do, and what that says of a chunk whose topic is not known yet.
"""

from pipeline.likeness.spread import Spread
from pipeline.likeness.topics import Piece, Topics, share
from pipeline.likeness.vocabulary import Vocabulary

__all__ = ["Piece", "Spread", "Topics", "Vocabulary", "share"]
