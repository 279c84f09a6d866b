import type { Queryable } from './database.ts';
import type { Files } from './files.ts';
import type { Person } from './tombstones.ts';
import { type Piece, recordBytes } from '../domain/csv-pieces.ts';
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
  const ids = people.map(({ customerId }) => Buffer.from(customerId));
  const splitter = createCsvSplitter();
  const bytes = files.read(fileKey);
  try {
    for await (const chunk of bytes) yield* naming(fileKey, splitter.push(chunk as Buffer), ids);
    yield* naming(fileKey, splitter.end(), ids);
  } finally {
    bytes.destroy();
  }
}

function* naming(fileKey: string, pieces: Iterable<Piece>, ids: Buffer[]): Generator<PinnedLine> {
  for (const piece of pieces) {
    const bytes = piece.kind === 'run' ? piece.bytes : piece.sample;
    if (!ids.some((id) => bytes.includes(id))) continue;
    const records = piece.kind === 'run' ? Array.from(piece.starts, (_, index) => recordBytes(piece, index)) : [bytes];
    for (const record of records) {
      if (ids.some((id) => record.includes(id))) yield { fileKey, line: record.toString() };
    }
  }
}
