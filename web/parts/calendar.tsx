/** Days in weeks, each coloured by its state with a word: what a table below says day by day, at one look. */
import type { Tone } from './balance.tsx';

export type CalendarDay = {
  /** Such as `2026-11-24`. */
  day: string;
  /** Null: nothing is known of the day. */
  state: { tone: Tone; word: string; says: string } | null;
};

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** Shows whole weeks: the days begin with a Monday. A press on a day with a state picks it. */
export function Calendar({
  caption,
  days,
  picked,
  onPick,
}: {
  caption: string;
  days: readonly CalendarDay[];
  picked: string | null;
  onPick: (day: string) => void;
}) {
  const weeks = Array.from({ length: Math.ceil(days.length / 7) }, (_, week) => days.slice(7 * week, 7 * week + 7));
  return (
    <table className="calendar">
      <caption className="sr">{caption}</caption>
      <thead>
        <tr>
          {WEEKDAYS.map((each) => (
            <th key={each} scope="col">
              {each}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {weeks.map((week) => (
          <tr key={week[0]!.day}>
            {week.map((each, index) => (
              <td key={each.day}>
                <Day of={each} hasMonth={index === 0} isPicked={each.day === picked} onPick={onPick} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Day({
  of: { day, state },
  hasMonth,
  isPicked,
  onPick,
}: {
  of: CalendarDay;
  hasMonth: boolean;
  isPicked: boolean;
  onPick: (day: string) => void;
}) {
  const text = dayText(day);
  const isWhole = hasMonth || day.endsWith('-01');
  const number = <span className="n">{isWhole ? text : text.split(' ')[0]}</span>;
  if (state === null) return <div className="day">{number}</div>;
  return (
    <button
      type="button"
      className={`day c-${state.tone}`}
      aria-pressed={isPicked}
      title={state.says}
      onClick={() => onPick(day)}
    >
      {number}
      <span className="sr">{` ${isWhole ? '' : text.split(' ')[1]!}: ${state.says}, `}</span>
      <span className="word">{state.word}</span>
    </button>
  );
}

/** Returns a day as `24 Nov`. */
export function dayText(day: string): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' }).format(
    new Date(`${day}T00:00:00Z`),
  );
}
