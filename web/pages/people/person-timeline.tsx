/** The timeline of a person: newest first, by kind and up to a day, with 90 days as a strip. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Person, stringify, type TimelineEntry } from '../../../api/client.ts';
import { TIMELINE_KINDS, type TimelineKind } from '../../../domain/analytics/person.ts';
import type { Tone } from '../../parts/balance.tsx';
import { DayStrip } from '../../parts/day-strip.tsx';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { isDay, useFilters } from '../../parts/filters.ts';
import { Chip } from '../../parts/head.tsx';
import { sayMissing } from '../../parts/no-right.tsx';
import { Empty, Shown, Skeleton } from '../../parts/panel.tsx';
import { NextPage, UnreadList } from '../../parts/table.tsx';
import { Timeline } from '../../parts/timeline.tsx';
import { countText, durationText, When } from '../../parts/values.tsx';
import { useList, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { TYPE_WORDS } from '../gdpr/request-state.tsx';
import { codeTone } from '../sends/send-state.tsx';
import { confirmedText, messageFacts } from './messages.tsx';
import { type Look, ValueText } from './tabs.tsx';

const KINDS: Record<TimelineKind, { title: string; tone: Tone }> = {
  session: { title: 'Sessions', tone: 'accent' },
  event: { title: 'Events', tone: 'neutral' },
  attribute: { title: 'Values', tone: 'info' },
  message: { title: 'Messages', tone: 'ok' },
  request: { title: 'Requests', tone: 'warn' },
};
const PAGE = 50;
const ALL = Object.keys(KINDS) as TimelineKind[];

export function PersonTimeline({ look, data }: { look: Look; data: Person }) {
  const { session } = useSession();
  const kinds = ALL.filter((kind) => session.enable[TIMELINE_KINDS[kind]]);
  const missing = [...new Set(ALL.filter((kind) => !kinds.includes(kind)).map((kind) => TIMELINE_KINDS[kind]))];
  return (
    <>
      {kinds.length > 0 && <Entries look={look} data={data} kinds={kinds} />}
      {missing.length > 0 && (
        <p className="body second">
          {kinds.length === 0 ? 'No kind of entry is shown.' : 'Some kinds of entries are left out.'}{' '}
          {sayMissing(missing)}.
        </p>
      )}
    </>
  );
}

function Entries({ look, data, kinds }: { look: Look; data: Person; kinds: readonly TimelineKind[] }) {
  const [{ kind: asked, until: day = '' }, change] = useFilters();
  const until = isDay(day) ? day : undefined;
  const kind = kinds.find((each) => each === asked);
  const read = useList('viewTimeline', {
    body: {
      ...look,
      kinds: kind === undefined ? [...kinds] : [kind],
      per_page: PAGE,
      ...(until === undefined ? {} : { until: `${until}T23:59:59.999Z` }),
    },
  });
  const entries = read.data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <>
      <div className="body">
        <div className="controls">
          <FilterToggles
            name="kind"
            label="Kind"
            value={kind ?? 'all'}
            options={[
              { value: 'all', title: 'All' },
              ...kinds.map((each) => ({ value: each, title: KINDS[each].title })),
            ]}
          />
          <label className="pick">
            Up to (UTC)
            <input
              type="date"
              max="9999-12-31"
              value={until ?? ''}
              onChange={({ target }) => change({ until: target.value === '' ? undefined : target.value })}
            />
          </label>
        </div>
      </div>
      <Strip look={look} kinds={kind === undefined ? kinds : [kind]} until={until} />
      {read.isPending ? (
        <Skeleton rows={6} />
      ) : (
        <>
          <UnreadList more={read} />
          {entries.length === 0 && !read.error && <Empty says={emptyText(kind, until)} />}
          <div className="body">
            <Timeline entries={entries.map((entry) => lineOf(entry, data))} />
          </div>
          <NextPage more={read}>Older entries</NextPage>
        </>
      )}
    </>
  );
}

function emptyText(kind: TimelineKind | undefined, until: string | undefined): string {
  const what = kind === undefined ? 'Nothing is known to have happened' : `No entry of the kind “${KINDS[kind].title}”`;
  return until === undefined ? `${what}.` : `${what} up to this day. Take the day away to see what came later.`;
}

const [DAYS, DAY_MS] = [90, 24 * 3_600_000];

/** 90 days up to the one chosen, counted by the server: the list below may hold the last of them alone. */
function Strip({ look, kinds, until }: { look: Look; kinds: readonly TimelineKind[]; until: string | undefined }) {
  const counted = useRead('countPersonDays', { body: { ...look, kinds: [...kinds], days: DAYS, until } });
  const end = Date.parse(until ?? new Date().toISOString().slice(0, 10));
  const days = Array.from({ length: DAYS }, (_, index) =>
    new Date(end - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
  return (
    <Shown result={counted}>
      {({ days: found }) => (
        <div className="body">
          <DayStrip
            days={days}
            lanes={kinds.map((kind) => ({
              name: KINDS[kind].title,
              tone: KINDS[kind].tone,
              counts: new Map(found.filter((each) => each.kind === kind).map(({ day, count }) => [day, count])),
            }))}
            legend="90 days, UTC"
          />
        </div>
      )}
    </Shown>
  );
}

type Line = { at: string; title: ReactNode; more?: ReactNode; tone: Tone };

function lineOf(entry: TimelineEntry, data: Person): Line {
  const { at } = entry;
  const { tone } = KINDS[entry.kind];
  switch (entry.kind) {
    case 'session':
      return { at, tone, title: `Session, ${durationText(entry.duration * 1_000)}`, more: <SessionText of={entry} /> };
    case 'event':
      return { at, tone, title: entry.name, more: <EventText of={entry} /> };
    case 'attribute':
      return {
        at,
        tone,
        title: <code>{entry.attribute_key}</code>,
        more: (
          <>
            <ValueText value={entry} /> <span className="quiet">in {sorName(entry.sor_id, data)}</span>
          </>
        ),
      };
    case 'message':
      return {
        at,
        tone: codeTone(entry.code),
        title: `Message: ${entry.campaign_name}`,
        more: <MessageText of={entry} />,
      };
    case 'request':
      return {
        at,
        tone,
        title: <Link to={`/privacy/${entry.request_id}`}>{`${TYPE_WORDS[entry.request_type]} request`}</Link>,
        more: `${entry.state}; this person: ${entry.person_state}`,
      };
  }
}

const sorName = (id: string, { attributes }: Person): string =>
  attributes?.find(({ sor_id: each }) => each === id)?.name ?? id;

type Entry<K extends TimelineKind> = Extract<TimelineEntry, { kind: K }>;

function SessionText({ of }: { of: Entry<'session'> }) {
  const facts = [of.app_id, of.device_id, of.app_version, of.os_version, of.device_model].filter(Boolean).join(', ');
  const { events, event_count: count } = of;
  return (
    <>
      <span className="wraps">{facts}</span>
      {count > 0 && (
        <details>
          <summary className="small">
            {countText(count)} {count === 1 ? 'event' : 'events'}
            {events.length < count && `, the last ${events.length}`}
          </summary>
          <ul className="tight">
            {events.map((event) => (
              <li key={event.event_id}>
                <b>{event.name}</b> <When at={event.at} />
                <Detail detail={event.detail} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function EventText({ of: { app_id: app, device_id: device, detail } }: { of: Entry<'event'> }) {
  return (
    <>
      <span className="wraps">{[app, device].filter(Boolean).join(', ')}</span>
      <Detail detail={detail} />
    </>
  );
}

function Detail({ detail }: { detail: unknown }) {
  if (detail === null) return null;
  return (
    <div>
      <code className="wraps">{stringify(detail)}</code>
    </div>
  );
}

function MessageText({ of }: { of: Entry<'message'> }) {
  const confirmed = confirmedText(of);
  return (
    <>
      <Chip tone={codeTone(of.code)}>{of.code}</Chip> {of.reason}
      {of.details !== null && `; ${of.details}`}
      {confirmed !== '' && `. On the device: ${confirmed}`}
      <span className="quiet wraps"> {messageFacts(of)}</span>
    </>
  );
}
