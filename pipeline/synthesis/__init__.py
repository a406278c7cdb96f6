"""The parts of the synthesize stage: claims, placement, composing, folding."""
