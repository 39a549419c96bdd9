// What the whole page offers: how it looks, and what happens to the learner's work.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { download, postJson, send } from "./api";
import type { Context } from "./context";
import { useStore } from "./store";
import { Confirmed } from "./ui";

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
  return (
    <>
      <ThemeButton />
      <Menu label="My work">
        <button type="button" onClick={() => void exportAs(context, "markdown")}>
          Export a report
        </button>
        <button type="button" onClick={() => void exportAs(context, "json")}>
          Export to import again
        </button>
        <Import context={context} />
        {store.serverUndo && (
          <button type="button" onClick={() => void restore(context)}>
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
        <button type="button" class="quiet" onClick={() => store.undo()}>
          Undo reset
        </button>
      )}
      {store.trouble && <p class="trouble">{store.trouble}</p>}
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
      const inside = box.current?.contains(event.target as Node);
      const escape = event instanceof KeyboardEvent && event.key === "Escape";
      if (box.current && (escape || (event instanceof PointerEvent && !inside))) box.current.open = false;
    };
    addEventListener("pointerdown", close);
    addEventListener("keydown", close);
    return () => {
      removeEventListener("pointerdown", close);
      removeEventListener("keydown", close);
    };
  }, []);
  return (
    <details class="menu" ref={box}>
      <summary>{props.label}</summary>
      <div>{props.children}</div>
    </details>
  );
}

async function exportAs(context: Context, format: "markdown" | "json"): Promise<void> {
  try {
    await context.store.flush();
    const file = await send("POST", "/api/export", { format });
    download(format === "json" ? "draftproof-progress.json" : "draftproof-progress.md", await file.blob());
    announce("Your work is exported.");
  } catch (error) {
    announce((error as Error).message);
  }
}

async function restore({ store }: Context): Promise<void> {
  try {
    await store.undoOnServer();
    announce("What the last reset or import dropped is back.");
  } catch (error) {
    announce((error as Error).message);
  }
}

function Import({ context }: { context: Context }) {
  const [trouble, setTrouble] = useState("");
  const read = async (file: File | undefined) => {
    if (!file) return;
    try {
      await context.store.flush();
      const document: unknown = JSON.parse(await file.text());
      const state = await postJson<{ rev: number; data: unknown }>("/api/import", document);
      context.store.adopt(state.rev, state.data);
      setTrouble("");
      announce("The file is imported. Undo brings back what was here.");
    } catch (error) {
      const why = error instanceof SyntaxError ? "This file is not exported progress." : (error as Error).message;
      setTrouble(why);
      announce(why);
    }
  };
  return (
    <label class="import">
      Import
      <input
        type="file"
        accept=".json,application/json"
        onChange={(event) => void read(event.currentTarget.files?.[0])}
      />
      {trouble && <span class="problem">{trouble}</span>}
    </label>
  );
}
