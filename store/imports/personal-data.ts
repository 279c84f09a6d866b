/** Locations of personal data in imports: dry runs' ids, errors of rows, and pinned files, searched for ids. */
import { ERASED } from '../../domain/core/erased.ts';
import { type Delimiter, encodingOf } from '../../domain/csv/csv-bytes.ts';
import { type Bad, isCut, type Piece, recordBytes } from '../../domain/csv/csv-pieces.ts';
import { parseRecord, parseRun } from '../../domain/csv/csv-records.ts';
import { createCsvSplitter } from '../../domain/csv/csv-splitter.ts';
import { isCompoundFile, isZip } from '../../domain/csv/table-format.ts';
import { createNameFinder } from '../../domain/text/name-finder.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, write } from '../core/database.ts';
import { deleteNotedFiles, noteFileDeletions } from '../core/file-deletions.ts';
import type { Files } from '../core/files.ts';
import type { Tally } from '../core/in-batches.ts';
import { TimeSlice } from '../core/yield-to-event-loop.ts';
import { filesOfPeople } from '../gdpr/files-of-people.ts';
import { hashOfNamed, namedIn } from '../gdpr/named-in.ts';
import { isVouchedFor } from '../gdpr/people-keys.ts';
import type { KnownBy, PersonalDataLocation } from '../gdpr/personal-data-location.ts';
import { rowsOfCustomers } from '../gdpr/rows-of-people.ts';
import { textsOfPeople } from '../gdpr/texts-of-people.ts';
import type { Import } from './imports.ts';
import { listUnnamedFiles } from './pinned-files-across-entities.ts';

const dryRunIds = rowsOfCustomers({
  name: 'dry_run_ids',
  columns: 'customer_id, customer_type, line',
  otherColumns: 'entity_id, import_id',
  shown: 'customer_id, line',
  holds: 'the ids of the rows of a running dry run, with their first lines',
  foundBy: 'customer type and id',
  erasedBy: 'deleting the rows; the sweep does so when the dry run has ended',
  keptFor: 'until the dry run has ended',
});

/** The type of customer_id: files contain only users, a sync has one type, and each value of a feed has its own. */
const TYPE = `CASE
  WHEN EXISTS (SELECT FROM imports i WHERE i.entity_id = $1 AND i.id = import_id) THEN 'user_id'
  WHEN raw ~ '"customer_id_type": ?"device_id"' THEN 'device_id'
  ELSE coalesce((SELECT s.mapping -> 'customer' ->> 'type' FROM sync_runs r JOIN syncs s ON s.entity_id = $1 AND s.id = r.sync_id
    WHERE r.entity_id = $1 AND r.id = import_id), 'user_id') END`;
const isOwnOf = (named: string) => `${named}.id = customer_id AND ${named}.type = ${TYPE}`;
const IS_OWN = `EXISTS (SELECT FROM unnest($4::text[], $5::text[]) AS own (id, type) WHERE ${isOwnOf('own')})`;

/** Found by customer_id and type; the error of a record with an unreadable id by an id in record or message. */
const importErrors = textsOfPeople({
  name: 'import_errors',
  writtenAt: 'happened_at',
  keys: { import_id: 'bigint', line: 'bigint', column_number: 'integer' },
  texts: ['raw', 'message'],
  text: `coalesce(customer_id, concat_ws(E'\\n', raw, message))`,
  columns: 'customer_id, attribute_key, message, raw, customer_hash',
  otherColumns: `entity_id, import_id, line, error_type, outcome, happened_at, stage, redriven_by, original_line,
    column_number, original_column, is_erased`,
  holds: 'id, key, message and the original row or record, from imports, feeds and syncs',
  foundBy: 'the id and its type; if an error has none, the id within record and message',
  erasedBy: 'emptying these columns; the rows stay, since counts depend on them',
  keptFor: 'a week after the end of an import or a request of a feed; 30 days after the end of a run of a sync',
  isOfSors: true,
  subjects: `CASE WHEN customer_id IS NOT NULL THEN ARRAY['u' || customer_id, 'd' || customer_id] END`,
  naming: `${IS_OWN} OR customer_id IS NULL AND (${namedIn('raw')} OR ${namedIn('message')})`,
  own: { condition: IS_OWN, shown: 'line, error_type, happened_at, message, customer_id, attribute_key, raw' },
  within: `coalesce(
    (SELECT i.identifier FROM imports i WHERE i.entity_id = $1 AND i.id = import_id),
    (SELECT r.identifier FROM sync_runs r WHERE r.entity_id = $1 AND r.id = import_id))`,
  emptied: `customer_id = NULL, raw = NULL, attribute_key = NULL, message = '${ERASED}', is_erased = true,
    customer_hash = ${hashOfNamed(['raw', 'message'], isOwnOf('named'))}`,
});

/** Pinned files, kept only to show what an import read: a whole file is deleted once its import has ended. */
const pinnedFiles = filesOfPeople({
  name: 'imports/',
  holds: 'the files as they were imported',
  foundBy: 'the lines that contain the id',
  erasedBy: 'deleting the whole file, once its import has ended; one that no import names, five minutes after it came',
  keptFor: 'a week after the end of the import; that of an import that failed or was canceled, until its end',
  list: listPinnedLinesOf,
  shown: ({ fileKey, line, isOwn }) =>
    line === '' ? null : isOwn ? { own: { file: fileKey, line } } : { within: fileKey },
  erase: deletePinnedFilesOf,
});

export const importsData: PersonalDataLocation[] = [dryRunIds, pinnedFiles, importErrors];

type PinnedDependencies = { db: Database; files: Files; tally?: Tally };
/** `isOwn`: the id is in the line's customer column; otherwise the line may be about another person. */
type PinnedLine = { fileKey: string; line: string; isOwn: boolean };

const UNNAMED = { fileSettings: {}, fileFormat: null, columnMapping: null, tableLayout: null };

/** Age at which an erasure deletes a file without an import; a younger one may belong to a running request. */
const UNNAMED_FOR_MS = 5 * 60_000;

type PinnedRow = Row<'imports', 'id', { fileKey: string }> &
  Pick<Import, 'fileSettings' | 'fileFormat' | 'columnMapping' | 'tableLayout'>;

const ROW_COLUMNS = 'file_key, file_settings, file_format, column_mapping, table_layout';

/**
 * Yields lines of pinned files that contain one of these ids; one line '' for a file never converted, or without an
 * import. Files contain only users, so no line is a device's.
 */
export async function* listPinnedLinesOf(
  { db, files }: Pick<PinnedDependencies, 'db' | 'files'>,
  entityId: number,
  people: KnownBy[],
): AsyncGenerator<PinnedLine> {
  if (!people.some(isVouchedFor)) return;
  const rows = readRows<PinnedRow>(
    await db.query(
      `SELECT ${ROW_COLUMNS} FROM imports i WHERE entity_id = $1 AND file_key IS NOT NULL
       AND NOT EXISTS (SELECT FROM file_deletions d WHERE d.entity_id = $1 AND d.file_key = i.file_key)`,
      [entityId],
    ),
  );
  const find = createIdFinder(people);
  for (const row of rows) yield* linesNaming(files, row, find);
  for await (const { key: fileKey } of listUnnamedFiles({ db, files })) {
    // Its entity is unknown, so no archive shows it: it is counted, and an erasure deletes it.
    const { done } = await linesNaming(files, { ...UNNAMED, fileKey }, find).next();
    if (!done) yield { fileKey, line: '', isOwn: false };
  }
}

/** Deletes pinned files of ended imports that contain one of these ids; a running import still needs its file. */
export async function deletePinnedFilesOf(
  { db, files, tally }: PinnedDependencies,
  entityId: number,
  people: KnownBy[],
): Promise<number> {
  if (!people.some(isVouchedFor)) return 0;
  const rows = readRows<PinnedRow>(
    await db.query(
      `SELECT id, ${ROW_COLUMNS} FROM imports
     WHERE entity_id = $1 AND file_key IS NOT NULL AND ended_at IS NOT NULL`,
      [entityId],
    ),
  );
  const find = createIdFinder(people);
  let deleted = 0;
  for (const row of rows) {
    const { done } = await linesNaming(files, row, find).next();
    if (done) continue;
    await noteErased({ db, tally }, entityId, row);
    await deleteNotedFiles({ db, files }, entityId, row.fileKey);
    deleted += 1;
  }
  const before = new Date(Date.now() - UNNAMED_FOR_MS);
  for await (const { key, modifiedAt } of listUnnamedFiles({ db, files }))
    if (modifiedAt < before) await files.delete(key);
  return deleted;
}

function noteErased(
  { db, tally }: Pick<PinnedDependencies, 'db' | 'tally'>,
  entityId: number,
  { id, fileKey }: PinnedRow,
): Promise<void> {
  return write(db, async (tx) => {
    const { rowCount } = await tx.query(
      'UPDATE imports SET file_erased_at = now() WHERE entity_id = $1 AND id = $2 AND file_erased_at IS NULL',
      [entityId, id],
    );
    await noteFileDeletions(tx, entityId, [fileKey]);
    if (rowCount === 1) await tally?.(tx, 1);
  });
}

type IdFinder = (bytes: string) => Set<string>;

/** A file writes an id unchanged except for its quotes. */
function createIdFinder(people: KnownBy[]): IdFinder {
  const ids = [...new Set(people.filter(isVouchedFor).map(({ customerId }) => customerId))];
  const find = createNameFinder(
    ids.map((id) =>
      id
        .split('"')
        .filter((part) => part !== '')
        .map((part) => Buffer.from(part).toString('latin1')),
    ),
  );
  return (bytes) => new Set(Array.from(find(bytes), (place) => ids[place]!));
}

/** Yields records one by one, so that a file without line ends takes no more memory. */
async function* linesNaming(files: Files, row: Omit<PinnedRow, 'id'>, find: IdFinder): AsyncGenerator<PinnedLine> {
  const { fileKey, fileFormat } = row;
  if ((await files.size(fileKey)) === null) return;
  // The import ended, or has not begun, with a file that cannot be searched: it may name any person.
  if (fileFormat === null && (await isUnread(files, row))) return yield { fileKey, line: '', isOwn: false };
  const delimiter = fileFormat?.delimiter ?? ',';
  const syntax = { delimiter, customer: customerAt(row) };
  const splitter = createCsvSplitter({ delimiter });
  const bytes = files.read(fileKey);
  try {
    for await (const chunk of bytes) yield* naming(files, fileKey, splitter.push(chunk as Buffer), find, syntax);
    yield* naming(files, fileKey, splitter.end(), find, syntax);
  } finally {
    bytes.destroy();
  }
}

function customerAt({ columnMapping, tableLayout }: Omit<PinnedRow, 'id'>): number {
  if (columnMapping === null) return 0;
  return tableLayout === null ? -1 : tableLayout.customer - 1;
}

/** Returns whether the stored file has another encoding than UTF-8, so that it was never read. */
async function isUnread(files: Files, { fileKey, fileSettings }: Omit<PinnedRow, 'id'>): Promise<boolean> {
  const head = Buffer.concat((await files.read(fileKey, 0, 4).toArray()) as Buffer[]);
  return isZip(head) || isCompoundFile(head) || encodingOf(head, fileSettings.encoding) !== 'utf-8';
}

async function* naming(
  files: Files,
  fileKey: string,
  pieces: Iterable<Piece>,
  find: IdFinder,
  { delimiter, customer }: { delimiter: Delimiter; customer: number },
): AsyncGenerator<PinnedLine> {
  const slice = new TimeSlice();
  for (const piece of pieces) {
    if (slice.isOver) await slice.next();
    if (piece.kind === 'bad' && isCut(piece.reason)) {
      if (await isNamedWithin(files, fileKey, piece, find))
        yield { fileKey, line: piece.sample.toString(), isOwn: false };
      continue;
    }
    const ids = find((piece.kind === 'run' ? piece.bytes : piece.sample).toString('latin1'));
    if (ids.size === 0) continue; // nearly always, and much cheaper than parsing
    if (piece.kind === 'bad') {
      const line = piece.sample.toString();
      if (standsIn(line, ids)) yield { fileKey, line, isOwn: false };
      continue;
    }
    for (const [index, record] of parseRun(piece, delimiter).entries()) {
      const line = recordBytes(piece, index).toString();
      const isNamed = Array.isArray(record)
        ? record.some((field) => isNamedBy(field, ids, delimiter))
        : standsIn(line, ids);
      if (isNamed) yield { fileKey, line, isOwn: Array.isArray(record) && ids.has(record[customer] ?? '') };
    }
  }
}

/** Overlap of two windows in bytes: more than an id with its quotes doubled twice. */
const SHARED_BYTES = 8 * 1024;

/** Returns whether an id stands in a piece that may be the rest of its file, which it reads window by window. */
async function isNamedWithin(
  files: Files,
  fileKey: string,
  { offset, endOffset }: Bad,
  find: IdFinder,
): Promise<boolean> {
  const bytes = files.read(fileKey, offset, endOffset - offset);
  try {
    let [at, shared] = [offset, Buffer.alloc(0)];
    for await (const chunk of bytes) {
      const window = Buffer.concat([shared, chunk as Buffer]);
      const isFirst = at === offset;
      at += (chunk as Buffer).length;
      const ids = find(window.toString('latin1'));
      if (ids.size > 0 && standsIn(cutText(window, { isFirst, isLast: at >= endOffset }), ids)) return true;
      shared = Buffer.from(window.subarray(-SHARED_BYTES));
    }
    return false;
  } finally {
    bytes.destroy();
  }
}

/** Returns a window's text with a letter at each cut end, so that a cut word does not match. */
function cutText(window: Buffer, { isFirst, isLast }: { isFirst: boolean; isLast: boolean }): string {
  const text = window.toString();
  const begun = isFirst ? text : `x${text.replace(/^\uFFFD{1,3}/, '')}`;
  return isLast ? begun : `${begun.replace(/\uFFFD{1,3}$/, '')}x`;
}

/** Returns whether a field is one of the ids, or holds a record with one: an error file's column `original`. */
function isNamedBy(field: string, ids: ReadonlySet<string>, delimiter: Delimiter): boolean {
  if (ids.has(field)) return true;
  if (!field.includes(delimiter)) return false;
  const record = parseRecord(field, delimiter);
  return Array.isArray(record) ? record.some((inner) => ids.has(inner)) : standsIn(field, ids);
}

function standsIn(text: string, ids: ReadonlySet<string>): boolean {
  return [...ids].some((id) => {
    const escaped = id.replaceAll(/[^\p{L}\p{N}_]/gu, (mark) =>
      mark === '"' ? '"+' : `\\u{${mark.codePointAt(0)!.toString(16)}}`,
    );
    return new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, 'u').test(text);
  });
}
