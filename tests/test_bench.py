"""The benchmark's own bookkeeping, with contestants whose speed is known."""

import pytest

from draftproof.bench import TASKS, run_bench
from draftproof.bench.peers import PEERS, installed
from draftproof.bench.plots import draw_rows
from draftproof.bench.running import PLAIN
from draftproof.bench.worker import Worker
from draftproof.errors import BackendError


def contestants(log):
    """Plain decoding at 100 tokens/s, one twice as fast, one that gets slower and slower."""
    calls = {"slowing": 0}

    def plain(job):
        log.append((PLAIN, job))
        return job.max_tokens, job.max_tokens / 100

    def fast(job):
        log.append(("fast", job))
        return job.max_tokens, job.max_tokens / 200

    def slowing(job):
        log.append(("slowing", job))
        calls["slowing"] += 1
        return job.max_tokens, job.max_tokens / 100 * calls["slowing"]

    return {PLAIN: plain, "fast": fast, "slowing": slowing}


def test_rows_are_medians_and_ratios_to_plain():
    rows = run_bench(contestants([]), repeats=3, max_tokens=10)
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
    with pytest.raises(BackendError, match="peer 'no such peer' ended with code 1"):
        Worker("no such peer", tmp_path)


def test_a_chart_of_the_rows(tmp_path):
    pytest.importorskip("matplotlib")
    rows = run_bench(contestants([]), tasks=TASKS[:2], repeats=2, max_tokens=10)
    draw_rows(rows, tmp_path / "bench.svg")
    assert "<svg" in (tmp_path / "bench.svg").read_text()


def test_a_limit_of_time_keeps_what_was_done_task_by_task():
    log, left = [], iter([True, False])
    rows = run_bench(contestants(log), repeats=5, max_tokens=10, more=lambda: next(left))
    assert len(rows) == 3 * len(TASKS)
    assert len(log) == 3 + 3 * (len(TASKS) + 1)
