import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Progress, Record_ } from "../src/merge";
import { Store } from "../src/store";

// ------------------------------------------------ a browser and a server, as far as the store sees them

class Shelf {
  readonly kept = new Map<string, string>();
  getItem = (name: string) => this.kept.get(name) ?? null;
  setItem = (name: string, text: string) => void this.kept.set(name, text);
  removeItem = (name: string) => void this.kept.delete(name);
}

class Server {
  rev = 0;
  data: Progress = { v: 1, lessons: {} };
  up = true;
  /** Whether a save is answered but is seen only after the next look, as when a page is left. */
  slow = false;
  private due: (() => void)[] = [];
  readonly statuses: number[] = [];

  steps = (): Record<string, Record_> => this.data.lessons.three?.steps ?? {};

  answer(path: string, init: RequestInit): Response {
    if (!this.up) throw new TypeError("refused");
    if (init.method !== "PUT") {
      const seen = this.reply(200, { rev: this.rev, data: this.data, undo: false });
      this.due.splice(0).forEach((write) => write());
      return seen;
    }
    const { rev, data } = JSON.parse(init.body as string) as { rev: number; data: Progress };
    if (rev !== this.rev) return this.reply(409, { error: "", rev: this.rev, data: this.data });
    const write = () => Object.assign(this, { rev: rev + 1, data });
    if (this.slow) this.due.push(write);
    else write();
    return this.reply(200, { rev: rev + 1, undo: false });
  }

  private reply(status: number, body: unknown): Response {
    this.statuses.push(status);
    return new Response(JSON.stringify(body), { status });
  }
}

const events = new EventTarget();
let server: Server;
let local: Shelf;

beforeEach(() => {
  server = new Server();
  local = new Shelf();
  Object.assign(globalThis, {
    localStorage: local,
    sessionStorage: new Shelf(),
    addEventListener: events.addEventListener.bind(events),
    fetch: async (path: string, init: RequestInit) => server.answer(path, init),
  });
});

async function open(learner = "ada"): Promise<Store> {
  const store = new Store("three", "hash", learner);
  await store.load();
  return store;
}

const pause = () => new Promise((done) => setTimeout(done, 3));

async function backTo(): Promise<void> {
  events.dispatchEvent(new Event("focus"));
  await pause();
}

// -------------------------------------------------------------------------------------------- the store

test("work kept in the browser while the server is away reaches its own folder and no other", async () => {
  const ada = await open("ada");
  server.up = false;
  ada.update("predict", { choice: "yes" });
  await ada.flush();
  server.up = true;
  const bob = await open("bob");
  await bob.flush();
  assert.deepEqual(bob.step("predict"), {});
  assert.deepEqual(server.steps(), {});
  const again = await open("ada");
  await again.flush();
  assert.equal(server.steps().predict!.choice, "yes");
  assert.equal(local.kept.size, 0);
});

test("a reset wins over another tab's older work, and newer work stays", async () => {
  const [a, b] = [await open(), await open()];
  a.update("predict", { choice: "yes" });
  a.update("code", { draft: "mine" });
  await a.flush();
  b.update("trace", { doneAt: "old" });
  await b.flush();
  await pause();
  a.reset();
  await a.flush();
  assert.deepEqual(server.steps(), {});
  await pause();
  b.update("trace", { doneAt: new Date().toISOString() });
  await b.flush();
  assert.deepEqual(Object.keys(server.steps()), ["trace"]);
  assert.deepEqual(Object.keys(b.step("predict")), []);
});

test("a reset that was taken back is not made again by another tab", async () => {
  const [a, b] = [await open(), await open()];
  a.update("predict", { choice: "yes" });
  await a.flush();
  await pause();
  a.reset();
  await a.flush();
  await pause();
  b.update("trace", { doneAt: new Date().toISOString() });
  await b.flush();
  await pause();
  a.undo();
  await a.flush();
  b.update("table", { p: "1.1" });
  await b.flush();
  assert.deepEqual(Object.keys(server.steps()).sort(), ["predict", "table", "trace"]);
});

test("another tab's change draws only its own step afresh, and only for kinds that need it", async () => {
  const [a, b] = [await open(), await open()];
  a.update("table", { p: "1.2" });
  await a.flush();
  const before = b.version("table", true);
  await backTo();
  assert.notEqual(b.version("table", true), before);
  assert.equal(b.version("table", false), before);
  assert.equal(b.version("code", true), before);
});

test("coming back to where nothing but a time has changed draws nothing afresh", async () => {
  const [a, b] = [await open(), await open()];
  a.update("table", { p: "1.2", doneAt: "1" });
  await a.flush();
  await backTo();
  const before = b.version("table", true);
  await pause();
  a.update("table", { p: "1.2", doneAt: "2" });
  await a.flush();
  await backTo();
  assert.equal(b.step("table").doneAt, "2");
  assert.equal(b.version("table", true), before);
});

test("the next page waits for what the page before it has sent", async () => {
  const first = await open();
  server.slow = true;
  first.update("predict", { choice: "yes" });
  await first.flush();
  server.slow = false;
  const next = await open();
  assert.equal(next.step("predict").choice, "yes");
  next.update("table", { p: "1.1" });
  await next.flush();
  assert.ok(!server.statuses.includes(409));
});

test("what could not be saved is saved when the learner comes back, beside another tab's work", async () => {
  const [a, b] = [await open(), await open()];
  server.up = false;
  a.update("predict", { choice: "yes" });
  await a.flush();
  server.up = true;
  b.update("table", { p: "1.1" });
  await b.flush();
  await backTo();
  assert.deepEqual(Object.keys(server.steps()).sort(), ["predict", "table"]);
});
