import { aligned, MAX_NAME, MAX_REASON, oneLine, withoutQuotation } from './mail-text.ts';

/** What there is to tell of a sync's run: why, and how it ended. */
export type SyncReport = {
  syncId: string;
  syncName: string;
  runId: string;
  alert: 'failed' | 'paused' | 'recovered' | 'records' | 'held';
  /** Why the run failed, or why nothing was removed. */
  reason: string | null;
  counts: { read: number; written: number; unchanged: number; ignored: number; failed: number };
  /** ISO 8601. */
  startedAt: string;
  endedAt: string;
  link: string;
};

const HEADLINES: Record<SyncReport['alert'], string> = {
  failed: 'a run failed',
  paused: 'paused, since it keeps failing',
  recovered: 'works again',
  records: 'records failed',
  held: 'nothing was removed',
};

/**
 * The mail about a run that somebody should know of: counts and a link. A mail cannot be erased, so nothing that a record
 * holds is in it; what a reason quotes is left out. The subject is one line, whatever the sync is called.
 */
export function syncMail(report: SyncReport): { subject: string; text: string } {
  const title = `Sync ${oneLine(report.syncName, MAX_NAME) || '(no name)'}`;
  const parts = [
    [`${title}: ${HEADLINES[report.alert]}.`, ...reasonLines(report)],
    ['Records', ...aligned(Object.entries(report.counts))],
    adviceLines(report),
    [oneLine(report.link)],
    [`Run ${oneLine(report.runId, MAX_NAME)}, from ${oneLine(report.startedAt, MAX_NAME)} to ${oneLine(report.endedAt, MAX_NAME)}`],
  ];
  const text = parts.filter((lines) => lines.length > 0).map((lines) => lines.join('\n')).join('\n\n');
  return { subject: `${title}: ${HEADLINES[report.alert]}`, text: `${text}\n` };
}

function reasonLines({ reason }: SyncReport): string[] {
  return reason === null ? [] : [oneLine(withoutQuotation(reason), MAX_REASON)];
}

function adviceLines({ alert, syncId, runId, counts }: SyncReport): string[] {
  const [sync, run] = [oneLine(syncId, MAX_NAME), oneLine(runId, MAX_NAME)];
  const lines = [];
  if (alert === 'paused') lines.push(`Mend it, then: millrace syncs resume ${sync}`);
  if (alert === 'held') lines.push(`If they are really gone: millrace syncs run ${sync} --confirm-removals`);
  if (counts.failed > 0) lines.push(`Failed records: millrace syncs errors ${run}; mend them, then: millrace syncs redrive ${run}`);
  return lines;
}
