"""The verb `plan` on plain numbers: the lesson's example, the published tables, the refusals."""

import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.cli.plan_charts import WIDTH, Bar, Line, speedups
from draftproof.cli.screen import console_for
from draftproof.errors import InvalidInput
from draftproof.planner import Costs, Curve, best_choice, choices, tree_tokens
from draftproof.planner.plots import Charts, _roofline

LESSON = ("plan", "--acceptance", "0.8", "--t-target", "10ms", "--t-verify", "12ms",
          "--t-draft", "1ms")  # fmt: skip
LLAMA_CPP = ("--t-verify", "1:9.7ms,5:30ms")


def test_the_worked_example_of_the_lesson(answer):
    code, told = answer(*LESSON, "-k", 4)
    assert code == 0
    assert told["expected_tokens"] == pytest.approx(3.3616, abs=1e-12)
    assert told["throughput"] == pytest.approx(210.1, abs=1e-9)
    assert told["baseline"] == pytest.approx(100)
    assert told["speedup"] == pytest.approx(2.101, abs=1e-9)
    assert told["interval"] is None


def test_the_best_k_of_the_lesson_is_6_at_2_195(answer):
    _, told = answer(*LESSON)
    assert told["best_k"] == told["k"] == 6
    assert round(told["best_speedup"], 3) == 2.195
    assert [row["k"] for row in told["table"]] == list(range(17))
    assert told["verdict"] == "speculate with k = 6"


@pytest.mark.parametrize(
    ("acceptance", "draft", "best_k", "speedup"),
    [("0.5", "0ms", 0, 1.0), ("0.6", "1ms", 0, 1.0), ("0.6", "0ms", 1, 1.05)],
)
def test_on_a_steep_curve_it_can_say_do_not_speculate(answer, acceptance, draft, best_k, speedup):
    code, told = answer("plan", "--acceptance", acceptance, *LLAMA_CPP, "--t-draft", draft)
    assert code == 0
    assert told["best_k"] == best_k
    assert round(told["best_speedup"], 2) == speedup
    assert (told["verdict"] == "do not speculate") == (best_k == 0)
    assert [row["k"] for row in told["table"]] == [0, 1, 2, 3, 4]


def test_a_k_that_does_not_pay_is_called_so(answer):
    _, told = answer("plan", "--acceptance", "0.6", *LLAMA_CPP, "-k", 4)
    assert told["verdict"] == "k = 4 does not pay; speculate with k = 1"
    assert told["speedup"] < 1


def test_times_with_different_units_are_the_same_times(answer):
    _, told = answer(*LESSON)
    _, same = answer("plan", "--acceptance", "4/5", "--t-target", "0.01", "--t-verify", "12000us",
                     "--t-draft", "0.001s")  # fmt: skip
    assert same == told


@pytest.mark.parametrize(
    ("acceptance", "k", "speed"),
    [(".6", 2, 1.96), (".7", 3, 2.53), (".8", 2, 2.44), (".8", 5, 3.69), (".9", 2, 2.71),
     (".9", 10, 6.86)],
)  # fmt: skip
def test_table_1_of_leviathan_et_al_2023(answer, acceptance, k, speed):
    _, told = answer("plan", "--acceptance", acceptance, "--t-target", "1s", "--t-verify", "1s",
                     "-k", k)  # fmt: skip
    assert round(told["speedup"], 2) == speed


BEST = {
    "1/10": [(1, 1.182), (2, 1.458), (3, 1.674), (4, 1.981), (6, 2.470), (10, 3.431), (15, 4.479)],
    "1/5": [(1, 1.083), (1, 1.250), (2, 1.400), (3, 1.583), (4, 1.868), (7, 2.373), (10, 2.875)],
    "3/10": [(0, 1.000), (1, 1.154), (1, 1.231), (2, 1.369), (3, 1.554), (5, 1.874), (8, 2.175)],
    "1/100": [(3, 1.376), (5, 1.875), (7, 2.297), (9, 2.972), (14, 4.232), (24, 7.486),
              (40, 12.542)],
}  # fmt: skip
ACCEPTANCES = (".3", ".5", ".6", ".7", ".8", ".9", ".95")


@pytest.mark.parametrize("cost", BEST)
def test_the_best_k_for_constant_acceptance_and_relative_draft_cost(cost):
    costs = Costs(t_target=Fraction(1), t_verify=Fraction(1), t_draft=Fraction(cost))
    found = [best_choice(Fraction(a), costs, 60) for a in ACCEPTANCES]
    assert [(one.k, round(float(one.speedup), 3)) for one in found] == BEST[cost]


def test_certain_acceptance_has_a_finite_answer(answer):
    _, told = answer("plan", "--acceptance", "1", "--t-target", "10ms", "--t-verify", "12ms")
    assert told["table"][4]["expected_tokens"] == 5
    assert told["best_k"] == 16


def test_the_curve_is_a_straight_line_between_its_points_and_unknown_beyond():
    curve = Curve(((1, Fraction(97, 10)), (5, Fraction(30))))
    assert curve.at(2) == Fraction(97, 10) + Fraction(203, 40)
    with pytest.raises(InvalidInput, match="1 to 5 tokens"):
        curve.at(6)
    assert [one.k for one in choices(0.5, Costs(t_target=10, t_verify=curve), 16)] == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_a_planner_that_forgets_the_bonus_token_would_be_seen(answer):
    """The commonest mistake with this model: counting kept draft tokens only."""
    _, told = answer(*LESSON, "-k", 4)
    kept_only = sum(0.8**i for i in range(1, 5))
    assert told["expected_tokens"] == pytest.approx(kept_only + 1)


def test_people_get_a_table_and_a_verdict(cli):
    done = cli(*LESSON)
    assert done.exit_code == 0
    assert re.search(r"2\.195x +█+ +best", done.stdout)
    assert "Latency: 4.56 ms per token on average, in bursts every 18.00 ms" in " ".join(
        done.stdout.split()
    )
    assert "Verdict: speculate with k = 6" in done.stdout
    assert done.stderr == ""


# ---------------------------------------------------------------- positions, metrics, plots

DATA = Path(__file__).parents[1] / "data"
TIMES = ("--t-target", "10ms", "--t-verify", "12ms", "--t-draft", "1ms")


def test_one_acceptance_for_each_position(answer):
    _, told = answer("plan", "--acceptance", "0.9,0.5,0.1", *TIMES)
    assert told["table"][3]["expected_tokens"] == pytest.approx(2.395)
    assert [row["k"] for row in told["table"]] == [0, 1, 2, 3]
    assert told["best_k"] == 2


def test_the_metrics_of_a_server_are_named_and_planned_from(answer, cli):
    code, told = answer("plan", "--metrics", DATA / "vllm-metrics.txt", *TIMES)
    assert code == 0
    assert told["best_k"] == 2
    assert told["metrics"]["tokens_per_round"] == pytest.approx(2.395)
    assert told["metrics"]["conditional_per_position"] == pytest.approx([0.9, 0.5, 0.1])
    shown = cli("plan", "--metrics", DATA / "vllm-metrics.txt", *TIMES).stdout
    assert '"num_speculative_tokens": 2' in shown


@pytest.mark.parametrize("k", [3, 8])
def test_what_a_server_counted_is_not_changed_by_the_k_asked_for(answer, tmp_path, k):
    file = tmp_path / "m.txt"
    counts = (("drafts", 10), ("draft_tokens", 30), ("accepted_tokens", 9))
    file.write_text("".join(f"vllm:spec_decode_num_{n}_total {c}\n" for n, c in counts))
    args = ("plan", "--metrics", file, "--t-target", "10ms", "--t-verify", "12ms")
    _, told = answer(*args, "-k", k)
    assert told["k"] == k
    assert told["expected_tokens"] == pytest.approx({3: 1.9, 8: 2.032}[k], abs=0.0005)
    assert told["best_speedup"] == answer(*args)[1]["best_speedup"]


def test_after_a_position_that_is_never_kept_every_k_is_known(answer, tmp_path):
    """The server drafts 4 and never kept the third; what it does itself can be asked for."""
    file = tmp_path / "m.txt"
    counts = ("drafts_total 10", "draft_tokens_total 40", "accepted_tokens_total 7")
    kept = (f'accepted_tokens_per_pos_total{{position="{at}"}} {n}' for at, n in enumerate((5, 2)))
    lines = (*counts, *kept, 'accepted_tokens_per_pos_total{position="3"} 0')
    file.write_text("".join(f"vllm:spec_decode_num_{line}\n" for line in lines))
    _, told = answer("plan", "--metrics", file, *TIMES, "-k", 4)
    assert told["k"] == 4
    assert told["expected_tokens"] == pytest.approx(1.7)


def test_an_idle_rank_is_left_out_and_that_is_said(cli, answer, tmp_path):
    file = tmp_path / "m.txt"
    means = enumerate((("2.8", "0.6"), ("0.0", "0.0")))
    file.write_text(
        "".join(
            f'sglang:spec_accept_length{{dp_rank="{rank}"}} {length}\n'
            f'sglang:spec_accept_rate{{dp_rank="{rank}"}} {rate}\n'
            for rank, (length, rate) in means
        )
    )
    assert (
        "1 rank is idle, with a length of 0, and left out." in cli("plan", "--metrics", file).stdout
    )
    told = answer("plan", "--metrics", file)[1]["metrics"]
    assert (told["tokens_per_round"], told["acceptance_rate"]) == (2.8, 0.6)
    assert len(told["notes"]) == 1


def test_two_answers_of_llama_cpp_have_nothing_in_between(cli):
    done = cli("plan", *2 * ("--metrics", DATA / "llamacpp-timings.json"))
    assert done.exit_code == 2
    assert "llama.cpp timings: each counts only itself" in done.stderr


def test_metrics_without_times_are_explained(cli, answer):
    done = cli("plan", "--metrics", DATA / "llamacpp-metrics.txt")
    assert done.exit_code == 0
    assert "lower bounds" in done.stdout
    assert "Give --t-target" in done.stdout
    _, told = answer("plan", "--metrics", DATA / "llamacpp-metrics.txt")
    assert told["metrics"]["drafted"] == 118


def test_a_server_that_drafted_nothing_says_none(cli, tmp_path):
    file = tmp_path / "m.txt"
    file.write_text(
        "vllm:spec_decode_num_drafts_total 0\nvllm:spec_decode_num_draft_tokens_total 0\n"
    )
    done = cli("plan", "--metrics", file, *TIMES)
    assert done.exit_code == 0
    assert "none" in done.stdout
    assert "nan" not in done.stdout.lower()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "exactly one of --acceptance, --metrics and --measure"),
        (("--acceptance", "0.5", "--measure"), "exactly one"),
        (("--acceptance", "0.5"), "--t-verify is missing"),
        (("--acceptance", "0.5,1.1", *TIMES), "in '0.5,1.1', entry 2 of --acceptance is '1.1'"),
        (("--acceptance", "0.8,", *TIMES), "in '0.8,', entry 2 of --acceptance is ''"),
        (("--acceptance", "0.8, …", *TIMES), "in '0.8, …', entry 2 of --acceptance is ' …'"),
        (("--acceptance", "", *TIMES), "--acceptance is ''; write a decimal"),
        (("--acceptance", "0.5", "--t-verify", "1:9ms,x"), "entry 2 of --t-verify is 'x'; a point"),
        (
            ("--acceptance", "0.5", "--t-verify", "1:9ms,5:"),
            "in '1:9ms,5:', entry 2 of --t-verify is '5:', whose time is ''",
        ),
        (
            ("--acceptance", "0.9,0.5,0.1", *TIMES, "-k", "5"),
            "-k is 5 and the acceptance is known at 3 positions only; ask for a -k of at most 3",
        ),
        (("--metrics", DATA / "vllm-metrics.txt", *TIMES, "-k", "4"), "known at 3 positions only"),
        (("--metrics", DATA / "sglang-metrics.txt", *TIMES, "-k", "9" * 18), "at most 1000"),
        (("--metrics", "nowhere.txt", *TIMES), "nowhere.txt: cannot be read"),
        (("--acceptance", "0.5", *TIMES, "--plot", "plan.gif"), "must end in .svg or .png"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_sentence(cli, args, words):
    done = cli("plan", *args)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_server_that_was_restarted_between_two_readings_is_refused(cli, tmp_path):
    empty = tmp_path / "later.txt"
    text = (DATA / "llamacpp-metrics.txt").read_text()
    fewer = re.sub(r'(drafts_total|position="."}) \d+', r"\1 3", text)
    empty.write_text(fewer)
    done = cli("plan", "--metrics", DATA / "llamacpp-metrics.txt", "--metrics", empty)
    assert done.exit_code == 2
    assert "went backwards" in done.stderr


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_plan_is_drawn(cli, tmp_path, kind):
    pytest.importorskip("matplotlib")
    file = tmp_path / f"plan.{kind}"
    assert cli("plan", "--acceptance", "0.9,0.5,0.1", *LLAMA_CPP, "--plot", file).exit_code == 0
    start = file.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if kind == "png" else b"<svg" in file.read_bytes()[:2000]


def test_without_matplotlib_a_plot_says_what_to_install(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = cli(*LESSON, "--plot", tmp_path / "plan.svg")
    assert done.exit_code == 2
    assert "pip install 'draftproof[plot]'" in done.stderr


# ---------------------------------------------------------------- charts in the terminal


def lines_of(text, pattern):
    return [line for line in text.splitlines() if re.search(pattern, line)]


def test_the_terminal_shows_all_three_charts_within_80_columns(cli):
    shown = cli("plan", "--acceptance", "0.9,0.5,0.1", *LLAMA_CPP, env={"COLUMNS": "80"}).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert lines_of(shown, r"^k +per round +speed-up")
    assert lines_of(shown, r"^position +looked at")
    assert lines_of(shown, r"^in a pass +ms +one by one")
    assert len(lines_of(shown, "█")) == 4 + 3 + 5


def test_a_bar_is_as_long_as_its_speed_up_and_a_post_stands_at_1(cli):
    shown = cli("plan", "--acceptance", "0.9,0.5,0.1", *LLAMA_CPP).stdout
    bars = {int(line.split()[0]): line for line in lines_of(shown, r"^\d +\d\.\d{3} +\d\.\d{3}x")}
    assert [bars[k].count("█") for k in range(4)] == [
        round(WIDTH * speedup / 1.2468) for speedup in (1, 1.2468, 1.1479, 0.9321)
    ]
    assert "│" in bars[3]
    assert bars[3].index("│") == max(at for at, sign in enumerate(bars[0]) if sign == "█")


def test_with_intervals_it_still_fits_80_columns(capsys):
    drawn = speedups([Line(k=16, expected_tokens=9.5, speedup=2, interval=(1, 3))], {16: "best"})
    console_for(sys.stdout).print(drawn, width=80, soft_wrap=False)
    first, title, line = capsys.readouterr().out.splitlines()
    assert first.split() == ["tokens", "95", "%"]
    assert title.split() == ["k", "per", "round", "speed-up", "interval"]
    assert line.endswith("best")


def test_a_narrow_terminal_shortens_the_bars_and_nothing_else(capsys):
    drawn = speedups([Line(k=16, expected_tokens=9.5, speedup=2, interval=(1, 3))], {16: "best"})
    console_for(sys.stdout).print(drawn, width=50, soft_wrap=False)
    line = capsys.readouterr().out.splitlines()[-1]
    assert len(line) <= 50
    assert re.fullmatch(r"16 +9\.500 +2\.000x +1\.00 to 3\.00 +█+├─+┤ +best", line)


def test_whiskers_are_drawn_at_the_interval():
    bar = Bar(length=2 / 3, post=1 / 3, whiskers=(1 / 3, 1))
    assert bar.drawn(WIDTH) == "█" * 8 + "├" + "─" * 16 + "┤"
    assert bar.drawn(9) == "██├─────┤"
    assert Bar(length=1 / 4, post=1 / 2).drawn(8) == "██ │    "
    assert Bar(length=3 / 4, post=1 / 2).drawn(8) == "██████  "


# ---------------------------------------------------------------- batch and trees


def test_a_batch_shares_the_pass_and_its_best_k_is_smaller(answer):
    curve = ("--t-verify", "1:10ms,16:11ms,272:200ms")
    _, alone = answer("plan", "--acceptance", "0.7", *curve)
    _, many = answer("plan", "--acceptance", "0.7", *curve, "--batch", 16)
    by_hand = [(1 - 0.7 ** (k + 1)) / 0.3 / (10 + min(k, 15) / 15) for k in range(16)]
    assert alone["best_k"] == by_hand.index(max(by_hand))
    assert many["best_k"] == 0
    assert many["baseline"] == pytest.approx(1 / 0.011)
    two = many["table"][1]
    assert two["speedup"] == pytest.approx(1.7 * 0.011 / (0.011 + 16 * 0.189 / 256))


def test_siblings_give_the_best_tree_beside_the_best_chain(answer, cli):
    args = ("plan", "--acceptance", "0.6", "--siblings", "0.15,0.05", *TIMES)
    _, told = answer(*args)
    assert told["tree"]["speedup"] > told["best_speedup"]
    assert told["tree"]["expected_tokens"] == pytest.approx(
        float(tree_tokens((0.6, 0.15, 0.05), told["tree"]["parents"]))
    )
    assert "Best tree: " in cli(*args).stdout
    assert "tree" not in answer(*args[:3], *TIMES)[1]


FLAT = ("--acceptance", "0.3", "--siblings", "0.3,0.3", "--t-target", "10ms", "--t-verify",
        "14.5ms")  # fmt: skip


def test_the_verdict_names_a_tree_where_no_chain_pays(answer, cli):
    code, told = answer("plan", *FLAT)
    assert code == 0
    assert told["best_k"] == 0
    assert told["tree"]["nodes"] == len(told["tree"]["parents"]) == 16
    assert round(told["tree"]["speedup"], 3) == 1.943
    assert told["verdict"] == "no chain pays; speculate with a tree of 16 nodes"
    assert answer("plan", *FLAT, "-k", 4)[1]["verdict"] == told["verdict"]
    shown = " ".join(cli("plan", *FLAT).stdout.split())
    assert "Best tree: 16 nodes (by level: 3 9 4)" in shown
    assert shown.count("no chain pays") == 2
    assert "Verdict: no chain pays; speculate with a tree of 16 nodes (1.943x)." in shown


@pytest.mark.parametrize(
    ("args", "verdict"),
    [
        (("--siblings", "0.15,0.05"), "speculate with a tree of 7 nodes rather than k = 4"),
        (
            ("--siblings", "0.15,0.05", "-k", "60"),
            "k = 60 does not pay; speculate with a tree of 7 nodes",
        ),
        (("--siblings", "0"), "speculate with k = 4"),
        (("--siblings", "0.36", "--max-k", "2"), "speculate with k = 2"),
        (("--siblings", "0.15", "--max-k", "0"), "do not speculate"),
    ],
)
def test_the_verdict_is_the_fastest_of_tree_chain_and_plain_decoding(answer, args, verdict):
    """A tree of two children 0.6 and 0.36 emits exactly what a chain of two does: no reason."""
    times = ("--t-target", "10ms", "--t-verify", "12ms", "--t-draft", "0.5ms")
    _, told = answer("plan", "--acceptance", "0.6", *times, *args)
    assert told["verdict"] == verdict


def test_where_no_tree_pays_there_is_none(cli):
    done = cli("plan", "--acceptance", "0.1", "--siblings", "0.1", *LLAMA_CPP)
    assert "Best tree: none, as no tree pays." in done.stdout
    assert "Verdict: do not speculate (1.000x)." in done.stdout


def gains(shown):
    """Read the last column of the chart of passes, by the tokens in one."""
    return dict(re.findall(r"^ *(\d+) +\d+\.\d\d +█+ +(\d\.\d\d)x$", shown, re.MULTILINE))


def test_a_pass_is_compared_with_plain_steps_wherever_its_curve_begins(cli):
    args = ("plan", "--acceptance", "0.8")
    late = cli(*args, "--t-target", "10ms", "--t-verify", "2:9ms,4:10ms").stdout
    assert gains(late) == {"2": "2.22", "3": "3.16", "4": "4.00"}
    other = cli(*args, "--t-target", "10ms", "--t-verify", "1:20ms,2:20ms").stdout
    assert gains(other) == {"1": "0.50", "2": "1.00"}
    batch = cli(*args, "--t-target", "10ms", "--batch", "4", "--t-verify", "8:16ms,16:20ms").stdout
    assert gains(batch) == {"2": "1.25", "3": "1.67", "4": "2.00"}


def test_the_drawn_chart_of_passes_goes_by_plain_steps_too():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    charts = Charts(speedups=(), best_k=0, roofline=((2, 0.018), (4, 0.020)), plain=0.010, batch=3)
    _roofline(axes := figure.subplots(), charts)
    assert list(axes.lines[1].get_ydata()) == pytest.approx([20, 40])
    assert axes.get_xlabel() == "tokens of each of 3"


def test_a_draft_made_in_parallel_has_one_time_for_all_of_it(answer):
    args = ("plan", "--acceptance", "0.8", "--t-target", "10ms", "--t-verify", "12ms")
    _, told = answer(*args, "--t-draft", "1:1ms,5:2ms", "-k", 5)
    assert told["speedup"] == pytest.approx(3.68928 * 10 / (12 + 2))
    assert [row["k"] for row in told["table"]] == [0, 1, 2, 3, 4, 5]
    _, one_by_one = answer(*args, "--t-draft", "1ms", "-k", 5)
    assert one_by_one["speedup"] < told["speedup"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            (
                "--acceptance",
                "0.5",
                "--t-target",
                "1s",
                "--t-verify",
                "1s",
                "--t-draft",
                "1:1ms,3:2ms",
                "-k",
                "4",
            ),
            "--t-draft is known from 1 to 3 tokens",
        ),
        (("--acceptance", "0.5,0.4", "--siblings", "0.1", *TIMES), "--siblings needs --acceptance"),
        (("--acceptance", "0.5", "--siblings", "0.1,x", *TIMES), "--siblings"),
        (("--acceptance", "0.5", "--siblings", "0.6", *TIMES), "sum to at most 1"),
        (("--acceptance", "0.5", "--siblings", "0.1", *TIMES, "--max-k", "90"), "at most 24 nodes"),
        (("--acceptance", "0.5", "--batch", "4", *TIMES), "--t-verify no curve"),
        (("--acceptance", "0.5", "--batch", "9", *LLAMA_CPP), "batch is 9"),
        (("--acceptance", "0.5", "--batch", "0", *LLAMA_CPP), "--batch"),
        (("--measure", "--batch", "4"), "leave --batch out"),
        (("--measure", "-k", "3"), "--measure finds k; leave -k out"),
        (("--measure", "--t-draft", "1ms"), "--measure finds out what --t-draft tells"),
        (("--measure", "--temperature", "-1"), "--temperature is -1"),
        (("--acceptance", "0.5", "--seed", "4", *TIMES), "--seed is for --measure"),
        (("--acceptance", "0.5", "--draft", "ngram", *TIMES), "--draft is for --measure"),
        (("--measure", "--siblings", "0.1"), "--siblings needs --acceptance"),
        (("--acceptance", "0.5", "--earlier", "x.txt", *TIMES), "--earlier is for --measure"),
    ],
)
def test_batches_and_trees_that_cannot_be_planned_are_refused(cli, args, words):
    done = cli("plan", *args)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("verb", ["plan", "audit"])
def test_a_file_that_could_not_be_written_is_refused_before_anything_is_worked_out(
    cli, tmp_path, verb
):
    (tmp_path / "pen").mkdir()
    flags = {
        "plan": ("--acceptance", "0.5", *TIMES, "--plot", tmp_path / "pen.svg"),
        "audit": ("no_such_module:step", "--html", tmp_path / "pen.html"),
    }[verb]
    (tmp_path / "pen.svg").mkdir()
    (tmp_path / "pen.html").mkdir()
    done = cli(verb, *flags)
    assert done.exit_code == 2
    assert str(flags[-1]) in done.stderr
    assert "no_such_module" not in done.stderr
    assert done.stdout == ""
