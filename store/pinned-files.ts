import type { Queryable } from './database.ts';
import type { Files } from './files.ts';
import type { Person } from './tombstones.ts';
import { type Piece, recordBytes } from '../domain/csv-pieces.ts';
import { parseRecord, parseRun } from '../domain/csv-records.ts';
import { createCsvSplitter } from '../domain/csv-splitter.ts';

type PinnedNeeds = { db: Queryable; files: Files };
type PinnedLine = { fileKey: string; line: string };

/** The lines of the entity's pinned import files in which one of these ids stands. */
export async function* listPinnedLinesOf(
  { db, files }: PinnedNeeds, entityId: number, people: Person[],
): AsyncGenerator<PinnedLine> {
  const { rows } = await db.query<{ file_key: string }>(
    'SELECT file_key FROM imports WHERE entity_id = $1 AND file_key IS NOT NULL', [entityId]);
  for (const { file_key: fileKey } of rows) yield* linesNaming(files, fileKey, people);
}

/** Deletes the pinned files of ended imports in which one of these ids stands; an import under way still needs its own. */
export async function deletePinnedFilesOf(
  { db, files }: PinnedNeeds, entityId: number, people: Person[],
): Promise<number> {
  const { rows } = await db.query<{ file_key: string }>(
    'SELECT file_key FROM imports WHERE entity_id = $1 AND file_key IS NOT NULL AND ended_at IS NOT NULL', [entityId]);
  let deleted = 0;
  for (const { file_key: fileKey } of rows) {
    const { done } = await linesNaming(files, fileKey, people).next();
    if (done) continue;
    await files.delete(fileKey);
    deleted += 1;
  }
  return deleted;
}

/** Record by record, so that a file without line ends takes no more memory than any other. */
async function* linesNaming(files: Files, fileKey: string, people: Person[]): AsyncGenerator<PinnedLine> {
  if (await files.size(fileKey) === null) return;
  const ids = new Set(people.map(({ customerId }) => customerId));
  const splitter = createCsvSplitter();
  const bytes = files.read(fileKey);
  try {
    for await (const chunk of bytes) yield* naming(fileKey, splitter.push(chunk as Buffer), ids);
    yield* naming(fileKey, splitter.end(), ids);
  } finally {
    bytes.destroy();
  }
}

function* naming(fileKey: string, pieces: Iterable<Piece>, ids: ReadonlySet<string>): Generator<PinnedLine> {
  const written = [...ids].flatMap(asWritten);
  for (const piece of pieces) {
    const bytes = piece.kind === 'run' ? piece.bytes : piece.sample;
    if (!written.some((id) => bytes.includes(id))) continue;        // nearly always, and much cheaper than parsing
    if (piece.kind === 'bad') {
      const line = piece.sample.toString();
      if (standsIn(line, ids)) yield { fileKey, line };
      continue;
    }
    for (const [index, record] of parseRun(piece).entries()) {
      const line = recordBytes(piece, index).toString();
      if (Array.isArray(record) ? record.some((field) => isNamedBy(field, ids)) : standsIn(line, ids)) yield { fileKey, line };
    }
  }
}

/** An id as bytes of a file may hold it: its quotes doubled in a field, and again where the record is itself a field. */
function asWritten(id: string): Buffer[] {
  return [id, id.replaceAll('"', '""'), id.replaceAll('"', '""""')].map((text) => Buffer.from(text));
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
