/** Numbers of several kinds as stacked bars from left to right, with a legend and the same as a table. */
import type { Tone } from './balance.tsx';
import { countText } from './values.tsx';

type Kind = { label: string; tone: Tone };
/** A bar; `counts` has a number for each kind, in their order. */
type Stack = { label: string; counts: readonly number[] };
type Stacks = { what: string; of: string; kinds: readonly Kind[]; stacks: readonly Stack[] };

const [SLOT, BAR, HEIGHT] = [100, 70, 100];
/** A part of anything above zero is drawn at least this high. */
const LEAST = 2;

export function StackedBars({ what, of, kinds, stacks }: Stacks) {
  const most = Math.max(1, ...stacks.map(({ counts }) => sum(counts)));
  return (
    <figure className="bars low">
      <p className="small quiet ends">
        <span>{countText(most)}</span>
        <span>
          {countText(sum(stacks.flatMap(({ counts }) => counts)))} {what} in all
        </span>
      </p>
      <svg
        viewBox={`0 0 ${stacks.length * SLOT} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${what} per ${of}, at most ${countText(most)}`}
      >
        {stacks.map(({ label, counts }, index) => (
          <g key={label}>
            <title>{`${label}: ${kinds.map((kind, at) => `${countText(counts[at]!)} ${kind.label}`).join(', ')}`}</title>
            <rect x={index * SLOT} y="0" width={SLOT} height={HEIGHT} fill="transparent" />
            {partsOf(counts, most).map(({ y, height }, at) => (
              <rect
                key={kinds[at]!.label}
                className={`f-${kinds[at]!.tone}`}
                x={index * SLOT + (SLOT - BAR) / 2}
                y={y}
                width={BAR}
                height={height}
              />
            ))}
          </g>
        ))}
      </svg>
      <p className="small quiet ends">
        <span>{stacks[0]?.label}</span>
        <span>{stacks.at(-1)?.label}</span>
      </p>
      <p className="legend small second">
        {kinds.map(({ label, tone }) => (
          <span key={label} className={`d-${tone}`}>
            {label}
          </span>
        ))}
      </p>
      <details>
        <summary className="small">As a table</summary>
        <CountTable of={of} columns={kinds.map(({ label }) => label)} rows={stacks} />
      </details>
    </figure>
  );
}

/** Shows counts as a table: a row for each label, a column for each kind. */
export function CountTable({ of, columns, rows }: { of: string; columns: readonly string[]; rows: readonly Stack[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{of}</th>
          {columns.map((column) => (
            <th key={column} scope="col" className="num">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ label, counts }) => (
          <tr key={label}>
            <td>{label}</td>
            {counts.map((count, at) => (
              <td key={columns[at]} className="num">
                {countText(count)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

/** Returns the places of a bar's parts, the first at the bottom. */
function partsOf(counts: readonly number[], most: number): { y: number; height: number }[] {
  let top = HEIGHT;
  return counts.map((count) => {
    const height = count === 0 ? 0 : Math.max(LEAST, (HEIGHT * count) / most);
    top = Math.max(0, top - height);
    return { y: top, height };
  });
}
