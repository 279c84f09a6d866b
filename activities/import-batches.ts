import type { Readable } from 'node:stream';
import type { Piece } from '../domain/csv-pieces.ts';
import { createCsvSplitter } from '../domain/csv-splitter.ts';

/** Consecutive pieces of the file, merged together: from `offset` up to where the next batch begins. */
export type Batch = { pieces: Piece[]; offset: number; nextOffset: number; nextLine: number };

/** A batch also ends with the piece that brings it to so many bytes. */
const BATCH_BYTES = 4 * 1024 * 1024;
/** Small enough that batches end near their size. */
const RUN_BYTES = 32 * 1024;

/** Splits the file, which is read from a record's start on, into batches of about `batchRecords`. */
export async function* readBatches(
  bytes: Readable, startOffset: number, startLine: number, batchRecords: number,
): AsyncGenerator<Batch> {
  const splitter = createCsvSplitter({ startOffset, startLine, maxRunBytes: RUN_BYTES });
  let batch: Batch = { pieces: [], offset: startOffset, nextOffset: startOffset, nextLine: startLine };
  let records = 0;
  for await (const pieces of readPieces(bytes, splitter)) {
    for (const piece of pieces) {
      batch.pieces.push(piece);
      batch.nextOffset = piece.endOffset;
      batch.nextLine = piece.endLine;
      records += piece.kind === 'run' ? piece.records : 1;
      if (records < batchRecords && batch.nextOffset - batch.offset < BATCH_BYTES) continue;
      yield batch;
      batch = { pieces: [], offset: batch.nextOffset, nextOffset: batch.nextOffset, nextLine: batch.nextLine };
      records = 0;
    }
  }
  if (batch.pieces.length > 0) yield batch;
}

/** The first piece of a file, whose first record is the header; none in an empty file. */
export async function readFirstPiece(bytes: Readable): Promise<Piece | undefined> {
  try {
    for await (const pieces of readPieces(bytes, createCsvSplitter())) {
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
