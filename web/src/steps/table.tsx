// The live table: change p and q, see every exact law follow.
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { read } from "../answers";
import type { Context } from "../context";
import { laws, whyRight, type Laws, type Row } from "../law";
import { parsePlace, place } from "../link";
import { Mass } from "../mass";
import type { Column, Fact, Preset, TableStep } from "../page";
import { ONE, Rational } from "../rational";
import { Exact, Html, minus, plainText } from "../ui";
import {
  fromLink,
  fromRow,
  MOST_STEPS,
  setProbability,
  setWeight,
  toLink,
  toRow,
  total,
  type Weights,
} from "../weights";

type Which = "p" | "q";
type Pair = Readonly<Record<Which, Weights>>;

/** Sliders move in steps of a twentieth or finer. */
const STEPS = 20;
const MOST_TOKENS = 8;

function pairOf(rows: { p: readonly string[]; q: readonly string[] }): Pair {
  const row = (texts: readonly string[]) => fromRow(texts.map((text) => Rational.parse(text)!), STEPS);
  return { p: row(rows.p), q: row(rows.q) };
}

function pairFrom(link: { p: unknown; q: unknown }): Pair | null {
  if (typeof link.p !== "string" || typeof link.q !== "string") return null;
  const tokens = link.p.split(".").length;
  if (tokens < 2 || tokens > MOST_TOKENS) return null;
  const [p, q] = [fromLink(link.p, tokens), fromLink(link.q, tokens)];
  return p && q ? { p, q } : null;
}

function pairFromAddress(step: TableStep): Pair | null {
  const here = parsePlace(location.hash);
  return here.step === step.id ? pairFrom(here) : null;
}

function same(one: Pair, other: Pair): boolean {
  return (["p", "q"] as const).every((which) => {
    const [a, b] = [toRow(one[which]), toRow(other[which])];
    return a.length === b.length && a.every((x, i) => x.equals(b[i]!));
  });
}

function linkOf(step: TableStep, pair: Pair): string {
  return place(step.id, toLink(pair.p), toLink(pair.q));
}

export function Table({ step, context }: { step: TableStep; context: Context }) {
  const [pair, setPair] = useState<Pair>(() => {
    const { p = null, q = null } = context.store.step(step.id);
    return pairFromAddress(step) ?? pairFrom({ p, q }) ?? pairOf(step);
  });
  const preset = step.presets.find((one) => same(pairOf(one), pair)) ?? null;
  const settled = useRef(pair);
  useEffect(() => {
    const restore = () => {
      const linked = pairFromAddress(step);
      if (!linked) return;
      settled.current = linked;
      setPair(linked);
    };
    addEventListener("popstate", restore);
    return () => removeEventListener("popstate", restore);
  }, [step]);

  const settle = (next: Pair) => {
    const link = linkOf(step, next);
    if (link === linkOf(step, settled.current)) return;
    // The entry before the change says what was there, so that Back restores it.
    history.replaceState(null, "", linkOf(step, settled.current));
    history.pushState(null, "", link);
    settled.current = next;
    const [p, q] = [toLink(next.p), toLink(next.q)];
    context.store.update(step.id, { p, q, doneAt: new Date().toISOString() });
    announce(summary(step, toRow(next.p), toRow(next.q)));
  };
  const choose = (from: Preset) => {
    const next = pairOf(from);
    setPair(next);
    settle(next);
  };
  const tokens = pair.p.weights.length;
  const names = tokens === step.tokens.length ? step.tokens : pair.p.weights.map((_, i) => `${i}`);
  return (
    <div class="live-table">
      <Presets presets={step.presets} chosen={preset} onChoose={choose} />
      {preset && <Html html={preset.note} />}
      <Grid step={step} context={context} names={names} pair={pair} onChange={setPair} onSettle={settle} />
      <Below step={step} pair={pair} names={names} />
      <CopyLink pair={pair} step={step} />
    </div>
  );
}

function Presets(props: {
  presets: readonly Preset[];
  chosen: Preset | null;
  onChoose(preset: Preset): void;
}) {
  return (
    <div class="buttons" role="group" aria-label="Examples">
      {props.presets.map((preset) => (
        <button
          type="button"
          key={preset.id}
          class="quiet"
          aria-pressed={preset === props.chosen}
          onClick={() => props.onChoose(preset)}
        >
          {preset.title}
        </button>
      ))}
    </div>
  );
}

interface GridProps {
  step: TableStep;
  context: Context;
  names: readonly string[];
  pair: Pair;
  onChange(pair: Pair): void;
  onSettle(pair: Pair): void;
}

function Grid(props: GridProps) {
  const { step, context, pair, names } = props;
  const [p, q] = [toRow(pair.p), toRow(pair.q)];
  const law = laws(p, q);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${step.title}: the table`}>
      <table class="laws" role="table">
        <thead role="rowgroup">
          <tr role="row">
            {step.columns.map((column) => (
              <th scope="col" role="columnheader" key={column} class={column}>
                <Html html={context.page.columns[column]} inline />
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {names.map((name, token) => (
            <tr role="row" key={token}>
              {step.columns.map((column) => (
                <Cell key={column} {...props} column={column} token={token} name={name} p={p} law={law} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface CellProps extends GridProps {
  column: Column;
  token: number;
  name: string;
  p: Row;
  law: Laws;
}

function Cell(props: CellProps) {
  const { column, token, law, p } = props;
  switch (column) {
    case "token":
      return (
        <th scope="row" role="rowheader" {...label(props)}>
          {props.name}
        </th>
      );
    case "p":
    case "q":
      return <WeightCell {...props} which={column} />;
    case "covered":
    case "acceptance":
      return (
        <td role="cell" {...label(props)}>
          <Exact value={law[column][token]!} />
        </td>
      );
    case "residual":
      return (
        <td role="cell" class={law.residualNeeded ? "residual" : "residual unused"} {...label(props)}>
          <Exact value={law.residual[token]!} />
          {!law.residualNeeded && <span class="remark">not needed</span>}
        </td>
      );
    default:
      return <LawCell value={law[column][token]!} p={p[token]!} label={label(props)} />;
  }
}

/** On a narrow screen each row is a card, and its values carry their column's name. */
function label({ context, column }: { context: Context; column: Column }) {
  return { "data-label": plainText(context.page.columns[column]) };
}

/** Marked exactly where it differs from p: by colour, by sign and by the signed difference. */
function LawCell({ value, p, label }: { value: Rational; p: Rational; label: object }) {
  const off = value.minus(p);
  if (off.sign === 0) {
    return (
      <td role="cell" class="agrees" {...label}>
        <Exact value={value} /> <span class="remark">= p</span>
      </td>
    );
  }
  return (
    <td role="cell" class="differs" {...label}>
      <Exact value={value} />{" "}
      <span class="remark">
        <strong>≠ p</strong> by {minus((off.sign > 0 ? "+" : "") + off.toString())}
      </span>
    </td>
  );
}

function WeightCell(props: CellProps & { which: Which }) {
  const { which, token, pair, name } = props;
  const row = pair[which];
  const whole = total(row);
  const value = Rational.of(row.weights[token]!, whole);
  const unit = whole % STEPS === 0 ? whole / STEPS : 1;
  const put = (next: Weights): Pair => ({ ...pair, [which]: next });
  const slide = (event: Event) => {
    props.onChange(put(setWeight(row, token, Number((event.target as HTMLInputElement).value))));
  };
  const named = `${which} of token ${name}`;
  return (
    <td role="cell" class={which} {...label(props)}>
      <Typed
        label={named}
        value={value}
        onValue={(typed) => {
          const next = setProbability(row, token, typed, STEPS);
          if (!next) return false;
          props.onChange(put(next));
          props.onSettle(put(next));
          return true;
        }}
      />
      <input
        type="range"
        class={`bar ${which}`}
        min={0}
        max={whole}
        step={unit}
        value={row.weights[token]!}
        aria-label={named}
        aria-valuetext={value.toString()}
        style={{ "--fill": `${100 * value.toNumber()}%` }}
        onInput={slide}
        onChange={() => props.onSettle(pair)}
      />
    </td>
  );
}

/** A probability to type over: a decimal or a fraction. */
function Typed(props: { label: string; value: Rational; onValue(value: Rational): boolean }) {
  const [draft, setDraft] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const shown = props.value.toString();
  useEffect(() => {
    // Moved by a bar or a preset: what was refused here says nothing about the new value.
    setDraft(null);
    setProblem("");
  }, [shown]);
  const commit = () => {
    if (draft === null || draft.trim() === shown) {
      setDraft(null);
      setProblem("");
      return;
    }
    const value = read(draft, 1)?.[0] ?? null;
    const why =
      value === null
        ? "Type a decimal or a fraction, such as 0.3 or 3/10."
        : value.sign < 0 || value.toNumber() > 1
          ? "A probability lies between 0 and 1."
          : props.onValue(value)
            ? ""
            : `Too fine: use steps of 1/${MOST_STEPS} at most.`;
    setProblem(why);
    if (why) announce(why);
    else setDraft(null);
  };
  const decimal = props.value.exactDecimal(6) ?? `≈ ${props.value.rounded(4)}`;
  return (
    <>
      <span class="typed">
        <input
          type="text"
          inputMode="text"
          autocomplete="off"
          spellcheck={false}
          aria-label={`${props.label}, typed`}
          aria-invalid={problem !== ""}
          value={draft ?? shown}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onBlur={commit}
          onKeyDown={(event) => event.key === "Enter" && commit()}
        />
        {props.value.den !== 1n && <span class="decimal">{decimal}</span>}
      </span>
      {problem && <span class="problem">{problem}</span>}
    </>
  );
}

function Below({ step, pair, names }: { step: TableStep; pair: Pair; names: readonly string[] }) {
  const [p, q] = [toRow(pair.p), toRow(pair.q)];
  const law = laws(p, q);
  const outputs = step.columns.includes("naive");
  const right = outputs ? whyRight(p, q) : null;
  return (
    <>
      <dl class="facts">
        {step.facts.map((fact) => (
          <FactLine key={fact} fact={fact} law={law} />
        ))}
      </dl>
      {outputs && <Mass names={names} p={p} law={law} />}
      {right && (
        <p class="why-right">
          <strong>The shortcut is right here.</strong> {right}
        </p>
      )}
    </>
  );
}

const FACTS: Record<Fact, string> = {
  reject: "P(reject)",
  overlap: "overlap, the sum of min(p, q)",
  variation: "total variation distance",
  agreement: "agreement, the sum of p q",
  difference: "p − q",
};

function FactLine({ fact, law }: { fact: Fact; law: Laws }) {
  const values: Record<Fact, Row> = {
    reject: [law.reject],
    overlap: [ONE.minus(law.reject)],
    variation: [law.reject],
    agreement: [law.agreement],
    difference: law.difference,
  };
  return (
    <>
      <dt>{FACTS[fact]}</dt>
      <dd class={fact}>
        {values[fact].map((x, i) => (
          <Exact key={i} value={x} signed={fact === "difference"} />
        ))}
      </dd>
    </>
  );
}

function CopyLink({ pair, step }: { pair: Pair; step: TableStep }) {
  const [copied, setCopied] = useState("");
  const copy = async () => {
    const link = location.href.split("#")[0] + linkOf(step, pair);
    try {
      await navigator.clipboard.writeText(link);
      setCopied("Copied.");
      announce("The link to this table is copied.");
    } catch {
      setCopied(link);
    }
  };
  return (
    <p class="copy">
      <button type="button" class="quiet" onClick={() => void copy()}>
        Copy a link to this table
      </button>{" "}
      <span>{copied}</span>
    </p>
  );
}

function summary(step: TableStep, p: Row, q: Row): string {
  const { naive, reject } = laws(p, q);
  if (!step.columns.includes("naive")) return `A draft is kept with probability ${ONE.minus(reject)}.`;
  const wrong = naive.filter((x, i) => !x.equals(p[i]!)).length;
  return wrong
    ? `P of reject is ${reject}. Resampling from p gets ${wrong} of ${p.length} tokens wrong.`
    : `P of reject is ${reject}. Resampling from p is right here.`;
}
