"""`opdebug install-skill`: the agent skill, copied to where an agent looks for skills.

A file there that is not the skill's own text is never overwritten without `--force`, files that the skill does not have
are left alone, and no symbolic link leads the copy out of the project.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import opdebug
from opdebug.cli.output import print_text
from opdebug.evidence.json_files import write_atomic
from opdebug.model.errors import OpdebugError

NAME = "ascend-operator-debug"
AGENT_FOLDERS = (".agents", ".claude")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", metavar="DIR", default=AGENT_FOLDERS[0],
                        help=f"{' or '.join(AGENT_FOLDERS)}, to install in its folder skills, or another directory of "
                             f"skills (default {AGENT_FOLDERS[0]})")
    parser.add_argument("--force", action="store_true", help="overwrite files that were changed there")


def execute(options: argparse.Namespace) -> int:
    files = skill_files(skill_source())
    root, destination = _places(options.target)
    _check_inside(root, destination)
    pending = {name: data for name, data in files.items() if _content(destination / name) != data}
    if not pending:
        print_text(f"{destination} is this version of the skill already\n")
        return 0
    changed = [name for name in pending if os.path.lexists(destination / name)]
    if changed and not options.force:
        raise OpdebugError(f"{destination} differs from the skill of this version in {', '.join(changed)}; "
                           "--force overwrites what was changed")
    for name, data in pending.items():
        _write(destination, name, data)
    print_text(f"{len(pending)} of {len(files)} files written to {destination}\n")
    return 0


def skill_source() -> Path:
    """The skill inside the installed package, or in the source tree that the package is imported from."""
    package = Path(opdebug.__file__).resolve().parent
    for folder in (package / "skills" / NAME, package.parents[1] / "skills" / NAME):
        if (folder / "SKILL.md").is_file():
            return folder
    raise OpdebugError(f"the skill {NAME} is not part of this installation of opdebug; install it from a wheel")


def skill_files(source: Path) -> dict[str, bytes]:
    """The skill's files by relative path; compiled files and links are none of it."""
    found: dict[str, bytes] = {}
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for path in (Path(folder) / name for name in sorted(names)):
            if path.is_file() and not path.is_symlink():
                found[path.relative_to(source).as_posix()] = path.read_bytes()
    return found


def _places(target: str) -> tuple[Path, Path]:
    """The directory that must not be left, and where the skill goes."""
    if target in AGENT_FOLDERS:
        return Path.cwd(), Path(target) / "skills" / NAME
    return Path(target), Path(target) / NAME


def _check_inside(root: Path, destination: Path) -> None:
    folders = [destination, *(path for path in destination.rglob("*") if path.is_symlink())]
    for folder in folders:
        if not folder.resolve().is_relative_to(root.resolve()):
            raise OpdebugError(f"{folder} leads out of {root.resolve()} through a symbolic link; remove the link")


def _content(path: Path) -> bytes | None:
    if path.is_symlink() or not path.is_file():
        return None
    return path.read_bytes()


def _write(destination: Path, name: str, data: bytes) -> None:
    path = destination / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        raise OpdebugError(f"{path} is a directory; remove it, the skill has a file there")
    write_atomic(path, data)
