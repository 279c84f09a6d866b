/** The line that says whether all that came in came to something: total = part + part + part, each a link. */
import { Link } from '@tanstack/react-router';
import { countText } from './values.tsx';

export type Tone = 'ok' | 'neutral' | 'bad' | 'warn' | 'accent' | 'info' | 'unknown';

export type BalancePart = {
  label: string;
  count: number;
  tone: Tone;
  /** The page with the rows that are counted; `.` is this one. */
  to?: string;
  /** Filters of this page that leave these rows. */
  search?: Readonly<Record<string, string>>;
  hash?: string;
};

const WIDTH = 1_000;
/** A part that exists is drawn at least this wide. */
const LEAST = 10;

/** Throws if the parts don't add up to the total: a page must not show a wrong sum. */
export function Balance({
  total,
  what,
  parts,
  note,
  isPart = false,
}: {
  total: number;
  what: string;
  parts: readonly BalancePart[];
  note?: React.ReactNode;
  /** True: it stands within a panel. */
  isPart?: boolean;
}) {
  const sum = parts.reduce((all, { count }) => all + count, 0);
  if (sum !== total) throw new Error(`the parts of the balance add up to ${sum}, not to ${total}`);
  return (
    <section className={isPart ? undefined : 'panel'} aria-label="Balance">
      <div className="body balance">
        <div className="sum">
          <div className="term">
            <span className="big">{countText(total)}</span>
            <span className="what">{what}</span>
          </div>
          {parts.map(({ label, count, tone, to, search, hash }, index) => (
            <div className={`term d-${tone}`} key={label}>
              <span className="op">{index === 0 ? '=' : '+'}</span>
              {to === undefined || count === 0 ? (
                <span className="big">{countText(count)}</span>
              ) : (
                <Link
                  className="big"
                  to={to}
                  {...(search === undefined
                    ? {}
                    : { search: ((before: object) => ({ ...before, ...search })) as never })}
                  {...(hash === undefined ? {} : { hash })}
                >
                  {countText(count)}
                </Link>
              )}
              <span className="what">{label}</span>
            </div>
          ))}
        </div>
        {total > 0 && <Strip total={total} parts={parts.filter(({ count }) => count > 0)} />}
        {note !== undefined && <p className="small quiet">{note}</p>}
      </div>
    </section>
  );
}

function Strip({ total, parts }: { total: number; parts: readonly BalancePart[] }) {
  const raw = parts.map(({ count }) => Math.max(LEAST, (WIDTH * count) / total));
  const scale = WIDTH / raw.reduce((all, each) => all + each, 0);
  const starts = raw.map((_, index) => raw.slice(0, index).reduce((all, each) => all + each, 0) * scale);
  const said = parts.map(({ label, count }) => `${label} ${((100 * count) / total).toFixed(2)} percent`).join(', ');
  return (
    <svg className="strip" viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" role="img" aria-label={said}>
      {parts.map(({ label, tone }, index) => (
        <rect
          key={label}
          className={`f-${tone}`}
          x={starts[index]}
          width={Math.max(2, raw[index]! * scale - 2)}
          height="10"
        />
      ))}
    </svg>
  );
}
