/** Prints the state and result of a sync's run. */
import type { FoundSyncRun } from '../../api/client.ts';
import { sayChange } from '../../domain/syncs/schema-change.ts';
import { printable } from '../core/table.ts';
import type { Terminal } from '../core/terminal.ts';
import { errorCounts, suspiciousIds } from '../imports/error-counts.ts';
import { hasEnded } from '../imports/import-status.ts';
import type { Shown } from '../jobs/follow.ts';
import { troubleLines, waitOf } from '../jobs/runs.ts';

/**
 * Returns the exit status for a run that has ended: 0 if it finished, no record failed and no removal was held back,
 * else 2.
 */
export function runExitStatus({ state, records, removal }: FoundSyncRun): number {
  return state === 'finished' && records.failed === 0 && removal?.state !== 'held' ? 0 : 2;
}

/** Describes a run's state or result for people. */
export function reportRun(run: FoundSyncRun, terminal: Terminal): string {
  const {
    run_id: id,
    state,
    records: { read, written, unchanged, ignored, failed },
  } = run;
  const lines = run.dry_run ? ['dry run: nothing was written'] : [];
  const counted = `${read} ${read === 1 ? 'record' : 'records'} read`;
  lines.push(`${state}: ${counted}, ${written} written, ${unchanged} unchanged, ${ignored} ignored, ${failed} failed`);
  lines.push(...suspiciousIds(run.suspicious_ids, 'records'));
  if (ignored > 0) lines.push('of ignored records the values that have an attribute were written');
  if (run.missing_fields.length > 0) {
    lines.push(
      `the source does not tell of these fields of the mapping: ${run.missing_fields.map(printable).join(', ')}`,
    );
  }
  if (run.odd_cursors > 0) {
    lines.push(
      `records whose cursor value is NaN, infinite, or over a day ahead, which each run reads again: ${run.odd_cursors}`,
    );
  }
  if (run.redrive_of !== null) lines.push(`a re-drive of ${run.redrive_of}`);
  if (run.missed > 0) lines.push(`it stands for ${run.missed} more scheduled times, which passed meanwhile`);
  if (state === 'canceled' && !run.dry_run) lines.push('what was written before it was canceled stays');
  lines.push(...troubleLines(run));
  lines.push(...removalLines(run, terminal), ...schemaLines(run, terminal));
  lines.push(...errorCounts(run.errors_by_type, 'records', terminal, `syncs errors ${id}`));
  if (hasEnded(run) && run.open !== null && run.open < ignored + failed) {
    lines.push('', `still open: ${run.open} (records failed and ignored that no re-drive has brought)`);
  }
  return lines.join('\n');
}

function removalLines({ sync_id: sync, removed, removal }: FoundSyncRun, { command }: Terminal): string[] {
  const lines =
    removed > 0 ? [`removed: ${removed} ${removed === 1 ? 'record' : 'records'} that the source has no more`] : [];
  if (removal && removal.reason !== null) lines.push(printable(removal.reason));
  if (removal?.state === 'held') lines.push(`If they are really gone: ${command} syncs run ${sync} --confirm-removals`);
  return lines;
}

function schemaLines(
  { schema_change: change, unmapped_fields: unmapped, sync_id: sync, state }: FoundSyncRun,
  { command }: Terminal,
): string[] {
  const lines = unmapped.length > 0 ? [`fields without an attribute: ${printable(unmapped.join(', '))}`] : [];
  if (change !== null && state === 'failed')
    lines.push(`To accept the fields as they are: ${command} syncs accept-schema ${sync}`);
  else if (change !== null) lines.push(`the source's fields have changed: ${printable(sayChange(change))}`);
  return lines;
}

/** Returns a run's progress, with a bar if its source knows the total. */
export function shownRun(run: FoundSyncRun): Shown {
  const { progress, expected_end_at: end } = run;
  const left = end === null ? [] : [`${duration(Date.parse(end) - Date.now())} left`];
  return {
    phase: progress === null ? '{text}' : '{bar} {percentage}% | {text}',
    value: Math.floor((progress ?? 0) * 100),
    total: 100,
    text: [...progressOf(run), ...left, elapsed(run)].join(' | '),
  };
}

function progressOf(run: FoundSyncRun): string[] {
  const {
    state,
    records: { read, failed },
    rate,
    bytes,
  } = run;
  const wait = waitOf(run);
  if (state === 'accepted') return [wait!];
  const counts = [`${read} records`, ...(failed > 0 ? [`${failed} failed`] : [])];
  if (wait !== null) return [wait, ...counts];
  return [...counts, `${Math.round(rate ?? 0)} records/s`, `${(bytes / 2 ** 20).toFixed(1)} MiB`];
}

/** Returns the time since it began or was requested. */
function elapsed({ received_at: received, started_at: started, ended_at: ended }: FoundSyncRun): string {
  const end = ended === null ? Date.now() : Date.parse(ended);
  return duration(end - Date.parse(started ?? received));
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return [...(hours > 0 ? [`${hours} h`] : []), ...(seconds >= 60 ? [`${minutes} min`] : []), `${seconds % 60} s`].join(
    ' ',
  );
}
