import { aligned, mailText, MAX_NAME, oneLine, reasonOf } from '../text/mail-text.ts';

/** What there is to tell of a sync's run: why, and how it ended. */
export type SyncReport = {
  syncId: string;
  runId: string;
  alert: 'failed' | 'paused' | 'recovered' | 'records' | 'held' | 'fields';
  /** The status of the run's failure. */
  failure: string | null;
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
  fields: 'mapped fields are gone',
};

/**
 * The mail about a run that somebody should know of, and the same in a line: identifiers, counts and a link. It has
 * nothing that somebody else chose: nothing of a record, since a mail cannot be erased, no name and no message of an
 * outside system.
 */
export function syncMail(report: SyncReport): { subject: string; text: string; line: string } {
  const title = `Sync ${oneLine(report.syncId, MAX_NAME)}`;
  const parts = [
    [`${title}: ${HEADLINES[report.alert]}.`, ...reasonLines(report)],
    ['Records', ...aligned(Object.entries(report.counts))],
    adviceLines(report),
    [oneLine(report.link)],
    [
      `Run ${oneLine(report.runId, MAX_NAME)}, from ${oneLine(report.startedAt, MAX_NAME)} to ${oneLine(report.endedAt, MAX_NAME)}`,
    ],
  ];
  const subject = `${title}: ${HEADLINES[report.alert]}`;
  return { subject, text: mailText(parts), line: [`${subject}.`, ...reasonLines(report)].join(' ') };
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
