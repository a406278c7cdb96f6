"""The command without a process of its own: what it prints and exits with is the same."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from pipeline import cli


def memory(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The whole command from its way in to its exit, in this process and the test's home."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["memory", *arguments])
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            cli.main()
        except SystemExit as ended:
            assert isinstance(ended.code, int)
            code = ended.code
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def printed(*arguments: str, code: int = 0) -> str:
    """What the command prints for a program or a reader; it must end with this code."""
    done = memory(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout
