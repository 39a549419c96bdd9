// Runs the reference's program in the page.
import { useState } from "preact/hooks";
import { announce } from "../announce";
import type { PyRunner } from "../python";
import { Verdict } from "../ui";

interface Ended {
  readonly line: number | null;
  readonly message: string;
}

const LIMIT_S = 5;

export function RunProgram({ program, python }: { program: string; python: PyRunner }) {
  const [busy, setBusy] = useState(false);
  const [printed, setPrinted] = useState("");
  const [trouble, setTrouble] = useState<string | null>(null);
  const run = async () => {
    setBusy(true);
    const result = await python.run({ type: "run", source: program, exercise: null, limitS: LIMIT_S });
    const ended = result.outcome === "finished" ? (result.answer as Ended | null) : null;
    const problem = result.outcome === "finished" ? (ended ? where(ended) : "") : result.message;
    setPrinted(result.outcome === "finished" ? result.printed : "");
    setTrouble(problem);
    setBusy(false);
    announce(problem || "The program ran; every assertion holds.");
  };
  return (
    <div>
      <button type="button" onClick={() => void run()} disabled={busy}>
        {busy ? "Running…" : "Run this program"}
      </button>
      {trouble !== null && (
        <Verdict tone={trouble ? "wrong" : "right"}>
          {trouble || "Every assertion holds."}
          {printed && <pre tabIndex={0}>{printed}</pre>}
        </Verdict>
      )}
    </div>
  );
}

function where({ line, message }: Ended): string {
  return line === null ? message : `Line ${line}: ${message}`;
}
