// Progress lives in a file of the server. The browser keeps a copy only while the server is away,
// because what a browser stores belongs to one port.
import { useEffect, useState } from "preact/hooks";
import { ApiError, getJson, postJson, send } from "./api";
import { broughtBack, EMPTY, merge, readProgress, type Progress, type Record_ } from "./merge";

const SAVE_AFTER_MS = 300;
const LOOK_AGAIN_MS = 50;
const LOOKS = 10;

interface Saved {
  readonly rev: number;
  readonly data: unknown;
  readonly undo: boolean;
  readonly notice?: string;
}

export class Store {
  private progress: Progress = EMPTY;
  private rev = 0;
  private before: Progress | null = null;
  /** Whether the server still has what the last reset or import dropped, before this visit too. */
  serverUndo = false;
  private timer = 0;
  private unsaved = false;
  private saving: Promise<void> = Promise.resolve();
  private readonly listeners = new Set<() => void>();
  /** Counts how often all progress was replaced, so that what shows it starts afresh. */
  private generation = 0;
  /** Counts for each step how often another tab changed it. */
  private readonly changes = new Map<string, number>();
  /** Shown beside the header: what happened to the last save. */
  trouble = "";

  constructor(
    private readonly lesson: string,
    private readonly contentHash: string,
    /** Names the folder that the server keeps this work in; the spare copy belongs to it alone. */
    private readonly learner: string,
  ) {}

  private get spare(): string {
    return `draftproof-unsaved-${this.learner}`;
  }

  /** Where this tab's pages tell each other which revision the last save will make. */
  private get sent(): string {
    return `draftproof-sent-${this.learner}`;
  }

  async load(): Promise<void> {
    try {
      const saved = await this.read();
      this.serverUndo = saved.undo;
      this.rev = saved.rev;
      this.progress = readProgress(saved.data);
      this.trouble = saved.notice ?? "";
    } catch (error) {
      this.trouble = (error as Error).message;
    }
    const spare = localStorage.getItem(this.spare);
    if (spare) {
      this.progress = merge(readProgress(JSON.parse(spare)), this.progress);
      this.save();
    }
    this.changed();
    addEventListener("pagehide", () => this.flush());
    addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") void this.flush();
    });
    addEventListener("focus", () => void this.refresh());
  }

  /** What is saved, once the last save of the page before this one has arrived. */
  private async read(): Promise<Saved> {
    const due = Number(sessionStorage.getItem(this.sent) ?? 0);
    for (let look = 1; ; look += 1) {
      const saved = await getJson<Saved>("/api/progress");
      if (saved.rev >= due || look === LOOKS) return saved;
      await new Promise((done) => setTimeout(done, LOOK_AGAIN_MS));
    }
  }

  /** Grows when a step must be drawn afresh; with `others` also where only another tab changed it. */
  version(id: string, others: boolean): number {
    return this.generation + (others ? (this.changes.get(id) ?? 0) : 0);
  }

  step(id: string): Record_ {
    return this.progress.lessons[this.lesson]?.steps[id] ?? {};
  }

  /** The lesson text that this progress was made with, or "" when there is none. */
  get knownHash(): string {
    return this.progress.lessons[this.lesson]?.contentHash ?? "";
  }

  update(id: string, change: Record_): void {
    const lesson = this.progress.lessons[this.lesson];
    const steps = { ...lesson?.steps };
    steps[id] = { ...steps[id], ...change, at: new Date().toISOString() };
    this.replace({ ...lesson, contentHash: this.contentHash, steps });
  }

  /** Forgets the whole lesson; `undo` brings it back. */
  reset(): void {
    this.before = this.progress;
    this.generation += 1;
    const lesson = this.progress.lessons[this.lesson];
    this.replace({ ...lesson, contentHash: this.contentHash, steps: {}, resetAt: now() });
  }

  get canUndo(): boolean {
    return this.before !== null;
  }

  undo(): void {
    if (!this.before) return;
    this.generation += 1;
    [this.progress, this.before] = [broughtBack(this.before, now()), null];
    this.changed();
    this.save();
  }

  /** Brings back what the last reset or import dropped, even one of an earlier visit. */
  async undoOnServer(): Promise<void> {
    await this.flush();
    const state = await postJson<{ rev: number; data: unknown }>("/api/undo", {});
    this.adopt(state.rev, state.data);
  }

  /** Takes over what an import or an undo wrote. */
  adopt(rev: number, data: unknown): void {
    this.before = this.progress;
    this.generation += 1;
    this.rev = rev;
    this.progress = broughtBack(readProgress(data), now());
    this.changed();
    this.save();
  }

  /** Waits until everything is on disk. */
  async flush(): Promise<void> {
    if (this.timer) {
      clearTimeout(this.timer);
      this.timer = 0;
      this.saving = this.saving.then(() => this.write());
    }
    await this.saving;
  }

  /** Shows what another tab has saved, when the learner comes back to this one. */
  private async refresh(): Promise<void> {
    if (this.unsaved) this.save();
    await this.flush();
    const saved = await getJson<Saved>("/api/progress").catch(() => null);
    if (!saved || saved.rev <= this.rev || this.timer || this.unsaved) return;
    [this.rev, this.serverUndo] = [saved.rev, saved.undo];
    this.take(readProgress(saved.data));
  }

  /** Takes over another tab's work; what is typed here and not saved stays where it is. */
  private take(progress: Progress): void {
    const [old, next] = [this.progress.lessons[this.lesson], progress.lessons[this.lesson]];
    if (old?.resetAt !== next?.resetAt) this.generation += 1;
    for (const id of Object.keys({ ...old?.steps, ...next?.steps })) {
      if (work(old?.steps[id]) !== work(next?.steps[id])) this.changes.set(id, (this.changes.get(id) ?? 0) + 1);
    }
    this.progress = progress;
    this.changed();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private replace(lesson: Progress["lessons"][string]): void {
    this.progress = { v: 1, lessons: { ...this.progress.lessons, [this.lesson]: lesson } };
    this.changed();
    this.save();
  }

  private save(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.flush(), SAVE_AFTER_MS) as unknown as number;
  }

  private async write(): Promise<void> {
    try {
      await this.put();
      this.unsaved = false;
      localStorage.removeItem(this.spare);
      this.complain("");
    } catch (error) {
      this.unsaved = true;
      sessionStorage.removeItem(this.sent);
      localStorage.setItem(this.spare, JSON.stringify(this.progress));
      this.complain(`Not saved yet; kept in this browser for now. ${(error as Error).message}`);
    }
  }

  private async put(): Promise<void> {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      try {
        const body = { rev: this.rev, data: this.progress };
        sessionStorage.setItem(this.sent, `${this.rev + 1}`);
        const answer = await send("PUT", "/api/progress", body, { keepalive: small(body) });
        const saved = (await answer.json()) as { rev: number; undo: boolean };
        [this.rev, this.serverUndo] = [saved.rev, saved.undo];
        return;
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 409) throw error;
        const theirs = error.body as { rev: number; data: unknown };
        this.rev = theirs.rev;
        this.take(merge(this.progress, readProgress(theirs.data)));
      }
    }
    throw new Error("Another tab keeps saving at the same time.");
  }

  private complain(trouble: string): void {
    if (trouble === this.trouble) return;
    this.trouble = trouble;
    this.changed();
  }

  private changed(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

function now(): string {
  return new Date().toISOString();
}

/** A step's record without its times, to tell whether there is anything new to draw. */
function work(record: Record_ | undefined): string {
  return JSON.stringify(record ?? {}, (key, value: unknown) => (key === "at" || key === "doneAt" ? undefined : value));
}

// A request that outlives its page may carry at most 64 KiB.
function small(body: unknown): boolean {
  return JSON.stringify(body).length < 60_000;
}

/** Draws a component again whenever progress changes. */
export function useStore(store: Store): void {
  const [, redraw] = useState(0);
  useEffect(() => store.subscribe(() => redraw((n) => n + 1)), [store]);
}
