"""The verb `prove`: fractions out, codes that mean something, other people's rules."""

import re
from fractions import Fraction
from pathlib import Path

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
    assert (code, told["law"], told["instances"]) == (0, ["1/2", "1/2"], 3)
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


# ---------------------------------------------------------------- rules of one's own


def test_the_rules_of_the_document_are_exact_as_they_stand_there(answer, tmp_path):
    text = (Path(__file__).parents[2] / "docs/adding-a-rule.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        name = re.match(r"# (\w+\.py)\n", block)[1]
        (tmp_path / name).write_text(block)
    commands = re.findall(r"^    draftproof (prove --rule .+)$", text, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        verb, flag, rule, *rest = command.split()
        code, told = answer(verb, flag, tmp_path / rule, *rest)
        assert (code, told["exact"], told["instances"]) == (0, True, 7 * (int(rest[1]) + 1) + 1)


def test_a_wrong_rule_made_from_the_document_is_told_coin_by_coin(answer, tmp_path):
    text = (Path(__file__).parents[2] / "docs/adding-a-rule.md").read_text()
    block = re.search(r"```python\n(# mine.py.*?)```", text, re.DOTALL)[1]
    assert "pick(correction(p, q))" in block
    (tmp_path / "mine.py").write_text(block.replace("pick(correction(p, q))", "pick(p)"))
    code, told = answer("prove", "--rule", tmp_path / "mine.py:verify", "-k", 1, *WORKED)
    assert code == 1
    assert told["counterexample"].splitlines()[1:] == [
        "  with probability 3/10: drafted [1], token 1 kept (coin below 3/5)",
        "  with probability 3/50: drafted [1], token 1 rejected (coin from 3/5 up), "
        "then 1 from the residual",
        "  with probability 3/200: drafted [2], token 2 rejected (coin from 4/5 up), "
        "then 1 from the residual",
    ]


FAILS = """
import sys
from draftproof.contracts import Guarantee, Rule


def ends(chance, draft, rows):
    sys.exit(0)


def breaks(chance, draft, rows):
    return 1 / 0


BREAKS = Rule(name="breaks", guarantee=Guarantee.EXACT, verify=breaks, source="a notebook")
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ends", "rule 'ends' failed while it was proved: SystemExit: 0 (line 7)."),
        ("breaks", "ZeroDivisionError: division by zero (line 11)."),
        ("BREAKS", "ZeroDivisionError: division by zero (line 11)."),
    ],
)
@pytest.mark.parametrize("near", [True, False])
def test_a_rule_that_fails_is_named_with_its_line(cli, tmp_path, monkeypatch, near, name, words):
    file = tmp_path / "fails.py"
    file.write_text(FAILS)
    monkeypatch.chdir(tmp_path)
    done = cli("prove", "--rule", f"{file.name if near else file}:{name}")
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_file_that_ends_the_program_ends_nothing_here(cli, tmp_path):
    file = tmp_path / "ends.py"
    file.write_text("import sys\nsys.exit(0)\n")
    done = cli("prove", "--rule", f"{file}:verify")
    assert done.exit_code == 2
    assert "SystemExit: 0 (line 2)" in done.stderr


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ('shape="chains"', "shape is 'chains'; choose one of chain, siblings, paths, tree."),
        ('guarantee="exact"', "guarantee is 'exact'; give Guarantee.EXACT"),
    ],
)
def test_a_rule_that_says_nonsense_of_itself_is_refused(cli, tmp_path, field, words):
    given = {"name": '"x"', "guarantee": "Guarantee.EXACT", "verify": "None", "source": '"here"'}
    key, value = field.split("=")
    given[key] = value
    fields = ", ".join(f"{name}={value}" for name, value in given.items())
    file = tmp_path / "odd.py"
    file.write_text(f"from draftproof.contracts import Guarantee, Rule\nODD = Rule({fields})\n")
    done = cli("prove", "--rule", f"{file}:ODD")
    assert done.exit_code == 2
    assert words in done.stderr


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('"0,1": [1, 0]', "'0,1' is no text; write token ids with blanks between them"),
        ('"abc": [1, 0]', "'abc' is no text"),
        ('"-1": [1, 0]', "'-1' is no text"),
        ('"0 7": [1, 0]', "target['0 7'] follows a text that cannot be; the rows are over the "
                          "tokens 0 to 1"),
        ('"0 1": [1, 0], "0  1": [0, 1]', "'0  1' is the text '0 1' a second time; keep one"),
        ('"1": [1, 0], "01": [0, 1]', "'01' is the text '1' a second time; keep one"),
    ],
)  # fmt: skip
def test_a_row_that_would_never_be_read_is_refused(cli, tmp_path, keys, words):
    file = tmp_path / "rows.json"
    draft = '"draft": {"*": ["1/4", "3/4"]}'
    file.write_text('{"target": {"*": ["1/2", "1/2"], ' + keys + "}, " + draft + "}")
    done = cli("prove", "--rows", file)
    assert done.exit_code == 2
    assert words in done.stderr


def test_what_was_proved_is_said_where_it_is_not_what_was_given(answer, cli):
    _, told = answer("prove", "--rule", "greedy", "-k", 1, *WORKED)
    assert told["notes"] == [
        "at temperature 0: the target's likeliest token is certain, whatever its row says"
    ]
    shown = " ".join(cli("prove", "--rule", "greedy", "-k", 1, *WORKED).stdout.split())
    assert f"greedy: {told['notes'][0]}." in shown
    assert answer("prove", "--rule", "token-wise", "-k", 1, *WORKED)[1]["notes"] == []


def test_a_proof_that_may_take_long_says_what_it_is_at_and_a_short_one_says_nothing(cli):
    long, short = (cli("prove", "--rule", "greedy", "-k", k) for k in (4, 2))
    assert "proving greedy at k = 4" in long.stderr
    assert short.stderr == ""
    assert long.exit_code == short.exit_code == 0
