"""How far `-k auto` stays behind the best fixed k on steady texts, by the length of the text.

Run it with ``python benchmarks/auto_k.py [--seeds N] [--tokens N ...]``. It is a simulation over
five cost models and eight kinds of text; the best fixed k is the exact expected time of each k.
"""

from __future__ import annotations

import argparse
from statistics import mean

from draftproof.planner import Costs, Curve, seconds_for
from draftproof.planner.policy import Adaptive, round_times
from draftproof.planner.simulate import simulated_seconds

PAGED = Curve(
    ((1, 9.9), (2, 9.9), (3, 10.9), (4, 11.7), (5, 11.7), (6, 12.9), (8, 14.8), (9, 15.4),
     (12, 16.2), (16, 18.8))
)  # fmt: skip
STEEP = Curve(((1, 9.7), (5, 30.0), (9, 50.0)))
FLAT = Curve(((1, 10.0), (17, 10.1)))
MODELS = {
    "paged, free draft": (PAGED, 0.0),
    "paged": (PAGED, 1.0),
    "steep, free draft": (STEEP, 0.0),
    "steep": (STEEP, 1.0),
    "flat": (FLAT, 1.0),
}
"""Milliseconds of a pass by the tokens in it, and of a drafted token."""

TEXTS = {
    "hopeless": (0.0,) * 15,
    "poor": (0.2,) * 15,
    "even": (0.5,) * 15,
    "good": (0.7,) * 15,
    "very good": (0.9,) * 15,
    "certain": (1.0,) * 15,
    "good at first": (0.9, 0.5, 0.1) + (0.05,) * 12,
    "good later": (0.3, 0.6) + (0.8,) * 13,
}


def behind(curve: Curve, t_draft: float, text: str, tokens: int, seeds: int) -> float:
    costs = Costs(t_target=curve.at(1), t_verify=curve, t_draft=t_draft)
    times = round_times(costs, 15)
    shares = TEXTS[text][: len(times) - 1]
    best = min(seconds_for(tokens, shares, k, costs) for k in range(len(times)))
    policy = Adaptive(times)
    spent = mean(
        simulated_seconds(policy, lambda at: shares, times, tokens, seed=seed)
        for seed in range(seeds)
    )
    return float(spent / best - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--tokens", type=int, nargs="+", default=[128, 256, 512, 1000])
    asked = parser.parse_args()
    for tokens in asked.tokens:
        found = {
            (model, text): behind(*MODELS[model], text, tokens, asked.seeds)
            for model in MODELS
            for text in TEXTS
        }
        where = max(found, key=found.__getitem__)
        over = sum(one > 0.05 for one in found.values())
        print(
            f"{tokens:>5} tokens: behind by {mean(found.values()):.1%} on average, at most "
            f"{found[where]:.1%} ({where[0]}; {where[1]}); {over} of {len(found)} above 5 %"
        )


if __name__ == "__main__":
    main()
