/** Counts the people of filters as they are typed: fast first, then exactly. An older answer never replaces a newer. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { stringify } from '../../../api/client.ts';
import type { ResultOf } from '../../session/calls.ts';
import { useAction } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { Count, countText } from '../../parts/values.tsx';
import { type Filters, isComplete as isWhole } from './filters.ts';

type Counted = ResultOf<'previewSegment'>;
type Refusal = NonNullable<ReturnType<typeof useAction<'previewSegment'>>['error']>;

/** How long the last key must be ago. */
const QUIET_MS = 600;
/** A fast count below this time promises an exact one that does not keep anybody waiting. */
const QUICK_MS = 100;

export type FilterCounting = {
  /** Count of the filters as they are now; null until it is there. Without `sample` it is exact. */
  fast: Counted | null;
  exact: Counted | null;
  /** Count of earlier filters: shown pale until there is a newer count. */
  before: Counted | null;
  isCounting: boolean;
  refusal: Refusal | null;
  countExactly: () => void;
  /** Returns who is left after the filter at a path. */
  noteAt: (path: string) => ReactNode;
  errorAt: (path: string) => string | undefined;
};

export function useFilterCount(appId: string, filters: Filters, isComplete = isWhole(filters)): FilterCounting {
  const { may } = useSession();
  const running = useRef(new AbortController());
  const [before, setBefore] = useState<Counted | null>(null);
  const options = { signal: () => running.current.signal, onDone: setBefore };
  const exactly = useAction('previewSegment', options);
  const fast = useAction('previewSegment', options);
  const body = { app: appId, filters, left: true };
  const asked = stringify(body);
  const isWanted = isComplete && appId !== '' && may('previewSegment');
  const countExactly = (): void => exactly.mutate({ body });
  const send = useRef(() => {});
  send.current = () =>
    fast.mutate(
      { body: { ...body, fast: true } },
      {
        onSuccess: ({ sample, took_ms: ms }) => {
          if (sample !== null && ms < QUICK_MS) countExactly();
        },
      },
    );
  useEffect(() => {
    // Ends counts of the filters before: the server stops them, too.
    running.current.abort();
    running.current = new AbortController();
    fast.reset();
    exactly.reset();
    if (!isWanted) return undefined;
    const timer = setTimeout(() => send.current(), QUIET_MS);
    return () => clearTimeout(timer);
  }, [asked, isWanted]);
  useEffect(() => () => running.current.abort(), []);
  const shown = exactly.data ?? fast.data ?? null;
  const refusal = exactly.error ?? fast.error ?? null;
  return {
    fast: fast.data ?? null,
    exact: exactly.data ?? (fast.data?.sample === null ? fast.data : null),
    before,
    isCounting: fast.isPending || exactly.isPending,
    refusal,
    countExactly,
    noteAt: (path) => <LeftNote left={shown?.left?.find(({ element }) => element === path)} />,
    errorAt: (path) => errorIn(refusal, path),
  };
}

/** Returns what a refusal says of a path within `filters`. */
export function errorIn(refusal: Refusal | null, path: string): string | undefined {
  const element = path === '' ? 'filters' : `filters.${path}`;
  return refusal?.extra.messages?.find((message) => message.element === element)?.message;
}

function LeftNote({ left }: { left: { people: number; margin: number | null } | undefined }) {
  if (left === undefined) return null;
  return (
    <p className="small second left">
      {left.margin === null ? countText(left.people) : `${countText(left.people)} ± ${countText(left.margin)}`} left
    </p>
  );
}

/** Shows counts: the fast one with its error, the exact one, the share of the app, and how many a push reaches. */
export function FilterCounts({ count }: { count: FilterCounting }) {
  const { may, missingFor } = useSession();
  if (!may('previewSegment')) return <p className="body second">{sayMissing(missingFor('previewSegment'))}.</p>;
  const { fast, exact, before, isCounting, refusal, countExactly } = count;
  const shown = exact ?? fast ?? before;
  const isOld = exact === null && fast === null;
  const isElsewhere = refusal?.extra.messages?.every(({ element }) => element.startsWith('filters')) ?? false;
  return (
    <div className="body counts" aria-live="polite" aria-busy={isCounting}>
      {fast?.sample && (
        <p className="fast">
          Fast: <Count value={fast.preview.people_number} /> ± <Count value={fast.sample.margin} />{' '}
          <span className="small quiet">one person in {fast.sample.one_in}</span>
        </p>
      )}
      {exact && (
        <p className="exact">
          Exact: <b>{countText(exact.preview.people_number)}</b> people
        </p>
      )}
      {isOld && before && <p className="quiet">{countText(before.preview.people_number)} people before this change</p>}
      {shown && !isOld && (
        <p className="small second">
          {shown.preview.people_percent} % of the people of the app; pushes can reach {shown.preview.push_percent} % of
          them, on {countText(shown.reach.token)} devices with a token
        </p>
      )}
      {isCounting && (
        <p className="small quiet" role="status">
          Counting
        </p>
      )}
      {refusal && !isElsewhere && <Refused refusal={refusal} />}
      {refusal && isElsewhere && <p className="small wrong">A filter is not right: see its line.</p>}
      {fast && exact === null && !isCounting && (
        <div>
          <button type="button" className="btn" onClick={countExactly}>
            Count exactly
          </button>
        </div>
      )}
      <p className="small quiet">The audit log keeps which attributes a count compares with, without their values.</p>
    </div>
  );
}

/** Counts and shows in one, for a page that needs no counts beside its lines. */
export function FilterCount({ appId, filters, isComplete }: { appId: string; filters: Filters; isComplete?: boolean }) {
  return <FilterCounts count={useFilterCount(appId, filters, isComplete)} />;
}
