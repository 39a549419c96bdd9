"""The benchmark's own bookkeeping, with contestants whose speed is known."""

from dataclasses import replace

import pytest

from draftproof.bench import TASKS, run_bench
from draftproof.bench.peers import PEERS, installed
from draftproof.bench.plots import draw_rows
from draftproof.bench.predicting import Forecast, forecasts, median_difference
from draftproof.bench.running import DRAFTS, PLAIN, Results, Run
from draftproof.bench.worker import Worker
from draftproof.errors import BackendError
from draftproof.planner.replay import Spot
from draftproof.planner.timing import Timings


def contestants(log):
    """Plain decoding at 100 tokens/s, one twice as fast, one that gets slower and slower."""
    calls = {"slowing": 0}

    def plain(job):
        log.append((PLAIN, job))
        return Run(tokens=job.max_tokens, seconds=job.max_tokens / 100)

    def fast(job):
        log.append(("fast", job))
        return Run(tokens=job.max_tokens, seconds=job.max_tokens / 200)

    def slowing(job):
        log.append(("slowing", job))
        calls["slowing"] += 1
        return Run(tokens=job.max_tokens, seconds=job.max_tokens / 100 * calls["slowing"])

    return {PLAIN: plain, "fast": fast, "slowing": slowing}


def test_rows_are_medians_and_ratios_to_plain():
    rows = run_bench(contestants([]), repeats=5, max_tokens=10).rows()
    assert len(rows) == 3 * len(TASKS)
    by_name = {(row.task, row.name): row for row in rows}
    for task in TASKS:
        fast = by_name[task.name, "fast"]
        assert fast.tokens_per_second == pytest.approx(200)
        assert fast.ratio_to_plain == pytest.approx(2)
        assert fast.interval == pytest.approx((2, 2))
        assert by_name[task.name, PLAIN].ratio_to_plain == 1
        low, high = by_name[task.name, "slowing"].interval
        assert low < by_name[task.name, "slowing"].ratio_to_plain < high


def test_contestants_take_turns_on_the_same_job():
    log = []
    run_bench(contestants(log), repeats=2, max_tokens=10)
    timed = log[3:]
    orders = set()
    for at in range(0, len(timed), 3):
        names, jobs = zip(*timed[at : at + 3], strict=True)
        assert sorted(names) == sorted([PLAIN, "fast", "slowing"])
        assert len(set(jobs)) == 1
        orders.add(names)
    assert len(orders) > 1


def test_three_kinds_of_text_at_two_temperatures():
    assert {(task.kind, task.temperature) for task in TASKS} == {
        (kind, T) for kind in ("chat", "copy", "code") for T in (0.0, 0.8)
    }


def test_a_peer_is_listed_only_where_it_is_installed(monkeypatch):
    monkeypatch.setitem(PEERS, "imaginary", ("no_such_module_anywhere", None))
    assert "imaginary" not in installed()
    monkeypatch.setitem(PEERS, "real", ("json", None))
    assert "real" in installed()


def test_a_peer_that_cannot_be_opened_says_so(tmp_path):
    with pytest.raises(
        BackendError, match=r"peer 'no such peer' ended with code 1 \(KeyError: 'no such peer'\)"
    ):
        Worker("no such peer", tmp_path)


def test_a_chart_of_the_rows(tmp_path):
    pytest.importorskip("matplotlib")
    rows = run_bench(contestants([]), tasks=TASKS[:2], repeats=2, max_tokens=10).rows()
    draw_rows(rows, tmp_path / "bench.svg")
    assert "<svg" in (tmp_path / "bench.svg").read_text()


def test_a_limit_of_time_keeps_what_was_done_task_by_task():
    log, left = [], iter([True, False])
    rows = run_bench(contestants(log), repeats=5, max_tokens=10, more=lambda: next(left)).rows()
    assert len(rows) == 3 * len(TASKS)
    assert len(log) == 3 + 3 * (len(TASKS) + 1)


# ---------------------------------------------------------------- peers that fail


def test_a_peer_that_does_not_answer_is_given_up(tmp_path):
    with pytest.raises(BackendError, match="did not answer within 0 s"):
        Worker("no such peer", tmp_path, patience=0)


def test_a_contestant_that_fails_is_left_out_with_the_reason_and_the_others_go_on():
    calls = []

    def failing(job):
        calls.append(job)
        if len(calls) == 4:
            raise BackendError("the peer 'failing' ended with code 9.")
        return Run(tokens=1, seconds=1.0)

    found = run_bench(contestants([]) | {"failing": failing}, repeats=2, max_tokens=10)
    assert found.left_out == {"failing": "the peer 'failing' ended with code 9."}
    assert "failing" not in {row.name for row in found.rows()}
    assert len(found.rows()) == 3 * len(TASKS)
    assert len(calls) == 4


def test_without_plain_decoding_there_is_no_bench():
    def failing(job):
        raise BackendError("no model.")

    with pytest.raises(BackendError, match="no model"):
        run_bench({PLAIN: failing}, tasks=TASKS[:1])


@pytest.mark.parametrize(("repeats", "bounded"), [(1, False), (4, False), (5, True)])
def test_an_interval_takes_five_repeats(repeats, bounded):
    found = run_bench(contestants([]), tasks=TASKS[:1], repeats=repeats, max_tokens=10)
    assert {row.interval is not None for row in found.rows()} == {bounded}


# ---------------------------------------------------------------- predictions

COSTS = Timings(passes={n: (1.0 + 0.1 * n,) for n in range(1, 6)}, draft=(0.05,), row=(0.1,))
NAME = next(iter(DRAFTS))


def run_of(*rounds, factor=1.0):
    """A run that takes what its rounds cost in `COSTS`, times a factor, and a prefill of 7 s."""
    spots = tuple(Spot(*one) for one in rounds)
    tokens = sum(one.kept + 1 for one in spots)
    exact = sum(1.1 + 0.1 * one.drafted + 0.05 * one.drafted for one in spots) + 0.1 * tokens
    return Run(tokens=tokens, seconds=factor * exact + 7, decoding=factor * exact, rounds=spots)


def results(*factors):
    found = Results({task.name: {PLAIN: [], NAME: []} for task in TASKS[: len(factors)]})
    for task, factor in zip(TASKS, factors, strict=False):
        for kept in (4, 0, 2):
            found.add(task.name, PLAIN, run_of((0, 0), (0, 0)))
            found.add(task.name, NAME, run_of((4, kept), (4, 1), factor=factor))
    return found


def costs_of(found):
    return {(task, NAME): COSTS for task in found.runs}


def test_costs_that_are_right_and_the_rounds_seen_give_the_speed_up_of_the_clock():
    found = Results({TASKS[0].name: {PLAIN: [], NAME: []}})
    found.add(TASKS[0].name, PLAIN, run_of((0, 0), (0, 0), (0, 0)))
    found.add(TASKS[0].name, NAME, run_of((4, 4), (3, 1), (0, 0), (2, 2)))
    (one,) = forecasts(found, costs_of(found))
    assert one.predicted == pytest.approx(one.measured)
    assert one.difference == pytest.approx(0)


def test_what_the_costs_do_not_know_shows_as_a_difference():
    exact, slow = forecasts(results(1.0, 1.25), costs_of(results(1.0, 1.25)))
    assert slow.measured == pytest.approx(exact.measured / 1.25)
    assert slow.difference == pytest.approx(1.25 * (1 + exact.difference) - 1)


def told(task, *pairs):
    return [
        Forecast(name="", task=task, predicted=1 + off, interval=(1, 1), measured=1.0)
        for off in pairs
    ]


def test_the_median_difference_is_over_texts_and_has_no_sign():
    three = [*told("a", 0.5, -0.5), *told("b", -0.1), *told("c", 0.2, 0.2, 0.9)]
    assert median_difference(three) == pytest.approx(0.2)
    assert median_difference([]) is None


def test_a_pass_costs_what_the_largest_of_the_last_few_costs():
    """A back end that fills passes up: round two drafts nothing and still pays for five tokens."""
    filling = Timings(passes={n: (float(n),) for n in range(1, 6)}, window=2)
    found = Results({TASKS[0].name: {PLAIN: [], NAME: []}})
    found.add(TASKS[0].name, PLAIN, Run(tokens=1, seconds=1.0))
    found.add(
        TASKS[0].name,
        NAME,
        Run(tokens=4, seconds=11.0, rounds=run_of((4, 1), (0, 0), (0, 0)).rounds),
    )
    (one,) = forecasts(found, {(TASKS[0].name, NAME): filling})
    assert one.predicted == pytest.approx(4 / (5 + 5 + 1))
    (naive,) = forecasts(found, {(TASKS[0].name, NAME): replace(filling, window=1)})
    assert naive.predicted == pytest.approx(4 / (5 + 1 + 1))
