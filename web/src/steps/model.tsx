// Whether the real model is here, and what to do when it is not.
import { useEffect, useState } from "preact/hooks";
import type { Context, Model } from "../context";

export function useModel(context: Context): Model | null {
  const [model, setModel] = useState<Model | null>(null);
  useEffect(() => {
    let wanted = true;
    void context.model.then((answer) => wanted && setModel(answer));
    return () => {
      wanted = false;
    };
  }, [context]);
  return model;
}

export function Prompt({ value, onValue }: { value: string; onValue(value: string): void }) {
  return (
    <label class="wide">
      Prompt
      <input type="text" value={value} onInput={(event) => onValue(event.currentTarget.value)} />
    </label>
  );
}

export function NoModel({ model }: { model: Model | null }) {
  if (!model) return <p>Asking whether the model is here…</p>;
  return (
    <p class="note">
      The language model is not on this machine, so this part is off; everything else works without it.{" "}
      {model.how}
    </p>
  );
}
