/** The mail about the end of an import. */
import { aligned, mailText, MAX_NAME, oneLine, thousands } from '../text/mail-text.ts';

export type ImportReport = {
  importId: string;
  jid: string;
  sorId: string;
  state: 'finished' | 'failed' | 'canceled';
  dryRun: boolean;
  rows: { read: number; ok: number; ignored: number; failed: number };
  errorsByType: Record<string, number>;
  hasDefect: boolean;
  hasFileError: boolean;
  startedAt: string;
  endedAt: string;
  /** The import whose failed rows this one brings again. */
  parentId: string | null;
  link: string;
};

/** Returns identifiers, counts and a link; no content of the file and no name, because a mail cannot be erased. */
export function importMail(report: ImportReport): { subject: string; text: string } {
  const title =
    `${report.dryRun ? 'Dry run of import' : 'Import'} ${oneLine(report.importId, MAX_NAME)} ` +
    `into ${oneLine(report.sorId, MAX_NAME)}`;
  const parts = [
    openingLines(report, title),
    countLines(report),
    errorLines(report),
    failedRowsLines(report),
    [oneLine(report.link)],
    closingLines(report),
  ];
  return { subject: `${title}: ${headline(report)}`, text: mailText(parts) };
}

function headline({ state, rows, hasDefect }: ImportReport): string {
  const counts = [`${thousands(rows.ok)} of ${thousands(rows.read)} rows ok`];
  if (rows.ignored > 0) counts.push(`${thousands(rows.ignored)} ignored`);
  if (rows.failed > 0) counts.push(`${thousands(rows.failed)} failed`);
  if (hasDefect) counts.push('end of file unreadable');
  if (state === 'finished') return counts.join(', ');
  return rows.read > 0 ? [state, ...counts].join(', ') : state;
}

function openingLines({ state, dryRun, hasDefect, hasFileError, parentId }: ImportReport, title: string): string[] {
  const lines = [`${title} ${ENDED[state]}.`];
  if (hasFileError) lines.push('The file could not be imported. The link shows why.');
  if (hasDefect) lines.push('The end of the file could not be read. The link shows why.');
  if (dryRun) lines.push('A dry run writes nothing.');
  if (parentId !== null) lines.push(`It brought rows again that had failed in ${oneLine(parentId, MAX_NAME)}.`);
  return lines;
}

const ENDED = { finished: 'has finished', failed: 'has failed', canceled: 'was canceled' };

function countLines({ rows: { read, ok, ignored, failed } }: ImportReport): string[] {
  return [
    'Rows',
    ...aligned([
      ['read', read],
      ['ok', ok],
      ['ignored', ignored],
      ['failed', failed],
    ]),
  ];
}

function errorLines({ errorsByType }: ImportReport): string[] {
  const byType = Object.entries(errorsByType)
    .map(([type, count]): [string, number] => [oneLine(type, MAX_NAME), count])
    .toSorted(([oneType, one], [otherType, other]) => other - one || (oneType < otherType ? -1 : 1));
  return byType.length === 0 ? [] : ['Errors', ...aligned(byType)];
}

function failedRowsLines({ importId, rows, dryRun }: ImportReport): string[] {
  if (rows.failed === 0) return [];
  const id = oneLine(importId, MAX_NAME);
  const next = dryRun
    ? 'correct them before you import the file.'
    : `correct them, then: npx --no-install millrace redrive ${id} FILE`;
  return [`Failed rows: npx --no-install millrace errors ${id} --csv, ${next}`];
}

function closingLines({ jid, startedAt, endedAt }: ImportReport): string[] {
  return [`From ${oneLine(startedAt, MAX_NAME)} to ${oneLine(endedAt, MAX_NAME)}; jid ${oneLine(jid, MAX_NAME)}`];
}
