"""What `draftproof run` costs: time to the help, to the first token, peak memory, overhead.

Every figure is of a fresh process on the default model, which must be prepared. The overhead is
the share of decoding time spent outside the two model passes, as the program itself reports it.
"""

from __future__ import annotations

import json
import selectors
import statistics
import subprocess
import sys
import time

PROGRAM = [sys.executable, "-c", "from draftproof.cli import main; main()"]
PROMPT = "What are the benefits of reading books?"
PARAGRAPH = (
    "Anna walked to the market in the morning. Anna bought apples, pears and a small loaf of "
    "bread. On the way home Anna met an old friend, and they talked about the weather until the "
    "bells rang."
)
COPY = (
    f"{PARAGRAPH}\n\nThe same paragraph with the name Clara instead of Anna:\n\n"
    "Clara walked to the market"
)
LONG_WORDS = 3900
REPEATS = 5


def seconds_of(*arguments: str) -> float:
    """Give the wall-clock seconds of one command."""
    began = time.perf_counter()
    subprocess.run([*PROGRAM, *arguments], check=True, capture_output=True)
    return time.perf_counter() - began


def first_token(*arguments: str) -> float:
    """Give the seconds from the start of the process to the first character of its text."""
    began = time.perf_counter()
    with subprocess.Popen(
        [*PROGRAM, "run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdout is not None
        waiting = selectors.DefaultSelector()
        waiting.register(child.stdout, selectors.EVENT_READ)
        waiting.select()
        elapsed = time.perf_counter() - began
        child.stdout.read()
    return elapsed


def peak_megabytes(*arguments: str) -> float:
    """Give the peak resident memory of one command, measured in a process of its own."""
    code = (
        "import resource, subprocess, sys; "
        "subprocess.run(sys.argv[1:], check=True, stdin=sys.stdin, capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    *flags, prompt = arguments
    command = [sys.executable, "-c", code, *PROGRAM, "run", *flags, "-"]
    done = subprocess.run(command, input=prompt, text=True, check=True, capture_output=True)
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return int(done.stdout) / scale


def told(*arguments: str) -> dict[str, object]:
    """Give the JSON object of one run."""
    done = subprocess.run(
        [*PROGRAM, "run", *arguments, "--json"], check=True, capture_output=True, text=True
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def overhead(answer: dict[str, object]) -> str:
    """Give the share of decoding spent outside the two model passes, and its parts."""
    seconds = answer["seconds"]
    assert isinstance(seconds, dict)
    whole = seconds["draft"] + seconds["target"] + seconds["other"]
    outside = (seconds["draft"] + seconds["other"]) / whole
    return f"{outside:.1%} (draft {seconds['draft'] / whole:.1%})"


def print_speed(name: str, *flags: str) -> None:
    """Compare with plain decoding in one process."""
    answer = told(*flags, "--compare")
    plain, gap = answer["plain"], answer["numeric_gap"]
    assert isinstance(plain, dict)
    assert isinstance(gap, dict)
    print(
        f"{name:28} {answer['tokens_per_second']:7.1f} tokens/s against "
        f"{plain['tokens_per_second']:6.1f} plain: {answer['speedup']:.2f}x; "
        f"{answer['tokens_per_round']:.2f} tokens per round; gap {gap['max']:.2g}; "
        f"outside the passes {overhead(answer)}"
    )


def main() -> None:
    """Print every figure."""
    helps = [seconds_of("--help") for _ in range(REPEATS)]
    print(f"--help                       {statistics.median(helps):.3f} s")
    firsts = [first_token(PROMPT, "--max-tokens", "4") for _ in range(REPEATS)]
    print(f"first token, warm start      {statistics.median(firsts):.2f} s")
    print(f"peak memory, short prompt    {peak_megabytes(PROMPT):.0f} MB")
    long = "word " * LONG_WORDS
    print(
        f"peak memory, {LONG_WORDS} words      {peak_megabytes('--max-tokens', '8', long):.0f} MB"
    )
    for draft in ("ngram", "prompt-lookup"):
        for temperature in ("0", "0.8"):
            chat = ("--draft", draft, "--temperature", temperature)
            print_speed(f"chat {draft} T={temperature}", PROMPT, *chat)
    for draft in ("ngram", "prompt-lookup", "suffix"):
        copy = ("--raw", "--draft", draft, "-k", "8", "--temperature", "0", "--max-tokens", "48")
        print_speed(f"copy {draft} T=0 k=8", COPY, *copy)
    print_speed("chat ngram T=0.8 top-p 0.9", PROMPT, "--top-p", "0.9")


if __name__ == "__main__":
    main()
