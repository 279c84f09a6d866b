import type { ImportProgress } from '../../api/client.ts';
import { printable, table } from '../core/table.ts';
import type { Terminal } from '../core/terminal.ts';
import { internalErrorLines } from '../jobs/say-internal-error.ts';
import { errorCounts, suspiciousIds } from './error-counts.ts';

/** Whether an import or a run has ended, and its counts are final. */
export function hasEnded({ ended_at: ended }: Pick<ImportProgress, 'ended_at'>): boolean {
  return ended !== null;
}

/** The exit status for an import that has ended: 0 when the whole file was read and no row failed, else 2. */
export function exitStatus({ state, rows, defect }: ImportProgress): number {
  return state === 'finished' && rows.failed === 0 && defect === null ? 0 : 2;
}

/** What became of an import, for people to read. */
export function report(status: ImportProgress, terminal: Terminal): string {
  const { import_id: id, state, rows, failure, defect } = status;
  const lines = status.dry_run ? ['dry run: nothing was changed'] : [];
  const read = `${rows.read} ${rows.read === 1 ? 'row' : 'rows'} read`;
  lines.push(`${state}: ${read}, ${rows.ok} ok, ${rows.ignored} ignored, ${rows.failed} failed`);
  lines.push(...suspiciousIds(status.suspicious_ids, 'rows'));
  lines.push(...similarIds(status.similar_ids));
  if (status.file !== null) lines.push(...sayFormat(status.file));
  if (status.columns !== null) lines.push(...sayColumns(status.columns));
  if (status.parent_id) lines.push(`a re-drive of ${status.parent_id}`);
  if (state === 'canceled' && !status.dry_run) lines.push('what was imported before it was canceled stays');
  if (status.stage !== null) lines.push(status.stage);
  if (failure !== null) lines.push(failure);
  lines.push(...internalErrorLines(status.internal_error));
  if (defect !== null) lines.push(`the end of the file could not be read: ${defect}`);
  lines.push(...errorCounts(status.errors_by_type, 'rows', terminal, `errors ${id}`));
  if (status.redrives.length > 0) lines.push('', ...showRedrives(status, terminal));
  return lines.join('\n');
}

/** Warns of ids that may be of the same people; nothing if there are none. */
function similarIds(similar: ImportProgress['similar_ids']): string[] {
  if (similar === null || similar.count === 0) return [];
  const shown = similar.examples.map(
    ({ line, like }) => `line ${line} (like ${like === null ? 'a customer' : `line ${like}`})`,
  );
  const more = similar.count > shown.length ? ', …' : '';
  return [
    `similar ids: ${similar.count}, which differ from an earlier one or a customer's only in capitals or composed letters: ` +
      `${shown.join(', ')}${more}`,
    '  Each becomes a customer of its own: correct them before you import the file.',
  ];
}

/** Nothing of a file of CSV as it is most often. */
function sayFormat({
  format,
  delimiter,
  encoding,
  decimal,
  sheet,
  null_marker: marker,
  dates,
}: NonNullable<ImportProgress['file']>): string[] {
  const marked = [
    ...(marker === null ? [] : [`cells that are ${printable(marker)} taken as empty`]),
    ...(dates === 'strict' ? [] : ['lenient dates']),
  ];
  if (format === 'xlsx') return [[`read from the sheet "${sheet}"`, ...marked].join(', ')];
  const found = [
    ...(delimiter === ',' ? [] : [`${NAMES[delimiter]} between fields`]),
    ...(encoding === 'utf-8' ? [] : [encoding]),
    ...(decimal === '.' ? [] : ['a comma before decimals']),
    ...marked,
  ];
  return found.length === 0 ? [] : [`read with ${found.join(', ')}`];
}

/** Names the parts of a table that were not imported. */
function sayColumns({
  ignored,
  ignored_count: count,
  empty_cells: empty,
  unnamed_cells: unnamed,
}: NonNullable<ImportProgress['columns']>): string[] {
  const more = (count ?? 0) > (ignored?.length ?? 0) ? ', …' : '';
  const names = (ignored ?? []).map(printable).join(', ');
  return [
    ...(names === '' ? [] : [`columns that no --map names: ${names}${more}`]),
    ...(empty === 0 ? [] : [`${empty} of the ignored rows are empty cells`]),
    ...(unnamed === 0 ? [] : [`cells not read since the header has no name above them: ${unnamed}`]),
  ];
}

const NAMES = { ',': 'a comma', ';': 'a semicolon', '\t': 'a tab', '|': 'a |' };

function showRedrives({ rows, redrives }: ImportProgress, { width }: Terminal): string[] {
  const shown = redrives.map(({ import_id: id, state, rows: { read, ok, ignored, failed } }) => [
    id,
    state,
    ...[read, ok, ignored, failed].map(String),
  ]);
  return [
    table(['re-drive', 'state', 'read', 'ok', 'ignored', 'failed'], shown, width),
    '',
    `still open: ${rows.open} (rows failed and ignored that no re-drive has brought)`,
  ];
}
