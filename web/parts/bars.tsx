/** Numbers of one kind as bars from left to right, with the same as a table. */
import type { Tone } from './balance.tsx';
import { countText } from './values.tsx';

export type Bar = { label: string; value: number; tone: Tone; note?: string };

const WIDTH = 1_000;
const HEIGHT = 100;
/** A bar of anything above zero is drawn at least this high. */
const LEAST = 2;

export function Bars({ what, of, bars }: { what: string; of: string; bars: readonly Bar[] }) {
  const most = Math.max(...bars.map(({ value }) => value), 1);
  const step = WIDTH / Math.max(bars.length, 1);
  const total = bars.reduce((sum, { value }) => sum + value, 0);
  return (
    <figure className="bars">
      <p className="small quiet ends">
        <span>{countText(most)}</span>
        <span>
          {countText(total)} {what} in all
        </span>
      </p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${what} per ${of}, at most ${countText(most)}`}
      >
        {bars.map(({ label, value, tone, note }, index) => {
          const height = value === 0 ? 0 : Math.max(LEAST, (HEIGHT * value) / most);
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
        })}
      </svg>
      <p className="small quiet ends">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </p>
      <BarTable what={what} of={of} bars={bars} />
    </figure>
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
