"""The exercises in the page's own Python: graded in a worker, or through the code step."""

import json

from browser.lab import words

GRADER = """async (programs) => {
    const page = JSON.parse(document.getElementById('page-data').textContent);
    const worker = new (window.LoudWorker ?? Worker)(page.worker, {type: 'module'});
    const answer = () => new Promise((done) => {
        worker.onmessage = ({data}) => { if (data.type !== 'progress') done(data); };
    });
    worker.postMessage({type: 'start', pyodide: page.pyodide, files: page.python, interrupt: null});
    await answer();
    const replies = [];
    for (const [source, exercise] of programs) {
        worker.postMessage({type: 'grade', nonce: '', source, exercise});
        replies.push(JSON.parse((await answer()).answer));
    }
    worker.terminate();
    return replies;
}"""


def graded_by(code, function=None):
    """What the grader is given: the tests of one function, or all."""
    whole = code.exercise()
    tests = [test for test in whole["tests"] if function in (None, test["function"])]
    return json.dumps(whole | {"tests": tests})


def spliced(code, wrong):
    """The reference solution with one function replaced by a wrong one."""
    return f"{code.reference}\n\n{wrong.code}"


class Exercise:
    """The code step, through its plain text box."""

    def __init__(self, page):
        self.page = page
        self.runs = 0
        self.place = page.locator("#code")
        page.get_by_label("Plain text box").check()
        self.box = page.locator("textarea.plain-code")

    def run(self, program):
        """Type a program, press Ctrl+Enter, wait for its verdict, and give the words shown."""
        self.box.fill(program)
        self.box.press("Control+Enter")
        self.runs += 1
        return words(verdict(self.page, self.runs).inner_text())


def verdict(page, run):
    """The results of the n-th run since the page was opened, once they are all there."""
    done = page.locator("#code .results[aria-busy=false]")
    done = done.filter(has=page.get_by_text(f"Run {run}", exact=True))
    done.wait_for(timeout=40_000)
    return done
