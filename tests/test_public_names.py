"""What ``from draftproof import ...`` offers, and that the three lists of it agree."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import draftproof

SOURCE = ast.parse(Path(draftproof.__file__).read_text(encoding="utf-8"))


def names_for_type_checkers():
    block = next(node for node in SOURCE.body if isinstance(node, ast.If))
    return {(imported.module, alias.name) for imported in block.body for alias in imported.names}


def test_type_checkers_and_the_interpreter_see_the_same_names():
    lazily = {(module, name) for module, names in draftproof._HOME.items() for name in names}
    assert names_for_type_checkers() == lazily
    assert sorted(name for _, name in lazily) == sorted(draftproof.__all__)


@pytest.mark.parametrize("name", draftproof.__all__)
def test_a_public_name_is_there_documented_and_at_home(name):
    thing = getattr(draftproof, name)
    assert thing is getattr(import_module(draftproof._WHERE[name]), name)
    assert thing.__doc__
    assert name in dir(draftproof)


@pytest.mark.parametrize(
    "name",
    [
        "residual",
        "rejection_probability",
        "exact_distribution",
        "naive_distribution",
        "speculative_step",
        "empirical",
        "expected_tokens",
        "throughput",
        "speedup",
    ],
)
def test_the_promised_functions_are_public(name):
    assert name in draftproof.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"draftproof.*no_such_name"):
        draftproof.no_such_name  # noqa: B018


def test_every_exception_of_ours_is_one_tree():
    errors = import_module("draftproof.errors")
    classes = [thing for thing in vars(errors).values() if isinstance(thing, type)]
    assert all(issubclass(one, errors.DraftproofError) for one in classes)
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.MissingExtra, ImportError)
    listed = [one.__name__ for one in classes]
    assert all(name in errors.__doc__ for name in listed)
