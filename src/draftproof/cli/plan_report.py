"""A plan from numbers, for people and as JSON."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from draftproof.cli.plan_charts import Line, roofline, speedups
from draftproof.cli.plan_charts import acceptance as acceptance_bars
from draftproof.cli.screen import console_for
from draftproof.planner import Choice, Costs, Curve
from draftproof.planner.trees import TreeChoice

MOST_POINTS = 33
"""Lines of the chart of pass times at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a plan found: every k, the best, the one asked for, and from what."""

    acceptance: Any
    costs: Costs
    batch: int
    table: tuple[Choice, ...]
    best: Choice
    chosen: Choice
    tree: TreeChoice | None

    @property
    def winner(self) -> TreeChoice | None:
        """The tree, where it is faster than every chain and than plain decoding; else None."""
        tree = self.tree
        return tree if tree is not None and tree.speedup > self.best.speedup else None

    @property
    def speedup(self) -> float:
        """What the verdict promises."""
        return float((self.winner or self.best).speedup)

    @property
    def verdict(self) -> str:
        """What to do, in a few words: with a tree, with a chain, or not at all."""
        best, chosen = self.best.k, self.chosen.k
        in_vain = chosen != best and self.chosen.speedup <= 1
        doubt = f"k = {chosen} does not pay; " if in_vain else ""
        if self.winner is not None:
            with_tree = f"speculate with a tree of {_nodes(self.winner)}"
            if best == 0:
                return f"no chain pays; {with_tree}"
            return f"{doubt}{with_tree}" if doubt else f"{with_tree} rather than k = {best}"
        return f"{doubt}speculate with k = {best}" if best else "do not speculate"


def _nodes(tree: TreeChoice) -> str:
    count = len(tree.shape.parents)
    return f"{count} {'node' if count == 1 else 'nodes'}"


def report(plan: Plan) -> dict[str, Any]:
    """Give the JSON object of a plan."""
    chosen, best = plan.chosen, plan.best
    answer = {
        "k": chosen.k,
        "expected_tokens": float(chosen.expected_tokens),
        "throughput": float(chosen.throughput),
        "baseline": float(1 / plan.costs.t_target),
        "speedup": float(chosen.speedup),
        "best_k": best.k,
        "best_speedup": float(best.speedup),
        "latency": float(chosen.latency),
        "round_latency": float(chosen.round_latency),
        "interval": None,
        "verdict": plan.verdict,
        "table": [
            {
                "k": one.k,
                "expected_tokens": float(one.expected_tokens),
                "speedup": float(one.speedup),
            }
            for one in plan.table
        ],
    }
    return answer if plan.tree is None else answer | {"tree": _tree_report(plan.tree)}


def _tree_report(tree: TreeChoice) -> dict[str, Any]:
    return {
        "nodes": len(tree.shape.parents),
        "parents": list(tree.shape.parents),
        "expected_tokens": float(tree.shape.expected_tokens),
        "throughput": float(tree.throughput),
        "speedup": float(tree.speedup),
    }


def show(plan: Plan) -> None:
    """Print the charts of a plan and what they say."""
    console = console_for(sys.stdout)
    _show_charts(console, plan)
    _show_figures(console, plan)
    if plan.tree is not None:
        _show_tree(console, plan.tree, plan.best)
    console.print(f"Verdict: {plan.verdict} ({plan.speedup:.3f}x).", style="bold")
    console.print(
        "A plan from numbers is as good as they are: acceptance differs by text and position, and "
        "--measure measures it here.",
        style="dim",
        soft_wrap=False,
    )


def _show_charts(console: Console, plan: Plan) -> None:
    marks = {plan.chosen.k: "asked for"} | {plan.best.k: "best"}
    lines = [
        Line(k=one.k, expected_tokens=float(one.expected_tokens), speedup=float(one.speedup))
        for one in plan.table
    ]
    console.print(speedups(lines, marks), soft_wrap=False)
    if isinstance(plan.acceptance, tuple):
        console.print()
        shares = [float(one) for one in plan.acceptance]
        console.print(acceptance_bars(shares), soft_wrap=False)
    if isinstance(plan.costs.t_verify, Curve):
        points = [(count, float(seconds)) for count, seconds in plan.costs.t_verify.points]
        title = "tokens\nin a pass" if plan.batch == 1 else f"tokens of\neach of {plan.batch}"
        console.print()
        plain = float(plan.costs.t_target)
        console.print(roofline(points[:MOST_POINTS], plain, title), soft_wrap=False)


def _show_figures(console: Console, plan: Plan) -> None:
    chosen, t_target = plan.chosen, plan.costs.t_target
    each = "" if plan.batch == 1 else f" for each of {plan.batch} sequences"
    console.print(
        f"\nk = {chosen.k}: {float(chosen.expected_tokens):.4f} tokens per round, "
        f"{float(chosen.throughput):.1f} tokens per second{each} against "
        f"{float(1 / t_target):.1f} plain: {float(chosen.speedup):.3f}x.",
        soft_wrap=False,
    )
    console.print(
        f"Latency: {1000 * float(chosen.latency):.2f} ms per token on average, in bursts every "
        f"{1000 * float(chosen.round_latency):.2f} ms; plain, a token every "
        f"{1000 * float(t_target):.2f} ms.",
        soft_wrap=False,
    )


def _show_tree(console: Console, tree: TreeChoice, chain: Choice) -> None:
    shape, widths = tree.shape, " ".join(map(str, tree.shape.widths))
    if not shape.parents:
        console.print("Best tree: none, as no tree pays.")
        return
    against = f"the best chain has {chain.k} and {float(chain.speedup):.3f}x"
    console.print(
        f"Best tree: {_nodes(tree)} (by level: {widths}), "
        f"{float(shape.expected_tokens):.4f} tokens per round, {float(tree.speedup):.3f}x; "
        f"{against if chain.k else 'no chain pays'}.",
        soft_wrap=False,
    )
