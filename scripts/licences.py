"""Check that everything installed with nightly-memory is under a permissive licence.

Walks the installed runtime dependencies, those of the shipped extra included, and exits 1 with the
names of those whose licence is not on the list below or cannot be told. Development tools are not
shipped and are not looked at.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "nightly-memory"
EXTRA = "mcp"  # the other extra is for development

# MPL-2.0 asks for the source of its own files when they are changed; here they are used unmodified.
PERMISSIVE = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "CNRI-Python",
        "HPND",
        "ISC",
        "MIT",
        "MIT-0",
        "MPL-2.0",
        "PSF-2.0",
        "Unlicense",
        "Zlib",
    }
)

CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}

# The old free-text field, where a package has neither an expression nor a classifier.
SPELLINGS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "MIT License": "MIT",
}


def stated(package: Distribution) -> str:
    """The package's licence as an SPDX expression, "" where its metadata states none we know."""

    def field(name: str) -> list[str]:
        return package.metadata.get_all(name) or []

    if expression := field("License-Expression"):
        return expression[0]
    marks = [mark for mark in field("Classifier") if mark.startswith("License ::")]
    names = [mark.rpartition(" :: ")[2] for mark in marks]
    known = [CLASSIFIERS.get(name, f"LicenseRef-{name.replace(' ', '-')}") for name in names]
    if known and names != ["OSI Approved"]:
        return " AND ".join(sorted(set(known)))
    text = "".join(field("License")).strip()
    return SPELLINGS.get(text, text)


def permitted(expression: str) -> bool:
    """Whether an SPDX expression grants use under a permissive licence.

    Of alternatives one is enough. With brackets every licence named must be permissive: a person
    looks at the rest.
    """
    if not re.fullmatch(r"[A-Za-z0-9.+() -]+", expression):
        return False
    bare = expression.replace("(", " ").replace(")", " ")
    alternatives = [expression] if bare != expression else bare.split(" OR ")
    return any(
        all(
            name.partition(" WITH ")[0].strip() in PERMISSIVE
            for name in re.split(r"\s+(?:AND|OR)\s+", alternative.replace("(", "").replace(")", ""))
        )
        for alternative in alternatives
    )


def installed(root: str) -> dict[str, Distribution]:
    """Every installed package that `root` needs at run time on this machine, by canonical name.

    Raises PackageNotFoundError when one that is needed here is not installed.
    """
    found: dict[str, Distribution] = {}
    waiting = [Requirement(root)]
    asked: set[tuple[str, str]] = set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        found[name] = package = distribution(name)
        for extra in {"", *wanted.extras} - {extra for known, extra in asked if known == name}:
            asked.add((name, extra))
            for line in package.requires or []:
                further = Requirement(line)
                if further.marker is None or further.marker.evaluate({"extra": extra}):
                    waiting.append(further)
    del found[canonicalize_name(root)]
    return found


def shipped() -> dict[str, Distribution]:
    """Every package that comes with the program or with its extra, by canonical name.

    The extra is read from pyproject.toml: what is installed may have been so before it was added.
    """
    found = installed(ROOT)
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    for line in tomllib.loads(text)["project"]["optional-dependencies"][EXTRA]:
        name = canonicalize_name(Requirement(line).name)
        found |= installed(name) | {name: distribution(name)}
    return found


def main() -> int:
    """Print what is refused and return 1, or print the count and return 0."""
    try:
        packages = shipped()
    except PackageNotFoundError as error:
        print(f"{error.name} is needed but not installed", file=sys.stderr)
        return 1
    refused = {name: stated(package) for name, package in packages.items()}
    refused = {name: licence for name, licence in refused.items() if not permitted(licence)}
    for name, licence in sorted(refused.items()):
        print(f"{name}: {licence or 'no licence stated'} is not permissive", file=sys.stderr)
    if refused:
        return 1
    print(f"{len(packages)} packages, all under permissive licences")
    return 0


if __name__ == "__main__":
    sys.exit(main())
