/** A number a day as a line, the period before as a grey one, and the same as a table. */
import { dayText } from './calendar.tsx';
import { countText } from './values.tsx';

type Day = { day: string; value: number; before?: number | undefined };

const [WIDTH, HEIGHT] = [1_000, 100];

export function Lines({ what, days }: { what: string; days: readonly Day[] }) {
  const hasBefore = days.some(({ before }) => before !== undefined);
  const most = Math.max(1, ...days.flatMap(({ value, before = 0 }) => [value, before]));
  const step = WIDTH / Math.max(days.length - 1, 1);
  const pathOf = (values: readonly number[]) => {
    const points = values.map((value, index) => `${index * step},${HEIGHT - (value / most) * HEIGHT}`);
    return `M${points.join(' L')}${points.length === 1 ? ` H${WIDTH}` : ''}`;
  };
  return (
    <figure className="bars lines">
      <p className="small quiet ends">
        <span>{countText(most)}</span>
        <span className="legend">
          <span className="d-accent">{what} a day</span>
          {hasBefore && <span className="d-neutral">the period before</span>}
        </span>
      </p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${what} a day, at most ${countText(most)}`}
      >
        {hasBefore && <path className="before" d={pathOf(days.map(({ before = 0 }) => before))} />}
        <path className="now" d={pathOf(days.map(({ value }) => value))} />
        {days.map(({ day, value, before }, index) => (
          <rect key={day} x={(index - 0.5) * step} width={step} height={HEIGHT} fill="transparent">
            <title>{`${dayText(day)}: ${countText(value)}${before === undefined ? '' : `, before ${countText(before)}`}`}</title>
          </rect>
        ))}
      </svg>
      <p className="small quiet ends">
        <span>{days[0] && dayText(days[0].day)}</span>
        <span>{days.length > 0 && `${dayText(days.at(-1)!.day)}, UTC`}</span>
      </p>
      <details>
        <summary className="small">As a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">day (UTC)</th>
              <th scope="col" className="num">
                {what}
              </th>
              {hasBefore && (
                <th scope="col" className="num">
                  the period before
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {days.map(({ day, value, before }) => (
              <tr key={day}>
                <td>{day}</td>
                <td className="num">{countText(value)}</td>
                {hasBefore && <td className="num">{before === undefined ? '' : countText(before)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
