"""The stand-in gives what NumPy gives, for the part it has, and says so for the part it lacks."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from draftproof.lesson import numpy_standin as sp
from draftproof.lesson.numpy_standin.scalars import NotInStandIn

steady = settings(max_examples=100, deadline=None, derandomize=True)
numbers = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan])
)
wholes = st.integers(-50, 50)
kinds = st.sampled_from(["f", "i", "b"])


@st.composite
def rows(draw, size=None, kind=None):
    """A list of numbers of one kind."""
    kind = kind or draw(kinds)
    size = draw(st.integers(1, 6)) if size is None else size
    element = {"f": numbers, "i": wholes, "b": st.booleans()}[kind]
    return draw(st.lists(element, min_size=size, max_size=size))


@st.composite
def pairs(draw):
    """Two rows that fit together: equally long, or one of them of length 1, or a scalar."""
    size = draw(st.integers(1, 6))
    left = draw(rows(size))
    shape = draw(st.sampled_from(["row", "one", "scalar"]))
    if shape == "row":
        return left, draw(rows(size))
    return left, draw(rows(1)) if shape == "one" else draw(st.one_of(numbers, wholes))


def plain(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def outcome(run):
    """Return what a call gives, or the kind of error it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = run()
        except (TypeError, ValueError, IndexError) as error:
            kinds = (TypeError, ValueError, IndexError)
            return next(kind for kind in kinds if isinstance(error, kind))
    return value


def agree(real, ours):
    """Run on both libraries and demand equal results: type of error, dtype and values."""
    expected, got = outcome(real), outcome(ours)
    if isinstance(expected, type):
        assert got is expected
        return
    same_kinds(expected, got)
    if isinstance(expected, list):
        for one, other in zip(expected, got, strict=True):
            close(one, other)
    else:
        close(expected, got)


def close(expected, got):
    np.testing.assert_allclose(plain(got), plain(expected), rtol=1e-12, atol=1e-300)


def same_kinds(expected, got):
    """Demand equal dtypes and shapes, also within lists."""
    if isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for one, other in zip(expected, got, strict=True):
            same_kinds(one, other)
    if isinstance(expected, np.ndarray):
        assert got.dtype.name == expected.dtype.name
        assert got.shape == expected.shape


def given_array(library, values):
    return library.array(values) if isinstance(values, list) else values


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def bools(values):
    return all(isinstance(item, bool) for item in values) if isinstance(values, list) else False


@pytest.mark.parametrize("name", OPERATORS)
@steady
@given(pair=pairs(), swap=st.booleans())
def test_operators(name, pair, swap):
    left, right = reversed(pair) if swap else pair
    if name in "+-*" and bools(left) and bools(right):
        return  # truth values are not numbers; see test_truth_values
    run = OPERATORS[name]
    agree(
        lambda: run(given_array(np, left), given_array(np, right)),
        lambda: run(given_array(sp, left), given_array(sp, right)),
    )


@steady
@given(values=st.lists(st.booleans(), min_size=3, max_size=3), other=rows(3, "b"))
def test_truth_values(values, other):
    for run in (
        lambda m: m.array(values) & m.array(other),
        lambda m: m.array(values) | m.array(other),
        lambda m: ~m.array(values),
        lambda m: m.array(values).sum(),
        lambda m: m.array(values).mean(),
        lambda m: m.logical_and(values, other),
        lambda m: m.logical_or(values, other),
        lambda m: m.logical_not(values),
        lambda m: ~m.array(values)[0],
    ):
        agree(lambda run=run: run(np), lambda run=run: run(sp))


PAIRWISE = [
    "maximum",
    "minimum",
    "add",
    "subtract",
    "multiply",
    "divide",
    "greater",
    "less",
    "equal",
    "isclose",
]


@pytest.mark.parametrize("name", PAIRWISE)
@steady
@given(pair=pairs())
def test_functions_of_two(name, pair):
    left, right = pair
    if bools(left) and bools(right):
        return
    agree(lambda: getattr(np, name)(left, right), lambda: getattr(sp, name)(left, right))


REDUCTIONS = ["sum", "prod", "mean", "min", "max", "argmax", "argmin", "any", "all", "cumsum"]
UNARY = [
    *("abs", "exp", "log", "sqrt", "square", "negative", "sign", "floor", "ceil"),
    *("isnan", "isfinite", "isinf", "argsort", "sort", "unique", "diff"),
    *("count_nonzero", "flatnonzero", "nonzero"),
    *REDUCTIONS,
]


@pytest.mark.parametrize("name", UNARY)
@steady
@given(values=st.one_of(rows(kind="f"), rows(kind="i")))
def test_functions_of_one(name, values):
    if name in ("argsort", "sort", "unique", "diff") and any(x != x for x in values):
        return
    if name == "argsort" and len(set(values)) < len(values):
        return  # NumPy's default sort is not stable
    if name == "sum" and not all(map(math.isfinite, values)):
        return
    agree(lambda: getattr(np, name)(values), lambda: getattr(sp, name)(values))
    if name in REDUCTIONS:
        agree(lambda: getattr(np.array(values), name)(), lambda: getattr(sp.array(values), name)())


@steady
@given(values=rows(), data=st.data())
def test_indexing(values, data):
    key = data.draw(
        st.one_of(
            st.integers(-8, 8),
            st.slices(len(values)),
            st.lists(st.integers(-8, 8), max_size=4),
            st.lists(st.booleans(), min_size=len(values), max_size=len(values)),
            st.lists(st.booleans(), min_size=1, max_size=7),
            st.just(...),
            st.just(1.0),
        )
    )
    agree(lambda: np.array(values)[key], lambda: sp.array(values)[key])

    def write(library):
        out = library.array(values)
        out[key] = 1
        return out

    agree(lambda: write(np), lambda: write(sp))


@steady
@given(values=rows(4), other=rows(4, "f"), mask=rows(4, "b"))
def test_where_clip_and_masks(values, other, mask):
    agree(
        lambda: np.where(mask, np.array(values), np.array(other)),
        lambda: sp.where(mask, sp.array(values), sp.array(other)),
    )
    agree(lambda: np.where(mask, values, 0), lambda: sp.where(mask, values, 0))
    agree(lambda: np.where(mask), lambda: sp.where(mask))
    agree(lambda: np.clip(other, 0, 1), lambda: sp.clip(other, 0, 1))
    agree(
        lambda: np.divide(other, values, out=np.zeros(4), where=np.array(mask)),
        lambda: sp.divide(other, values, out=sp.zeros(4), where=sp.array(mask)),
    )
    agree(lambda: np.array(other)[np.array(mask)], lambda: sp.array(other)[sp.array(mask)])


@steady
@given(tokens=st.lists(st.integers(-1, 6), max_size=8), minlength=st.integers(0, 9))
def test_bincount(tokens, minlength):
    agree(
        lambda: np.bincount(np.array(tokens, dtype=int), minlength=minlength),
        lambda: sp.bincount(sp.array(tokens, dtype=int), minlength=minlength),
    )
    weights = [0.5] * len(tokens)
    if tokens:
        agree(lambda: np.bincount(tokens, weights), lambda: sp.bincount(tokens, weights))


@steady
@given(values=st.lists(st.floats(0, 1), min_size=1), where=st.floats(-1, 2))
def test_searchsorted(values, where):
    values = sorted(values)
    for side in ("left", "right"):
        agree(
            lambda side=side: np.searchsorted(values, where, side=side),
            lambda side=side: sp.searchsorted(values, where, side=side),
        )
        agree(
            lambda side=side: np.searchsorted(values, [where, 0.5], side=side),
            lambda side=side: sp.searchsorted(values, [where, 0.5], side=side),
        )


def in_place(library):
    a = library.array([0.5, 0.3, 0.2])
    alias = library.asarray(a)
    alias -= library.array([0.25, 0.5, 0.25])
    alias[alias < 0] = 0
    a[0] += 1
    a *= 2
    return a


MAKERS = {
    "zeros": lambda m: m.zeros(3),
    "zeros of a tuple": lambda m: m.zeros((2,)),
    "ones int": lambda m: m.ones(3, dtype=int),
    "full": lambda m: m.full(2, 0.5),
    "arange": lambda m: m.arange(5),
    "arange step": lambda m: m.arange(1, 2, 0.25),
    "arange none": lambda m: m.arange(3, 1),
    "linspace": lambda m: m.linspace(0, 1, 5),
    "zeros_like": lambda m: m.zeros_like([1, 2]),
    "ones_like": lambda m: m.ones_like(m.array([1.5])),
    "empty list": lambda m: m.array([]),
    "from a range": lambda m: m.asarray(range(3)),
    "from a tuple": lambda m: m.array((1, 2.5)),
    "as float": lambda m: m.asarray([1, 2], dtype=float),
    "as int": lambda m: m.array([1.7, -1.7]).astype(int),
    "as bool": lambda m: m.array([0, 2]).astype(bool),
    "a number": lambda m: m.array(0.25) * 2,
    "concatenate": lambda m: m.concatenate([[1, 2], [0.5]]),
    "append": lambda m: m.append([1, 2], 3),
    "copy": lambda m: m.copy(m.arange(3)),
    "in place": in_place,
    "in place, wrong type": lambda m: m.arange(3).__itruediv__(2),
    "two lengths": lambda m: m.arange(3) + m.arange(2),
    "truth of a row": lambda m: bool(m.arange(3) > 1),
    "truth of one": lambda m: bool(m.array([1.0]) > 0),
    "dot": lambda m: m.dot([1, 2], [3, 4]) + (m.array([1.0, 2.0]) @ m.array([1.0, 1.0])),
    "outside": lambda m: m.arange(3)[3],
    "largest of nothing": lambda m: m.array([]).max(),
    "divide by zero": lambda m: m.float64(1) / 0,
    "zero by zero": lambda m: m.array([0.0, 1.0])[0] / m.float64(0),
    "integer by zero": lambda m: m.array([1, 0]) / 0,
    "nan_to_num": lambda m: m.nan_to_num(m.array([m.nan, 1.0])),
    "powers": lambda m: m.array([2.0, 3.0]) ** 2 + 2 ** m.array([1.0, 2.0]),
    "remainder": lambda m: m.array([5, -5]) % 3 + m.array([5, -5]) // 3,
    "clip method": lambda m: m.array([-1.0, 2.0]).clip(0, 1),
    "reshape": lambda m: m.arange(3).reshape(-1),
    "allclose": lambda m: m.allclose([1.0, m.nan], [1.0 + 1e-9, m.nan], equal_nan=True),
    "array_equal": lambda m: m.array_equal([1, 2], m.array([1, 2])),
    "std": lambda m: m.array([1.0, 2.0, 4.0]).std(),
    "round": lambda m: m.round(m.array([0.126, 0.124]), 2),
    "unique": lambda m: m.unique([2, 1, 2], return_counts=True),
    "iteration": lambda m: [x / 2 for x in m.array([1, 2])],
    "python sum": lambda m: sum(m.array([0.25, 0.5])),
    "python max": lambda m: max(m.array([0.25, 0.5])),
    "dtype": lambda m: m.array([1.0]).dtype == float and m.array([1]).dtype == m.int64,
    "none": lambda m: [m.arange(2).ndim, m.arange(2).size, len(m.arange(2))],
}


@pytest.mark.parametrize("name", MAKERS)
def test_particular_things(name):
    agree(lambda: MAKERS[name](np), lambda: MAKERS[name](sp))


@pytest.mark.parametrize(
    ("run", "what"),
    [
        (lambda: sp.linalg, "`np.linalg`"),
        (lambda: sp.random.rand(3), "`np.random.rand`"),
        (lambda: sp.random.default_rng(1).normal(), "`Generator.normal`"),
        (lambda: sp.arange(3).strides, "`ndarray.strides`"),
        (lambda: sp.random.seed(3), "`np.random.seed` and the one generator that everybody shares"),
        (lambda: sp.random.seed(3), "make your own: `rng = np.random.default_rng(seed)`"),
        (lambda: sp.add.reduceat, "`np.add.reduceat`"),
        (
            lambda: sp.sum([1], dtype=float),
            "`ndarray.sum` called like this (got an unexp",
        ),
        (lambda: sp.sort([1], 0, None), "`np.sort` called like this (too many positional"),
        (lambda: sp.arange(3).sum(initial=2), "`ndarray.sum` called like this"),
        (lambda: sp.eye(2).sort(axis=0), "`ndarray.sort` called like this"),
        (lambda: sp.random.default_rng(1).random(out=3), "`Generator.random` called like this"),
        (lambda: sp.array([[[1]]]), "arrays of more than two dimensions"),
        (lambda: sp.zeros((2, 2, 2)), "arrays of more than two dimensions"),
        (lambda: sp.zeros((0, 2)), "tables without rows"),
        (lambda: sp.eye(2)[:, :, None], "arrays of more than two dimensions"),
        (lambda: sp.stack([sp.eye(2)]), "arrays of more than two dimensions"),
        (lambda: sp.random.default_rng(1).random((1, 1, 1)), "arrays of more than two dimensions"),
        (lambda: sp.array(["a"]), "arrays of str"),
        (lambda: sp.array([1], dtype="float32"), "the dtype 'float32'"),
        (lambda: sp.array(x for x in "ab"), "arrays made of a generator (give a list)"),
        (lambda: sp.random.default_rng(1).choice(3, size=2, replace=False), "replace=False"),
    ],
)
def test_what_is_missing_is_one_sentence(run, what):
    with pytest.raises(NotInStandIn) as caught:
        run()
    message = str(caught.value)
    assert message.startswith("the page's small stand-in for NumPy lacks")
    assert what in message
    assert message.endswith("learn check LESSON FILE` in a terminal to use the real one")


# -- tables -----------------------------------------------------------------------------------


@st.composite
def tables(draw, kind=None, shape=None):
    """A list of rows of one kind; numbers that sum to the same in any order."""
    height, width = shape or (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    element = {
        "f": st.sampled_from([-2.5, -1.0, 0.0, 0.25, 0.5, 1.0, 3.0]),
        "i": wholes,
        "b": st.booleans(),
    }[kind or draw(kinds)]
    row = st.lists(element, min_size=width, max_size=width)
    return draw(st.lists(row, min_size=height, max_size=height))


def both(run):
    agree(lambda: run(np), lambda: run(sp))


@pytest.mark.parametrize("name", OPERATORS)
@steady
@given(data=st.data())
def test_operators_on_tables(name, data):
    left = data.draw(tables("f"))
    height, width = len(left), len(left[0])
    shapes = st.sampled_from([(height, width), (1, width), (height, 1), (1, 1), (height + 1, 1)])
    right = data.draw(
        st.one_of(
            shapes.flatmap(lambda shape: tables("f", shape)),
            tables("i", (height, width)),
            tables("f", (1, width)).map(lambda rows: rows[0]),
            st.sampled_from([2, 0.5, 0]),
        )
    )
    run = OPERATORS[name]
    both(lambda m: run(m.array(left), m.array(right)))
    both(lambda m: run(m.array(right), m.array(left)))


ALONG = ["sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "std", "var"]


@pytest.mark.parametrize("name", [*ALONG, "cumsum", "cumprod"])
@steady
@given(values=tables(), axis=st.sampled_from([None, 0, 1, -1, -2, 2]))
def test_reductions_of_tables(name, values, axis):
    both(lambda m: getattr(m, name)(values, axis=axis))
    both(lambda m: getattr(m.array(values), name)(axis=axis))
    if name in ALONG:
        both(lambda m: getattr(m.array(values), name)(axis=axis, keepdims=True))


KEYS = st.one_of(
    st.integers(-4, 4),
    st.slices(4),
    st.lists(st.integers(-2, 1), min_size=1, max_size=3),
    st.just(...),
)
PAIRS_OF_KEYS = st.tuples(KEYS, KEYS).filter(lambda pair: pair != (..., ...))


@steady
@given(values=tables(), key=st.one_of(KEYS, PAIRS_OF_KEYS))
def test_indexing_tables(values, key):
    real = outcome(lambda: np.array(values)[key])
    if isinstance(real, np.ndarray) and real.ndim == 2 and 0 in real.shape:
        return
    both(lambda m: m.array(values)[key])

    def write(library):
        out = library.array(values)
        out[key] = 1
        return out

    both(write)

    def write_its_own(library):
        out = library.array(values)
        out[key] = out[key] + out[key]
        return out

    both(write_its_own)


@steady
@given(values=tables("f", (3, 2)), mask=tables("b", (3, 2)), row=rows(2, "f"))
def test_masks_and_choices_on_tables(values, mask, row):
    both(lambda m: m.array(values)[m.array(mask)])
    both(lambda m: m.where(mask, values, row))
    both(lambda m: m.where(m.array(row) > 0, values, 0))
    both(lambda m: m.where(m.array(values) > 0))
    both(lambda m: m.maximum(values, row))
    both(lambda m: m.clip(m.array(values), min=0, max=0.5))
    both(lambda m: m.divide(values, row, out=m.zeros((3, 2)), where=m.array(mask)))
    both(lambda m: m.log(values, out=m.zeros((3, 2)), where=m.array(values) > 0))

    def write(library):
        out = library.array(values)
        out[library.array(mask)] = 9
        return out

    both(write)


def through_views(library):
    a = library.arange(12).reshape(3, 4).astype(float)
    a[1][2] = 99
    a[0] += 1
    a[:, 1] *= 2
    a.T[3, 0] = -1
    part = a[1:, ::2]
    part[0, 0] = 50
    part -= 1
    column = a[:, 0]
    column[2] = 7
    a[2, 1:] = [1, 2, 3]
    a[:, 3] = library.array([4.0, 5.0, 6.0])
    row = library.arange(3)
    row[:, None][1] = 5
    row[None, :][0, 2] = 6
    return [a, part, column, row, a.T]


TABLES = {
    "views": through_views,
    "zeros": lambda m: m.zeros((2, 3)),
    "ones": lambda m: m.ones([2, 2], dtype=int),
    "full": lambda m: m.full((2, 2), 0.5),
    "like": lambda m: m.zeros_like(m.eye(2)) + m.ones_like([[1, 2], [3, 4]]),
    "eye": lambda m: [m.eye(3), m.identity(2), m.eye(2, 3, 1), m.eye(2, dtype=int)],
    "mixed kinds": lambda m: m.array([[1, 2], [0.5, 1]]),
    "uneven": lambda m: m.array([[1, 2], [1]]),
    "rows of arrays": lambda m: m.array([m.arange(2), m.arange(2) / 2]),
    "diag": lambda m: [m.diag([1, 2]), m.diag(m.array([[1.0, 2.0], [3.0, 4.0]]))],
    "outer": lambda m: m.outer([0.5, 0.25], [1, 2, 3]),
    "column by row": lambda m: m.array([1.0, 2.0])[:, None] * m.array([3.0, 4.0, 5.0]),
    "newaxis": lambda m: m.arange(2)[m.newaxis, :] + m.arange(3)[:, m.newaxis],
    "products": lambda m: [
        m.eye(2) @ m.array([1.0, 2.0]),
        m.array([1.0, 2.0]) @ m.array([[1.0, 2.0], [3.0, 4.0]]),
        m.dot([[1, 2], [3, 4]], [[1, 0], [1, 1]]),
        m.matmul(m.eye(2), m.eye(2)),
    ],
    "products that do not fit": lambda m: m.eye(2) @ m.arange(3),
    "normalised": lambda m: m.array([[1.0, 3.0], [2.0, 2.0]]) / m.array([[4.0], [4.0]]),
    "fill_diagonal": lambda m: [m.fill_diagonal(a := m.zeros((2, 2)), [1, 2]), a][1],
    "diag_indices": lambda m: [m.eye(2)[m.diag_indices(2)], *m.diag_indices(3)],
    "stack": lambda m: [m.stack([[1, 2], [3, 4]]), m.stack([[1, 2], [3, 4]], axis=1)],
    "vstack": lambda m: m.vstack([[1, 2], m.eye(2)]),
    "hstack": lambda m: [m.hstack([[1, 2], [3]]), m.hstack([m.eye(2), m.eye(2)])],
    "column_stack": lambda m: m.column_stack([[1, 2], [3, 4]]),
    "concatenate": lambda m: m.concatenate([m.eye(2), m.ones((2, 1))], axis=1),
    "concatenate rows and tables": lambda m: m.concatenate([m.eye(2), [1, 2]]),
    "kinds joined": lambda m: [m.concatenate([[True], [False]]), m.concatenate([[1], [True]])],
    "append": lambda m: m.append(m.eye(2), 3),
    "reshape": lambda m: [m.arange(6).reshape(2, -1), m.arange(6).reshape((3, 2)).reshape(-1)],
    "reshape, not fitting": lambda m: m.arange(6).reshape(4, 2),
    "reduce": lambda m: [
        m.minimum.reduce([[0.5, 0.25], [0.25, 0.5]]), m.maximum.reduce([1, 3, 2]),
        m.add.reduce([[1, 2], [3, 4]], axis=1), m.add.reduce([0.5, 0.25]),
        m.multiply.reduce([[1, 2], [3, 4]], axis=None),
    ],
    "accumulate": lambda m: [
        m.maximum.accumulate([1, 3, 2]), m.add.accumulate([[1, 2], [3, 4]]),
        m.multiply.accumulate([[1, 2], [3, 4]], axis=1),
    ],
    "ufunc outer": lambda m: m.minimum.outer([0.5, 0.25], [0.25, 1.0]),
    "cumprod": lambda m: [m.cumprod([0.9, 0.5, 0.1]), m.cumprod([1, 2, 3])],
    "take": lambda m: [m.take([5, 6, 7], [2, 0]), m.take([5, 6], 1), m.eye(2).take([1], axis=1)],
    "repeat": lambda m: [m.repeat([1, 2], 2), m.repeat([1, 2], [0, 3]), m.eye(2).repeat(2, axis=0)],
    "digitize": lambda m: [
        m.digitize([0.1, 0.5, 2.0], [0.0, 0.5, 1.0]), m.digitize(0.5, [0.5, 1.0], right=True),
    ],
    "searchsorted of a table": lambda m: m.searchsorted([0.5, 1.0], [[0.5, 0.7], [0.1, 2.0]]),
    "average": lambda m: [
        m.average([1, 2, 4]), m.average([1.0, 3.0], weights=[3, 1]),
        m.average([[1.0, 2.0], [3.0, 4.0]], axis=0, weights=[1, 3]),
        m.average([[1.0, 2.0], [3.0, 4.0]], axis=1, weights=[1, 3]),
    ],
    "clip by name": lambda m: [m.clip([-1.0, 2.0], min=0), m.array([-1, 2]).clip(max=1)],
    "transpose": lambda m: [m.transpose([[1, 2], [3, 4]]), m.array([[1, 2]]).transpose()],
    "trace": lambda m: [m.trace(m.eye(3)), m.eye(2).trace()],
    "shape": lambda m: [m.shape([[1, 2]]), m.ndim(m.eye(2)), m.eye(2).size, m.size(m.eye(3))],
    "iteration": lambda m: [row.sum() for row in m.array([[1, 2], [3, 4]])],
    "python sum": lambda m: sum(m.array([[1, 2], [3, 4]])),
    "diff": lambda m: m.diff([[1, 2, 4], [1, 1, 1]]),
    "sort": lambda m: [m.sort([[3, 1], [2, 0]]), m.argsort([[3, 1], [2, 5]])],
    "count": lambda m: [m.count_nonzero(m.eye(3)), m.flatnonzero(m.eye(2)), m.nonzero(m.eye(2))],
    "unary": lambda m: [-m.eye(2), abs(-m.eye(2)), ~(m.eye(2) > 0), m.exp(m.zeros((1, 2)))],
    "allclose": lambda m: m.allclose(m.eye(2), [[1, 0], [0, 1]]) and m.array_equal(m.eye(1), [[1]]),
    "assign a wrong length": lambda m: m.eye(2).__setitem__(0, [1, 2, 3]),
    "a table in a row": lambda m: m.arange(2).__iadd__(m.ones((2, 2), dtype=int)),
    "an axis too many": lambda m: m.arange(3).sum(axis=1),
    "a key too many": lambda m: m.arange(3)[0, 1],
    "keepdims of a row": lambda m: m.arange(3).sum(keepdims=True),
    "ddof": lambda m: m.var([1.0, 2.0, 4.0], ddof=1),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_particular_things_about_tables(name):
    both(TABLES[name])


@steady
@given(size=st.integers(1, 4), data=st.data())
def test_adding_at_places_that_come_twice(size, data):
    places = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=6))
    others = data.draw(
        st.lists(st.integers(0, size - 1), min_size=len(places), max_size=len(places))
    )

    def add(library):
        row, table = library.zeros(size), library.zeros((size, size))
        library.add.at(row, places, 1)
        library.add.at(row, 0, 0.5)
        library.add.at(table, (places, others), 0.25)
        return [row, table]

    both(add)


def test_the_table_of_lesson_2_written_with_two_dimensions():
    def made(library):
        p, q = library.array([0.5, 0.3, 0.2]), library.array([0.25, 0.5, 0.25])
        kept, gap = library.minimum(p, q), library.maximum(p - q, 0)
        return library.diag(kept) + library.outer(q - kept, gap / gap.sum())

    both(made)
    assert made(sp).shape == (3, 3)


def through_slices(library):
    a = library.arange(6)
    part, inner = a[1:], a[1:][::2]
    part[0] = 9
    a[2] = 8
    part += 1
    inner[-1] = 7
    a[4:] -= 1
    a[::-2].sort()
    return library.concatenate([a, part, inner])


def test_a_slice_is_a_view():
    agree(lambda: through_slices(np), lambda: through_slices(sp))


def test_divisions_warn_and_can_be_silenced_or_raised():
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        sp.array([1.0]) / 0
    with pytest.warns(RuntimeWarning, match="invalid value encountered in divide"):
        sp.float64(0) / 0.0
    with sp.errstate(divide="ignore", invalid="ignore"):
        assert math.isinf((sp.array([1.0]) / 0)[0])
    with sp.errstate(all="raise"), pytest.raises(FloatingPointError):
        sp.array([0.0]) / 0


def test_it_says_what_it_is():
    assert "This is not NumPy" in sp.__doc__
    assert "standin" in sp.__version__
    assert all(hasattr(np, name) for name in sp.__all__)


def test_it_needs_no_other_module():
    sources = Path(sp.__file__).parent.glob("*.py")
    assert not any("import numpy" in file.read_text(encoding="utf-8") for file in sources)


# -- random numbers ---------------------------------------------------------------------------


def draws(rng):
    return [
        rng.random(), *rng.random(3).tolist(), rng.choice(5), rng.integers(10), rng.uniform(2, 3),
        *rng.choice([7, 8], size=3, p=[0.5, 0.5]).tolist(), *rng.permutation(4).tolist(),
    ]  # fmt: skip


def test_the_same_seed_gives_the_same_stream():
    assert draws(sp.random.default_rng(3)) == draws(sp.random.default_rng(3))
    assert draws(sp.random.default_rng(3)) != draws(sp.random.default_rng(4))
    assert draws(sp.random.default_rng([1, 2])) == draws(sp.random.default_rng((1, 2)))
    rng = sp.random.default_rng()
    assert sp.random.default_rng(rng) is rng


@pytest.mark.parametrize("seed", [-1, 1.5, "x", [1, -1]])
def test_seeds_that_numpy_refuses_are_refused(seed):
    for library in (np, sp):
        with pytest.raises((ValueError, TypeError)):
            library.random.default_rng(seed)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.5, 0.4], "probabilities do not sum to 1"),
        ([1.5, -0.5], "probabilities are not non-negative"),
        ([math.nan, 1.0], "probabilities contain NaN"),
        ([1.0], "must have same size"),
    ],
)
def test_probabilities_that_numpy_refuses_are_refused(p, message):
    for library in (np, sp):
        with pytest.raises(ValueError, match=f"(?i){message}"):
            library.random.default_rng(1).choice(2, p=p)


LAW = [0.5, 0.0, 0.3, 0.2]
N = 20_000


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.choice(4, size=N, p=LAW),
        lambda rng: sp.array([rng.choice(4, p=LAW) for _ in range(N)]),
        lambda rng: sp.searchsorted(sp.cumsum(LAW), rng.random(N), side="right"),
        lambda rng: sp.array([rng.multinomial(1, LAW).argmax() for _ in range(N)]),
    ],
    ids=["choice", "one by one", "running sums", "multinomial"],
)
def test_draws_follow_their_law(draw):
    """Fixed seed; a correct generator would fail this for one seed in a million."""
    counts = sp.bincount(draw(sp.random.default_rng(1)), minlength=4).tolist()
    assert counts[1] == 0
    kept = [0, 2, 3]
    assert chisquare([counts[i] for i in kept], [N * LAW[i] for i in kept]).pvalue > 1e-6


def test_draws_in_tables():
    rng = sp.random.default_rng(4)
    assert rng.random((2, 3)).shape == rng.uniform(0, 2, size=(2, 3)).shape == (2, 3)
    assert rng.choice([5, 6], size=(2, 2)).shape == rng.integers(3, size=(2, 2)).shape == (2, 2)
    flat, table = sp.random.default_rng(5).random(6), sp.random.default_rng(5).random((2, 3))
    assert table.flatten().tolist() == flat.tolist()
    shuffled = sp.arange(5)
    rng.shuffle(shuffled)
    assert sorted(shuffled.tolist()) == [0, 1, 2, 3, 4]


def test_binomial_draws_follow_their_law():
    """Fixed seed; a correct generator would fail this for one seed in a million."""
    rng = sp.random.default_rng(6)
    counts = sp.bincount(rng.binomial(2, 0.25, size=N), minlength=3).tolist()
    assert chisquare(counts, [N * x for x in (0.5625, 0.375, 0.0625)]).pvalue > 1e-6
    assert rng.binomial(1, [0.0, 1.0]).tolist() == [0, 1]
    for library in (np, sp):
        with pytest.raises(ValueError, match="p is NaN"):
            library.random.default_rng(1).binomial(1, 1.5)


def test_ranges():
    rng = sp.random.default_rng(2)
    assert set(rng.integers(1, 3, size=100).tolist()) == {1, 2}
    assert set(rng.integers(1, 3, size=100, endpoint=True).tolist()) == {1, 2, 3}
    assert rng.multinomial(10, [0.5, 0.5]).sum() == 10
    assert all(2 <= x < 3 for x in rng.uniform(2, 3, 100))
    assert isinstance(rng.choice([0.5, 1.5]), float)
