"""Word lists, written as plain lines of words."""


def word_set(lines: str) -> frozenset[str]:
    """The words of `lines`, separated by any white space."""
    return frozenset(lines.split())
