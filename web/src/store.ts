// Progress lives in a file of the server. The browser keeps a copy only while the server is away,
// because what a browser stores belongs to one port.
import { useEffect, useState } from "preact/hooks";
import { ApiError, getJson, postJson, send } from "./api";
import { EMPTY, merge, readProgress, type Progress, type Record_ } from "./merge";

const SPARE = "draftproof-unsaved";
const SAVE_AFTER_MS = 300;

export class Store {
  private progress: Progress = EMPTY;
  private rev = 0;
  private before: Progress | null = null;
  /** Whether the server still has what the last reset or import dropped, before this visit too. */
  serverUndo = false;
  private timer = 0;
  private saving: Promise<void> = Promise.resolve();
  private readonly listeners = new Set<() => void>();
  /** Counts how often all progress was replaced, so that what shows it starts afresh. */
  generation = 0;
  /** Shown beside the header: what happened to the last save. */
  trouble = "";

  constructor(
    private readonly lesson: string,
    private readonly contentHash: string,
  ) {}

  async load(): Promise<void> {
    try {
      const saved = await getJson<{ rev: number; data: unknown; undo: boolean; notice?: string }>("/api/progress");
      this.serverUndo = saved.undo;
      this.rev = saved.rev;
      this.progress = readProgress(saved.data);
      this.trouble = saved.notice ?? "";
    } catch (error) {
      this.trouble = (error as Error).message;
    }
    const spare = localStorage.getItem(SPARE);
    if (spare) {
      this.progress = merge(readProgress(JSON.parse(spare)), this.progress);
      this.save();
    }
    this.changed();
    addEventListener("pagehide", () => this.flush());
    addEventListener("focus", () => void this.refresh());
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
    this.replace({ contentHash: this.contentHash, steps });
  }

  /** Forgets one step, or the whole lesson; `undo` brings it back. */
  reset(id?: string): void {
    this.before = this.progress;
    this.generation += 1;
    const { [id ?? ""]: _, ...others } = this.progress.lessons[this.lesson]?.steps ?? {};
    this.replace({ contentHash: this.contentHash, steps: id ? others : {} });
  }

  get canUndo(): boolean {
    return this.before !== null;
  }

  undo(): void {
    if (!this.before) return;
    this.generation += 1;
    [this.progress, this.before] = [this.before, null];
    this.changed();
    this.save();
  }

  /** Brings back what the last reset or import dropped, even one of an earlier visit. */
  async undoOnServer(): Promise<void> {
    await this.flush();
    const state = await postJson<{ rev: number; data: unknown }>("/api/undo", {});
    this.adopt(state.rev, state.data);
  }

  /** Takes over what an import or another tab wrote. */
  adopt(rev: number, data: unknown): void {
    this.before = this.progress;
    this.generation += 1;
    this.rev = rev;
    this.progress = readProgress(data);
    this.changed();
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
    await this.flush();
    const saved = await getJson<{ rev: number; undo: boolean; data: unknown }>("/api/progress").catch(() => null);
    if (!saved || saved.rev <= this.rev || this.timer) return;
    [this.rev, this.serverUndo] = [saved.rev, saved.undo];
    const shown = JSON.stringify(this.progress.lessons[this.lesson]);
    this.progress = readProgress(saved.data);
    if (JSON.stringify(this.progress.lessons[this.lesson]) !== shown) this.generation += 1;
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
      localStorage.removeItem(SPARE);
      this.complain("");
    } catch (error) {
      localStorage.setItem(SPARE, JSON.stringify(this.progress));
      this.complain(`Not saved yet; kept in this browser for now. ${(error as Error).message}`);
    }
  }

  private async put(): Promise<void> {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      try {
        const body = { rev: this.rev, data: this.progress };
        const answer = await send("PUT", "/api/progress", body, { keepalive: small(body) });
        const saved = (await answer.json()) as { rev: number; undo: boolean };
        [this.rev, this.serverUndo] = [saved.rev, saved.undo];
        return;
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 409) throw error;
        const theirs = error.body as { rev: number; data: unknown };
        this.rev = theirs.rev;
        this.progress = merge(this.progress, readProgress(theirs.data));
        this.changed();
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

// A request that outlives its page may carry at most 64 KiB.
function small(body: unknown): boolean {
  return JSON.stringify(body).length < 60_000;
}

/** Draws a component again whenever progress changes. */
export function useStore(store: Store): void {
  const [, redraw] = useState(0);
  useEffect(() => store.subscribe(() => redraw((n) => n + 1)), [store]);
}
