/** Buttons that ask for less work, beside the refusal of a count that took too long. */
import { useFilters } from '../../parts/filters.ts';
import { DAY_MS } from '../../../domain/time/durations.ts';
import type { Refusal } from '../../session/api.ts';
import { countText } from '../../parts/values.tsx';
import type { Asked } from './use-counts.ts';

const SPANS = [30, 7, 1] as const;

export function LessWork({
  refusal,
  asked: { from, till },
  isExact,
}: {
  refusal: Refusal | null;
  asked: Asked;
  /** Whether the refused count was exact: a fast one reads a sample of people. */
  isExact: boolean;
}) {
  const [, change] = useFilters();
  if (refusal?.status !== 'too_long') return null;
  const count = (Date.parse(till) - Date.parse(from)) / DAY_MS + 1;
  const span = SPANS.find((days) => days < count);
  const first = (days: number) => new Date(Date.parse(till) - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  return (
    <div className="filters">
      {isExact && (
        <button type="button" className="btn" onClick={() => change({ count: 'fast' })}>
          Count fast
        </button>
      )}
      {span !== undefined && (
        <button type="button" className="btn" onClick={() => change({ from: first(span), till })}>
          {span === 1 ? 'Count the last day' : `Count the last ${span}`} of these {countText(count)} days
        </button>
      )}
    </div>
  );
}
