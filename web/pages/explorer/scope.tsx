/** The app and the days of an explorer page: both stand in the address. */
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { DAY_MS } from '../../../domain/time/durations.ts';
import { isDay, useFilters } from '../../parts/filters.ts';
import { Head } from '../../parts/head.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import type { Refusal } from '../../session/api.ts';
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

const PAGES = ['events', 'sessions', 'devices', 'locations', 'crashes'] as const;
const [DEFAULT_DAYS, SHORT_DAYS, MAX_DAYS] = [7, 7, 731];
const SPANS = [7, 30, 90] as const;

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

export function useApp(): { id: string; crash: string } {
  const { id = '', crash = '' }: { id?: string; crash?: string } = useParams({ strict: false });
  return { id, crash };
}

type Days = { from: string; until: string; count: number; query: { sd: string; ed: string } };

/** Returns the days of the address, both included; by default the last seven. */
export function useDays(): Days {
  const [{ from: first = '', until: last = '' }] = useFilters();
  const end = isDay(last) ? Date.parse(last) : Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const given = isDay(first) ? Date.parse(first) : end - (DEFAULT_DAYS - 1) * DAY_MS;
  const start = Math.max(Math.min(given, end), end - (MAX_DAYS - 1) * DAY_MS);
  return {
    from: dayOf(start),
    until: dayOf(end),
    count: (end - start) / DAY_MS + 1,
    query: { sd: String(start / 1_000), ed: String(end / 1_000) },
  };
}

/** Heads a page of the explorer: the app, the other pages, and the days that count. */
export function ExplorerHead({ title, hasDays = true }: { title: string; hasDays?: boolean }) {
  const { id } = useApp();
  const { missingFor } = useSession();
  const mayName = missingFor('listApps').length === 0;
  const apps = useRead('listApps', { query: { unwanted: true, secrets: false } }, { isWanted: mayName });
  const name = apps.data?.apps.find(({ identifier }) => identifier === id)?.name ?? id;
  return (
    <>
      <Head
        title={title}
        facts={
          <span>
            App <b>{name}</b>
          </span>
        }
      />
      <nav className="filters" aria-label="What the app sent">
        {PAGES.map((each) => (
          <Link
            key={each}
            className="toggle"
            to={`/apps/${id}/${each}`}
            search={(now: Record<string, string>) => ({ from: now['from'], until: now['until'] }) as never}
          >
            {each[0]!.toUpperCase() + each.slice(1)}
          </Link>
        ))}
      </nav>
      {hasDays && <DayFilters />}
    </>
  );
}

function DayFilters() {
  const [, change] = useFilters();
  const { from, until, count } = useDays();
  const last = dayOf(Date.now());
  const span = until === last && SPANS.find((days) => days === count);
  const choose = (days: string): void =>
    change({ from: dayOf(Date.parse(last) - (Number(days) - 1) * DAY_MS), until: undefined });
  return (
    <div className="controls">
      <Toggles
        label="Days"
        choices={SPANS.map((days) => ({ value: String(days), title: `${days} days` }))}
        value={String(span || '')}
        onChange={choose}
      />
      {(['from', 'until'] as const).map((name) => (
        <label className="pick" key={name}>
          {name === 'from' ? 'From (UTC)' : 'Until (UTC)'}
          <input
            type="date"
            max="9999-12-31"
            value={name === 'from' ? from : until}
            onChange={({ target: { value } }) =>
              change(name === 'from' ? { from: value || undefined, until } : { from, until: value || undefined })
            }
          />
        </label>
      ))}
    </div>
  );
}

/** Offers a shorter period if the server took too long for this one. */
export function Shorter({ refusal }: { refusal: Refusal | null }): ReactNode {
  const [, change] = useFilters();
  const { until, count } = useDays();
  if (refusal?.status !== 'too_long' || count <= SHORT_DAYS) return null;
  const from = dayOf(Date.parse(until) - (SHORT_DAYS - 1) * DAY_MS);
  return (
    <div className="body">
      <button type="button" className="btn" onClick={() => change({ from, until })}>
        Count the last {SHORT_DAYS} of these days
      </button>
    </div>
  );
}
