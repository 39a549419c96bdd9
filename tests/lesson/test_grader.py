"""The grader: passes what is right, recognises what is wrong, survives what is neither.

Everything runs on the real NumPy and on the stand-in. Random tests of the grader have an error
level of 1e-6 in total, which the last part computes exactly.
"""

import json
import shutil
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy
import pytest
from scipy.stats import binom

from draftproof.lesson import find, grader, numpy_standin
from draftproof.lesson.content import Code
from draftproof.lesson.grader import grade, scripted
from draftproof.lesson.grader.counts import LEVEL, band, drawing, inside, wilson
from draftproof.lesson.grader.program import OUTPUT_LIMIT, Problem
from draftproof.lesson.grader.scripted import Unscripted, law
from draftproof.lesson.grader.values import first_difference, numbers_of, table_of, token_of
from draftproof.lesson.numpy_standin import random as standin_random

CODE = find(3).only(Code)
EXERCISE = CODE.exercise()
WHY = {wrong.id: wrong.why for wrong in CODE.known_wrong}


@pytest.fixture(params=["numpy", "stand-in"])
def either_numpy(request, monkeypatch):
    if request.param == "stand-in":
        monkeypatch.setitem(sys.modules, "numpy", numpy_standin)
        monkeypatch.setitem(sys.modules, "numpy.random", standin_random)
    return request.param


@pytest.fixture
def standin(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", numpy_standin)


def grade_with(code):
    """Grade the reference solution with some of its functions replaced."""
    return grade(f"{CODE.reference}\n{code}", EXERCISE)


def first_problem(reply):
    assert reply["status"] != "harness-error", reply["message"]
    return next(test for test in reply["tests"] if test["status"] != "pass")


# -- right programs ---------------------------------------------------------------------------


@pytest.mark.usefixtures("either_numpy")
def test_the_reference_passes_and_is_drawn():
    seen = []
    reply = grade(CODE.reference, EXERCISE, seen.append)
    assert (reply["status"], reply["passed"], reply["message"]) == ("pass", True, "")
    assert seen == reply["tests"]
    assert [test["id"] for test in seen] == [test.id for test in CODE.tests]
    assert all(
        set(test) == {"id", "name", "status", "call", "got", "message", "known"} for test in seen
    )
    json.dumps(reply, allow_nan=False)
    exact, naive = reply["plots"]["series"]
    assert (exact["method"], naive["method"]) == ("exact", "naive")
    assert exact["holds_p"] == [True, True, True]
    assert naive["holds_p"] == [False, False, False]


STEPS = {
    "running sums": """
def draw(weights, u):
    return int(np.searchsorted(np.cumsum(weights), u, side="right"))
def speculative_step(p, q, rng):
    token = draw(q, rng.random())
    if rng.random() <= p[token] / q[token]:
        return token
    return draw(residual(p, q), rng.random())
""",
    "luck first": """
def draw(weights, u):
    for token, weight in enumerate(weights):
        if u < weight:
            return token
        u -= weight
    return len(weights) - 1
def speculative_step(p, q, rng):
    u = rng.random(3)
    token = draw(q, u[0])
    return token if u[1] * q[token] < p[token] else draw(residual(p, q), u[2])
""",
    "multinomial": """
def speculative_step(p, q, rng):
    token = rng.multinomial(1, q).argmax()
    if rng.uniform() < min(1.0, p[token] / q[token]):
        return token
    return np.argmax(rng.multinomial(1, residual(p, q)))
""",
    "choice as coin": """
def speculative_step(p, q, rng):
    token = rng.choice(np.arange(len(q)), p=q / np.sum(q))
    keep = min(1, p[token] / q[token])
    if rng.choice([1, 0], p=[keep, 1 - keep]):
        return int(token)
    return int(rng.choice(np.arange(len(q)), p=residual(p, q)))
""",
    "logarithms": """
def speculative_step(p, q, rng):
    token = rng.choice(len(q), 1, p=q)[0]
    if np.log(rng.random()) < np.log(p[token]) - np.log(q[token]):
        return int(token)
    return int(rng.choice(len(q), size=1, p=residual(p, q))[0])
""",
    "binomial": """
def speculative_step(p, q, rng):
    token = rng.choice(len(q), p=q)
    if rng.binomial(1, min(1, p[token] / q[token])):
        return int(token)
    return int(rng.choice(len(q), p=residual(p, q)))
""",
    "integers": """
def speculative_step(p, q, rng):
    token = rng.choice(len(q), p=q)
    if rng.integers(240) < 240 * p[token] / q[token]:
        return int(token)
    return int(rng.choice(len(q), p=residual(p, q)))
""",
    "sampled, too many branches": """
def speculative_step(p, q, rng):
    luck = rng.random(12)
    token = int(np.searchsorted(np.cumsum(q), luck[0], side="right"))
    if luck[1] * q[token] < p[token]:
        return token
    return int(np.searchsorted(np.cumsum(residual(p, q)), luck[2], side="right"))
""",
}
OTHERS = {
    "a loop of steps": """
def empirical(p, q, trials, seed, method="exact"):
    rng = np.random.default_rng(seed)
    counts = np.zeros(len(p))
    for _ in range(trials):
        if method == "exact":
            token = speculative_step(p, q, rng)
        else:
            token = rng.choice(len(q), p=q)
            if rng.random() >= min(1, p[token] / q[token]):
                token = rng.choice(len(p), p=p)
        counts[token] += 1
    return counts / trials
""",
    "lists only": """
def residual(p, q):
    gap = [max(0, a - b) for a, b in zip(p, q)]
    total = sum(gap)
    return [x / total for x in gap] if total else list(p)
def exact_distribution(p, q):
    reject, rest = rejection_probability(p, q), residual(p, q)
    kept = [b * min(1, a / b) if b > 0 else 0 for a, b in zip(p, q)]
    return [k + reject * r for k, r in zip(kept, rest)]
""",
    "an array without dimensions": """
def rejection_probability(p, q):
    return np.array(1 - np.minimum(p, q).sum())
""",
    "warnings and prints": """
def exact_distribution(p, q):
    print("p/q is", p / q)
    kept = np.where(q > 0, q * np.minimum(1, p / q), 0)
    return kept + rejection_probability(p, q) * residual(p, q)
""",
}


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize("code", [*STEPS.values(), *OTHERS.values()], ids=[*STEPS, *OTHERS])
def test_every_right_style_passes(code):
    reply = grade_with(code)
    assert reply["passed"], first_problem(reply)


def test_a_style_only_numpy_knows_is_judged_by_sampling():
    reply = grade_with(
        """
def speculative_step(p, q, rng):
    with np.errstate(divide="ignore"):
        token = int(np.argmin(rng.exponential(size=len(q)) / q))
        if rng.uniform() < min(1.0, p[token] / q[token]):
            return token
        return int(np.argmin(rng.exponential(size=len(q)) / residual(p, q)))
"""
    )
    assert reply["passed"], first_problem(reply)


def test_the_librarys_own_functions_are_a_solution():
    names = ", ".join(CODE.entry)
    reply = grade(f"import numpy as np\nfrom draftproof import {names}", EXERCISE)
    assert reply["passed"], first_problem(reply)


# -- wrong programs ---------------------------------------------------------------------------


@pytest.mark.usefixtures("either_numpy")
def test_the_starter_fails_every_test():
    reply = grade(CODE.starter, EXERCISE)
    assert not reply["passed"]
    assert "plots" not in reply
    assert {test["status"] for test in reply["tests"]} == {"fail"}
    assert "returned nothing (None)" in reply["tests"][0]["message"]


@pytest.mark.parametrize("off", [1e-6, -1e-6, 0.01])
def test_a_near_miss_is_a_miss(off):
    code = f"""
_right = residual
def residual(p, q):
    return _right(p, q) + np.array([{off}, {-off}, 0.0])
"""
    problem = first_problem(grade_with(code))
    assert problem["id"] == "residual-worked"
    assert problem["known"] == ""


VARIANTS = {
    "residual-is-p": "def residual(p, q): return p",
    "residual-not-normalised": "def residual(p, q): return [max(0, a - b) for a, b in zip(p, q)]"
    " if sum(abs(a - b) for a, b in zip(p, q)) else p",
    "residual-zero-forgotten": "def residual(p, q): return np.where(p > q, p - q, 0)"
    " / np.sum(np.where(p > q, p - q, 0))",
    "residual-changes-inputs": "def residual(p, q):\n    q[0] = 0\n    return p",
    "exact-returns-p": "def exact_distribution(p, q): return p / np.sum(p)",
    "step-redraws": """
def speculative_step(p, q, rng):
    while True:
        token = rng.choice(len(q), p=q)
        if rng.random() < p[token] / q[token]:
            return int(token)
""",
    "step-naive": """
def empirical(p, q, trials, seed, method="exact"):
    rng = np.random.default_rng(seed)
    drafts = rng.choice(len(q), size=trials, p=q)
    kept = rng.random(trials) < np.minimum(1, p[drafts] / q[drafts])
    out = np.where(kept, drafts, rng.choice(len(p), size=trials, p=p))
    return np.bincount(out, minlength=len(p)) / trials
""",
    "step-always-accepts": """
def empirical(p, q, trials, seed, method="exact"):
    drafts = np.random.default_rng(seed).choice(len(q), size=trials, p=q)
    return np.bincount(drafts, minlength=len(p)) / trials
""",
    "empirical-method-ignored": """
_right = empirical
def empirical(p, q, trials, seed, method="exact"):
    return _right(p, q, trials, seed, "exact")
""",
}


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize("known", VARIANTS)
def test_a_mistake_is_recognised_however_it_is_written(known):
    problem = first_problem(grade_with(VARIANTS[known]))
    assert (problem["known"], problem["message"]) == (known, WHY[known])


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize("small", ["1e-7", "1e-8", "1e-9"])
@pytest.mark.parametrize("zero", ["", "    if np.all(p == q):\n        return p\n"])
def test_a_small_number_added_to_the_sum_is_called_nearly_right(small, zero):
    reply = grade_with(
        f"""
def residual(p, q):
{zero}    gap = np.maximum(p - q, 0)
    return gap / (gap.sum() + {small})
"""
    )
    problem = first_problem(reply)
    assert problem["id"] == "residual-worked"
    assert problem["known"] == ""
    assert problem["message"].startswith("This is nearly right, and off by ")
    assert "not add a small number such as 1e-8 to a sum" in problem["message"]
    known = {test["known"] for test in reply["tests"]} - {""}
    assert known == (set() if zero else {"residual-zero-zeros"})


@pytest.mark.parametrize("name", CODE.entry)
def test_no_diagnosis_names_a_program_that_is_right_on_the_case(name):
    """A known mistake whose output would be accepted cannot be why the case failed."""
    known = {wrong.id: wrong for wrong in CODE.known_wrong if wrong.sign == "output"}
    accepted = {
        wrong.id: {
            test["id"] for test in grade_with(wrong.code)["tests"] if test["status"] == "pass"
        }
        for wrong in known.values()
        if wrong.function == name
    }
    for wrong in accepted:
        for test in grade_with(known[wrong].code)["tests"]:
            if test["known"] in accepted:
                assert test["id"] not in accepted[test["known"]]


NAIVE = """
def empirical(p, q, trials, seed, method="exact"):
    rng = np.random.default_rng(seed)
    def step():
        if method == "exact":
            return speculative_step(p, q, rng)
        {}
    return np.bincount(np.array([int(step()) for _ in range(trials)]), minlength=len(p)) / trials
"""
COIN = """token, coin = rng.choice(len(q), p=q), rng.random()
        if coin * q[token] < p[token]: return token
        rng.random()
        return rng.choice(len(p), p={})"""
NAIVE_MISTAKES = {
    "return rng.choice(len(p), p=p)": "naive-exact",
    COIN.format("residual(p, q)"): "naive-exact",
    COIN.format("q"): "naive-draft",
    "return rng.choice(len(q), p=q)": "naive-all-kept",
    "return rng.integers(len(q))": "",
}


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize("line", NAIVE_MISTAKES, ids=range(len(NAIVE_MISTAKES)))
def test_a_wrong_naive_simulation_gets_advice_for_the_naive_method(line):
    problem = first_problem(grade_with(NAIVE.format(line)))
    known = NAIVE_MISTAKES[line]
    assert (problem["id"], problem["known"]) == ("empirical-naive", known)
    if known:
        assert problem["message"] == WHY[known]
    else:
        assert "the frequencies are too far from [0.375, 0.375, 0.25]" in problem["message"]


OWN_LUCK = {
    "all": ("own", "own", "own"),
    "the draft": ("own", "rng", "rng"),
    "the coin": ("rng", "own", "rng"),
    "the replacement": ("rng", "rng", "own"),
}
MAKERS = ["np.random.default_rng()", "np.random.default_rng(7)"]


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize("sources", OWN_LUCK.values(), ids=OWN_LUCK)
@pytest.mark.parametrize("maker", MAKERS)
def test_a_step_with_luck_of_its_own_is_told_so(sources, maker):
    """One message every time; a fresh generator on each call, or one made before all calls."""
    draft, coin, again = sources
    reply = grade_with(
        f"""
{"" if maker.endswith("()") else "own = " + maker}
def speculative_step(p, q, rng):
    {"own = " + maker if maker.endswith("()") else "pass"}
    token = {draft}.choice(len(q), p=q)
    if {coin}.random() * q[token] < p[token]:
        return int(token)
    return int({again}.choice(len(p), p=residual(p, q)))
"""
    )
    problem = first_problem(reply)
    assert problem["known"] == ""
    if draft == coin == "own":
        assert "never asked the given `rng`, and yet its tokens vary" in problem["message"]
    else:
        assert problem["message"].startswith("Part of the luck does not come from the given `rng`.")


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize(
    "body",
    [
        "return random.choices(range(len(p)), weights=list(p + 0 * q))[0]",
        "return 1 + 0 * len(q)",
        "return int(np.random.default_rng(3).choice(len(p), p=p + 0 * q))",
    ],
)
def test_a_step_that_never_asks_is_told_so(body):
    problem = first_problem(
        grade_with(f"import random\ndef speculative_step(p, q, rng):\n    {body}")
    )
    assert problem["known"] == ""
    assert "Your function never asked the given `rng`" in problem["message"]


@pytest.mark.parametrize(
    ("got", "expect", "message"),
    [
        ([2], [1], "Already the first token is not right."),
        ([1, 2], [1, 1], "The first token is right, and the one after it is not."),
        ([1, 2, 3], [1, 2, 4], "The first 2 tokens are right, and the one after them is not."),
        ([1, 2], [1], "There is 1 token too many at the end."),
        ([1, 2, 3], [1], "There are 2 tokens too many at the end."),
        ([1], [1, 2], "The tokens are right as far as they go, but 1 is missing at the end."),
        ([1], [1, 2, 3], "The tokens are right as far as they go, but 2 are missing at the end."),
        ([], [1], "The list is empty; 1 token should be in it."),
    ],
)
def test_where_a_list_of_tokens_leaves_the_right_one(got, expect, message):
    assert first_difference(got, expect) == message


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: numbers_of("f", [1.0], 2), "`f` returned 1 number; return 2 numbers, zeros too."),
        (lambda: numbers_of("f", [1.0, 2.0], 1), "`f` returned 2 numbers; return 1 number."),
        (lambda: numbers_of("f", {}, 2), "`f` returned a dict; return 2 numbers."),
        (lambda: numbers_of("f", "a", 2), "`f` returned text; return 2 numbers."),
        (lambda: table_of("f", [[1.0]], [2, 2]), "`f` returned 1 row; return 2 rows."),
        (lambda: table_of("f", [[1.0]] * 2, [1]), "`f` returned 2 rows; return 1 row."),
        (
            lambda: numbers_of("f", None, 2),
            "`f` returned nothing (None); does every path end with `return`?",
        ),
        (
            lambda: numbers_of("f", iter([]), 2),
            "`f` returned a generator; return 2 numbers, for example list(...).",
        ),
    ],
)
def test_what_came_back_instead_is_a_whole_sentence(read, message):
    with pytest.raises(Problem) as caught:
        read()
    assert caught.value.message == message


def test_a_table_is_told_its_row_and_column():
    code = find(2).only(Code)
    reply = grade(
        code.reference
        + """
_table = maximal_coupling
def maximal_coupling(p, q):
    rows = [list(map(float, row)) for row in _table(p, q)]
    rows[2][0] += 0.125
    rows[0][2] -= 0.125 if rows[0][2] else 0
    rows[1][1] -= 0.125
    return rows
""",
        code.exercise(),
    )
    assert (
        "the entry in row 1, column 1 is too small, the entry in row 2, column 0 is too large"
        in first_problem(reply)["message"]
    )
    assert "token" not in first_problem(reply)["message"]


ACCIDENTS = {
    "def residual(p, q):\n    import sys\n    sys.exit(3)": "Your program calls exit(); return",
    "def residual(p, q): return input()": "input() has nobody to answer it here",
    "def residual(p, q): return residual(p, q)": "Your function calls itself without end (line",
    "def residual(p, q):\n    raise MemoryError": "asked for more memory than there is (line",
    "def residual(p, q):\n    yield 1": "returned a generator; return 3 numbers",
    "def residual(p, q): return 'abc'": "returned text; return 3 numbers",
    "def residual(p, q): return {0: 1}": "returned a dict; return 3 numbers",
    "def residual(p, q): return [1, 0]": "returned 2 numbers; return 3 numbers",
    "def residual(p, q): return [[1, 0, 0]]": "something other than numbers",
    "def residual(p, q): return [None] * 3": "something other than numbers",
    "def residual(p, q): return 0.25": "returned a single number; return 3 numbers",
    "def residual(p, q): return (p + q) * float('nan')": "contains nan, which comes from a",
    "def residual(p, q): return [0.5, 0.2, 0.3 + 0 * q[0]]": "token 0 is too small",
    "def residual(p): return p": "the tests call `residual(p, q)`",
    "def residual(p, q): return numpy.sum(p)": "NameError: name 'numpy' is not defined (line",
    "def residual(p, q):\n    if p > q: return p": "use np.all(...) or np.any(...)",
    "residual = 3": "`residual` is not a function",
    "del residual\ndef Residual(p, q): pass": "`residual` is missing (you have `Residual`)",
    "def rejection_probability(p, q): return np.minimum(p, q)": "(did you forget a sum?)",
    "def rejection_probability(p, q): return '0.25'": "returned text; return one number",
    "def speculative_step(p, q, rng): return 1.0": "returned a float; return int(token)",
    "def speculative_step(p, q, rng): return 7": "returned 7; tokens are 0 to 2",
    "def speculative_step(p, q, rng): return rng.choice(0)": "a must be a positive integer",
    "def rejection_probability(p, q): return 10**400": "one number",
    "def residual(p, q): return [1j, 0, 0]": "something other than numbers",
    "class Odd(Exception):\n"
    "    def __str__(self): raise KeyError\n"
    "def residual(p, q): raise Odd": "Odd (line",
    "def speculative_step(p, q, rng): return True": "returned a bool; return one token",
    "def speculative_step(p, q, rng): return rng.choice(3, size=2)": "returned 2 values; return",
    "def speculative_step(p, q, rng): return rng.choice(3, p=p - q)": "are not non-negative (line",
    "def speculative_step(p, q, rng): return rng.choice(3, p=p / 2)": "do not sum to 1 (line",
    "def empirical(p, q, trials, seed, method='exact'):\n"
    "    luck = np.random.default_rng(seed).random(3) + q\n"
    "    return luck / luck.sum()": "whole number of steps",
    "def empirical(p, q, trials, seed, method='exact'): return [0, 0]": "returned 2 numbers",
    "def empirical(p, q, trials, seed, method='exact'): return [1, 1, 1]": "sum to 3 instead of 1",
}


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize("code", ACCIDENTS)
def test_an_accident_is_a_sentence(code):
    problem = first_problem(grade_with(code))
    assert ACCIDENTS[code] in problem["message"]
    assert "grader" not in problem["message"]
    assert ".py" not in problem["message"]
    assert "Traceback" not in problem["message"]


SPOILED = {
    "del sys.stdout, sys.stderr": "",
    "sys.stdout = sys.stderr = None": "",
    "warnings.simplefilter('error')": "",
    "warnings.filters = ()": "",
    "del warnings.filters": "",
    "sys.stdout.write(b'x')": "write() argument must be str, not bytes",
}


@pytest.mark.usefixtures("either_numpy")
@pytest.mark.parametrize("code", SPOILED)
def test_what_a_program_does_to_its_surroundings_reaches_no_other_call(code):
    before = sys.stdout, sys.stderr, list(warnings.filters)
    reply = grade_with(
        "import sys, warnings\n"
        "right = speculative_step\n"
        "def speculative_step(p, q, rng):\n"
        "    print('here')\n"
        f"    {code}\n"
        "    return right(p, q, rng)"
    )
    assert (sys.stdout, sys.stderr, list(warnings.filters)) == before
    assert SPOILED[code] in str(reply["tests"])
    assert reply["passed"] == (not SPOILED[code])
    assert reply["stdout"].startswith("here\nhere\n")


def test_an_array_without_an_axis_is_its_number_and_so_a_token():
    assert token_of("step", numpy.array(2), 3) == 2
    with pytest.raises(Problem, match="returned a float"):
        token_of("step", numpy.array(2.0), 3)


def test_the_coin_of_a_multinomial_may_leave_the_rest_to_its_last_outcome():
    script = scripted.Script(4)
    rng = scripted.generator(script)
    assert rng.multinomial(1, [0.25, 0.0]).tolist() == [1, 0]
    assert script.weight == 0.25
    assert script.advance()
    script.start()
    assert rng.multinomial(1, [0.25, 0.0]).tolist() == [0, 1]
    assert script.weight == 0.75
    with pytest.raises(ValueError, match="sum"):
        rng.multinomial(1, [0.7, 0.7, 0.0])


def test_a_step_that_remembers_is_never_given_a_number_that_cannot_be():
    """It asked for one of thirty at first, so the script has more ways than a coin has parts."""
    seen, first = [], []

    def step(rng):
        if not first:
            first.append(rng.integers(30))
        seen.append(rng.random())
        return 0

    with pytest.raises(scripted.Unscripted):
        scripted.branches(step, 4)
    assert max(seen) < 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "def f(:\n    pass",
            "Python cannot read line 1: invalid syntax (line 1: `def f(:`). Noth",
        ),
        ("print('ran')\nx = = 1", "Python cannot read line 2"),
        ("\0", "Python cannot read this program"),
        ("import nump", "No module named 'nump' (line 1: `import nump`)"),
        ("x = 1\nx / 0", "ZeroDivisionError: division by zero (line 2: `x / 0`)"),
        ("raise SystemExit", "Your program calls exit()"),
    ],
)
def test_a_program_that_does_not_start(source, message):
    reply = grade(source, EXERCISE)
    assert reply["tests"] == []
    assert reply["stdout"] == ""
    assert message in reply["message"]
    assert reply["status"] == "error"


def test_an_interrupt_ends_the_run_and_keeps_what_was_found():
    reply = grade_with("def rejection_probability(p, q): raise KeyboardInterrupt")
    assert not reply["passed"]
    assert reply["status"] == "error"
    assert "took too long (line" in reply["message"]
    assert [test["id"] for test in reply["tests"]] == [
        "residual-worked", "residual-two", "residual-equal", "rejection-worked",
    ]  # fmt: skip
    assert reply["tests"][-1]["message"] == reply["message"]


def test_an_interrupt_between_two_calls_ends_the_run_too():
    def interrupt(result):
        raise KeyboardInterrupt

    reply = grade(CODE.reference, EXERCISE, interrupt)
    assert (reply["passed"], reply["status"], len(reply["tests"])) == (False, "error", 1)
    assert "took too long" in reply["message"]


def test_a_flood_of_prints_is_cut():
    reply = grade_with("print('x' * 50)\nfor _ in range(200_000): print('flood')")
    assert reply["passed"]
    assert len(reply["stdout"]) < OUTPUT_LIMIT + 100
    assert reply["stdout"].startswith("x" * 50)
    assert reply["stdout"].endswith(" more characters")
    assert reply["cut"] == 51 + 200_000 * 6 - OUTPUT_LIMIT


def test_what_one_program_breaks_the_next_does_not_see():
    worked = EXERCISE["tests"][0]["p"]
    grade_with("def residual(p, q):\n    p[:] = 9\n    return p")
    grade_with("max = min = sum = None\nimport linecache\nnp = None")
    assert EXERCISE["tests"][0]["p"] == worked
    assert grade(CODE.reference, EXERCISE)["passed"]


def test_main_is_not_run():
    assert grade_with("if __name__ == '__main__': raise RuntimeError")["passed"]


def test_a_fault_of_the_grader_is_not_the_learners():
    broken = EXERCISE | {"tests": [EXERCISE["tests"][0] | {"check": "lore"}]}
    reply = grade(CODE.reference, broken)
    assert (reply["status"], reply["passed"]) == ("harness-error", False)
    assert "not your fault" in reply["message"]


def test_what_numpy_has_and_the_stand_in_lacks_is_said_in_one_sentence(standin):
    problem = first_problem(grade_with("def residual(p, q): return np.linalg.norm(p - q)"))
    assert problem["message"].startswith("The page's small stand-in for NumPy lacks `np.linalg`;")
    assert "`draftproof learn check LESSON FILE`" in problem["message"]


def test_the_grader_needs_nothing_but_its_folder_and_the_stand_in(tmp_path):
    """As in the browser: two copied folders, no site-packages."""
    for package, name in ((grader, "grader"), (numpy_standin, "numpy")):
        shutil.copytree(Path(package.__file__).parent, tmp_path / name)
    (tmp_path / "work.json").write_text(json.dumps([CODE.reference, EXERCISE]), encoding="utf-8")
    script = (
        f"import sys, json; sys.path.insert(0, {str(tmp_path)!r}); import grader; "
        f"print(json.dumps(grader.grade(*json.load(open({str(tmp_path / 'work.json')!r})))))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", script],
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    assert json.loads(done.stdout)["passed"]


# -- the law of a step ------------------------------------------------------------------------


def test_the_enumerated_law_is_exact():
    names = {}
    exec(CODE.reference + next(w.code for w in CODE.known_wrong if w.id == "step-naive"), names)
    p, q = numpy.array([0.5, 0.3, 0.2]), numpy.array([0.25, 0.5, 0.25])
    got = law(lambda rng: names["speculative_step"](p, q, rng), 3, 20)
    assert [Fraction(x).limit_denominator(1000) for x in got] == [
        Fraction(3, 8), Fraction(3, 8), Fraction(1, 4),
    ]  # fmt: skip
    assert got == pytest.approx([0.375, 0.375, 0.25], abs=1e-12)


def test_the_scripted_generator_is_a_generator_without_other_luck():
    def ask(rng):
        assert isinstance(rng, numpy.random.Generator)
        assert numpy.random.default_rng(rng) is rng
        return rng.normal()

    with pytest.raises(Unscripted):
        law(ask, 3, 10)


def test_endless_drawing_is_not_enumerated():
    def stubborn(rng):
        while rng.random() < 2:
            pass

    with pytest.raises(Unscripted):
        law(stubborn, 3, 10)


# -- error level and power --------------------------------------------------------------------

COUNTED = [test for test in CODE.tests if test.check == "counts"]
CELLS = sum(len(test.p) for test in CODE.tests if test.check in ("counts", "law"))


@pytest.mark.parametrize("chance", [0.001, 0.2, 0.375, 0.5, 0.9])
@pytest.mark.parametrize("trials", [4, 4000])
@pytest.mark.parametrize("level", [1e-7, 1e-3, 0.2])
def test_bands_are_exact_binomial_quantiles(chance, trials, level):
    low, high = band(trials, chance, level)
    assert binom.cdf(low - 1, trials, chance) <= level / 2 < binom.cdf(low, trials, chance)
    assert binom.sf(high, trials, chance) <= level / 2 < binom.sf(high - 1, trials, chance)
    assert band(10, 0.0, 1e-7) == (0, 0)
    assert band(10, 1.0, 1e-7) == (10, 10)


def test_the_naive_program_passes_with_probability_at_most_one_in_a_million():
    (exact,) = (test for test in COUNTED if test.id == "empirical-exact")
    stays = []
    for expected, naive in zip(exact.expect, (0.375, 0.375, 0.25), strict=True):
        low, high = band(exact.trials, float(expected), LEVEL / CELLS)
        stays.append(binom.cdf(high, exact.trials, naive) - binom.cdf(low - 1, exact.trials, naive))
    assert min(stays) <= 1e-6
    two = next(test for test in COUNTED if test.id == "empirical-two")
    naive = 0.5 + 0.4 * 0.5
    low, high = band(two.trials, 0.5, LEVEL / CELLS)
    assert binom.cdf(high, two.trials, naive) <= 1e-6


def test_counts_far_from_a_law_are_outside():
    assert inside([2000, 1200, 800], [0.5, 0.3, 0.2], 1e-7)
    assert not inside([1500, 1500, 1000], [0.5, 0.3, 0.2], 1e-7)
    assert not inside([1999, 1200, 800, 1], [0.5, 0.3, 0.2, 0.0], 1e-7)


def test_the_drawn_intervals():
    low, high = wilson(50, 100, 1.959963984540054)
    assert (round(low, 4), round(high, 4)) == (0.4038, 0.5962)
    assert wilson(0, 10, 2.0)[0] == 0.0
    drawn = drawing([0.5, 0.5], 100, {"exact": [0.5, 0.5]})
    assert drawn["level"] == 0.99
    assert drawn["series"][0]["holds_p"] == [True, True]
