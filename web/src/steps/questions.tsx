// The prediction, asked before the answer, and the check of understanding, asked after it.
import { useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import type { Context } from "../context";
import type { ChoiceStep, Option, PredictStep } from "../page";
import { useStore } from "../store";
import { focusSoon, Html, plainText, Verdict } from "../ui";

function Radios(props: {
  step: string;
  question: string;
  options: readonly Option[];
  chosen: string;
  locked: boolean;
  onChoose(id: string): void;
}) {
  return (
    <fieldset class="choices" disabled={props.locked}>
      <legend>
        <Html html={props.question} inline />
      </legend>
      {props.options.map((option) => (
        <label key={option.id} class={option.id === props.chosen ? "chosen" : ""}>
          <input
            type="radio"
            name={props.step}
            value={option.id}
            checked={option.id === props.chosen}
            onChange={() => props.onChoose(option.id)}
          />
          <Html html={option.text} inline />
        </label>
      ))}
    </fieldset>
  );
}

export function Predict({ step, context }: { step: PredictStep; context: Context }) {
  useStore(context.store);
  const saved = context.store.step(step.id).choice as string | undefined;
  const [chosen, setChosen] = useState("");
  const kept = useRef<HTMLDivElement>(null);
  const lock = () => {
    context.store.update(step.id, { choice: chosen, doneAt: new Date().toISOString() });
    announce("Your prediction is kept. The rest of the lesson is open now.");
    focusSoon(() => kept.current);
  };
  return (
    <div>
      <Radios
        step={step.id}
        question={step.question}
        options={step.options}
        chosen={saved ?? chosen}
        locked={saved !== undefined}
        onChoose={setChosen}
      />
      {saved === undefined ? (
        <button type="button" class="primary" disabled={!chosen} onClick={lock}>
          Keep my prediction
        </button>
      ) : (
        <Verdict tone="info" place={kept}>
          <p>
            Your prediction is kept: <q>{textOf(step.options, saved)}</q>
          </p>
          <Html html={step.after} />
        </Verdict>
      )}
    </div>
  );
}

export function Choice({ step, context }: { step: ChoiceStep; context: Context }) {
  useStore(context.store);
  const saved = context.store.step(step.id);
  const [chosen, setChosen] = useState("");
  const judged = (saved.choice as string | undefined) ?? "";
  const verdict = step.options.find((option) => option.id === judged);
  const judge = () => {
    const option = step.options.find(({ id }) => id === chosen)!;
    const passed = option.right ? { passedAt: new Date().toISOString() } : {};
    context.store.update(step.id, { choice: chosen, ...passed });
    announce(option.right ? "Right." : "Not this one. The reason is shown.");
  };
  return (
    <div>
      <Prediction step={step} context={context} />
      <Radios
        step={step.id}
        question={step.question}
        options={step.options}
        chosen={chosen || judged}
        locked={false}
        onChoose={setChosen}
      />
      <button type="button" class="primary" disabled={!chosen} onClick={judge}>
        Check my answer
      </button>
      {verdict && (
        <Verdict tone={verdict.right ? "right" : "wrong"}>
          <Html html={verdict.why} />
        </Verdict>
      )}
    </div>
  );
}

function Prediction({ step, context }: { step: ChoiceStep; context: Context }) {
  const asked = context.page.steps.find((other) => other.id === step.quotes);
  if (asked?.kind !== "predict") return null;
  const choice = context.store.step(asked.id).choice as string | undefined;
  if (choice === undefined) return null;
  return (
    <p class="quoted">
      Before the lesson you said: <q>{textOf(asked.options, choice)}</q>
    </p>
  );
}

function textOf(options: readonly Option[], id: string): string {
  return plainText(options.find((option) => option.id === id)?.text ?? id);
}
