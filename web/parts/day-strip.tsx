/** Days from left to right, a lane for each kind, with a mark on each day that has something of it. */
import type { Tone } from './balance.tsx';
import { dayText } from './calendar.tsx';
import { countText } from './values.tsx';

export type Lane = {
  name: string;
  tone: Tone;
  /** How often, by day such as `2026-11-24`. */
  counts: ReadonlyMap<string, number>;
};

const [DAY_WIDTH, HEIGHT] = [10, 12];

export function DayStrip({ days, lanes, legend }: { days: readonly string[]; lanes: readonly Lane[]; legend: string }) {
  return (
    <figure className="lanes">
      {lanes.map(({ name, tone, counts }) => {
        const marked = days.filter((day) => counts.has(day));
        return (
          <div className="lane" key={name}>
            <span className="small">{name}</span>
            <svg
              viewBox={`0 0 ${days.length * DAY_WIDTH} ${HEIGHT}`}
              preserveAspectRatio="none"
              role="img"
              aria-label={`${name} on ${marked.length} of ${days.length} days`}
            >
              {marked.map((day) => (
                <rect
                  key={day}
                  className={`f-${tone}`}
                  x={days.indexOf(day) * DAY_WIDTH + 1}
                  width={DAY_WIDTH - 2}
                  height={HEIGHT}
                >
                  <title>{`${dayText(day)}: ${countText(counts.get(day)!)}`}</title>
                </rect>
              ))}
            </svg>
          </div>
        );
      })}
      <figcaption className="lane small quiet">
        <span>{legend}</span>
        <span className="ends">
          <span>{dayText(days[0]!)}</span>
          <span>{dayText(days.at(-1)!)}</span>
        </span>
      </figcaption>
    </figure>
  );
}
