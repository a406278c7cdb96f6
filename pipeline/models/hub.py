"""Download a model folder from the model hub: resumable, retried, verified. Code is never taken.

Imported only for a download.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import (
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
)
from huggingface_hub.hf_api import ModelInfo
from huggingface_hub.utils.tqdm import disable_progress_bars
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from pipeline.errors import ModelFault

# Weights, tokenizer, configuration. No *.py: a model's own code is never run here.
_WANTED = ("*.safetensors", "*.json", "*.jinja", "*.txt", "*.model")
_TRANSIENT_STATUS = {408, 425, 429, 500, 502, 503, 504}
_ATTEMPTS = 4  # the hub library retries by itself too, a few times for each of these
_FIRST_PAUSE = 1.0  # seconds; doubled after each attempt
_LONGEST_PAUSE = 60.0


def download(
    hub_name: str,
    work: Path,
    progress: Callable[[str, int, int], None],
    *,
    endpoint: str | None = None,
    first_pause: float = _FIRST_PAUSE,
) -> Path:
    """A folder inside `work` with all files of model `hub_name`, each of the size and sha256 the
    hub states.

    What an earlier, broken download left in `work` is gone on with. endpoint: another hub than the
    configured one. Raise ModelFault if it does not exist, is gated, or cannot be had.
    """
    disable_progress_bars()
    folder = work / "folder"
    retrying = Retrying(
        retry=retry_if_exception(_transient),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_exponential(multiplier=first_pause, max=_LONGEST_PAUSE)
        + wait_random(0, first_pause),
        reraise=True,
    )
    try:
        info = retrying(
            HfApi(endpoint=endpoint).model_info, hub_name, files_metadata=True, timeout=30
        )
        expected = _expected(info)
        if not any(name.endswith(".safetensors") for name in expected):
            raise ModelFault(f"{hub_name} on the hub has no safetensors weights.")
        total = sum(size for size, _ in expected.values())
        with _watched(folder, total, f"fetching {hub_name}", progress):
            for name in expected:
                retrying(
                    hf_hub_download,
                    hub_name,
                    name,
                    # One commit throughout, or files of two versions could be mixed.
                    revision=info.sha,
                    local_dir=folder,
                    cache_dir=work / "cache",
                    endpoint=endpoint,
                )
    except (OSError, ValueError, RuntimeError) as fault:
        raise _explained(hub_name, fault) from fault
    except Exception as fault:
        if not _transient(fault):
            raise
        raise _explained(hub_name, fault) from fault
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    for name, (size, sha256) in expected.items():
        _verify(folder / name, size, sha256, hub_name)
    return folder


def _expected(info: ModelInfo) -> dict[str, tuple[int, str]]:
    """Size and sha256 ("" for small files, which the hub does not hash so) of each wanted file."""
    files = {}
    for sibling in info.siblings or []:
        if any(Path(sibling.rfilename).match(pattern) for pattern in _WANTED):
            lfs = sibling.lfs
            files[sibling.rfilename] = (sibling.size or 0, lfs.sha256 if lfs else "")
    return files


def _verify(file: Path, size: int, sha256: str, hub_name: str) -> None:
    if not file.is_file() or file.stat().st_size != size:
        fault = f"{file.name} of {hub_name} did not arrive whole"
    elif sha256 and _sha256(file) != sha256:
        fault = f"{file.name} of {hub_name} is not the file the hub describes"
    else:
        return
    file.unlink(missing_ok=True)
    raise ModelFault(f"{fault}.", mend="Run the command again; it goes on where it stopped.")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _transient(fault: BaseException) -> bool:
    """Whether the same request may well succeed a little later."""
    if isinstance(fault, OfflineModeIsEnabled):
        return False
    if isinstance(fault, HfHubHTTPError):
        return fault.response.status_code in _TRANSIENT_STATUS
    if isinstance(fault, LocalEntryNotFoundError):
        cause = fault.__cause__
        return cause is None or _transient(cause)
    if isinstance(fault, ConnectionError | TimeoutError):
        return True
    # The hub library has changed its HTTP library twice; both name a broken transport so.
    return any(kind.__name__ == "TransportError" for kind in type(fault).__mro__)


def _explained(hub_name: str, fault: Exception) -> ModelFault:
    status = fault.response.status_code if isinstance(fault, HfHubHTTPError) else 0
    if isinstance(fault, OfflineModeIsEnabled):
        mend = "HF_HUB_OFFLINE is set in the environment: unset it, then run the command again."
    elif status in (401, 403):
        mend = "Check the name. If its publisher asks for consent, give it there and log in."
    elif status == 404:
        mend = "Check the name, an organisation and a model: organisation/name."
    else:
        mend = "Check the network, then run the command again; it goes on where it stopped."
    first_line = str(fault).strip().partition("\n")[0] or type(fault).__name__
    return ModelFault(f"{hub_name} cannot be fetched: {first_line}", mend=mend)


@contextmanager
def _watched(
    folder: Path, total: int, what: str, progress: Callable[[str, int, int], None]
) -> Iterator[None]:
    """Report the bytes in `folder` each second, by a thread of its own, while the block runs."""
    stopped = threading.Event()

    def report() -> None:
        progress(what, min(_bytes(folder), total), total)

    def watch() -> None:
        while not stopped.wait(1.0):
            report()

    watcher = threading.Thread(target=watch, daemon=True)
    report()
    watcher.start()
    try:
        yield
    finally:
        stopped.set()
        watcher.join()
        report()


def _bytes(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:  # a partial file was renamed meanwhile
            continue
    return total
