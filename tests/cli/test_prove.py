"""The verb `prove`: fractions out, codes that mean something, other people's rules."""

from fractions import Fraction

import pytest

from draftproof.rules import RULES

WORKED = ("--target-row", "1/2,3/10,1/5", "--draft-row", "0.25,0.5,0.25")
FIELDS = {
    "rule", "guarantee", "exact", "branches", "instances", "law", "gap", "acceptance",
    "expected_accepted", "optimal_acceptance", "counterexample",
}  # fmt: skip

NAIVE = '''
from draftproof.contracts import Guarantee, Rule, Source, Verdict


def naive(chance, draft, rows):
    """Resample from p after a rejection: wrong on purpose."""
    for node, token in enumerate(draft.tokens):
        if not chance.at("coin", node).accepts(rows[node][token], draft.rows[node][token]):
            last = chance.at("residual", node).pick(rows[node])
            sources = (*(Source.DRAFT,) * node, Source.RESIDUAL)
            return Verdict((*draft.tokens[:node], last), sources, tuple(range(node)))
    size = len(draft)
    last = chance.at("bonus", size).pick(rows[size])
    sources = (*(Source.DRAFT,) * size, Source.BONUS)
    return Verdict((*draft.tokens, last), sources, tuple(range(size)))


LOSSY = Rule(name="honest", guarantee=Guarantee.LOSSY, verify=naive, source="here")
'''


@pytest.fixture
def naive(tmp_path):
    file = tmp_path / "naive.py"
    file.write_text(NAIVE)
    return file


def test_the_worked_pair_has_the_law_p_and_the_stated_acceptance(answer):
    code, told = answer("prove", "--rule", "token-wise", *WORKED, "-k", 1)
    assert code == 0
    assert set(told) >= FIELDS
    assert told["law"] == ["1/2", "3/10", "1/5"]
    assert (told["exact"], told["gap"], told["counterexample"]) == (True, "0", None)
    assert told["acceptance"] == told["expected_accepted"] == told["optimal_acceptance"] == "3/4"


def test_a_decimal_is_the_exact_decimal_and_not_the_nearest_float(answer):
    rows = ("--target-row", "0.1,0.2,0.7", "--draft-row", "0.7,0.2,0.1")
    _, told = answer("prove", *rows)
    assert told["law"] == ["1/10", "1/5", "7/10"]


def test_the_shortcut_is_refuted_with_a_counterexample(answer, cli, naive):
    code, told = answer("prove", "--rule", f"{naive}:naive", *WORKED, "-k", 1)
    assert code == 1
    assert told["law"] == ["3/8", "3/8", "1/4"]
    assert not told["exact"]
    assert Fraction(told["gap"]) > 0
    assert "too much" in told["counterexample"]
    shown = cli("prove", "--rule", f"{naive}:naive")
    assert shown.exit_code == 1
    assert "naive is not exact" in shown.stdout


def test_a_rule_that_says_it_is_lossy_keeps_what_it_declares(answer, naive):
    code, told = answer("prove", "--rule", f"{naive}:LOSSY", *WORKED)
    assert (code, told["exact"], told["guarantee"]) == (0, False, "lossy")


def test_rows_that_depend_on_the_text_come_from_a_file(answer, tmp_path, naive):
    file = tmp_path / "rows.json"
    file.write_text(
        '{"target": {"": ["1/2", "1/2"], "0": [0.3, 0.7], "*": [0.25, 0.75]},'
        ' "draft": {"*": ["1/4", "3/4"]}}'
    )
    code, told = answer("prove", "--rows", file)
    assert (code, told["law"], told["instances"]) == (0, ["1/2", "1/2"], 1)
    assert told["expected_accepted"] == str(Fraction(3, 4) + expected_second())
    assert answer("prove", "--rows", file, "--rule", f"{naive}:naive")[0] == 1


def expected_second():
    """Probability of keeping both drafts, from the rows of the file above by hand."""
    first_kept = {0: Fraction(1, 4), 1: Fraction(1, 2)}
    overlap_after = {0: Fraction(1, 4) + Fraction(7, 10), 1: Fraction(1)}
    return sum(first_kept[token] * overlap_after[token] for token in (0, 1))


@pytest.mark.parametrize("name", RULES)
def test_every_rule_of_ours_keeps_its_guarantee(answer, name):
    code, told = answer("prove", "--rule", name, "-k", 1)
    assert code == 0
    assert told["exact"] == (told["guarantee"] == "exact")


def test_all_rules_come_as_one_object(answer, monkeypatch):
    few = {name: RULES[name] for name in ("token-wise", "block")}
    monkeypatch.setattr("draftproof.cli.prove.RULES", few)
    code, told = answer("prove", "--rule", "all", "-k", 1)
    assert code == 0
    assert [one["rule"] for one in told["rules"]] == ["token-wise", "block"]


@pytest.mark.parametrize("width", [50, 80])
def test_the_table_fits_the_terminal(cli, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    done = cli("prove", "--rule", "rrs-without-replacement", "-k", 1)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= width
    assert "\u2026" not in done.stdout
