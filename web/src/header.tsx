// What the whole page offers: how it looks, and what happens to the learner's work.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { download, postJson, send } from "./api";
import type { Context } from "./context";
import { useStore } from "./store";
import { Confirmed, focusSoon } from "./ui";

type Theme = "auto" | "light" | "dark";
const THEME = "draftproof-theme";
const NEXT: Record<Theme, Theme> = { auto: "dark", dark: "light", light: "auto" };

export function savedTheme(): Theme {
  const saved = localStorage.getItem(THEME);
  return saved === "light" || saved === "dark" ? saved : "auto";
}

export function applyTheme(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function Tools({ context }: { context: Context }) {
  useStore(context.store);
  const { store, page } = context;
  const [failed, setFailed] = useState("");
  const attempt = async (job: Promise<string>) => {
    const [said, why] = await job.then((said) => [said, ""], (error: Error) => [error.message, error.message]);
    setFailed(why!);
    announce(said!);
  };
  const trouble = failed || store.trouble;
  return (
    <>
      {trouble && <p class="trouble">{trouble}</p>}
      <ThemeButton />
      <Menu label="My work">
        <button type="button" onClick={() => void attempt(exportAs(context, "markdown"))}>
          Export a report
        </button>
        <button type="button" onClick={() => void attempt(exportAs(context, "json"))}>
          Export to import again
        </button>
        <Import context={context} />
        {store.serverUndo && (
          <button type="button" onClick={() => void attempt(restore(context))}>
            Bring back what was dropped last
          </button>
        )}
        <Confirmed
          label="Reset this lesson"
          sure="Yes, forget my work here"
          onClick={() => {
            store.reset();
            announce(`Your work on ${page.lesson.title} is reset. Undo brings it back.`);
          }}
        />
      </Menu>
      {store.canUndo && (
        <button type="button" class="quiet" onClick={() => undo(context)}>
          Undo reset
        </button>
      )}
    </>
  );
}

function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(savedTheme);
  const next = () => {
    const chosen = NEXT[theme];
    localStorage.setItem(THEME, chosen);
    applyTheme(chosen);
    setTheme(chosen);
    announce(`Colours: ${chosen}.`);
  };
  return (
    <button type="button" class="quiet" onClick={next}>
      Colours: {theme}
    </button>
  );
}

function Menu(props: { label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const menu = box.current;
      if (!menu?.open) return;
      const inside = menu.contains(event.target as Node);
      if (event instanceof KeyboardEvent) {
        if (event.key !== "Escape") return;
        if (menu.contains(document.activeElement)) menu.querySelector("summary")!.focus();
        menu.open = false;
      } else if (!inside) menu.open = false;
    };
    const kinds = ["pointerdown", "keydown", "focusin"] as const;
    for (const kind of kinds) addEventListener(kind, close);
    return () => {
      for (const kind of kinds) removeEventListener(kind, close);
    };
  }, []);
  return (
    <details class="menu" ref={box}>
      <summary>{props.label}</summary>
      <div>{props.children}</div>
    </details>
  );
}

/** The next ones do something with the learner's work, and say in a sentence what they did. */
async function exportAs(context: Context, format: "markdown" | "json"): Promise<string> {
  await context.store.flush();
  const file = await send("POST", "/api/export", { format });
  download(format === "json" ? "draftproof-progress.json" : "draftproof-progress.md", await file.blob());
  return "Your work is exported.";
}

async function restore({ store }: Context): Promise<string> {
  await store.undoOnServer();
  return "What the last reset or import dropped is back.";
}

function undo({ store }: Context): void {
  store.undo();
  announce("Your work is back.");
  focusSoon(() => document.querySelector(".menu summary"));
}

function Import({ context }: { context: Context }) {
  const [trouble, setTrouble] = useState("");
  const read = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (!file) return;
    try {
      await context.store.flush();
      const document: unknown = JSON.parse(await file.text());
      if (typeof document !== "object" || Array.isArray(document)) throw new SyntaxError();
      const state = await postJson<{ rev: number; data: unknown }>("/api/import", document);
      context.store.adopt(state.rev, state.data);
      setTrouble("");
      announce("The file is imported. Undo brings back what was here.");
    } catch (error) {
      const why = error instanceof SyntaxError ? "This file is not exported progress." : (error as Error).message;
      setTrouble(why);
      announce(why);
    }
    input.value = ""; // so that the same file can be chosen again
  };
  return (
    <label class="import">
      Import
      <input
        type="file"
        accept=".json,application/json"
        onChange={(event) => void read(event.currentTarget)}
      />
      {trouble && <span class="problem">{trouble}</span>}
    </label>
  );
}
