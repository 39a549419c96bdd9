// The chapter page: how far the learner is in each lesson.
import { render } from "preact";
import { getJson } from "./api";

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
  addEventListener("focus", () => void show());
  addEventListener("pageshow", (event) => event.persisted && void show());
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
