from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdebug.evidence import json_files
from opdebug.evidence.json_files import (
    compact_line,
    document_bytes,
    encode,
    is_too_deep,
    parse,
    read_json,
    write_atomic,
    write_json,
)
from opdebug.model.errors import OpdebugError

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(VALUES)
def test_the_text_is_what_the_standard_library_gives(value):
    assert encode(value) == json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)


@given(VALUES)
def test_what_is_written_reads_back(value):
    assert parse(document_bytes(value)) == value
    assert parse(compact_line(value)) == value


def test_subclasses_and_tuples_encode_as_their_bases():
    class Name(str):
        __slots__ = ()

    assert encode({"a": (1, Name("b"))}) == json.dumps({"a": [1, "b"]}, indent=2)


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": {1, 2}}, {1: 2}, {"a": 1, 2: 3}, object()])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(OpdebugError, match="cannot be written as JSON"):
        encode(value)


def test_a_lone_surrogate_survives(tmp_path):
    write_json(tmp_path / "s.json", {"id": "a\ud800b"})
    assert (tmp_path / "s.json").read_bytes() == b'{\n  "id": "a\\ud800b"\n}\n'
    assert read_json(tmp_path / "s.json", "document") == {"id": "a\ud800b"}


@pytest.mark.parametrize(("data", "cause"), [
    (b'{"a": 1', "Expecting"), (b"", "Expecting value"), (b'{"a": NaN}', "NaN is not JSON"),
    (b"[-Infinity]", "-Infinity is not JSON"), (b'{"a": 1, "a": 2}', 'duplicate key "a"'),
    (b'{"a": "\xff"}', "not UTF-8: byte 7 is 0xff"), (b"\xff\xfe[\x00]\x00", "not UTF-8"),
    (b"[" * 101 + b"]" * 101, "nested deeper than 100"), (b"[" * 100_000, "nested deeper than 100"),
    (b'{"a":' * 50_000, "nested deeper than 100"), (b"1" * 5000, "digits"), (b"[1] 2", "Extra data"),
])
def test_bad_json_says_which_file_and_why(tmp_path, data, cause):
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    with pytest.raises(OpdebugError) as caught:
        read_json(path, "operator config")
    assert str(caught.value).startswith(f"cannot read operator config {path}: ")
    assert cause in str(caught.value)


def test_a_hundred_levels_are_read():
    value = parse(b"[" * 100 + b"]" * 100)
    assert not is_too_deep(value)
    assert is_too_deep([value])


@pytest.mark.parametrize("text", ['"["', '"[" , "]"', '"", "[", ""', '"\\"["', '{"}": "{"}'])
def test_brackets_in_strings_do_not_count(text):
    parse(f"[{text}]".encode())
    hidden = ('["]",' * 101 + text + ',"["]' * 101).encode()
    assert json.loads(hidden)
    with pytest.raises(ValueError, match="nested deeper"):
        parse(hidden)


def test_a_missing_file_and_a_directory_are_said(tmp_path):
    with pytest.raises(OpdebugError, match=r"cannot read result .*none\.json: No such file or directory"):
        read_json(tmp_path / "none.json", "result")
    with pytest.raises(OpdebugError, match="Is a directory"):
        read_json(tmp_path, "result")


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(OpdebugError, match=f"larger than {json_files.MAX_BYTES} bytes"):
        read_json(path, "operator config")


def test_an_endless_input_is_refused():
    with pytest.raises(OpdebugError, match="longer than 1000 bytes"):
        read_json("/dev/zero", "operator config", limit=1000)


def test_writing_replaces_whole_files_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "a.json"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    write_atomic(path, b"one")

    def full(handle: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json_files, "write_all", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, b"two")
    assert path.read_bytes() == b"one"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_link_is_replaced_and_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"kept")
    link = tmp_path / "link.json"
    link.symlink_to(outside)
    write_atomic(link, b"new")
    assert outside.read_bytes() == b"kept"
    assert not link.is_symlink()
    assert Path(link).read_bytes() == b"new"
