"""The verb `audit`: codes that mean something, one object, a page, and refusals in a sentence."""

import json
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from draftproof.audit import audit as audit_function
from draftproof.audit.wording import notes
from draftproof.cli.audit import show
from draftproof.cli.screen import console_for

WORKED = ("--target-row", "1/2,3/10,1/5", "--draft-row", "0.25,0.5,0.25")
FIELDS = {
    "verdict", "method", "samples", "log10_e", "gap", "tv_bound", "smallest_detectable", "suspects",
}  # fmt: skip

SAMPLERS = """
import numpy as np


def naive(p, q, rng):
    print("a line on standard output")
    token = rng.choice(len(q), p=q)
    if rng.random() < min(1, p[token] / q[token]):
        return token
    return rng.choice(len(p), p=p)


def right(p, q, rng):
    token = rng.choice(len(q), p=q)
    if rng.random() < min(1, p[token] / q[token]):
        return token
    left = np.maximum(p - q, 0)
    return rng.choice(len(p), p=left / left.sum() if left.any() else p)


def hidden(p, q, rng):
    rng.normal()
    return right(p, q, rng)


def broken(p, q, rng):
    raise RuntimeError("no")


def block(target_rows, draft_rows, draft_tokens, rng):
    return len(draft_tokens), rng.choice(target_rows.shape[1], p=target_rows[-1])


def uniforms(p, q, u):
    edges = np.cumsum(p)
    return next(at for at in range(len(p)) if u[0] * edges[-1] < edges[at])


def drawn_by_torch(p, q, generator):
    import torch

    return int(torch.multinomial(q, 1, generator=generator))


answer = 42
"""


@pytest.fixture
def samplers(tmp_path):
    file = tmp_path / "samplers.py"
    file.write_text(SAMPLERS)
    return file


def test_the_shortcut_is_refuted_exactly_and_named(answer, samplers):
    code, told = answer("audit", f"{samplers}:naive", *WORKED)
    assert code == 1
    assert set(told) >= FIELDS
    assert (told["verdict"], told["method"], told["gap"]) == ("refuted", "enumeration", "1/8")
    assert told["cases"][0]["seen"] == ["3/8", "3/8", "1/4"]
    assert told["suspects"][0]["name"] == "resample from p"


def test_a_right_step_is_consistent_on_the_battery(answer, samplers):
    code, told = answer("audit", f"{samplers}:right")
    assert (code, told["verdict"], len(told["cases"])) == (0, "consistent", 10)
    assert told["suspects"] == []


def test_what_cannot_be_enumerated_is_sampled_and_its_bound_named(answer, samplers):
    code, told = answer("audit", f"{samplers}:hidden", *WORKED, "--detect", "0.1", "--seed", 2)
    assert (code, told["verdict"], told["method"]) == (0, "consistent", "sequential")
    assert told["tv_bound"]["value"] <= 0.1
    assert told["tv_bound"]["partition"] == "each of the 3 tokens"


def test_a_small_budget_is_inconclusive(answer, samplers):
    code, told = answer("audit", f"{samplers}:hidden", *WORKED, "--max-samples", 50)
    assert (code, told["verdict"], told["samples"]) == (3, "inconclusive", 50)


def test_a_function_that_raises_does_not_hold(answer, samplers):
    code, told = answer("audit", f"{samplers}:broken", *WORKED)
    assert (code, told["verdict"]) == (1, "faulty")
    assert "RuntimeError" in next(iter(told["faults"]))


def test_a_block_verifier_has_its_own_signature(answer, samplers):
    rows = ("--target-row", "2/3,1/3", "--draft-row", "1/3,2/3")
    code, told = answer("audit", f"{samplers}:block", "--signature", "block", *rows)
    assert code == 1
    assert told["suspects"][0]["name"] == "everything accepted"


def test_people_see_the_cost_first_then_verdict_counterexample_and_name(cli, samplers):
    done = cli("audit", f"{samplers}:naive", *WORKED)
    assert done.exit_code == 1
    said = done.stdout
    order = ["samples on average", "Refuted", "1/8 too little", "resample from p", "worst outcome"]
    assert [said.index(word) for word in order] == sorted(said.index(word) for word in order)
    assert "a line on standard output" not in said


def test_the_page_is_written_beside_the_object(answer, samplers, tmp_path):
    page = tmp_path / "report.html"
    answer("audit", f"{samplers}:naive", *WORKED, "--html", page)
    assert "resample from p" in page.read_text(encoding="utf-8")


def test_a_module_is_named_like_a_file(answer, samplers, monkeypatch):
    monkeypatch.chdir(samplers.parent)
    code, told = answer("audit", "samplers:right", *WORKED)
    assert (code, told["verdict"]) == (0, "consistent")


def test_a_recorded_trace_is_replayed(answer, tmp_path):
    file = tmp_path / "steps.jsonl"
    step = {"p": [0.5, 0.5], "q": [0.5, 0.5], "draft": 0, "coin": 0.9, "kept": True, "token": 0}
    lines = [{"format": "draftproof-steps/1"}, *[step] * 20, {**step, "token": 1}]
    file.write_text("\n".join(map(json.dumps, lines)))
    code, told = answer("audit", file)
    assert (code, told["verdict"]) == (1, "refuted")
    assert "token 0 was kept and 1 came out" in told["counterexample"]


@pytest.mark.parametrize("target", ["ends_the_program.py:step", "ends_the_program:step"])
def test_a_file_that_ends_the_program_is_not_taken_for_a_consistent_one(
    cli, tmp_path, monkeypatch, target
):
    (tmp_path / "ends_the_program.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    done = cli("audit", target)
    assert done.exit_code == 2
    assert "cannot be loaded (SystemExit: 0)" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nothing"], "path.py:name"),
        (["no_such_file.py:f"], "no such file"),
        (["no_such_module_here:f"], "cannot be loaded"),
        (["{file}:missing"], "no function 'missing'"),
        (["{file}:answer"], "no function 'answer'"),
        (["{file}:right", "--target-row", "1/2,1/2"], "--draft-row is missing"),
        (["{file}:right", "--draft-row", "1/2,1/2"], "--target-row is missing"),
        (
            ["{file}:right", "--target-row", "1/2,1/2", "--draft-row", "1/2,1/4,1/4"],
            "--target-row has 2 entries and --draft-row has 3",
        ),
        (["{file}:right", "--time-limit", "0"], "--time-limit is 0"),
        (["{file}:right", "--level", "0"], "--level is 0"),
        (["{file}:right", "--model", "m"], "--model does not apply to a function"),
        (["{file}:right", "--resume", "f", "--control", "u"], "--control and --resume do not"),
        (["missing.jsonl", "--luck", "torch"], "--luck does not apply to a recorded trace"),
        (["missing.jsonl", "--signature", "step"], "--signature does not apply"),
        (["http://127.0.0.1:9", "--uniforms", "1"], "--uniforms does not apply to a server"),
        (["transformers", "--signature", "block"], "--signature does not apply to the decode"),
        (["transformers", "--luck", "torch"], "--luck does not apply to the decode loop"),
        (["{file}:right", "--level", "2"], "--level"),
        (["{file}:right", "--detect", "0"], "--detect is 0"),
        (["{file}:right", "--html", "/no/such/folder/x.html"], "--html"),
        (["{file}:right", "--signature", "tree"], "--signature"),
        (["missing.jsonl"], "cannot be read"),
        (["{file}:right", "--luck", "dice"], "--luck"),
        (["transformers", "--target-row", "1/2,1/2", "--draft-row", "1/2,1/2"], "leave them out"),
        (["{file}:right", "--uniforms", "0"], "--uniforms"),
    ],
)
def test_a_mistake_is_one_sentence_and_code_2(cli, samplers, arguments, word):
    done = cli("audit", *(argument.format(file=samplers) for argument in arguments))
    assert done.exit_code == 2
    assert word in done.stderr
    assert "Traceback" not in done.output


def test_a_file_that_fails_says_why(cli, tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("import nothing_of_this_name")
    done = cli("audit", f"{file}:f")
    assert done.exit_code == 2
    assert "ModuleNotFoundError" in done.stderr


def test_help_names_every_flag_with_its_default_and_an_example(cli):
    said = cli("audit", "--help").stdout
    for word in ("--level", "--max-samples", "--detect", "--time-limit", "--html", "1e-6"):
        assert word in said
    assert said.count("default") >= 9
    assert np.sum([line.strip().startswith("draftproof audit") for line in said.split("\n")]) >= 3


def test_a_server_gets_its_own_flags(answer, monkeypatch, samplers, cli):
    from draftproof.audit import server

    asked = {}

    def audited(url, options, progress):
        asked.update(url=url, options=options)
        progress("about 3 minutes")
        return audit_function(lambda p, q, rng: 0, [1.0, 0.0], [1.0, 0.0])

    monkeypatch.setattr(server, "audit_server", audited)
    code, _ = answer("audit", "http://127.0.0.1:1", "--model", "m", "--concurrency", 2)
    assert code == 0
    assert (asked["options"].model, asked["options"].concurrency) == ("m", 2)
    assert "about 3 minutes" in cli("audit", "http://127.0.0.1:1").stderr


def test_luck_may_be_uniforms_or_that_of_pytorch(answer, samplers):
    code, told = answer("audit", f"{samplers}:uniforms", *WORKED, "--uniforms", 1)
    assert (code, told["verdict"], told["gap"]) == (0, "consistent", "0")
    pytest.importorskip("torch", reason="PyTorch is not installed")
    code, told = answer("audit", f"{samplers}:drawn_by_torch", *WORKED, "--luck", "torch")
    assert (code, told["method"]) == (1, "enumeration")
    assert told["suspects"][0]["name"] == "always accept"


def test_the_loop_of_a_library_is_a_source(answer, monkeypatch):
    """What is audited is replaced by a loop that is right; the real one has a test of its own."""
    from draftproof.audit import loops
    from draftproof.audit.loop_bugs import LOOP_WORLDS

    asked = []

    def prepare(way, budget):
        asked.append((way, budget.level))
        return loops.prepare_loops([(lambda prompt, rng: [0, 0, 0], LOOP_WORLDS[0])], budget=budget)

    stand_in = ModuleType("draftproof.audit.transformers_loop")
    stand_in.prepare_transformers = prepare
    monkeypatch.setitem(sys.modules, "draftproof.audit.transformers_loop", stand_in)
    code, told = answer("audit", "transformers-prompt-lookup", "--level", "1e-3")
    assert (code, told["verdict"], told["signature"]) == (1, "refuted", "loop")
    assert asked == [("prompt lookup", 1e-3)]


def test_a_library_that_is_not_installed_is_one_sentence(cli, monkeypatch):
    monkeypatch.delitem(sys.modules, "draftproof.audit.transformers_loop", raising=False)
    monkeypatch.setitem(sys.modules, "transformers", None)
    done = cli("audit", "transformers")
    assert done.exit_code == 2
    assert "pip install torch transformers" in done.stderr
    assert "Traceback" not in done.output


def test_what_only_a_server_has_is_said_in_sentences(cli, monkeypatch):
    from draftproof.audit import server

    facts = {
        "drafts_verified": {"seen": True, "how": "the metrics count 9 drafted tokens, 4 accepted"},
        "control": {"kind": "twin server", "samples": 7, "log10_e": 0.25, "refuted": False},
        "cost_estimate": {
            "requests": 1200, "minutes": 2.5, "samples": 900, "seconds_per_request": 0.125,
        },
        "requests": 1100,
        "numerics": {"allowance": 0.001, "row_gap": 0.02},
    }  # fmt: skip

    def audited(url, options, progress):
        return replace(audit_function(lambda p, q, rng: 0, [1.0, 0.0], [1.0, 0.0]), facts=facts)

    monkeypatch.setattr(server, "audit_server", audited)
    said = " ".join(cli("audit", "http://127.0.0.1:1").stdout.split())
    for sentence in (
        "Drafts were verified: the metrics count 9 drafted tokens, 4 accepted.",
        "The control (twin server) is not refuted: 7 tokens, evidence 10^0.25 to 1.",
        "at most 1,200 requests for 900 samples, about 2.5 minutes at 0.125 s each.",
        "1,100 requests were made.",
        "differed by up to 0.001 in logprob",
    ):
        assert sentence in said
    assert "{" not in said


def test_one_reason_for_many_inputs_is_one_note(cli, samplers):
    said = " ".join(cli("audit", f"{samplers}:hidden", "--max-samples", 50).stdout.split())
    assert "none of the 10 inputs was enumerated, because the code called .normal" in said
    assert said.count("because the code called .normal") == 1


def test_a_key_in_the_environment_is_no_flag_that_was_given(cli, samplers, monkeypatch):
    monkeypatch.setenv("DRAFTPROOF_API_KEY", "secret")
    assert cli("audit", f"{samplers}:right", *WORKED).exit_code == 0


def reported(*remarks, **changed):
    """Give a report of two cases with these remarks."""
    report = audit_function(lambda p, q, rng: 0, [1.0, 0.0], [1.0, 0.0])
    (case,) = report.findings
    cases = (replace(case, name="one"), replace(case, name="two"))
    return replace(report, findings=cases, remarks=remarks, **changed)


def test_a_note_made_on_many_inputs_is_printed_once_with_the_inputs():
    assert notes(reported("one: same", "two: same", "one: other", "for all", "for all")) == [
        "on all 2 inputs: same",
        "one: other",
        "for all",
    ]


def test_notes_that_differ_in_a_bound_only_are_one_with_the_range_and_other_figures_stay():
    assert notes(reported("one: gap at most 0.04", "two: gap at most 0.033")) == [
        "on all 2 inputs: gap at most 0.033 to 0.04"
    ]
    assert len(notes(reported("one: u = 0.5 is kept", "two: u = 0.7 is kept"))) == 2


def test_an_audit_that_sampled_nothing_does_not_say_that_the_law_was_found(capsys):
    show(reported(method="sequential", samples=0), console_for(sys.stdout))
    said = capsys.readouterr().out
    assert "enumeration" not in said
    assert "0 samples in" in said


def test_a_function_of_another_signature_is_refused_and_no_verdict_is_given(cli, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def step(p, q, rng): return 0\n")
    done = cli("audit", f"{file}:step", "--signature", "block")
    assert done.exit_code == 2
    assert "cannot be called with target_rows, draft_rows, draft_tokens, rng" in done.stderr
    assert "give --signature step or batch" in done.stderr
    assert done.stdout == ""


def test_a_report_that_cannot_be_written_after_all_does_not_take_the_verdict_with_it(
    cli, tmp_path, monkeypatch
):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("draftproof.cli.audit.as_html", full)
    file = tmp_path / "mine.py"
    file.write_text("def step(p, q, rng): return int(rng.choice(len(p), p=p))\n")
    done = cli("audit", f"{file}:step", "--html", tmp_path / "mine.html")
    assert done.exit_code == 2
    assert "No space left" in done.stderr
    assert "Consistent" in done.stdout
