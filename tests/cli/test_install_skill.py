"""The agent skill is copied whole, once, and over nobody's changes."""

import shutil
from pathlib import Path

import pytest

from opdebug.cli import install_skill

NAME = "ascend-operator-debug"


@pytest.fixture
def skill(tmp_path, monkeypatch):
    """A small skill in place of the real one, and a project to install it into as the current directory."""
    source = tmp_path / "source"
    (source / "scripts" / "__pycache__").mkdir(parents=True)
    (source / "SKILL.md").write_text("the skill")
    (source / "scripts" / "tool.py").write_text("print()")
    (source / "scripts" / "__pycache__" / "tool.pyc").write_bytes(b"0")
    (source / "link.md").symlink_to(source / "SKILL.md")
    monkeypatch.setattr(install_skill, "skill_source", lambda: source)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return source


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in Path(folder).rglob("*") if path.is_file()}


WHOLE = {"SKILL.md": "the skill", "scripts/tool.py": "print()"}


def test_the_skill_is_found_in_the_source_tree():
    source = install_skill.skill_source()
    assert source == Path(__file__).resolve().parents[2] / "skills" / NAME
    assert {"SKILL.md", "scripts/operator_debug.py"} <= install_skill.skill_files(source).keys()


def test_the_installed_package_comes_before_the_source_tree(tmp_path, monkeypatch):
    packaged = tmp_path / "site" / "opdebug" / "skills" / NAME
    packaged.mkdir(parents=True)
    (packaged / "SKILL.md").touch()
    monkeypatch.setattr("opdebug.__file__", str(tmp_path / "site" / "opdebug" / "__init__.py"))
    assert install_skill.skill_source() == packaged
    shutil.rmtree(packaged)
    with pytest.raises(ValueError, match="not part of this installation"):
        install_skill.skill_source()


@pytest.mark.parametrize(("words", "place"), [
    ([], f".agents/skills/{NAME}"), (["--target", ".claude"], f".claude/skills/{NAME}"),
    (["--target", "my/skills"], f"my/skills/{NAME}")])
def test_the_skill_is_copied_and_copied_again_is_no_change(skill, command, words, place):
    code, out, _ = command("install-skill", *words)
    assert (code, out) == (0, f"2 of 2 files written to {place}\n")
    assert files(place) == WHOLE
    code, out, _ = command("install-skill", *words)
    assert (code, out) == (0, f"{place} is this version of the skill already\n")


def test_a_changed_copy_is_kept_unless_forced(skill, command):
    command("install-skill")
    copy = Path(f".agents/skills/{NAME}")
    (copy / "SKILL.md").write_text("mine")
    (copy / "own.md").write_text("mine")
    code, out, err = command("install-skill")
    assert (code, out) == (2, "")
    assert "SKILL.md" in err
    assert "--force" in err
    assert files(copy)["SKILL.md"] == "mine"
    assert command("install-skill", "--force")[0] == 0
    assert files(copy) == {**WHOLE, "own.md": "mine"}


def test_a_copy_that_was_cut_short_is_completed(skill, command):
    command("install-skill")
    (Path(f".agents/skills/{NAME}") / "scripts" / "tool.py").unlink()
    assert command("install-skill")[1].startswith("1 of 2 files written")
    assert files(f".agents/skills/{NAME}") == WHOLE


@pytest.mark.parametrize("link", [".agents", ".agents/skills", f".agents/skills/{NAME}", f".agents/skills/{NAME}/scripts"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_no_link_leads_the_copy_out_of_the_project(skill, command, tmp_path, link, force):
    outside = tmp_path / "outside"
    outside.mkdir()
    Path(link).parent.mkdir(parents=True, exist_ok=True)
    Path(link).symlink_to(outside)
    code, _, err = command("install-skill", *force)
    assert (code, "symbolic link" in err) == (2, True)
    assert list(outside.iterdir()) == []


def test_a_link_within_the_project_is_followed(skill, command):
    Path(".agents").mkdir()
    Path(".claude").symlink_to(".agents")
    assert command("install-skill", "--target", ".claude")[0] == 0
    assert files(f".agents/skills/{NAME}") == WHOLE


def test_a_linked_file_is_replaced_and_not_written_through(skill, command):
    own = Path("own.md")
    own.write_text("mine")
    copy = Path(f".agents/skills/{NAME}")
    copy.mkdir(parents=True)
    (copy / "SKILL.md").symlink_to(own.resolve())
    assert command("install-skill")[0] == 2
    assert command("install-skill", "--force")[0] == 0
    assert own.read_text() == "mine"
    assert files(copy) == WHOLE


def test_a_file_in_the_way_is_named(skill, command):
    Path(".agents").write_text("in the way")
    code, _, err = command("install-skill")
    assert code == 2
    assert ".agents" in err
