"""What is shipped, under which name, licence and dependencies."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from email.parser import BytesHeaderParser
from pathlib import Path

import pytest

from scripts import licences

# in one process: the wheel is built once
pytestmark = pytest.mark.xdist_group("wheel")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel as it would be released, built from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("nightly_memory-*.whl")
    return zipfile.ZipFile(path)


def tracked(folder: str) -> set[str]:
    """The files of a folder, relative to it, without what Python leaves behind."""
    return {
        path.relative_to(ROOT / folder).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_carries_all_data_and_code(wheel: zipfile.ZipFile) -> None:
    """Prompts, Meta pages, launchd template and migrations are in the wheel, file by file."""
    names = set(wheel.namelist())
    for kind in ("prompts", "vault_meta", "launchd"):
        assert {f"pipeline/_data/{kind}/{name}" for name in tracked(kind)} <= names
    assert {f"pipeline/{name}" for name in tracked("pipeline")} <= names
    assert any(name.startswith("pipeline/sql/") for name in names)


def test_the_wheel_claims_no_other_import_name(wheel: zipfile.ZipFile) -> None:
    """Everything stands under `pipeline/`: no stray top-level package named prompts or tests."""
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"pipeline"}


def test_the_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    """Name, Python, licence and the `memory` command, as documented."""
    (where,) = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    metadata = BytesHeaderParser().parsebytes(wheel.read(f"{where}/METADATA"))
    assert metadata["Name"] == "nightly-memory"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "LicenseRef-Proprietary"
    assert f"{where}/licenses/LICENSE" in wheel.namelist()
    scripts = wheel.read(f"{where}/entry_points.txt").decode()
    assert "memory = pipeline.front:main" in scripts


def test_mlx_comes_with_metal_on_a_mac_and_with_the_cpu_on_linux() -> None:
    """One dependency per platform, so that tests run the real thing without a GPU."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [line for line in project["dependencies"] if line.partition(">")[0].startswith("mlx")]
    assert any(line.startswith("mlx>") and "darwin" in line and "arm64" in line for line in lines)
    assert any(line.startswith("mlx[cpu]>") and "linux" in line for line in lines)


def test_all_rights_are_reserved() -> None:
    """The licence is the owner's: no open-source grant has crept in."""
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "All rights reserved" in text
    assert "LicenseRef-Proprietary" in text


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "Apache-2.0 OR GPL-3.0-only",
        "BSD-3-Clause AND 0BSD AND Zlib",
        "(MIT OR Apache-2.0) AND BSD-3-Clause",
        "Apache-2.0 WITH LLVM-exception",
    ],
)
def test_permissive_licences_pass(expression: str) -> None:
    """An expression passes when a permissive way through it exists."""
    assert licences.permitted(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "UNKNOWN",
        "GPL-3.0-only",
        "AGPL-3.0-or-later",
        "LGPL-2.1",
        "MIT AND GPL-3.0-only",
        "(MIT OR GPL-3.0-only) AND BSD-3-Clause",
        "MIT\nand the text of a licence",
    ],
)
def test_copyleft_and_unknown_licences_fail(expression: str) -> None:
    """Copyleft fails, and so does what cannot be told."""
    assert not licences.permitted(expression)


def test_every_runtime_dependency_is_permissive() -> None:
    """The licences of all that a user installs with the program and its extra, in full depth."""
    packages = licences.shipped()
    assert {"mlx", "mlx-lm", "pydantic", "mcp", "starlette"} <= set(packages)
    assert "mcp" not in licences.installed("nightly-memory")
    assert [
        name for name, pack in packages.items() if not licences.permitted(licences.stated(pack))
    ] == []
