"""A stage is three module-level verbs, and the desk is what it works with.

    pending(desk) -> list[Job]        what there is to do, oldest first; reads only
    work(jobs, desk) -> list[Result]  no writes; may ask the model; one result per job, in order
    keep(result, desk) -> Outcome     the only writer

The orchestrator owns everything else once: order, lock, budget, signals, retries, progress.
"""

from pipeline.desk import Desk

__all__ = ["Desk"]
