// The chapter page: how far the learner is in each lesson.
import { render } from "preact";
import { getJson } from "./api";
import { PyRunner } from "./python";
import { RunProgram } from "./steps/reference";

interface Standing {
  readonly lesson: string;
  readonly done: number;
  readonly of: number;
  readonly words: string;
}

const PLACE = "[data-standing]";

/** Shows every lesson's standing, and again whenever the learner comes back to the page. */
export function startChapter(): void {
  void show();
  offerProgram();
  addEventListener("focus", () => void show());
  addEventListener("pageshow", (event) => event.persisted && void show());
}

interface ChapterData {
  readonly worker: string;
  readonly pyodide: string;
  readonly program: string;
}

/** The reference's program can be run here too; Python starts when it is asked for. */
function offerProgram(): void {
  const data = JSON.parse(document.getElementById("chapter-data")!.textContent!) as ChapterData;
  const python = new PyRunner(data.worker, data.pyodide, {});
  for (const place of document.querySelectorAll(".run-program")) {
    render(<RunProgram program={data.program} python={python} />, place);
  }
}

async function show(): Promise<void> {
  const trouble = document.getElementById("trouble")!;
  try {
    const { lessons } = await getJson<{ lessons: readonly Standing[] }>("/api/standing");
    for (const one of lessons) {
      const place = document.querySelector(`[data-standing="${CSS.escape(one.lesson)}"]`);
      if (place) render(<Shown {...one} />, place);
    }
    trouble.textContent = "";
  } catch (error) {
    trouble.textContent = `Your progress cannot be shown. ${(error as Error).message}`;
  }
}

/** One box for each step, filled when it is done; the words say the same. */
function Shown({ done, of, words }: Standing) {
  return (
    <>
      <span class="boxes" aria-hidden="true">
        {Array.from({ length: of }, (_, i) => (
          <span key={i} class={i < done ? "box full" : "box"} />
        ))}
      </span>
      {words}
    </>
  );
}

export function isChapter(): boolean {
  return document.querySelector(PLACE) !== null;
}
