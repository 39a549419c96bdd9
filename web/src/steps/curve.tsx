// A chart whose parameters can be moved: lines over one of them, and the same as a table.
import { useState } from "preact/hooks";
import { announce } from "../announce";
import type { Context } from "../context";
import { FORMULAS, type Values } from "../curves";
import { Lines, type Line } from "../lines";
import type { CurveStep, Parameter } from "../page";
import { Rational } from "../rational";
import { minus } from "../ui";

type Setting = Readonly<Record<string, string>>;

/** Every value that a parameter can take. */
function valuesOf(one: Parameter): Rational[] {
  const [low, high, step] = [one.low, one.high, one.step].map((text) => Rational.parse(text)!) as [
    Rational,
    Rational,
    Rational,
  ];
  const values: Rational[] = [];
  for (let value = low; value.minus(high).sign <= 0; value = value.plus(step)) values.push(value);
  return values;
}

function starting(step: CurveStep, saved: unknown): Setting {
  const known = typeof saved === "object" && saved !== null ? (saved as Setting) : {};
  const start = step.parameters.map((one) => {
    const kept = valuesOf(one).find((value) => value.toString() === known[one.id]);
    return [one.id, kept?.toString() ?? one.value] as const;
  });
  return Object.fromEntries(start);
}

export function Curve({ step, context }: { step: CurveStep; context: Context }) {
  const [setting, setSetting] = useState<Setting>(() => starting(step, context.store.step(step.id).setting));
  const change = (next: Setting) => setSetting(next);
  const settle = (next: Setting) => {
    context.store.update(step.id, { setting: next, doneAt: new Date().toISOString() });
    announce(reading(step, next));
  };
  const back = () => {
    const next = starting(step, null);
    change(next);
    settle(next);
  };
  const axis = step.parameters.find((one) => one.id === step.x)!;
  const xs = valuesOf(axis);
  const lines = linesOf(step, setting, xs);
  return (
    <div class="curve">
      <div class="form sliders">
        {step.parameters.map((one) => (
          <Slider
            key={one.id}
            parameter={one}
            value={setting[one.id]!}
            onChange={(value) => change({ ...setting, [one.id]: value })}
            onSettle={(value) => settle({ ...setting, [one.id]: value })}
          />
        ))}
        <button type="button" class="quiet" onClick={back}>
          Back to the start
        </button>
      </div>
      <p class="reading">{reading(step, setting)}</p>
      <Lines
        xs={xs.map((x) => x.toNumber())}
        at={Rational.parse(setting[step.x]!)!.toNumber()}
        lines={lines}
        xTitle={axis.title}
        yTitle={step.y}
      />
      <details>
        <summary>The same as numbers</summary>
        <Numbers step={step} setting={setting} xs={xs} title={axis.title} />
      </details>
    </div>
  );
}

interface SliderProps {
  parameter: Parameter;
  value: string;
  onChange(value: string): void;
  onSettle(value: string): void;
}

function Slider({ parameter, value, onChange, onSettle }: SliderProps) {
  const values = valuesOf(parameter);
  const chosen = (event: Event) => values[Number((event.currentTarget as HTMLInputElement).value)]!.toString();
  const shown = `${decimal(Rational.parse(value)!)}${parameter.unit ? ` ${parameter.unit}` : ""}`;
  return (
    <label>
      <span>
        {parameter.title}{" "}
        <span class="value" aria-hidden="true">
          {shown}
        </span>
      </span>
      <input
        type="range"
        min={0}
        max={values.length - 1}
        step={1}
        value={values.findIndex((one) => one.toString() === value)}
        aria-valuetext={shown}
        onInput={(event) => onChange(chosen(event))}
        onChange={(event) => onSettle(chosen(event))}
      />
    </label>
  );
}

function valuesAt(step: CurveStep, setting: Setting, x: Rational): Values {
  const parsed = Object.entries(setting).map(([name, text]) => [name, Rational.parse(text)!] as const);
  return { ...Object.fromEntries(parsed), [step.x]: x };
}

function linesOf(step: CurveStep, setting: Setting, xs: readonly Rational[]): Line[] {
  return step.series.map((one) => {
    const values = xs.map((x) => FORMULAS[one.formula]!(valuesAt(step, setting, x)));
    return {
      title: one.title,
      values: values.map((value) => value?.toNumber() ?? null),
      best: one.formula === step.best ? highest(values) : null,
    };
  });
}

/** The place of the largest value, the first of several. */
function highest(values: readonly (Rational | null)[]): number {
  return values.reduce<number>((best, value, i) => {
    const before = values[best];
    return value && (!before || value.minus(before).sign > 0) ? i : best;
  }, 0);
}

/** What the chart says where the axis is set, and where the best point is. */
function reading(step: CurveStep, setting: Setting): string {
  const axis = step.parameters.find((one) => one.id === step.x)!;
  const here = Rational.parse(setting[step.x]!)!;
  const parts = step.series.map((one) => {
    const value = FORMULAS[one.formula]!(valuesAt(step, setting, here));
    return `${one.title} ${value ? decimal(value) : "without a value"}`;
  });
  const said = `With ${axis.title} = ${decimal(here)}: ${parts.join("; ")}.`;
  const best = step.series.find((one) => one.formula === step.best);
  if (!best) return said;
  const xs = valuesOf(axis);
  const values = xs.map((x) => FORMULAS[best.formula]!(valuesAt(step, setting, x)));
  const top = highest(values);
  return `${said} The best is ${axis.title} = ${decimal(xs[top]!)}, with ${decimal(values[top]!)}.`;
}

function Numbers(props: { step: CurveStep; setting: Setting; xs: readonly Rational[]; title: string }) {
  const { step, setting, xs } = props;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`${step.title}: the values`}>
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">{props.title}</th>
            {step.series.map((one) => (
              <th scope="col" key={one.formula}>
                {one.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {xs.map((x) => (
            <tr key={x.toString()}>
              <th scope="row">{decimal(x)}</th>
              {step.series.map((one) => {
                const value = FORMULAS[one.formula]!(valuesAt(step, setting, x));
                return <td key={one.formula}>{value ? decimal(value) : "none"}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function decimal(value: Rational): string {
  const exact = value.exactDecimal(6);
  return minus(exact ?? `≈ ${value.rounded(4)}`);
}
