/** Numbers as bars from left to right, of one kind or of several that are stacked, with the same as a table. */
import type { ReactNode } from 'react';
import type { Tone } from './balance.tsx';
import { countText } from './values.tsx';

export type Bar = { label: string; value: number; tone: Tone; note?: string };
/** A line across the bars; `at` counts bars from the first one's start: 1.5 is the middle of the second. */
type Mark = { label: string; at: number; isDashed?: boolean };

const WIDTH = 1_000;
const HEIGHT = 100;
/** A bar of anything above zero is drawn at least this high. */
const LEAST = 2;
/** A bar alone is as wide as one of six. */
const SLOTS_OF_ONE = 6;

export function Bars({
  what,
  of,
  bars,
  marks = [],
}: {
  what: string;
  of: string;
  bars: readonly Bar[];
  marks?: readonly Mark[];
}) {
  const most = Math.max(...bars.map(({ value }) => value), 1);
  const step = stepOf(bars.length);
  const drawing = bars.map(({ label, value, tone, note }, index) => {
    const height = heightOf(value, most);
    return (
      <g key={label}>
        <title>{`${label}: ${countText(value)} ${what}${note === undefined ? '' : `, ${note}`}`}</title>
        <rect x={index * step} y="0" width={step} height={HEIGHT} fill="transparent" />
        <rect
          className={`f-${tone}`}
          x={index * step + step * 0.1}
          y={HEIGHT - height}
          width={step * 0.8}
          height={height}
        />
      </g>
    );
  });
  const total = `${countText(sum(bars.map(({ value }) => value)))} ${what}`;
  return (
    <BarFigure
      what={what}
      of={of}
      labels={bars.map(({ label }) => label)}
      most={most}
      total={total}
      drawing={[...drawing, ...marks.map((mark) => <MarkLine key={mark.label} mark={mark} step={step} />)]}
    >
      <BarTable what={what} of={of} bars={bars} />
    </BarFigure>
  );
}

function MarkLine({ mark: { label, at, isDashed = false }, step }: { mark: Mark; step: number }) {
  const ends = { x1: at * step, x2: at * step, y1: 0, y2: HEIGHT };
  return (
    <g>
      <title>{label}</title>
      <line className="mark-ground" {...ends} />
      <line className={isDashed ? 'mark dashed' : 'mark'} {...ends} />
    </g>
  );
}

function BarTable({ what, of, bars }: { what: string; of: string; bars: readonly Bar[] }) {
  return (
    <details>
      <summary className="small">As a table</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">{of}</th>
            <th scope="col" className="num">
              {what}
            </th>
            <th scope="col">note</th>
          </tr>
        </thead>
        <tbody>
          {bars.map(({ label, value, note }) => (
            <tr key={label}>
              <td>{label}</td>
              <td className="num">{countText(value)}</td>
              <td>{note}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

type Kind = { label: string; tone: Tone };
/** A bar; `counts` has a number for each kind, in their order. */
type Stack = { label: string; counts: readonly number[] };
type Stacks = { what: string; of: string; kinds: readonly Kind[]; stacks: readonly Stack[] };

export function StackedBars({ what, of, kinds, stacks }: Stacks) {
  const most = Math.max(1, ...stacks.map(({ counts }) => sum(counts)));
  const step = stepOf(stacks.length);
  const drawing = stacks.map(({ label, counts }, index) => {
    const parts = stacked(
      counts.map((count) => heightOf(count, most)),
      HEIGHT,
    );
    return (
      <g key={label}>
        <title>{`${label}: ${kinds.map((kind, at) => `${countText(counts[at]!)} ${kind.label}`).join(', ')}`}</title>
        <rect x={index * step} y="0" width={step} height={HEIGHT} fill="transparent" />
        {parts.map(({ y, height }, at) => (
          <rect
            key={kinds[at]!.label}
            className={`f-${kinds[at]!.tone}`}
            x={index * step + step * 0.15}
            y={y}
            width={step * 0.7}
            height={height}
          />
        ))}
      </g>
    );
  });
  const total = `${countText(sum(stacks.flatMap(({ counts }) => counts)))} ${what}`;
  return (
    <BarFigure
      what={what}
      of={of}
      labels={stacks.map(({ label }) => label)}
      most={most}
      total={total}
      drawing={drawing}
      isLow
    >
      <Legend kinds={kinds} />
      <details>
        <summary className="small">As a table</summary>
        <CountTable of={of} columns={kinds.map(({ label }) => label)} rows={stacks} />
      </details>
    </BarFigure>
  );
}

type Signed = { label: string; up: number; down: number; note?: string };

/** Two numbers a bar: one goes up from the middle, the other down. */
export function SignedBars({ of, up, down, bars }: { of: string; up: Kind; down: Kind; bars: readonly Signed[] }) {
  const most = Math.max(1, ...bars.flatMap((bar) => [bar.up, bar.down]));
  const middle = HEIGHT / 2;
  const step = stepOf(bars.length);
  const drawing = bars.map(({ label, up: above, down: below, note }, index) => {
    const [x, width] = [index * step + step * 0.15, step * 0.7];
    const height = heightOf(above, most) / 2;
    return (
      <g key={label}>
        <title>{`${label}: ${countText(above)} ${up.label}, ${countText(below)} ${down.label}${note === undefined ? '' : `, ${note}`}`}</title>
        <rect x={index * step} y="0" width={step} height={HEIGHT} fill="transparent" />
        <rect className={`f-${up.tone}`} x={x} y={middle - height} width={width} height={height} />
        <rect className={`f-${down.tone}`} x={x} y={middle} width={width} height={heightOf(below, most) / 2} />
      </g>
    );
  });
  const [ups, downs] = [sum(bars.map((bar) => bar.up)), sum(bars.map((bar) => bar.down))];
  const kinds = [up, down];
  return (
    <BarFigure
      what={`${up.label} and ${down.label}`}
      of={of}
      labels={bars.map(({ label }) => label)}
      most={most}
      total={`${countText(ups)} ${up.label}, ${countText(downs)} ${down.label}`}
      drawing={drawing}
      isLow
    >
      <Legend kinds={kinds} />
      <details>
        <summary className="small">As a table</summary>
        <CountTable
          of={of}
          columns={kinds.map(({ label }) => label)}
          rows={bars.map((bar) => ({ label: bar.label, counts: [bar.up, bar.down] }))}
        />
      </details>
    </BarFigure>
  );
}

function Legend({ kinds }: { kinds: readonly Kind[] }) {
  return (
    <p className="legend small second">
      {kinds.map(({ label, tone }) => (
        <span key={label} className={`d-${tone}`}>
          {label}
        </span>
      ))}
    </p>
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

function BarFigure({
  what,
  of,
  labels,
  most,
  total,
  drawing,
  isLow = false,
  children,
}: {
  what: string;
  of: string;
  labels: readonly string[];
  most: number;
  /** All counts in words. */
  total: string;
  drawing: ReactNode;
  isLow?: boolean;
  /** Stands below the drawing: the same as a table. */
  children: ReactNode;
}) {
  return (
    <figure className={isLow ? 'bars low' : 'bars'}>
      <p className="small quiet ends">
        <span>{countText(most)}</span>
        <span>{total} in all</span>
      </p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${what} per ${of}, at most ${countText(most)}`}
      >
        {drawing}
      </svg>
      <p className="small quiet ends">
        <span>{labels[0]}</span>
        {labels.length > 1 && <span>{labels.at(-1)}</span>}
      </p>
      {children}
    </figure>
  );
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

/** Returns the width of a bar with its margins. */
const stepOf = (bars: number): number => WIDTH / (bars === 1 ? SLOTS_OF_ONE : Math.max(bars, 1));

const heightOf = (value: number, most: number): number => (value === 0 ? 0 : Math.max(LEAST, (HEIGHT * value) / most));

/** Returns the places of parts of these heights, the first one standing at `bottom`. */
export function stacked(heights: readonly number[], bottom: number): { y: number; height: number }[] {
  let top = bottom;
  return heights.map((height) => {
    top = Math.max(0, top - height);
    return { y: top, height };
  });
}
