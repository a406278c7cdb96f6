"""Is a claim supported by the messages it cites? Decided by rules over words; no model is asked."""

from pipeline.support.checking import Verdict, check
from pipeline.support.finding import evidence
from pipeline.support.form import well_formed

__all__ = ["Verdict", "check", "evidence", "well_formed"]
