/** Facts of a sync beside its runs: its times, and what it copies. */
import { Link } from '@tanstack/react-router';
import { stringify, type Sync, type SyncRun } from '../../../api/client.ts';
import { Panel } from '../../parts/panel.tsx';
import { type TimelineEntry, Timeline } from '../../parts/timeline.tsx';
import { durationText } from '../../parts/values.tsx';
import { scheduleText } from './run-words.tsx';

/** A run that began within this time after the one that its schedule names counts as on time. */
const LATE_MS = 60_000;

export function OnTime({ sync, runs }: { sync: Sync; runs: readonly SyncRun[] }) {
  const scheduled = runs.find(({ scheduled_for, started_at }) => scheduled_for !== null && started_at !== null);
  const entries: TimelineEntry[] = [
    ...(scheduled ? [startEntry(scheduled)] : []),
    ...sync.next_runs.map((at, index): TimelineEntry => ({
      at,
      title: index === 0 ? 'Next run' : 'then',
      ...(index === 0 ? { tone: 'accent' } : {}),
    })),
  ];
  return (
    <Panel title="On time?">
      <div className="body">
        <p className="second">Runs {scheduleText(sync)}.</p>
        {sync.state === 'paused' && <p className="second">It is paused: no run starts by itself.</p>}
        {entries.length > 0 && <Timeline entries={entries} />}
      </div>
    </Panel>
  );
}

function startEntry({ scheduled_for, started_at, missed }: SyncRun): TimelineEntry {
  const lateMs = Math.max(0, Date.parse(started_at ?? '') - Date.parse(scheduled_for ?? ''));
  const isLate = lateMs > LATE_MS || missed > 0;
  return {
    at: started_at,
    title: isLate ? 'Last one was late' : 'Last one was on time',
    tone: isLate ? 'warn' : 'ok',
    more: `${durationText(lateMs)} after its time${missed > 0 ? `; ${missed} times before it were missed` : ''}`,
  };
}

export function Definition({ sync }: { sync: Sync }) {
  const { mapping, source, destination, mode, cursor_field, removes } = sync;
  return (
    <Panel title="What it copies">
      <dl className="body pairs">
        <dt>Source</dt>
        <dd>
          <Link to={`/connections/${source.connection}`}>{source.name}</Link>, <code>{source.stream}</code>
        </dd>
        <dt>Destination</dt>
        <dd>
          {destination.sor !== undefined && <Link to={`/sors/${destination.sor}`}>{destination.name}</Link>}
          {destination.connection !== undefined && (
            <>
              <Link to={`/connections/${destination.connection}`}>{destination.name}</Link>,{' '}
              <code>{destination.stream}</code>
            </>
          )}
        </dd>
        {mapping.customer && (
          <>
            <dt>Person</dt>
            <dd>
              <code>{mapping.customer.field}</code> as {mapping.customer.type}
            </dd>
          </>
        )}
        <dt>Reads</dt>
        <dd>
          {mode === 'full' ? 'all records' : `new records${cursor_field === null ? '' : ` by ${cursor_field}`}`}
          {removes && ', and removes those that vanished'}
        </dd>
        <dt>Fields</dt>
        <dd>
          <ul>
            {mapping.fields.map((field) => (
              <li key={stringify(field)}>
                <code>{fieldText(field)}</code>
              </li>
            ))}
            <li className="quiet">others: {mapping.other_fields}</li>
          </ul>
        </dd>
      </dl>
    </Panel>
  );
}

/** Returns an entry of a mapping as `tariff → plan, as date`. */
function fieldText({ from, to, value, drop, as }: Record<string, unknown>): string {
  const origin = from === undefined ? stringify(value) : textOf(from);
  if (drop === true) return `${origin} left out`;
  const end = to === undefined ? origin : textOf(to);
  return `${origin === end ? origin : `${origin} → ${end}`}${as === undefined ? '' : `, as ${textOf(as)}`}`;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : stringify(value));
