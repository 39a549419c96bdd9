"""The pytest plugin, used by a test suite of somebody else's in a process of its own."""

import pytest

pytest_plugins = ["pytester"]

GOOD = """
    import numpy as np

    def step(p, q, rng):
        token = rng.choice(len(q), p=q)
        if rng.random() * q[token] < p[token]:
            return token
        rest = np.maximum(p - q, 0)
        return rng.choice(len(p), p=rest / rest.sum())

    def block(target_rows, draft_rows, tokens, rng):
        for at, token in enumerate(tokens):
            if not rng.random() * draft_rows[at][token] < target_rows[at][token]:
                rest = np.maximum(target_rows[at] - draft_rows[at], 0)
                return at, rng.choice(len(rest), p=rest / rest.sum())
        return len(tokens), rng.choice(len(target_rows[-1]), p=target_rows[-1])

    def naive(p, q, rng):
        token = rng.choice(len(q), p=q)
        return token if rng.random() * q[token] < p[token] else rng.choice(len(p), p=p)
"""


@pytest.fixture
def suite(pytester, request):
    """Write a suite around the samplers above and run it, with the plugin loaded."""
    named = request.config.pluginmanager.has_plugin("draftproof")

    def run(tests, *options):
        lines = [line.removeprefix("    ") for line in (GOOD + tests).splitlines()]
        pytester.makepyfile("\n".join(lines))
        plugin = () if named else ("-p", "_draftproof_pytest")
        return pytester.runpytest_subprocess(*plugin, "--strict-markers", *options)

    return run


def test_right_samplers_pass(suite):
    result = suite("""
    def batch(target_rows, draft_rows, tokens, rng):
        return [block(*one, rng) for one in zip(target_rows, draft_rows, tokens)]

    def test_step(assert_exact):
        assert_exact(step)

    def test_block(assert_exact):
        assert_exact(block, signature="block", k=1)

    def test_batch(assert_exact, golden_pairs):
        assert_exact(batch, *golden_pairs["the worked pair"], signature="batch")

    def test_sampler(assert_sampler):
        assert assert_sampler(lambda rng: rng.choice(3, p=[.5, .3, .2]), [.5, .3, .2]) < 0.1
    """)
    result.assert_outcomes(passed=4)


def test_a_wrong_sampler_fails_with_the_counterexample_and_no_traceback_of_ours(suite):
    result = suite("""
    def test_step(assert_exact):
        assert_exact(naive)
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "naive does not follow the target on the worked pair, p = (1/2, 3/10, 1/5), q = *:",
            "*0 comes out with probability 3/8, not 1/2: 1/8 too little",
            "*Likeliest cause: resample from p (*",
        ]
    )
    result.stdout.no_fnmatch_line("*_draftproof_pytest*")
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_batch_that_minds_its_neighbours_fails(suite):
    result = suite("""
    def batch(target_rows, draft_rows, tokens, rng):
        k = min(map(len, tokens))
        requests = zip(target_rows, draft_rows, tokens)
        return [block(t[:k + 1], d[:k], x[:k], rng) for t, d, x in requests]

    def test_batch(assert_exact):
        assert_exact(batch, signature="batch")
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*request 1 of the batch comes out otherwise alone*"])


def test_a_sampler_of_another_row_fails_at_the_level_of_the_mark(suite):
    result = suite("""
    import pytest

    @pytest.mark.draftproof_level(1e-3)
    def test_sampler(assert_sampler):
        assert_sampler(lambda rng: rng.choice(3, p=[.375, .375, .25]), [.5, .3, .2])

    def test_impossible(assert_sampler):
        assert_sampler(lambda rng: 1, [1.0, 0.0])

    def test_nothing(assert_sampler):
        assert_sampler(lambda rng: None, [0.5, 0.5])

    def test_in_time(assert_sampler):
        assert_sampler(lambda rng: rng.choice(3, p=[.49, .31, .2]), [.5, .3, .2], samples=500)
    """)
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*refuted at error level 0.001 after * samples",
            "*sample 1 is a token of probability 0",
            "*it returned nothing",
        ]
    )


def test_coins_and_their_failures(suite):
    result = suite("""
    from draftproof.dist import speculative_step

    def test_right(assert_coins):
        assert_coins(speculative_step)

    def not_strict(p, q, rng):
        token = rng.choice(len(q), p=q)
        return token if rng.random() * q[token] <= p[token] else rng.choice(len(p), p=p)

    def test_wrong(assert_coins):
        assert_coins(not_strict)

    def test_cases(scripted_coins, golden_pairs):
        assert all(case.wanted for case in scripted_coins)
        assert all(sum(p) == sum(q) == 1 for p, q in golden_pairs.values())
    """)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["not_strict is wrong at * of * edges:", "*p(x) = 0, u = 0: wanted token 0*"]
    )


def test_code_whose_luck_cannot_be_followed_fails_with_the_reason(suite):
    result = suite("""
    def test_step(assert_exact):
        assert_exact(lambda p, q, rng: int(np.random.default_rng().integers(len(p))))
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*its luck cannot be enumerated: given the same luck twice*"])


def test_what_could_not_be_checked_is_not_said_to_be_wrong_and_shows_none_of_our_code(suite):
    result = suite("""
    import sys

    import pytest

    def test_hidden(assert_exact):
        assert_exact(lambda p, q, rng: int(np.random.default_rng().integers(len(p))))

    def test_one_row(assert_exact):
        assert_exact(step, [0.5, 0.5])

    def test_no_row(assert_exact):
        assert_exact(step, [0.5, 0.6], [0.5, 0.5])

    def test_ends(assert_exact):
        assert_exact(lambda p, q, rng: sys.exit(3))

    def test_no_target_row(assert_sampler):
        assert_sampler(lambda rng: 0, [0.5, 0.2])

    @pytest.mark.draftproof_level(2)
    def test_level(assert_sampler):
        assert_sampler(lambda rng: 0, [0.5, 0.5])

    @pytest.mark.draftproof_level("1e-3")
    def test_words(assert_sampler):
        assert_sampler(lambda rng: 0, [0.5, 0.5])

    @pytest.mark.draftproof_level(0.1, level=0.2)
    def test_two_levels(assert_sampler):
        assert_sampler(lambda rng: 0, [0.5, 0.5])
    """)
    result.assert_outcomes(failed=7, errors=1)
    result.stdout.fnmatch_lines(
        [
            "<lambda> could not be checked: on the worked pair, p = (1/2, *",
            "step could not be checked: q is missing; give both rows, or neither.",
            "step could not be checked: p sums to 1.1*",
            "*with probability 1 it raised SystemExit*",
            "<lambda> could not be checked: target_row sums to 0.7*",
            "<lambda> could not be checked: level is 2;*",
            "<lambda> could not be checked: level is '1e-3';*",
        ]
    )
    for ours in ("*_draftproof_pytest*", "*/draftproof/*", "*another exception*", "*row is None*"):
        result.stdout.no_fnmatch_line(ours)


def test_a_known_bug_of_a_block_is_named(suite):
    result = suite("""
    def all_kept(target_rows, draft_rows, tokens, rng):
        return len(tokens), rng.choice(len(target_rows[-1]), p=target_rows[-1])

    def test_block(assert_exact):
        assert_exact(all_kept, [0.5, 0.5], [0.25, 0.75], signature="block")
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Likeliest cause: everything accepted (*"])


def test_the_mark_is_documented_and_nothing_is_imported_before_it_is_used(suite):
    result = suite("""
    import sys

    def test_lazy():
        assert "draftproof" not in sys.modules
    """)
    result.assert_outcomes(passed=1)
    suite("", "--markers").stdout.fnmatch_lines(["@pytest.mark.draftproof_level(level):*"])
