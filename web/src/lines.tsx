// Lines over an axis, as SVG: the first drawn through, the others dashed.
import { useWidth } from "./ui";

export interface Line {
  readonly title: string;
  /** One value for every x; null where there is none. */
  readonly values: readonly (number | null)[];
  /** The index of the point to mark as the best, if any. */
  readonly best: number | null;
}

interface LinesProps {
  readonly xs: readonly number[];
  /** Where the reader stands on the axis. */
  readonly at: number;
  readonly lines: readonly Line[];
  readonly xTitle: string;
  readonly yTitle: string;
}

const WIDTH = 640;
const HEIGHT = 260;
const LEFT = 44;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 44;
const STEPS = [0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500];

export function Lines(props: LinesProps) {
  const { xs, at, lines, xTitle, yTitle } = props;
  const [place, width] = useWidth<SVGSVGElement>(WIDTH);
  const most = Math.max(...lines.flatMap((line) => line.values.map((value) => value ?? 0)), 0.01);
  const step = STEPS.find((size) => most / size <= 6) ?? most / 6;
  const top = Math.ceil(most / step) * step;
  const [first, last] = [xs[0]!, xs.at(-1)!];
  const x = (value: number) => LEFT + ((value - first) / (last - first || 1)) * (width - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const every = Math.max(1, Math.ceil(xs.length / Math.max(2, Math.floor((width - LEFT - RIGHT) / 40))));
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step);
  return (
    <figure class="lines">
      <Legend lines={lines} />
      <svg ref={place} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={describe(props)}>
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="rule" x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
              {Number(tick.toFixed(2))}
            </text>
          </g>
        ))}
        {xs.map((value, i) =>
          i % every ? null : (
            <text key={value} class="tick" x={x(value)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">
              {Number(value.toFixed(3))}
            </text>
          ),
        )}
        <text class="label" x={(LEFT + width - RIGHT) / 2} y={HEIGHT - 6} text-anchor="middle">
          {xTitle}
        </text>
        <line class="here" x1={x(at)} x2={x(at)} y1={TOP} y2={HEIGHT - BOTTOM} />
        {lines.map((line, i) => (
          <g key={line.title} class={`line ${i === 0 ? "main" : "other"}`}>
            <path d={path(line.values, xs, x, y)} />
            {i === 0 &&
              line.values.map((value, j) =>
                value === null ? null : <circle key={j} cx={x(xs[j]!)} cy={y(value)} r={line.best === j ? 7 : 3.5} />,
              )}
          </g>
        ))}
      </svg>
      <figcaption>
        {yTitle}, over {xTitle}
        {lines.some((line) => line.best !== null) && "; the large point is the best"}
      </figcaption>
    </figure>
  );
}

/** The pieces of a line between the places where it has no value. */
function path(
  values: readonly (number | null)[],
  xs: readonly number[],
  x: (value: number) => number,
  y: (value: number) => number,
): string {
  return values
    .map((value, i) => {
      if (value === null) return "";
      const joined = i > 0 && values[i - 1] !== null;
      return `${joined ? "L" : "M"}${x(xs[i]!).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join("");
}

function Legend({ lines }: { lines: readonly Line[] }) {
  return (
    <ul class="legend">
      {lines.map((line, i) => (
        <li key={line.title}>
          <svg width="26" height="14" aria-hidden="true">
            <g class={`line ${i === 0 ? "main" : "other"}`}>
              <path d="M1 7L25 7" />
              {i === 0 && <circle cx={13} cy={7} r={3.5} />}
            </g>
          </svg>
          {line.title}
        </li>
      ))}
    </ul>
  );
}

function describe({ xs, lines, xTitle, yTitle }: LinesProps): string {
  const ends = lines.map((line) => {
    const known = line.values.flatMap((value, i) => (value === null ? [] : [[xs[i]!, value] as const]));
    if (known.length === 0) return `${line.title} has no value`;
    const [from, to] = [known[0]!, known.at(-1)!];
    const best = line.best === null ? "" : `, with its best at ${xs[line.best]}`;
    return `${line.title} goes from ${from[1].toFixed(2)} at ${from[0]} to ${to[1].toFixed(2)} at ${to[0]}${best}`;
  });
  return `${yTitle}, over ${xTitle}. ${ends.join("; ")}.`;
}
