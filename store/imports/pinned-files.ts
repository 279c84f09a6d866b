import { type Piece, recordBytes } from '../../domain/core/csv-pieces.ts';
import { parseRecord, parseRun } from '../../domain/core/csv-records.ts';
import { createCsvSplitter } from '../../domain/core/csv-splitter.ts';
import { createNameFinder } from '../../domain/core/name-finder.ts';
import { type Database, write } from '../core/database.ts';
import type { Files } from '../core/files.ts';
import type { Tally } from '../core/in-batches.ts';
import type { KnownBy } from '../gdpr/personal-data-location.ts';

type PinnedDependencies = { db: Database; files: Files; tally?: Tally };
/** `isOwn`: the id stands where a line has its customer's; else it may be about somebody else. */
type PinnedLine = { fileKey: string; line: string; isOwn: boolean };

/** The lines of the entity's pinned import files in which one of these ids stands. */
export async function* listPinnedLinesOf(
  { db, files }: Pick<PinnedDependencies, 'db' | 'files'>, entityId: number, people: KnownBy[],
): AsyncGenerator<PinnedLine> {
  const { rows } = await db.query<{ file_key: string }>(
    'SELECT file_key FROM imports WHERE entity_id = $1 AND file_key IS NOT NULL', [entityId]);
  const find = rows.length === 0 ? () => new Set<string>() : createIdFinder(people);
  for (const { file_key: fileKey } of rows) yield* linesNaming(files, fileKey, find);
}

/**
 * Deletes the pinned files of ended imports in which one of these ids stands; an import under way still needs its own. Noted
 * before it goes, so that one is counted once, and goes though the process that noted it was killed.
 */
export async function deletePinnedFilesOf(
  { db, files, tally }: PinnedDependencies, entityId: number, people: KnownBy[],
): Promise<number> {
  const { rows } = await db.query<{ id: number; file_key: string; is_noted: boolean }>(
    `SELECT id, file_key, file_erased_at IS NOT NULL AS is_noted FROM imports
     WHERE entity_id = $1 AND file_key IS NOT NULL AND ended_at IS NOT NULL`, [entityId]);
  const find = rows.every(({ is_noted: isNoted }) => isNoted) ? () => new Set<string>() : createIdFinder(people);
  let deleted = 0;
  for (const { id, file_key: fileKey, is_noted: isNoted } of rows) {
    if (!isNoted) {
      const { done } = await linesNaming(files, fileKey, find).next();
      if (done) continue;
      if (await noteErased({ db, tally }, entityId, id)) deleted += 1;
    }
    await files.delete(fileKey);
  }
  return deleted;
}

/** False when somebody else noted it first. */
function noteErased({ db, tally }: Pick<PinnedDependencies, 'db' | 'tally'>, entityId: number, importId: number): Promise<boolean> {
  return write(db, async (tx) => {
    const { rowCount } = await tx.query(
      'UPDATE imports SET file_erased_at = now() WHERE entity_id = $1 AND id = $2 AND file_erased_at IS NULL', [entityId, importId]);
    if (rowCount === 1) await tally?.(tx, 1);
    return rowCount === 1;
  });
}

/** The ids that stand in a piece of a file, whose bytes are given as Latin-1. */
type IdFinder = (bytes: string) => Set<string>;

/** In a file nothing but the quotes of an id is written in other ways than the id. */
function createIdFinder(people: KnownBy[]): IdFinder {
  const ids = [...new Set(people.map(({ customerId }) => customerId))];
  const find = createNameFinder(ids.map((id) => id.split('"').filter((part) => part !== '')
    .map((part) => Buffer.from(part).toString('latin1'))));
  return (bytes) => new Set(Array.from(find(bytes), (place) => ids[place]!));
}

/** Record by record, so that a file without line ends takes no more memory than any other. */
async function* linesNaming(files: Files, fileKey: string, find: IdFinder): AsyncGenerator<PinnedLine> {
  if (await files.size(fileKey) === null) return;
  const splitter = createCsvSplitter();
  const bytes = files.read(fileKey);
  try {
    for await (const chunk of bytes) yield* naming(fileKey, splitter.push(chunk as Buffer), find);
    yield* naming(fileKey, splitter.end(), find);
  } finally {
    bytes.destroy();
  }
}

function* naming(fileKey: string, pieces: Iterable<Piece>, find: IdFinder): Generator<PinnedLine> {
  for (const piece of pieces) {
    const ids = find((piece.kind === 'run' ? piece.bytes : piece.sample).toString('latin1'));
    if (ids.size === 0) continue;                                   // nearly always, and much cheaper than parsing
    if (piece.kind === 'bad') {
      const line = piece.sample.toString();
      if (standsIn(line, ids)) yield { fileKey, line, isOwn: false };
      continue;
    }
    for (const [index, record] of parseRun(piece).entries()) {
      const line = recordBytes(piece, index).toString();
      const isNamed = Array.isArray(record) ? record.some((field) => isNamedBy(field, ids)) : standsIn(line, ids);
      if (isNamed) yield { fileKey, line, isOwn: Array.isArray(record) && ids.has(record[0]!) };
    }
  }
}

/** Whether a field is one of the ids, or holds a record in which one is a field: the column `original` of an error file. */
function isNamedBy(field: string, ids: ReadonlySet<string>): boolean {
  if (ids.has(field)) return true;
  if (!field.includes(',')) return false;
  const record = parseRecord(field);
  return Array.isArray(record) ? record.some((inner) => ids.has(inner)) : standsIn(field, ids);
}

/** Whether an id stands as a word of its own in a text that is no CSV. */
function standsIn(text: string, ids: ReadonlySet<string>): boolean {
  return [...ids].some((id) => {
    const escaped = id.replaceAll(/[^\p{L}\p{N}_]/gu, (mark) => mark === '"' ? '"+' : `\\u{${mark.codePointAt(0)!.toString(16)}}`);
    return new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, 'u').test(text);
  });
}
