/** What there is to tell of an import that has ended. */
export type ImportReport = {
  importId: string;
  jid: string;
  sorName: string;
  state: 'finished' | 'failed' | 'canceled';
  dryRun: boolean;
  rows: { read: number; ok: number; ignored: number; failed: number };
  errorsByType: Record<string, number>;
  /** Why the end of the file could not be read. */
  defect: string | null;
  /** Why the file as a whole could not be imported. */
  fileError: string | null;
  /** ISO 8601. */
  startedAt: string;
  endedAt: string;
  /** The import whose failed rows this one brought again. */
  parentId: string | null;
  link: string;
};

const MAX_NAME = 60;
const MAX_REASON = 300;

/**
 * The mail that tells of an import's end: counts and a link. A mail cannot be erased, so nothing out of the file is in
 * it; what `fileError` quotes is left out. The subject is one line, whatever the System of Records is called.
 */
export function importMail(report: ImportReport): { subject: string; text: string } {
  const title = `${report.dryRun ? 'Dry run of import' : 'Import'} ${oneLine(report.importId, MAX_NAME)} `
    + `into ${oneLine(report.sorName, MAX_NAME) || '(no name)'}`;
  const parts = [
    openingLines(report, title), countLines(report), errorLines(report), failedRowsLines(report),
    [oneLine(report.link)], closingLines(report),
  ];
  const text = parts.filter((lines) => lines.length > 0).map((lines) => lines.join('\n')).join('\n\n');
  return { subject: `${title}: ${headline(report)}`, text: `${text}\n` };
}

function headline({ state, rows, defect }: ImportReport): string {
  const counts = [`${thousands(rows.ok)} of ${thousands(rows.read)} rows ok`];
  if (rows.ignored > 0) counts.push(`${thousands(rows.ignored)} ignored`);
  if (rows.failed > 0) counts.push(`${thousands(rows.failed)} failed`);
  if (defect !== null) counts.push('end of file unreadable');
  if (state === 'finished') return counts.join(', ');
  return rows.read > 0 ? [state, ...counts].join(', ') : state;
}

function openingLines({ state, dryRun, defect, fileError, parentId }: ImportReport, title: string): string[] {
  const lines = [`${title} ${ENDED[state]}.`];
  if (fileError !== null) lines.push(`The file could not be imported: ${oneLine(withoutQuotation(fileError), MAX_REASON)}`);
  if (defect !== null) lines.push(`The end of the file could not be read: ${oneLine(withoutQuotation(defect), MAX_REASON)}`);
  if (dryRun) lines.push('A dry run writes nothing.');
  if (parentId !== null) lines.push(`It brought rows again that had failed in ${oneLine(parentId, MAX_NAME)}.`);
  return lines;
}

const ENDED = { finished: 'has finished', failed: 'has failed', canceled: 'was canceled' };

function countLines({ rows: { read, ok, ignored, failed } }: ImportReport): string[] {
  return ['Rows', ...aligned([['read', read], ['ok', ok], ['ignored', ignored], ['failed', failed]])];
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
  const next = dryRun ? 'correct them before you import the file.' : `correct them, then: millrace redrive ${id} FILE`;
  return [`Failed rows: millrace errors ${id} --csv, ${next}`];
}

function closingLines({ jid, startedAt, endedAt }: ImportReport): string[] {
  return [`From ${oneLine(startedAt, MAX_NAME)} to ${oneLine(endedAt, MAX_NAME)}; jid ${oneLine(jid, MAX_NAME)}`];
}

function aligned(counts: [string, number][]): string[] {
  const names = Math.max(...counts.map(([name]) => name.length));
  const digits = Math.max(...counts.map(([, count]) => thousands(count).length));
  return counts.map(([name, count]) => `  ${name.padEnd(names)}  ${thousands(count).padStart(digits)}`);
}

/** Commas between thousands, whatever the machine's language. */
function thousands(count: number): string {
  return count.toLocaleString('en-US');
}

/** Control characters, line ends of Unicode, and marks that turn the direction of writing. */
const UNPRINTED = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\s]+/gu;

/** Users' text on one line, cut to `max` code points. */
function oneLine(text: string, max: number = Infinity): string {
  const line = text.toWellFormed().replaceAll(UNPRINTED, ' ').trim();
  if (line.length <= max) return line;
  // So many UTF-16 units hold more than `max` code points, if the line does.
  const codePoints = Array.from(line.slice(0, max * 2 + 2));
  return codePoints.length <= max ? line : `${codePoints.slice(0, max - 1).join('')}…`;
}

/** An error's message quotes the file's first line, which is a person's when the header is missing. */
function withoutQuotation(message: string): string {
  const start = message.indexOf('"');
  if (start === -1) return message;
  const end = message.lastIndexOf('"');
  return `${message.slice(0, start)}"…"${end > start ? message.slice(end + 1) : ''}`;
}
