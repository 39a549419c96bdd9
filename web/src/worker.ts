// Runs Python in a worker that its own content policy cuts off from the server and the page.
// The page gives it the address of the interpreter and the Python files to put in place.

interface Pyodide {
  FS: { writeFile(path: string, text: string): void; mkdirTree(path: string): void };
  globals: { get(name: string): (...args: unknown[]) => string };
  runPython(code: string): unknown;
  setInterruptBuffer(buffer: Uint8Array): void;
  setStdout(options: { write(bytes: Uint8Array): number }): void;
  setStderr(options: { write(bytes: Uint8Array): number }): void;
  setStdin(options: { error: boolean }): void;
}

interface Start {
  readonly type: "start";
  readonly pyodide: string;
  readonly files: Readonly<Record<string, string>>;
  readonly interrupt: Uint8Array | null;
}

interface Job {
  readonly type: "grade" | "run";
  readonly nonce: string;
  readonly source: string;
  readonly exercise: string;
}

// Taken before any learner code runs, which could replace the global one.
const reply = self.postMessage.bind(self) as (message: unknown) => void;
const PRINTED_LIMIT = 8_000;
const FOLDER = "/home/pyodide";

const DRIVER = `
import json, sys

def grade(source, exercise, report):
    import grader
    tell = lambda result: report(json.dumps(result))
    return json.dumps(grader.grade(source, json.loads(exercise), tell))

def run(source, exercise, report):
    import traceback
    try:
        exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})
    except SystemExit:
        return json.dumps(None)
    except BaseException as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == "program.py"]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
        what = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
        return json.dumps({"line": line, "message": what})
    return json.dumps(None)
`;

let python: Pyodide;
let printed = "";
let printedBytes = 0;

function capture(bytes: Uint8Array): number {
  if (printedBytes < PRINTED_LIMIT) {
    printed += new TextDecoder().decode(bytes.slice(0, PRINTED_LIMIT - printedBytes));
  }
  printedBytes += bytes.length;
  return bytes.length;
}

async function start(message: Start): Promise<void> {
  const { loadPyodide } = (await import(`${message.pyodide}pyodide.mjs`)) as {
    loadPyodide(options: object): Promise<Pyodide>;
  };
  python = await loadPyodide({ indexURL: message.pyodide });
  python.setStdout({ write: capture });
  python.setStderr({ write: capture });
  python.setStdin({ error: true });
  for (const [name, text] of Object.entries(message.files)) {
    python.FS.mkdirTree(`${FOLDER}/${name.split("/").slice(0, -1).join("/")}`);
    python.FS.writeFile(`${FOLDER}/${name}`, text);
  }
  python.runPython(`import sys; sys.path.insert(0, "${FOLDER}")`);
  python.runPython(DRIVER);
  // Imported beforehand, so that a verdict does not wait for it.
  const packages = new Set(Object.keys(message.files).map((name) => name.split("/")[0]));
  if (packages.size) python.runPython(`import ${[...packages].join(", ")}`);
  if (message.interrupt) python.setInterruptBuffer(message.interrupt);
  reply({ type: "ready" });
}

function work(job: Job): void {
  const report = (result: string): void => reply({ type: "progress", nonce: job.nonce, answer: result });
  const answer = python.globals.get(job.type)(job.source, job.exercise, report);
  const cut = printedBytes > PRINTED_LIMIT;
  reply({ type: "reply", nonce: job.nonce, answer, printed, cut });
}

self.onmessage = async ({ data }: MessageEvent<Start | Job>) => {
  try {
    if (data.type === "start") await start(data);
    else work(data);
  } catch (error) {
    reply({ type: "broken", nonce: "nonce" in data ? data.nonce : "", why: String(error) });
  }
};
