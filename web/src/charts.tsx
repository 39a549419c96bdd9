// Frequencies beside p, with their intervals: one row of marks per token, as SVG, and the same
// numbers as a table.

import { useWidth } from "./ui";

export interface Series {
  readonly name: string;
  readonly tone: "exact" | "naive";
  readonly observed: readonly number[];
  readonly intervals: readonly (readonly [number, number])[];
}

interface FrequenciesProps {
  readonly tokens: readonly string[];
  readonly p: readonly number[];
  /** What the frequencies are compared with; "p" if not said. */
  readonly truth?: string;
  readonly series: readonly Series[];
  readonly caption: string;
}

const LEFT = 96;
const WIDTH = 560;
const RIGHT = 20;
const LANE = 17;
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

export function Frequencies(props: FrequenciesProps) {
  return (
    <figure class="frequencies">
      <figcaption>{props.caption}</figcaption>
      <Legend truth={props.truth ?? "p"} series={props.series} />
      <Plot {...props} />
      <details>
        <summary>The same as numbers</summary>
        <Numbers {...props} />
      </details>
    </figure>
  );
}

function Legend({ truth, series }: { truth: string; series: readonly Series[] }) {
  return (
    <ul class="legend">
      <li>
        <svg width="14" height="14" aria-hidden="true">
          <line class="truth" x1="7" x2="7" y1="0" y2="14" />
        </svg>
        {truth}
      </li>
      {series.map((one) => (
        <li key={one.name}>
          <svg width="26" height="14" aria-hidden="true">
            <line class={`interval ${one.tone}`} x1="2" x2="24" y1="7" y2="7" />
            <Mark tone={one.tone} x={13} y={7} />
          </svg>
          {one.name}
        </li>
      ))}
    </ul>
  );
}

/** A disc or a square, so that the two are told apart without colour. */
function Mark({ tone, x, y }: { tone: Series["tone"]; x: number; y: number }) {
  return tone === "exact" ? (
    <circle class="mark exact" cx={x} cy={y} r={4} />
  ) : (
    <rect class="mark naive" x={x - 4} y={y - 4} width={8} height={8} />
  );
}

function Plot({ tokens, p, series, caption }: FrequenciesProps) {
  const [place, width] = useWidth<SVGSVGElement>(WIDTH);
  const most = Math.max(...p, ...series.flatMap((one) => one.intervals.map(([, high]) => high)));
  const mostTicks = Math.max(2, Math.floor((width - LEFT - RIGHT) / 60));
  const step = STEPS.find((size) => most / size <= mostTicks) ?? 0.5;
  const top = most * 1.04;
  const x = (value: number) => LEFT + (value / top) * (width - LEFT - RIGHT);
  const row = LANE * series.length + 14;
  const height = tokens.length * row + 26;
  const ticks = Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => step * i);
  return (
    <svg class="plot" ref={place} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={caption}>
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="rule" x1={x(tick)} x2={x(tick)} y1={0} y2={height - 22} />
          <text class="tick" x={x(tick)} y={height - 6} text-anchor="middle">
            {Number(tick.toFixed(3))}
          </text>
        </g>
      ))}
      {tokens.map((token, i) => (
        <g key={i} transform={`translate(0 ${i * row})`}>
          <text class="label" x={LEFT - 10} y={row / 2 + 5} text-anchor="end">
            {shorten(token)}
          </text>
          <line class="truth" x1={x(p[i]!)} x2={x(p[i]!)} y1={3} y2={row - 3} />
          {series.map((one, lane) => {
            const y = 7 + LANE * (lane + 0.5);
            const [low, high] = one.intervals[i]!;
            return (
              <g key={one.name}>
                <line class={`interval ${one.tone}`} x1={x(low)} x2={x(high)} y1={y} y2={y} />
                <Mark tone={one.tone} x={x(one.observed[i]!)} y={y} />
              </g>
            );
          })}
        </g>
      ))}
    </svg>
  );
}

function Numbers({ tokens, p, truth = "p", series }: FrequenciesProps) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Frequencies as a table">
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">outcome</th>
            <th scope="col">{truth}</th>
            {series.map((one) => (
              <th scope="col" key={one.name}>
                {one.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tokens.map((token, i) => (
            <tr key={i}>
              <th scope="row">{token}</th>
              <td>{p[i]!.toFixed(4)}</td>
              {series.map((one) => (
                <NumberCell key={one.name} one={one} i={i} p={p[i]!} truth={truth} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NumberCell({ one, i, p, truth }: { one: Series; i: number; p: number; truth: string }) {
  const [low, high] = one.intervals[i]!;
  const outside = p < low || p > high;
  return (
    <td class={outside ? "differs" : ""}>
      {one.observed[i]!.toFixed(4)}{" "}
      <span class="decimal">
        [{low.toFixed(4)}, {high.toFixed(4)}]
      </span>{" "}
      {outside && <strong class="remark">{truth} is outside</strong>}
    </td>
  );
}

function shorten(token: string): string {
  const shown = token.replace(/\n/g, "⏎");
  return shown.length > 12 ? `${shown.slice(0, 11)}…` : shown;
}

const BAR_LEFT = 110;
const BAR_RIGHT = 60;
const BAR = 24;

interface BarsProps {
  readonly bars: readonly { readonly label: string; readonly value: number }[];
  readonly caption: string;
}

/** Horizontal bars with their value written at the end. */
export function Bars(props: BarsProps) {
  const [place, width] = useWidth<SVGSVGElement>(WIDTH);
  const most = Math.max(...props.bars.map((bar) => bar.value), 1e-9);
  const length = (value: number) => (value / most) * (width - BAR_LEFT - BAR_RIGHT);
  return (
    <figure class="bars">
      <figcaption>{props.caption}</figcaption>
      <svg ref={place} viewBox={`0 0 ${width} ${props.bars.length * BAR}`} role="img" aria-label={describe(props)}>
        {props.bars.map((bar, i) => (
          <g key={i} transform={`translate(0 ${i * BAR})`}>
            <text class="label" x={BAR_LEFT - 10} y={16} text-anchor="end">
              {shorten(bar.label)}
            </text>
            <rect class="residual" x={BAR_LEFT} y={4} width={length(bar.value)} height={16} rx={2} />
            <text class="tick" x={BAR_LEFT + 8 + length(bar.value)} y={16}>
              {bar.value.toFixed(3)}
            </text>
          </g>
        ))}
      </svg>
    </figure>
  );
}

function describe(props: BarsProps): string {
  return `${props.caption}: ${props.bars.map((b) => `${b.label.trim()} ${b.value.toFixed(3)}`).join(", ")}`;
}
