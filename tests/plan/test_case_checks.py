"""What keeps a case from being run is listed completely, field by field."""

import pytest

from opdebug.model.specs import Case
from opdebug.plan.checks import check_case, check_unique, id_problems


def document(**changes):
    base = {"name": "x", "shape": [2, 3], "strides": [3, 1], "storage_offset": 0, "dtype": "float16", "layout": "ND",
            "data": {"fill": "normal", "seed": 0}}
    return {**base, **changes}


def problems(*inputs, id="a", mode="eager", attributes=None):  # noqa: A002
    case = Case.from_document({"id": id, "mode": mode, "inputs": list(inputs), "attributes": attributes})
    return check_case(case, "cases[0]")


def test_a_good_case_has_no_problem():
    assert problems(document(), document(name="ys[0]"), document(name="ys[1]"), attributes={"dim": 1}) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a b"}, "cases[0].inputs[0].name is 'a b'"),
        ({"dtype": "float17"}, "dtype 'float17' is not a torch dtype"),
        ({"dtype": "half"}, "cases[0].inputs[0].dtype is 'half'; write 'float16'"),
        ({"strides": [1]}, "one number for each dimension"),
        ({"strides": [-1, 1]}, "whole numbers of at least 0"),
        ({"storage_offset": -1}, "whole numbers of at least 0"),
        ({"shape": [2, True]}, "whole numbers of at least 0"),
        ({"strides": [2**40, 1]}, "needs a storage of"),
        ({"shape": [2**63, 1], "strides": None}, "2**63 - 1"),
        ({"stride_pattern": "diagonal"}, "stride_pattern is 'diagonal'; accepted: contiguous"),
        ({"layout": "NHWC"}, "layout NHWC does not agree"),
        ({"data": {"fill": "gauss"}}, "cases[0].inputs[0].data: fill 'gauss' is unknown"),
        ({"data": {"fill": "inf"}, "dtype": "int8"}, "impossible for int8"),
        ({"data": {"fill": "ones", "low": 1}}, "unknown keys in options of fill 'ones': 'low'; accepted: none"),
        ({"data": {"fill": "ones", "seed": -1}}, "seed is -1"),
    ],
)
def test_problems_of_an_input(change, message):
    found = problems(document(**change))
    assert len(found) == 1
    assert message in found[0]


def test_problems_of_a_case_come_all_at_once():
    found = problems(document(storage="s"), document(name="y", dtype="float32", storage="s"), document(),
                     id="a/b", mode="jit", attributes={"y": 1})
    texts = " ".join(found)
    for message in ("cases[0].id", "cases[0].mode is 'jit'; it must be one of: compile, eager, graph",
                    "'x' is given twice", "'y' is the name of an input too",
                    "inputs over one storage must have one dtype"):
        assert message in texts
    assert len(found) == 5


@pytest.mark.parametrize("text", ["a/b", "a\\b", "..", "", " ", "a\nb", "a\x00", "x" * 129, 3, None])
def test_ids_that_cannot_name_files(text):
    assert len(id_problems(text, "id")) == 1


def test_tensors_of_user_code_are_not_judged():
    given = {"fill": "given", "sha256": "0", "summary": "empty"}
    assert problems(document(name="args['k']", dtype="qint8", layout="sparse_coo", strides=None, data=given)) == []


def test_ids_must_be_unique_also_without_regard_to_case():
    a, b, c = (Case(name, "eager", ()) for name in ("Run", "run", "Run"))
    assert check_unique([a, b]) == ["case ids 'Run' and 'run' differ in upper and lower case only"]
    assert check_unique([a, c, a]) == ["case id is duplicated: Run", "case id is duplicated: Run"]
    assert check_unique([a]) == []
