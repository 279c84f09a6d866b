/** Reads the file of an import: its header and its batches, with the rules for its rows. */
import type { Readable } from 'node:stream';
import type { Piece } from '../../domain/csv/csv-pieces.ts';
import { createCsvSplitter } from '../../domain/csv/csv-splitter.ts';
import type { TableSyntax } from '../../domain/csv/table-format.ts';
import { type HeaderReading, type ImportFormat, parseHeader } from '../../domain/imports/import-file.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Files } from '../../store/core/files.ts';
import { hasErased } from '../../store/gdpr/tombstones.ts';
import type { Import, ReadableImport } from '../../store/imports/imports.ts';
import { sorRules, type SorRules } from '../attributes/sor-rules.ts';
import type { Dependencies } from '../dependencies.ts';

/** Consecutive pieces of the file that are merged together, from `offset` to the start of the next batch. */
export type Batch = { pieces: Piece[]; offsets: BatchOffsets };

/** Position of a batch in the file: bytes from its start, and physical lines from 1. */
export type BatchOffsets = { offset: number; line: number; nextOffset: number; nextLine: number };

/** A batch also ends with the piece that reaches this size. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Small enough that batches end near their size. */
const RUN_BYTES = 32 * 1024;

function splitterOf({ format, delimiter }: TableSyntax, startOffset = 0, startLine = 1) {
  return createCsvSplitter({
    delimiter,
    countsRecords: format === 'xlsx',
    startOffset,
    startLine,
    maxRunBytes: RUN_BYTES,
  });
}

/** Splits the file into batches of about `batchRecords`; `open` reads it from a record's start. */
export async function* readBatches(
  open: () => Readable,
  syntax: TableSyntax,
  startOffset: number,
  startLine: number,
  batchRecords: number,
): AsyncGenerator<Batch> {
  const splitter = splitterOf(syntax, startOffset, startLine);
  let pieces: Piece[] = [];
  let records = 0;
  let offsets = offsetsAt(startOffset, startLine);
  for await (const some of readPieces(open(), splitter)) {
    for (const piece of some) {
      pieces.push(piece);
      records += piece.kind === 'run' ? piece.records : 1;
      offsets = { ...offsets, nextOffset: piece.endOffset, nextLine: piece.endLine };
      if (records < batchRecords && offsets.nextOffset - offsets.offset < BATCH_BYTES) continue;
      yield { pieces, offsets };
      pieces = [];
      records = 0;
      offsets = offsetsAt(offsets.nextOffset, offsets.nextLine);
    }
  }
  if (pieces.length > 0) yield { pieces, offsets };
}

function offsetsAt(offset: number, line: number): BatchOffsets {
  return { offset, line, nextOffset: offset, nextLine: line };
}

/** Reads the pieces of a batch again. A batch ends where a piece does, so it splits as before. */
export async function readBatchAgain(
  { files }: Pick<Dependencies, 'files'>,
  { file, fileFormat }: ReadableImport,
  { offset, line, nextOffset }: BatchOffsets,
): Promise<Piece[]> {
  const bytes = files.read(file.fileKey, offset, nextOffset - offset);
  const splitter = splitterOf(fileFormat, offset, line);
  const pieces: Piece[] = [];
  for await (const some of readPieces(bytes, splitter)) pieces.push(...some);
  return pieces;
}

/** Returns the first piece of a file, whose first record is the header; none for an empty file. */
async function readFirstPiece(bytes: Readable, syntax: TableSyntax): Promise<Piece | undefined> {
  try {
    for await (const pieces of readPieces(bytes, splitterOf(syntax))) {
      for (const piece of pieces) return piece;
    }
    return undefined;
  } finally {
    bytes.destroy();
  }
}

async function* readPieces(bytes: Readable, splitter: ReturnType<typeof createCsvSplitter>) {
  for await (const chunk of bytes) yield splitter.push(chunk as Buffer);
  yield splitter.end();
}

/** Rules for an import's rows, and whether the entity has ever erased a person. `overtaken`: late rows of one batch. */
export type ImportRules = SorRules & RowFormat & { hasErased: boolean };
type RowFormat = ImportFormat & { overtaken?: ReadonlySet<number> };

export async function importRules(db: Queryable, { entityId, sorId }: Import, format: RowFormat): Promise<ImportRules> {
  return { ...format, ...(await sorRules(db, entityId, sorId)), hasErased: await hasErased(db, entityId) };
}

/** Returns the header of the pinned file, or why the file cannot be imported. */
export async function pinnedHeader(
  files: Files,
  { file, fileFormat, fileSettings, version, columnMapping }: ReadableImport,
): Promise<HeaderReading> {
  const { delimiter, decimal } = fileFormat;
  const { nullMarker, dates } = fileSettings;
  const first = await readFirstPiece(files.read(file.fileKey), fileFormat);
  const set = { ...(nullMarker !== undefined && { nullMarker }), ...(dates !== undefined && { dates }) };
  const syntax = { delimiter, decimal, isSheet: fileFormat.format === 'xlsx', ...set };
  return parseHeader(first, version === 3 ? 'v3' : 'v2', syntax, columnMapping);
}
