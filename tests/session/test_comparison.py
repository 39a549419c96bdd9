"""Comparing with plain decoding: how often, in which order, and when it cannot tell."""

from itertools import count

import pytest

from draftproof.session.comparison import MOST_PAIRS, PAIRS, Comparison, Gap, _one_more
from draftproof.session.running import Transcript


def pairs_made(seconds_per_pair):
    """Give the number of pairs that are timed when each takes so long."""
    return next(made for made in count() if not _one_more(made, made * seconds_per_pair))


@pytest.mark.parametrize(("seconds", "made"), [(10.0, PAIRS), (1.2, 5), (0.1, MOST_PAIRS)])
def test_short_runs_are_repeated_more_often_and_always_an_odd_number_of_times(seconds, made):
    assert pairs_made(seconds) == made
    assert made % 2 == 1


@pytest.mark.parametrize(
    ("ratios", "verdict", "speedup"),
    [((1.1, 1.2, 1.6), "faster", 1.2), ((0.7, 0.9, 0.8), "slower", 0.8),
     ((0.9, 1.4, 1.2), "cannot tell", 1.2), ((), None, None)],
)  # fmt: skip
def test_runs_that_disagree_about_the_sign_are_no_answer(ratios, verdict, speedup):
    found = Comparison(
        speculative=Transcript(),
        plain=Transcript(),
        ratios=ratios,
        must_agree=False,
        parting=None,
        gap=Gap(0, 0.0, 0.0, 0.0),
    )
    assert found.verdict == verdict
    assert found.speedup == speedup
    assert found.holds
