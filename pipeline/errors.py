"""Every fault the program raises on purpose, and the exit code of each.

    MemoryFault (1)
    ├── ConfigFault (3)    a setting or an argument is wrong
    ├── SourceFault (4)    transcripts cannot be read at all
    ├── ModelFault (5)     the model is missing, broken or unusable
    │   ├── InvalidReply   the model answered, but not in the form asked for (retried)
    │   ├── PromptTooLong  one prompt is larger than allowed (that job fails, the run goes on)
    │   ├── OutOfMemory    one request alone needs more memory than there is (likewise)
    │   └── ModelDied      the model's process ended or hung twice over one request (likewise)
    ├── VaultFault (6)     the vault or its git repository refuses
    ├── StoreFault (7)     memory.sqlite or the archive refuses
    ├── BusyFault (8)      another run holds the lock
    ├── NoStoreFault (12)  the project has no memory yet
    └── UnknownIdFault (13)  no observation, session or loop has this id

Exit 0 is a run that did all it had to do, 2 is Typer's own usage error, 9 a *partial* run (part of
the work failed, the rest was kept), 10 a run stopped by a signal or its time budget at a safe
point, with work left, 11 a scheduled run that the machine's state held back, 14 that something
`memory doctor` looked at does not work. Expected outcomes (held, skipped) are values, never
exceptions.
"""

EXIT_PARTIAL = 9
EXIT_STOPPED = 10
EXIT_SKIPPED = 11
EXIT_UNSOUND = 14


class MemoryFault(Exception):
    """What went wrong, where, and how to mend it.

    The message is one sentence that names the thing and the place; `mend` is the next thing the
    user can do about it. `cli.py` alone prints both and exits with `exit_code`.
    """

    exit_code = 1

    def __init__(self, message: str, *, mend: str = "") -> None:
        super().__init__(message)
        self.mend = mend


class ConfigFault(MemoryFault):
    """A setting or an argument is wrong."""

    exit_code = 3


class SourceFault(MemoryFault):
    """A transcript file cannot be read as what it claims to be."""

    exit_code = 4


class ModelFault(MemoryFault):
    """The model is missing, broken or unusable."""

    exit_code = 5


class InvalidReply(ModelFault):
    """The model answered, but not in the form asked for; worth another try with a new seed."""


class PromptTooLong(ModelFault):
    """One prompt has more tokens than allowed; it is refused, never cut."""


class OutOfMemory(ModelFault):
    """One request alone needs more memory, or more of the GPU's time, than the machine has."""


class ModelDied(ModelFault):
    """The process of the model ended or hung, twice over the same requests."""


class VaultFault(MemoryFault):
    """The vault or its git repository refuses a read or a write."""

    exit_code = 6


class StoreFault(MemoryFault):
    """memory.sqlite or the archive refuses a read or a write."""

    exit_code = 7


class BusyFault(MemoryFault):
    """Another run holds the lock."""

    exit_code = 8


class NoStoreFault(MemoryFault):
    """The project has no memory yet."""

    exit_code = 12


class UnknownIdFault(MemoryFault):
    """No observation, checkpoint, session or loop of the project has this id."""

    exit_code = 13
