// A fresh interpreter for every run, with another one warming up, so that nothing a program does
// can reach the next program and nobody waits for a start.

import { GONE, mustAnswer } from "./api";

export interface Files {
  readonly [name: string]: string;
}

export interface Finished {
  readonly outcome: "finished";
  readonly answer: unknown;
  readonly printed: string;
  readonly cut: boolean;
}

export interface Stopped {
  readonly outcome: "stopped" | "crashed" | "unavailable";
  readonly message: string;
}

export interface Job {
  /** Whether the grader judges the program or it just runs. */
  readonly type: "grade" | "run";
  readonly source: string;
  readonly exercise: unknown;
  readonly limitS: number;
  /** Called with each test's result as soon as there is one. */
  onReport?(result: unknown): void;
}

export type Outcome = Finished | Stopped;
export type State = "idle" | "loading" | "ready" | "running" | "unavailable";

interface Message {
  readonly type: "ready" | "progress" | "reply" | "broken";
  readonly nonce?: string;
  readonly answer?: string;
  readonly printed?: string;
  readonly cut?: boolean;
  readonly why?: string;
}

const LOAD_LIMIT_MS = 30_000;
/** A start that takes longer than this asks whether the server is still there, and again as often. */
const ASK_SERVER_MS = 2_000;
/** A program that reports nothing for this long is taken to be stuck. */
const STALL_LIMIT_MS = 4_000;
const INTERRUPT_GRACE_MS = 500;
const SIGINT = 2;

class Interpreter {
  readonly ready: Promise<void>;
  isReady = false;
  private readonly worker: Worker;
  private readonly interrupt: Uint8Array | null;

  constructor(worker: string, pyodide: string, files: Files) {
    this.interrupt = globalThis.crossOriginIsolated ? new Uint8Array(new SharedArrayBuffer(1)) : null;
    this.worker = new Worker(worker, { type: "module" });
    this.ready = new Promise((resolve, reject) => {
      const check = () => mustAnswer(worker).catch(() => end(GONE));
      const late = setTimeout(() => end(cannot("it did not start within 30 seconds")), LOAD_LIMIT_MS);
      const asking = setInterval(() => void check(), ASK_SERVER_MS);
      const end = (trouble: string) => {
        clearTimeout(late);
        clearInterval(asking);
        if (trouble) reject(new Error(trouble));
        else resolve();
      };
      this.worker.onerror = () => void check().then(() => end(cannot("its script could not be loaded")));
      this.worker.onmessage = ({ data }: MessageEvent<Message>) => {
        this.isReady = data.type === "ready";
        if (this.isReady) end("");
        else void check().then(() => end(cannot(data.why ?? "")));
      };
    });
    this.worker.postMessage({ type: "start", pyodide, files, interrupt: this.interrupt });
  }

  run({ type, source, exercise, limitS, onReport }: Job): Promise<Outcome> {
    const nonce = crypto.randomUUID();
    return new Promise((resolve) => {
      const watch = new Watch(limitS * 1000, {
        interrupt: () => this.interrupt?.fill(SIGINT),
        stop: (afterMs) => finish({ outcome: "stopped", message: stuck(afterMs) }),
      });
      const finish = (outcome: Outcome) => {
        watch.end();
        resolve(outcome);
      };
      this.worker.onerror = () => finish({ outcome: "crashed", message: CRASHED });
      this.worker.onmessage = ({ data }: MessageEvent<Message>) => {
        if (data.nonce !== nonce) return;
        if (data.type === "progress") {
          watch.restart();
          onReport?.(JSON.parse(data.answer!));
        } else if (data.type === "reply") finish(finished(data));
        else finish({ outcome: "crashed", message: CRASHED });
      };
      this.worker.postMessage({ type, nonce, source, exercise: JSON.stringify(exercise) });
    });
  }

  stop(): void {
    this.worker.terminate();
  }
}

/** Interrupts a program that is stuck, and a moment later gives up on it. */
class Watch {
  private readonly began = performance.now();
  private timers: number[] = [];

  constructor(
    private readonly limitMs: number,
    private readonly act: { interrupt(): void; stop(afterMs: number): void },
  ) {
    this.restart();
  }

  restart(): void {
    this.end();
    const left = this.limitMs - (performance.now() - this.began);
    const wait = Math.max(0, Math.min(STALL_LIMIT_MS, left));
    this.timers = [
      setTimeout(() => this.act.interrupt(), wait),
      setTimeout(() => this.act.stop(performance.now() - this.began), wait + INTERRUPT_GRACE_MS),
    ] as unknown as number[];
  }

  end(): void {
    this.timers.forEach(clearTimeout);
  }
}

/** Why there is no Python: the last line of what went wrong, in a sentence. */
function cannot(why: string): string {
  return `Python cannot run in this browser: ${why.trim().split("\n").at(-1)}.`;
}

function finished(message: Message): Finished {
  return {
    outcome: "finished",
    answer: JSON.parse(message.answer!),
    printed: message.printed ?? "",
    cut: message.cut ?? false,
  };
}

function stuck(afterMs: number): string {
  return (
    `Stopped: the program was still running after ${Math.round(afterMs / 1000)} seconds. Look for a loop ` +
    "that never ends, or for a list that keeps growing."
  );
}

const CRASHED =
  "The program crashed the Python interpreter, most likely by calling itself too deeply. " +
  "A fresh interpreter is ready for the next run.";

/** One interpreter to run in, and one more so that the next run need not wait either. */
const SPARES = 2;

export class PyRunner {
  private spares: Interpreter[] = [];
  private running = false;
  private readonly listeners = new Set<() => void>();
  state: State = "idle";
  trouble = "";

  constructor(
    private readonly worker: string,
    private readonly pyodide: string,
    private readonly files: Files,
  ) {}

  /** Starts an interpreter unless one is there; safe to call as often as you like. */
  warm(): void {
    if (this.spares.length === 0) this.startOne();
  }

  /** Runs a program in an interpreter of its own. */
  async run(job: Job): Promise<Outcome> {
    this.warm();
    const interpreter = this.spares.shift()!;
    this.running = true;
    try {
      await interpreter.ready;
    } catch (error) {
      this.running = false;
      return { outcome: "unavailable", message: (error as Error).message };
    }
    this.become("running");
    const result = await interpreter.run(job);
    interpreter.stop();
    this.running = false;
    this.settle();
    return result;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private startOne(): void {
    const interpreter = new Interpreter(this.worker, this.pyodide, this.files);
    this.spares.push(interpreter);
    if (!this.running && this.spares.length === 1) this.become("loading");
    interpreter.ready.then(
      () => this.settle(),
      (error: Error) => this.fail(interpreter, error),
    );
  }

  /** Says how things stand between runs, and starts a spare once nothing else is starting. */
  private settle(): void {
    if (this.running) return;
    const starting = this.spares.some((spare) => !spare.isReady);
    this.become(this.spares[0]?.isReady ? "ready" : "loading");
    if (!starting && this.spares.length < SPARES) this.startOne();
  }

  private fail(interpreter: Interpreter, error: Error): void {
    interpreter.stop();
    this.spares = this.spares.filter((spare) => spare !== interpreter);
    this.trouble = error.message;
    if (this.spares.length === 0) this.become("unavailable");
  }

  private become(state: State): void {
    this.state = state;
    for (const listener of [...this.listeners]) listener();
  }
}
