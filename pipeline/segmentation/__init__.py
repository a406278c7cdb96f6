"""Where a conversation changes its topic: cues of every gap, weighed, and an optimal cut."""

from pipeline.segmentation.cutting import segments
from pipeline.segmentation.turns import WORD_VECTORS, Turn, word_vectors

__all__ = ["WORD_VECTORS", "Turn", "segments", "word_vectors"]
