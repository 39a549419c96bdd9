"""Every mistake of a user ends with exit code 2 and one sentence that says the way out."""

import errno
import os
import re

import pytest

from draftproof.cli import main
from draftproof.errors import UnreadableModel

RUN, PLAN, PROVE = ("run", "hello"), ("plan", "--acceptance", "0.8", "--t-verify"), ("prove",)


class Failing:
    """A standard input that the system does not let us read."""

    def __init__(self, reason):
        self.reason, self.buffer = reason, self

    def read(self):
        raise OSError(self.reason, os.strerror(self.reason))


MISTAKES = [
    (("bogus",), "bogus"),
    (("--bogus",), "--bogus"),
    (("run",), "PROMPT"),
    (("run", ""), "prompt is empty"),
    (("run", "  "), "prompt is empty"),
    (("run", "--raw", ""), "prompt is empty"),
    (("run", "x" * 300), "300|shorten"),
    ((*RUN, "again"), "again"),
    ((*RUN, "--max-tokens", "-1"), "--max-tokens"),
    ((*RUN, "--max-tokens", "many"), "--max-tokens"),
    ((*RUN, "--max-tokens", "1.5"), "--max-tokens"),
    ((*RUN, "-k", "-1"), "-k"),
    ((*RUN, "-k", "some"), "-k is 'some'; it must be a whole number >= 0, or auto"),
    ((*RUN, "-k", "auto", "--rule", "rrs"), "'auto'"),
    ((*RUN, "--drafts", "0"), "--drafts"),
    ((*RUN, "--drafts", "3"), "--drafts"),
    ((*RUN, "--drafts", "129", "--rule", "rrs"), "--drafts is 129.* 516 .* give 128 or fewer"),
    ((*RUN, "--drafts", "13", "--rule", "tree"), "--drafts is 13,.* 520 .* give 12 or fewer"),
    ((*RUN, "--temperature", "-1"), "--temperature"),
    ((*RUN, "--temperature", "inf"), "--temperature is 'inf'; it must be a finite number"),
    ((*RUN, "--logit-bias", "5:1e400"), "--logit-bias is '1e400'; it must be a finite number"),
    ((*RUN, "--logit-bias", "5:9", "--logit-bias", "5:0"), "--logit-bias gives token 5 both"),
    ((*RUN, "--min-tokens", "10", "--max-tokens", "3"), "--min-tokens is 10 and --max-tokens is 3"),
    ((*RUN, "--seed", "9" * 23), "--seed is '9{23}'; it must be at most 9{18}"),
    ((*RUN, "--target", ""), "--target is ''"),
    ((*RUN, "--draft", ""), "--draft is ''"),
    ((*RUN, "--trace", ""), "--trace is ''"),
    ((*RUN, "--earlier", ""), "--earlier is ''"),
    (("bench", "--plot", ""), "--plot is ''"),
    (("bench", "--quick", "--repeats", "9"), "--repeats is 9 and --quick makes 2"),
    (("learn", ""), "no lesson ''"),
    (("learn", "nope", "--export", "zz.md"), "no lesson 'nope'"),
    (("learn", "--port", "abc"), "--port is 'abc'; it must be a whole number"),
    (("learn", "--port", "65536"), "--port is '65536'; it must be at most 65535"),
    (("learn", "check", "3", ""), "FILE is ''"),
    ((*RUN, "--temperature", "nan"), "--temperature"),
    ((*RUN, "--temperature", "hot"), "--temperature"),
    ((*RUN, "--top-k", "0"), "--top-k"),
    ((*RUN, "--top-p", "0"), "--top-p is 0.0"),
    ((*RUN, "--top-p", "1.1"), "--top-p"),
    ((*RUN, "--min-p", "2"), "--min-p"),
    ((*RUN, "--repetition-penalty", "0"), "--repetition-penalty"),
    ((*RUN, "--presence-penalty", "inf"), "--presence-penalty"),
    ((*RUN, "--frequency-penalty", "x"), "--frequency-penalty"),
    ((*RUN, "--logit-bias", "5"), "--logit-bias"),
    ((*RUN, "--logit-bias", "x:1"), "--logit-bias"),
    ((*RUN, "--logit-bias", "5:nan"), "--logit-bias"),
    ((*RUN, "--logit-bias", "999:1"), "999"),
    ((*RUN, "--min-tokens", "-2"), "--min-tokens"),
    ((*RUN, "--stop", ""), "stop"),
    ((*RUN, "--seed", "-1"), "--seed"),
    ((*RUN, "--seed", "lucky"), "--seed"),
    ((*RUN, "--rule", "nope"), "nope"),
    ((*RUN, "--draft", "nope"), "nope"),
    ((*RUN, "--draft", "no/such/model.gguf"), "no/such/model.gguf"),
    ((*RUN, "--trace", "/no/such/folder/t"), "--trace"),
    ((*RUN, "--bogus"), "--bogus"),
    (("plan",), "--acceptance"),
    (("plan", "--acceptance", "0.8"), "--t-verify"),
    ((*PLAN, "12ms"), "--t-target"),
    ((*PLAN, "5:12ms"), "--t-target"),
    ((*PLAN, "12"), "--t-target"),
    ((*PLAN, "12parsecs", "--t-target", "1ms"), "12parsecs"),
    ((*PLAN, "-12ms", "--t-target", "1ms"), "-12ms"),
    ((*PLAN, "0ms", "--t-target", "1ms"), "--t-verify is 0"),
    ((*PLAN, "12ms", "--t-target", "0"), "--t-target is 0"),
    ((*PLAN, "12ms", "--t-target", "1ms", "--t-draft", "-1us"), "--t-draft"),
    ((*PLAN, "1:1ms,1:2ms"), "ascend"),
    ((*PLAN, "5:1ms,2:2ms"), "ascend"),
    ((*PLAN, "0:1ms,2:2ms"), "1 or more"),
    ((*PLAN, "a:1ms"), "a:1ms"),
    ((*PLAN, "1:1ms,"), "--t-verify"),
    ((*PLAN, "1:1ms,5:3ms", "-k", "5"), "1 to 5 tokens"),
    ((*PLAN, "12ms", "--t-target", "1ms", "-k", "-1"), "-k"),
    ((*PLAN, "12ms", "--t-target", "1ms", "-k", "99999"), "-k"),
    ((*PLAN, "12ms", "--t-target", "1ms", "--max-k", "99999"), "--max-k"),
    (("plan", "--acceptance", "1.2", "--t-verify", "1ms"), "--acceptance"),
    (("plan", "--acceptance", "-0.1", "--t-verify", "1ms"), "--acceptance"),
    (("plan", "--acceptance", "1/0", "--t-verify", "1ms"), "divides by zero"),
    (("plan", "--acceptance", "nan", "--t-verify", "1ms"), "--acceptance"),
    ((*PROVE, "--rule", "nope"), "nope"),
    ((*PROVE, "--rule", "nope.py:verify"), "nope.py"),
    ((*PROVE, "--rule", "nope.py"), "nope.py"),
    ((*PROVE, "-k", "0"), "-k"),
    ((*PROVE, "--drafts", "0"), "--drafts"),
    ((*PROVE, "--target-row", "1"), "--draft-row"),
    ((*PROVE, "--draft-row", "1"), "--target-row"),
    ((*PROVE, "--target-row", "", "--draft-row", "1"), "--target-row"),
    ((*PROVE, "--target-row", "0.5,0.6", "--draft-row", "1,0"), "11/10"),
    ((*PROVE, "--target-row", "0.5,0.5", "--draft-row", "1"), "same tokens"),
    ((*PROVE, "--target-row", "3/2,-1/2", "--draft-row", "1,0"), "negative"),
    ((*PROVE, "--target-row", "a,b", "--draft-row", "1,0"), "target-row"),
    ((*PROVE, "--target-row", "nan,1", "--draft-row", "1,0"), "target-row"),
    ((*PROVE, "--target-row", "1e999999999,1", "--draft-row", "1,0"), "target-row"),
    ((*PROVE, "--target-row", "0.333,0.333,0.333", "--draft-row", "1,0,0"), "999/1000"),
    ((*PROVE, "--rows", "no/such.json"), "no/such.json"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "named"), MISTAKES, ids=lambda x: " ".join(x)[:60])
def test_a_mistake_is_answered_with_one_sentence(toy, cli, arguments, named):
    done = cli(*arguments)
    assert done.exit_code == 2, done.output
    sentence = done.stderr.splitlines()[-1]
    assert sentence.startswith("draftproof: ")
    assert re.search(named, sentence)
    assert "Traceback" not in done.output
    assert done.stdout == ""


ROWS = [
    ("{", "JSON"),
    ("[]", "target"),
    ('{"target": {}}', "draft"),
    ('{"target": {}, "draft": {"*": [1]}}', "empty"),
    ('{"target": {"*": 1}, "draft": {"*": [1]}}', "list"),
    ('{"target": {"*": [true]}, "draft": {"*": [1]}}', "list"),
    ('{"target": {"*": ["x"]}, "draft": {"*": [1]}}', "'x'"),
    ('{"target": {"*": [0.5]}, "draft": {"*": [1]}}', "1/2"),
    ('{"target": {"*": [0.5, 0.5]}, "draft": {"*": [1]}}', "same tokens"),
    ('{"target": {"": [0.5, 0.5]}, "draft": {"*": [1, 0]}}', "no row after"),
    ("\xff", "UTF-8|JSON"),
]


@pytest.mark.parametrize(("content", "named"), ROWS)
def test_a_bad_rows_file_is_answered_with_one_sentence(cli, tmp_path, content, named):
    file = tmp_path / "rows.json"
    file.write_text(content, encoding="latin-1")
    done = cli("prove", "--rows", file)
    assert done.exit_code == 2, done.output
    assert re.search(named, done.stderr.splitlines()[-1])


RULES = [
    ("verify = 3", "verify", "no function"),
    ("def verify(:", "verify", "SyntaxError.*line 1"),
    ("import not_a_module_of_this_world", "verify", "ModuleNotFoundError.*line 1"),
    ("def verify(chance, draft, rows):\n    return 1 / 0", "verify", "ZeroDivisionError.*line 2"),
    ("def verify(chance, draft, rows):\n    return None", "verify", "returned None; it must"),
    ("def verify(chance):\n    return None", "verify", "TypeError"),
    ("", "other", "other"),
]


@pytest.mark.parametrize(("source", "name", "named"), RULES)
def test_a_rule_file_that_fails_is_answered_with_one_sentence(cli, tmp_path, source, name, named):
    file = tmp_path / "mine.py"
    file.write_text(source)
    done = cli("prove", "--rule", f"{file}:{name}")
    assert done.exit_code == 2, done.output
    assert re.search(named, done.stderr.splitlines()[-1])


def test_an_existing_trace_is_not_overwritten(toy, cli, tmp_path):
    file = tmp_path / "precious"
    file.write_text("keep me")
    done = cli("run", "hello", "--trace", file)
    assert done.exit_code == 2
    assert "exists already" in done.stderr
    assert file.read_text() == "keep me"


def test_standard_input_must_be_utf8(toy, cli):
    done = cli("run", "-", input=b"caf\xe9 au lait")
    assert done.exit_code == 2
    assert "standard input is not UTF-8 text (byte 3)" in done.stderr


def test_an_empty_standard_input_is_an_empty_prompt(toy, cli):
    done = cli("run", "-", input=b"")
    assert done.exit_code == 2
    assert "prompt is empty" in done.stderr


def test_a_row_of_nan_names_the_row(toy, cli):
    import numpy as np

    toy().backend._row = lambda text, wide: np.full(257, np.nan, dtype=np.float32)
    done = cli("run", "hello")
    assert done.exit_code == 2
    assert "NaN" in done.stderr
    assert "toy" in done.stderr


def test_a_folder_that_can_keep_no_progress_is_refused_at_once(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("draftproof.lesson.server.run", lambda *_, **__: None)
    (tmp_path / "a file").write_text("")
    done = cli("learn", "--no-browser", "--data-dir", tmp_path / "a file" / "folder")
    assert done.exit_code == 2
    assert "--data-dir" in done.stderr
    assert "nothing can be written there" in done.stderr


def test_an_existing_export_is_not_overwritten(cli, tmp_path):
    file = tmp_path / "precious.md"
    file.write_text("keep me")
    done = cli("learn", "--data-dir", tmp_path, "--export", file)
    assert done.exit_code == 2
    assert "exists already" in done.stderr
    assert file.read_text() == "keep me"


@pytest.mark.parametrize("flag", ["--target", "--draft"])
def test_a_path_that_holds_no_model_is_refused_with_its_flag(toy, cli, monkeypatch, tmp_path, flag):
    model = toy()

    def open_model(name):
        if name == "smollm2":
            return model
        raise UnreadableModel(f"{name} holds no openvino_model.xml, so it is not a model folder.")

    monkeypatch.setattr("draftproof.session.running.open_model", open_model)
    done = cli("run", "hello", flag, tmp_path)
    assert done.exit_code == 2
    sentence = done.stderr.splitlines()[-1]
    assert sentence.startswith(f"draftproof: {flag}: {tmp_path} holds no openvino_model.xml")
    assert "name a GGUF file, or a folder" in sentence


@pytest.mark.parametrize(
    ("stream", "reason"), [(None, "is closed"), (Failing(errno.EIO), "cannot be read")]
)
def test_a_standard_input_that_cannot_be_read_is_one_sentence(
    toy, monkeypatch, capsys, stream, reason
):
    monkeypatch.setattr("sys.stdin", stream)
    with pytest.raises(SystemExit) as ended:
        main(["run", "--json", "-"])
    assert ended.value.code == 2
    assert f"PROMPT is '-' and standard input {reason}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("prove", "--rule", "token-wise", "--drafts", "3"), "token-wise takes one"),
        (("bench", "--quick", "--time-limit", "300s"), "--quick takes at most 90s"),
        (
            ("learn", "--data-dir", "nowhere", "--export", "mine.md"),
            "no such folder to export from",
        ),
    ],
)
def test_a_flag_that_would_mean_nothing_is_refused(cli, args, words):
    done = cli(*args)
    assert done.exit_code == 2
    assert words in done.stderr
