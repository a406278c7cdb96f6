"""The models: there, and whole as far as can be told without loading them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pipeline.assemble import chosen_model, model_server
from pipeline.doctor.checks import Machine, Verdict, fail, ok
from pipeline.models.catalog import served
from pipeline.models.fetch import MANIFEST, path

_PATIENCE = 3.0  # seconds a server has for telling what it has
_LENGTH_BYTES = 8  # of a safetensors file: the length of its header, little-endian
_LARGEST_HEADER = 100_000_000  # what the format allows


def model(machine: Machine) -> Verdict:
    """The language model is fetched and its files are whole, or the server that has it answers."""
    name = chosen_model(machine.config)[0]
    if served(name):
        server = model_server(machine.config, machine.ask, seconds=_PATIENCE)
        known = server.models()
        said = "lists it" if served(name) in known else f"lists {len(known)} models, not this one"
        return ok(f"{name}: the server at {server.at} answers and {said}")
    return _intact(name, machine)


def embedder(machine: Machine) -> Verdict:
    """The embedder is fetched and its files are whole."""
    if machine.config.embedder == "none":
        return ok("none is used: texts are compared by their words")
    return _intact(machine.config.embedder, machine)


def _intact(name: str, machine: Machine) -> Verdict:
    folder = path(name, machine.config.models_dir)
    wrong = _wrong(folder)
    if wrong:
        return fail(
            f"{folder} is not whole: {'; '.join(wrong[:3])}",
            f"delete that folder and run `memory model fetch {name}`",
        )
    return ok(f"{name}; `memory model check` reads every byte")


def _wrong(folder: Path) -> list[str]:
    """What is wrong with the files of a model, a clause each."""
    try:
        wrong = [
            f"{name} is missing" for name in _expected(folder) if not (folder / name).is_file()
        ]
        if not isinstance(json.loads((folder / "config.json").read_text("utf-8")), dict):
            wrong.append("config.json holds no settings")
    except FileNotFoundError as error:
        return [f"{Path(error.filename).name} is missing"]
    except (ValueError, LookupError, TypeError, AttributeError):
        return ["its description is not JSON"]
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        wrong.append("it has no weights")
    return wrong + [f"{file.name} {problem}" for file in weights if (problem := _broken(file))]


def _expected(folder: Path) -> list[str]:
    """The files that the manifest, or the index of the user's own model, names."""
    names: set[str] = {"config.json"}
    for list_of_files, key in ((MANIFEST, "files"), ("model.safetensors.index.json", "weight_map")):
        if (folder / list_of_files).is_file():
            said = json.loads((folder / list_of_files).read_text("utf-8"))[key]
            names |= set(said) if key == "files" else set(said.values())
    return sorted(names)


def _broken(file: Path) -> str:
    """What is wrong with a safetensors file by its header, "" if its size is as the header says."""
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
        if not 0 < length <= min(size, _LARGEST_HEADER):
            return "is cut short or no file of weights"
        try:
            tensors = json.loads(stream.read(length))
            ends = [
                value["data_offsets"][1]
                for name, value in tensors.items()
                if name != "__metadata__"
            ]
        except (ValueError, LookupError, TypeError, AttributeError):
            return "has a header that cannot be read"
    expected = _LENGTH_BYTES + length + max(ends, default=0)
    return "" if size == expected else f"has {size} bytes instead of {expected}"
