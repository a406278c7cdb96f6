"""What others wrote, on a terminal: it must not move the cursor, retitle the window or fill the
clipboard.

What tools printed stands in transcripts, and so in titles, messages and observations.
"""

from __future__ import annotations

import re
import sys
from types import TracebackType
from typing import TextIO

# a tab, a line's end and a Windows line's end are shown as such
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
_PICTURES = 0x2400  # U+2400 is the picture of NUL, and so on to U+241F
_DELETE = "␡"
_UNKNOWN = "�"  # the controls from U+0080 on have no pictures


def visible(text: str) -> str:
    """The text with a picture in the place of each control character but tabs and line ends."""
    return _CONTROL.sub(_picture, text)


def shown_on(stream: TextIO, text: str) -> str:
    """The text as it may be written there: `visible` on a terminal, as it is anywhere else."""
    return visible(text) if stream.isatty() else text


def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A traceback on standard error: `sys.excepthook`, for an error may name what others wrote."""
    import traceback

    told = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(shown_on(sys.stderr, told))


def one_line(text: str) -> str:
    """One line with single blanks, and a blank in the place of what cannot be printed."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < ord(" "):
        return chr(_PICTURES + code)
    return _DELETE if code == 0x7F else _UNKNOWN
