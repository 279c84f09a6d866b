import { aligned, MAX_NAME, oneLine, reasonOf } from '../text/mail-text.ts';
import { type RunMail, runMail, type RunReport } from '../jobs/run-mail.ts';

export type SyncReport = RunReport<'records' | 'held' | 'fields'> & {
  syncId: string;
  counts: { read: number; written: number; unchanged: number; ignored: number; failed: number };
};

const HEADLINES = { records: 'records failed', held: 'nothing was removed', fields: 'mapped fields are gone' };

export function syncMail(report: SyncReport): RunMail {
  const parts = [['Records', ...aligned(Object.entries(report.counts))], adviceLines(report)];
  const title = `Sync ${oneLine(report.syncId, MAX_NAME)}`;
  return runMail(report, HEADLINES, title, { reasons: reasonLines(report), parts });
}

function reasonLines({ failure, alert }: SyncReport): string[] {
  if (failure !== null) return [reasonOf(failure)];
  if (alert === 'held') return ['More records have vanished from the source than the sync may remove.'];
  return alert === 'fields'
    ? ['The source has no longer all fields that the mapping names. Their values stay as they are.']
    : [];
}

function adviceLines({ alert, syncId, runId, counts }: SyncReport): string[] {
  const [sync, run] = [oneLine(syncId, MAX_NAME), oneLine(runId, MAX_NAME)];
  const lines = [];
  if (alert === 'paused') lines.push(`Mend it, then: npx --no-install millrace syncs resume ${sync}`);
  if (alert === 'held')
    lines.push(`If they are really gone: npx --no-install millrace syncs run ${sync} --confirm-removals`);
  if (alert === 'fields')
    lines.push(`Which ones: npx --no-install millrace syncs status ${run}; then mend the source or the mapping`);
  if (counts.failed > 0) {
    const redrive = `npx --no-install millrace syncs redrive ${run}`;
    lines.push(`Failed records: npx --no-install millrace syncs errors ${run}; mend them, then: ${redrive}`);
  }
  return lines;
}
