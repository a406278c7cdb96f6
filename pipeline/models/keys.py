"""The key of a model server: from the environment or the macOS keychain, and from nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.errors import ConfigFault
from pipeline.system import Ask
from pipeline.tables import ServerConfig


def server_key(server: ServerConfig, environ: Mapping[str, str], ask: Ask) -> str:
    """The key, "" where no place of one is set.

    Raises ConfigFault when the place that is set holds none, or what cannot be a key. No message
    shows what it holds, nor the setting, into which somebody may have put the key itself. The
    keychain is asked as `security` is documented; not yet seen on a Mac.
    """
    if name := server.key_variable:
        key = environ.get(name, "").strip()
        where = "the environment variable that `server.key_variable` names"
        mend = "set it; a scheduled night does not see your shell's: use `server.key_item` there"
    elif item := server.key_item:
        answer = ask(["security", "find-generic-password", "-s", item, "-w"])
        key = answer.out.strip() if answer.code == 0 else ""
        where = "the keychain item that `server.key_item` names"
        mend = "store it: security add-generic-password -s ITEM -a nightly-memory -w"
    else:
        return ""
    if not key:
        raise ConfigFault(f"{where} holds no key", mend=mend)
    # http.client would refuse it too, and quote it
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigFault(f"{where} holds what is no key", mend=mend)
    return key
