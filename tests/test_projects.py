"""Project identity: a folder, its subfolders and its worktrees are one project."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipeline.projects import Projects


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real repository with one commit."""
    root = tmp_path / "code" / "Garden"
    (root / "src" / "beds").mkdir(parents=True)
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(
        ["git", *who, "commit", "-q", "--allow-empty", "-m", "first"], cwd=root, check=True
    )
    return root


def test_a_subfolder_belongs_to_its_repository(repository: Path, tmp_path: Path) -> None:
    """Wherever in the repository work was done, it is the repository's."""
    projects = Projects({}, tmp_path)
    for folder in (repository, repository / "src", repository / "src" / "beds"):
        assert projects.of(str(folder)) == str(repository)
        assert projects.of(f"{folder}/") == str(repository)


def test_a_worktree_belongs_to_the_repository_it_was_made_of(
    repository: Path, tmp_path: Path
) -> None:
    """As git made it, beside the repository; and an agent's inside it, also once it is deleted."""
    beside = tmp_path / "code" / "garden-fix"
    subprocess.run(["git", "worktree", "add", "-q", str(beside)], cwd=repository, check=True)
    projects = Projects({}, tmp_path)
    assert projects.of(str(beside)) == str(repository)
    assert projects.of(f"{repository}/.claude/worktrees/fix/src") == str(repository)
    assert projects.of("/gone/app/.worktrees/fix") == "/gone/app"


def test_a_folder_without_a_repository_is_its_own_project(tmp_path: Path) -> None:
    """Also under a home that is a repository of settings, and where the folder is gone."""
    home = tmp_path / "home"
    (home / ".git").mkdir(parents=True)
    (home / "notes").mkdir()
    projects = Projects({}, home)
    assert projects.of(str(home / "notes")) == str(home / "notes")
    assert projects.of("/no/such/folder/") == "/no/such/folder"
    assert projects.of(r"C:\code\garden") == r"C:\code\garden"
    assert projects.of("") == ""


def test_a_moved_project_goes_by_its_alias(repository: Path, tmp_path: Path) -> None:
    """Everything below the old folder, whatever its case; not a folder that merely begins alike."""
    projects = Projects({"/old/garden/": str(repository)}, tmp_path)
    assert projects.of("/old/garden") == str(repository)
    assert projects.of("/Old/Garden/src") == str(repository)
    assert projects.of("/old/garden/gone") == f"{repository}/gone"
    assert projects.of("/old/gardening") == "/old/gardening"


def test_case_is_that_of_the_disk(repository: Path, tmp_path: Path) -> None:
    """Where the disk tells cases apart, another case is another folder and stays as written."""
    typed = str(repository).replace("Garden", "garden")
    found = Projects({}, tmp_path).of(typed)
    assert found == (str(repository) if Path(typed).exists() else typed)
