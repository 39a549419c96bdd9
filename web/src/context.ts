// What every step is given.
import type { Page } from "./page";
import type { PyRunner } from "./python";
import type { Store } from "./store";

export interface Model {
  readonly available: boolean;
  /** What to type to get it, where it is not here. */
  readonly how: string | null;
  /** The drafts that can be asked for, by name. */
  readonly drafts?: readonly string[];
}

export interface Context {
  readonly page: Page;
  readonly store: Store;
  readonly python: PyRunner;
  readonly model: Promise<Model>;
}
