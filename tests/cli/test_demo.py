"""The verb `demo`: the worked table beside a simulation, and the proof."""

from fractions import Fraction

import numpy as np
import pytest

from draftproof.cli import demo as module

# Each frequency is within this of its probability except with probability 1e-6 for the twelve
# of them together (Hoeffding, two sides), and the seed is fixed.
ALLOWED = np.sqrt(np.log(2 * 6 / 1e-6) / (2 * module.TRIALS))


def test_the_worked_table_has_the_exact_values_of_the_lesson():
    rows = module.worked_rows()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert columns["p"] == columns["exact"] == [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    assert columns["residual"] == [1, 0, 0]
    assert columns["naive"] == [Fraction(3, 8), Fraction(3, 8), Fraction(1, 4)]


@pytest.mark.parametrize("method", ["exact", "naive"])
def test_simulated_frequencies_agree_with_their_own_law_and_not_with_the_other(method):
    other = {"exact": "naive", "naive": "exact"}[method]
    rows = module.worked_rows()
    seen = np.array([row[f"{method}_seen"] for row in rows])
    own, wrong = (np.array([float(row[name]) for row in rows]) for name in (method, other))
    assert np.abs(seen - own).max() < ALLOWED
    assert np.abs(seen - wrong).max() > 10 * ALLOWED


def test_people_see_the_run_the_table_and_the_proof(toy, cli):
    done = cli("demo")
    assert done.exit_code == 0
    shown = done.stdout
    for wanted in ("against plain", "x 0.375 (-1/8)", "x 0.375 (+3/40)", "x 0.25 (+1/20)",
                   "token-wise exact yes", "largest gap 0"):  # fmt: skip
        assert wanted in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_program_gets_one_object(toy, answer):
    code, told = answer("demo")
    assert code == 0
    assert told["rejection_probability"] == "1/4"
    assert told["proof"]["exact"]
    assert told["loop"] == {"exact": True, "branches": told["loop"]["branches"], "gap": "0"}
    assert told["table"][1]["naive"] == "3/8"
    assert told["run"]["emitted"] == 64


def test_an_engine_that_is_not_lossless_at_temperature_0_makes_it_fail(toy, cli, monkeypatch):
    from dataclasses import replace

    from draftproof.warp import Warp

    cold = replace(module.OPTIONS, warp=Warp(temperature=0))
    monkeypatch.setattr(module, "OPTIONS", cold)
    toy(noise=3.0)
    assert cli("demo").exit_code == 1
