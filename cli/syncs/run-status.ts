import type { FoundSyncRun } from '../../api/client.ts';
import { sayChange } from '../../domain/syncs/schema-change.ts';
import { printable } from '../core/table.ts';
import type { Terminal } from '../core/terminal.ts';
import { errorCounts, suspiciousIds } from '../imports/error-counts.ts';
import { hasEnded } from '../imports/import-status.ts';
import { internalErrorLines } from '../jobs/say-internal-error.ts';

/** The exit status for a run that has ended: 0 when it finished, no record failed and nothing was held back, else 2. */
export function runExitStatus({ state, records, removal }: FoundSyncRun): number {
  return state === 'finished' && records.failed === 0 && removal?.state !== 'held' ? 0 : 2;
}

/** How a run stands, or what became of it, for people to read. */
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
  if (run.failure !== null) lines.push(printable(run.failure.message));
  if (run.stage !== null) lines.push(run.stage);
  if (!hasEnded(run) && run.fault !== null) lines.push(waiting(run));
  lines.push(...internalErrorLines(run.internal_error), ...alertLines(run));
  lines.push(...removalLines(run, terminal), ...schemaLines(run, terminal));
  lines.push(...errorCounts(run.errors_by_type, 'records', terminal, `syncs errors ${id}`));
  if (hasEnded(run) && run.open !== null && run.open < ignored + failed) {
    lines.push('', `still open: ${run.open} (records failed and ignored that no re-drive has brought)`);
  }
  return lines.join('\n');
}

/** The alerts that did not arrive, or may not have. */
export function alertLines({ alerted }: Pick<FoundSyncRun, 'alerted'>): string[] {
  return alerted
    .filter(({ state }) => state === 'not_sent' || state === 'unknown')
    .map(
      ({ connection, state, reason }) =>
        `the alert to ${connection} ${state === 'unknown' ? 'may not have arrived' : 'was not sent'}: ${printable(reason ?? '')}`,
    );
}

/** Why nothing goes on, and until when the source, or the destination, is left alone. */
export function waiting({
  fault,
  waits_until: until,
  tries,
}: Pick<FoundSyncRun, 'fault' | 'waits_until' | 'tries'>): string {
  const when = until === null ? '' : ` until ${new Date(until).toLocaleTimeString('en-GB')}`;
  return `waiting${when}, after ${tries} ${tries === 1 ? 'try' : 'tries'}: ${printable(fault ?? '')}`;
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
