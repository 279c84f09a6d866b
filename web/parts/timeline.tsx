/** Events, one entry below the other. */
import type { ReactNode } from 'react';
import type { Tone } from './balance.tsx';
import { When } from './values.tsx';

export type TimelineEntry = {
  /** Null: not yet; missing: unknown. */
  at?: string | null;
  title: ReactNode;
  more?: ReactNode;
  tone?: Tone;
};

export function Timeline({ entries }: { entries: readonly TimelineEntry[] }) {
  return (
    <ol className="line">
      {entries.map(({ at, title, more, tone = 'neutral' }, index) => (
        <li key={index} className={`d-${tone}`}>
          <b>{title}</b>
          {at !== undefined && <When at={at} />}
          {more !== undefined && <span className="more">{more}</span>}
        </li>
      ))}
    </ol>
  );
}
