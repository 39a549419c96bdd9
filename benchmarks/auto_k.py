"""How far `-k auto` stays behind the best fixed k on steady texts, by the length of the text.

Run it with ``python benchmarks/auto_k.py [--seeds N] [--tokens N ...]``. It is a simulation over
five cost models and eight kinds of text; the best fixed k is the exact expected time of each k.
"""

from __future__ import annotations

import argparse
from statistics import mean

from draftproof.planner import Costs, Curve, seconds_for
from draftproof.planner.policy import Adaptive, round_times
from draftproof.planner.simulate import MODELS, STEADY, simulated_seconds


def behind(curve: Curve, t_draft: float, text: str, tokens: int, seeds: int) -> float:
    costs = Costs(t_target=curve.at(1), t_verify=curve, t_draft=t_draft)
    times = round_times(costs, 15)
    shares = STEADY[text][: len(times) - 1]
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
            for text in STEADY
        }
        where = max(found, key=found.__getitem__)
        over = sum(one > 0.05 for one in found.values())
        print(
            f"{tokens:>5} tokens: behind by {mean(found.values()):.1%} on average, at most "
            f"{found[where]:.1%} ({where[0]}; {where[1]}); {over} of {len(found)} above 5 %"
        )


if __name__ == "__main__":
    main()
