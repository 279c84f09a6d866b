/** Runs and schedules of syncs in words. */
import type { Sync, SyncRun } from '../../../api/client.ts';
import type { BalancePart, Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';
import { countText } from '../../parts/values.tsx';

type Shown = Pick<SyncRun, 'state' | 'records' | 'dry_run' | 'stage' | 'fault'>;

export function RunChip({ run }: { run: Shown }) {
  return <Chip tone={toneOf(run)}>{stateText(run)}</Chip>;
}

export function stateText({ state, records, dry_run, stage, fault }: Shown): string {
  const name = dry_run ? 'Dry run ' : '';
  if (state === 'finished' && records.failed > 0)
    return capital(`${name}finished, ${countText(records.failed)} failed`);
  if (state === 'accepted' || state === 'running') {
    if (fault !== null) return capital(`${name}waits for the other side`);
    return capital(`${name}${stage ?? (state === 'accepted' ? 'waits for its start' : 'running')}`);
  }
  return capital(name + state);
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function toneOf({ state, records, fault }: Shown): Tone {
  if (state === 'failed') return 'bad';
  if (state === 'finished') return records.failed > 0 ? 'warn' : 'ok';
  if (state === 'canceled') return 'neutral';
  return fault === null ? 'info' : 'warn';
}

/** Returns why a run began, as a word of a list. */
export function causeText({ cause, redrive_of, fresh, missed }: SyncRun): string {
  const why = { schedule: 'by schedule', request: 'on request', redrive: `re-drive of ${redrive_of}` }[cause];
  return [
    why,
    ...(fresh ? ['from the beginning'] : []),
    ...(missed > 0 ? [`for ${missed} missed times, too`] : []),
  ].join(', ');
}

/** Returns the parts of a run's records, which add up to the records read. `to` is the page of the run. */
export function partsOf(run: SyncRun, to: string): BalancePart[] {
  const { written, unchanged, ignored, failed } = run.records;
  const errors = { to, hash: 'errors' };
  return [
    run.dry_run
      ? { label: 'would be written', count: written, tone: 'ok', to, hash: 'sample' }
      : { label: 'written', count: written, tone: 'ok' },
    { label: 'unchanged', count: unchanged, tone: 'neutral' },
    { label: 'ignored', count: ignored, tone: 'warn', ...errors },
    { label: 'failed', count: failed, tone: 'bad', ...errors },
  ];
}

/** Returns how long a run has taken so far; null before its start. */
export function tookMs({ started_at, ended_at }: Pick<SyncRun, 'started_at' | 'ended_at'>): number | null {
  if (started_at === null) return null;
  return Math.max(0, (ended_at === null ? Date.now() : Date.parse(ended_at)) - Date.parse(started_at));
}

export function scheduleText({ schedule }: Pick<Sync, 'schedule'>): string {
  if (schedule === null) return 'on request only';
  const { cron, zone = 'UTC', every_minutes, jitter_seconds } = schedule;
  const when = cron === undefined ? everyText(every_minutes ?? 0) : `${cron} (cron, ${zone})`;
  return jitter_seconds > 0 ? `${when}, up to ${jitter_seconds} s later` : when;
}

function everyText(minutes: number): string {
  if (minutes === 1) return 'every minute';
  if (minutes % 60 !== 0) return `every ${minutes} minutes`;
  return minutes === 60 ? 'every hour' : `every ${minutes / 60} hours`;
}

export function endText({ name, stream }: { name: string | null; stream?: string | undefined }): string {
  return [name ?? '(deleted)', ...(stream === undefined ? [] : [stream])].join(' / ');
}

/** Shows how the fields of the source differ from the known ones, a line for each. */
export function SchemaChange({ change }: { change: NonNullable<SyncRun['schema_change']> }) {
  const { added, removed, retyped } = change;
  return (
    <ul className="changes">
      {added.map(({ name, type }) => (
        <li key={`+${name}`}>
          <b className="plus">+</b> <code>{name}</code> {type}
        </li>
      ))}
      {removed.map((name) => (
        <li key={`-${name}`}>
          <b className="minus">−</b> <code>{name}</code>
        </li>
      ))}
      {retyped.map(({ name, from, to }) => (
        <li key={`~${name}`}>
          <b>~</b> <code>{name}</code> {from} → {to}
        </li>
      ))}
    </ul>
  );
}
