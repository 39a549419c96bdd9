// Where each token's probability comes from, by either method: what the draft covers, and what a
// replacement adds. With the correction every bar ends exactly at p.
import type { Laws, Row } from "./law";
import { useWidth } from "./ui";

interface MassProps {
  readonly names: readonly string[];
  readonly p: Row;
  readonly law: Laws;
}

const WIDTH = 640;
const LEFT = 112;
const RIGHT = 6;
const LANE = 15;
const ROW = 2 * LANE + 18;

export function Mass({ names, p, law }: MassProps) {
  const [place, width] = useWidth<SVGSVGElement>(WIDTH);
  const ends = [...p, ...law.naive].map((x) => x.toNumber());
  const top = Math.max(...ends);
  const x = (value: number) => LEFT + (value / top) * (width - LEFT - RIGHT);
  return (
    <figure class="mass">
      <Legend />
      <svg ref={place} viewBox={`0 0 ${width} ${names.length * ROW}`} role="img" aria-label={describe(names, p, law)}>
        {names.map((name, i) => (
          <g key={i} transform={`translate(0 ${i * ROW})`}>
            <text class="label" x={0} y={LANE + 5}>
              {name}
            </text>
            <Lane x={x} y={2} law={law} end={law.corrected[i]!.toNumber()} i={i} name="correction" />
            <Lane x={x} y={LANE + 6} law={law} end={law.naive[i]!.toNumber()} i={i} name="shortcut" />
            <line class="truth" x1={x(p[i]!.toNumber())} x2={x(p[i]!.toNumber())} y1={0} y2={2 * LANE + 8} />
          </g>
        ))}
      </svg>
    </figure>
  );
}

interface LaneProps {
  readonly x: (value: number) => number;
  readonly y: number;
  readonly law: Laws;
  readonly end: number;
  readonly i: number;
  readonly name: "correction" | "shortcut";
}

function Lane({ x, y, law, end, i, name }: LaneProps) {
  const covered = law.covered[i]!.toNumber();
  return (
    <>
      <text class="tick" x={LEFT - 10} y={y + LANE - 3} text-anchor="end">
        {name}
      </text>
      <rect class="covered" x={x(0)} y={y} width={x(covered) - x(0)} height={LANE} />
      <rect class={name} x={x(covered)} y={y} width={Math.max(0, x(end) - x(covered))} height={LANE} />
    </>
  );
}

function Legend() {
  const entries = [
    ["covered", "drafted and kept"],
    ["correction", "replaced from the residual"],
    ["shortcut", "replaced from p"],
  ] as const;
  return (
    <ul class="legend">
      {entries.map(([kind, text]) => (
        <li key={kind}>
          <svg width="14" height="14" aria-hidden="true">
            <rect class={kind} width="14" height="14" />
          </svg>
          {text}
        </li>
      ))}
      <li>
        <svg width="14" height="14" aria-hidden="true">
          <line class="truth" x1="7" x2="7" y1="0" y2="14" />
        </svg>
        p
      </li>
    </ul>
  );
}

function describe(names: readonly string[], p: Row, law: Laws): string {
  const ends = names.map((name, i) => {
    const off = law.naive[i]!.minus(p[i]!).sign;
    return `token ${name}: the correction ends at p, the shortcut ${off > 0 ? "beyond" : off < 0 ? "short of" : "at"} p`;
  });
  return `Bars of each token's probability. ${ends.join("; ")}.`;
}
