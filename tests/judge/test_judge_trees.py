"""Output trees: what pairs with what, what is missing or extra, and what counts as no output at all."""

import collections
import json

import pytest
import torch

from opdebug.judge.judgement import judge
from opdebug.judge.policies import policy

DEFAULT = policy({"policy": "torch-default"})
ONE = torch.ones(2)


def outcome(candidate, reference, **options):
    judgement = judge(candidate, reference, DEFAULT, **options)
    json.dumps(judgement.comparisons, allow_nan=False)
    return judgement


def test_paths_name_every_leaf():
    tree = {"a": [ONE, (ONE, 1.5)], "b": "text"}
    judgement = outcome(tree, tree)
    assert judgement.agrees
    assert (judgement.kind, judgement.message) == (None, None)
    assert [c["output"] for c in judgement.comparisons] == [
        "output['a'][0]", "output['a'][1][0]", "output['a'][1][1]", "output['b']"]


def test_the_root_can_be_named():
    assert outcome([ONE], [ONE], output="input:x").comparisons[0]["output"] == "input:x[0]"


def test_list_and_tuple_differ():
    judgement = outcome([ONE], (ONE,))
    assert judgement.kind == "output_structure"
    assert judgement.message == "output: the candidate has a list, the reference a tuple"


def test_named_tuples_and_return_types_are_tuples():
    named = collections.namedtuple("Named", ["values", "indices"])
    x = torch.tensor([3.0, 1.0, 2.0])
    plain = (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1, 2, 0]))
    assert outcome(torch.sort(x), plain).agrees
    assert outcome(named(*plain), torch.sort(x)).agrees
    assert outcome(torch.Size([2, 3]), (2, 3)).agrees


def test_any_mapping_pairs_with_any_other():
    assert outcome(collections.OrderedDict(b=ONE, a=ONE), {"a": ONE, "b": ONE}).agrees


def test_missing_and_extra_items_are_named_and_the_rest_is_compared():
    judgement = outcome([ONE], [ONE + 1, ONE, ONE])
    assert judgement.kind == "output_structure"
    assert "missing [1] to [2]" in judgement.message
    assert [c["output"] for c in judgement.comparisons if c["reason"] == "values"] == ["output[0]"]
    assert "extra [1]" in outcome([ONE, ONE], [ONE]).message


def test_missing_and_extra_keys_are_named():
    judgement = outcome({"a": ONE, "c": ONE}, {"a": ONE, "b": ONE})
    assert judgement.kind == "output_structure"
    assert "missing 'b'" in judgement.message
    assert "extra 'c'" in judgement.message


def test_tensor_against_number_is_structure():
    assert outcome(torch.tensor(1.0), 1.0).comparisons[0]["reason"] == "structure"


@pytest.mark.parametrize("candidate", [None, [], (), {}, [None, {"a": ()}]])
@pytest.mark.parametrize("reference", [None, [], torch.ones(1)])
def test_no_leaf_is_no_evidence(candidate, reference):
    judgement = outcome(candidate, reference)
    assert not judgement.agrees
    assert judgement.kind == "output_structure"
    assert "empty output tree" in judgement.message
    assert [c["reason"] for c in judgement.comparisons] == ["empty"]


def test_output_where_the_reference_has_none():
    assert outcome(ONE, None).comparisons[0]["reason"] == "structure"
    assert "extra [0]" in outcome([ONE], []).message


def test_none_inside_a_tree():
    assert outcome((ONE, None), (ONE, None)).agrees
    assert not outcome((ONE, None), (ONE, ONE)).agrees
    assert not outcome((ONE, ONE), (ONE, None)).agrees


def test_a_tree_that_contains_itself_ends():
    tree = [ONE]
    tree.append(tree)
    judgement = outcome(tree, tree)
    assert judgement.kind == "output_structure"
    assert "levels deep" in judgement.message


def test_other_leaves_by_equality():
    assert outcome([torch.float16, "a", {1}], [torch.float16, "a", {1}]).agrees
    judgement = outcome("left", "right")
    assert judgement.kind == "values"
    assert "'left'" in judgement.message
    assert "'right'" in judgement.message


def test_a_leaf_that_refuses_comparison_is_a_finding():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    assert outcome(Odd(), Odd()).comparisons[0]["reason"] == "structure"


@pytest.mark.parametrize(("candidate", "reference", "reason"), [
    (1, 1, None), (1, 2, "values"), (True, True, None), (True, False, "values"), (True, 1, "dtype"), (1, 1.0, "dtype"),
    (1.0, 1.0 + 1e-9, None), (1.0, 1.1, "values"), (float("nan"), float("nan"), None),
    (float("nan"), 1.0, "nan_positions"), (float("inf"), float("inf"), None),
    (float("inf"), float("-inf"), "inf_positions"), (1 + 2j, 1 + 2j, None), (1 + 2j, 1 + 3j, "values"),
])
def test_numbers(candidate, reference, reason):
    assert outcome(candidate, reference).comparisons[0]["reason"] == reason


def test_large_python_integers_are_exact():
    comparison = outcome(10**400, 10**400 + 1).comparisons[0]
    assert comparison["max_abs"] == 1
    assert comparison["worst"]["candidate"] == 10**400
    assert outcome(10**400, 0).comparisons[0]["max_abs"] == 10**400


def test_a_python_float_against_a_wider_reference_is_judged_as_float32():
    assert not outcome(1.0, 1.000005).agrees
    assert outcome(1.0, 1.000005, reference_is_wider=True).agrees
