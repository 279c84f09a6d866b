import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { DELIMITERS } from '../../domain/csv/csv-bytes.ts';
import type { TableSyntax } from '../../domain/csv/table-format.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import type { Cursor, ReadItem } from '../core/contract.ts';
import { malformed } from '../core/malformed.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { canonicalFile } from './canonical-file.ts';
import { createCsvItems, createJsonlItems, FILE_START, type FileOffset, type FoundItem } from './file-items.ts';
import { type FileBytes, type OpenFile, skipped, unzipped } from './file-bytes.ts';
import type { FileSettings } from './file-settings.ts';

/**
 * Where reading one file goes on: of which version, and behind what. `isGzip`: what is read is not its bytes as they
 * are.
 */
export const fileCursor = z.object({
  version: z.string().nullable(),
  mark: z.string().nullable(),
  isGzip: z.boolean(),
  isDone: z.boolean(),
  offset: z.number(),
  line: z.number(),
  columns: z.array(z.string()).nullable(),
  delimiter: z.enum(DELIMITERS).optional(),
});

export type FileCursor = z.output<typeof fileCursor>;

/** Items as they came in, and where reading goes on behind each of them. */
export type Portion = { items: { item: ReadItem; bytes: number }[]; cursorAfter(index: number): Cursor; done?: number };

/** The items of some bytes of a file; of its last portion, that may be empty, the cursor is done. */
export type FilePortion = { items: FoundItem[]; cursorAfter(index: number): FileCursor; done?: number };

/** Reads an open file on behind `cursor`, or from its start where the version is another. */
export async function* filePortions(
  settings: FileSettings,
  file: FileBytes,
  cursor: FileCursor | null,
): AsyncGenerator<FilePortion, void, undefined> {
  const start = cursor !== null && cursor.version !== null && cursor.version === file.version ? cursor : FILE_START;
  const counted = countedBytes(file);
  const { bytes, syntax, isConverted, isUnpacked, hasTrailingBytes } = await openRecords(
    settings,
    counted.file,
    cursor,
  );
  const reader =
    settings.format === 'csv' ? createCsvItems(syntax, start, settings.null_marker) : createJsonlItems(start);
  const cursorAt = (place: { offset: number; line: number }, isDone: boolean): FileCursor => ({
    version: file.version,
    mark: file.mark,
    isGzip: isConverted(),
    isDone,
    offset: place.offset,
    line: place.line,
    columns: reader.columns(),
    delimiter: syntax.delimiter,
  });
  let last: { offset: number; line: number } = start;
  const portion = (items: FoundItem[], isDone: boolean): FilePortion => {
    last = items.at(-1)?.after ?? last;
    const end = last;
    const done = isUnpacked ? null : counted.done(start.offset > file.from);
    const cursorAfter = (index: number) => cursorAt(items[index]?.after ?? end, isDone && index === items.length - 1);
    return { items, cursorAfter, ...(done === null ? {} : { done }) };
  };
  try {
    for await (const chunk of skipped(bytes, start.offset - file.from)) {
      for await (const items of inPortions(reader.push(chunk))) if (items.length > 0) yield portion(items, false);
    }
  } catch (error) {
    throw namingRecords(error, last);
  }
  // The last portion, that may be empty, is the one that is done.
  let rest: FoundItem[] = [];
  for await (const items of inPortions(hasTrailingBytes() ? withTrailing(reader.end(), () => last) : reader.end())) {
    if (rest.length > 0) yield portion(rest, false);
    rest = items;
  }
  yield portion(rest, true);
}

/** A portion ends with the item that brings it to so many, or to so many bytes. */
const [PORTION_ITEMS, PORTION_BYTES] = [1_000, 64 * 1024];
/** How long items are made before timers and others get their turn: a chunk may hold a million of them. */
const TURN_MS = 20;

async function* inPortions(found: Iterable<FoundItem>): AsyncGenerator<FoundItem[], void, undefined> {
  let items: FoundItem[] = [];
  let bytes = 0;
  let begun = performance.now();
  for (const item of found) {
    items.push(item);
    bytes += item.bytes;
    if (items.length < PORTION_ITEMS && bytes < PORTION_BYTES) continue;
    yield items;
    [items, bytes] = [[], 0];
    if (performance.now() - begun < TURN_MS) continue;
    await nextTurn();
    begun = performance.now();
  }
  if (items.length > 0) yield items;
}

/**
 * A file that proves to be damaged behind records that were read: they may be wrong, and a batch of them may be
 * written.
 */
function namingRecords(error: unknown, { line }: FileOffset): unknown {
  if (!(error instanceof Refusal) || error.status !== 'source_refused' || line === 1) return error;
  return sourceRefusal(
    'source_refused',
    `${error.message}. Records before line ${line} were read, and may be written: have the file written anew, and compare them`,
  );
}

const TRAILING_BYTES = 'Behind the end of the gzip file stand bytes that are no gzip, and were not read';

/** The defect of a file of which all records came: an item of its own behind them. */
function* withTrailing(items: Iterable<FoundItem>, end: () => FileOffset): Generator<FoundItem, void, void> {
  let after: FileOffset | undefined;
  for (const found of items) {
    ({ after } = found);
    yield found;
  }
  yield { item: malformed('', TRAILING_BYTES), bytes: 0, after: after ?? end() };
}

/**
 * What records are read from: of an opened part its bytes, else the file in the form that all files are read in.
 * `isUnpacked`: all of the file has come before its first record.
 */
async function openRecords(settings: FileSettings, file: FileBytes, cursor: FileCursor | null) {
  const syntax: TableSyntax = { format: 'csv', delimiter: cursor?.delimiter ?? settings.delimiter ?? ',' };
  const nothing = { isUnpacked: false, hasTrailingBytes: () => false };
  if (file.from > 0) return { ...nothing, bytes: file.chunks, syntax, isConverted: () => false };
  let [isGzip, isTrailed] = [false, false];
  const hasTrailingBytes = () => isTrailed;
  const bytes = unzipped(file, {
    onGzip: () => {
      isGzip = true;
    },
    onTrailingBytes: () => {
      isTrailed = true;
    },
  });
  if (settings.format !== 'csv') return { ...nothing, bytes, syntax, isConverted: () => isGzip, hasTrailingBytes };
  const { scratch, signal, maxDecompressedBytes: maxBytes } = file.context;
  const table = await canonicalFile(bytes, settings, { scratch, signal, maxBytes });
  const isUnpacked = table.format.isZip || table.format.format === 'xlsx';
  return {
    bytes: table.chunks,
    syntax: table.format,
    isConverted: () => isGzip || table.isConverted,
    isUnpacked,
    hasTrailingBytes,
  };
}

/**
 * The file, and how much of its bytes have come: of those behind the first items, where what comes before them is read
 * over.
 */
function countedBytes(file: FileBytes): { file: FileBytes; done(isReadOver: boolean): number | null } {
  let came = 0;
  let before: number | undefined;
  async function* chunks() {
    for await (const chunk of file.chunks) {
      came += chunk.length;
      yield chunk;
    }
  }
  return {
    file: { ...file, chunks: chunks() },
    done(isReadOver) {
      before ??= isReadOver ? came : 0;
      return file.bytes === null ? null : Math.min(1, (came - before) / Math.max(1, file.bytes - before));
    },
  };
}

/**
 * Opens a file so that reading goes on behind `cursor`: a part of what is gzip can't be unzipped, nor one of .xlsx
 * read.
 */
export function openBehind(open: OpenFile, cursor: FileCursor | null): Promise<FileBytes> {
  if (cursor === null || cursor.isGzip || cursor.version === null || cursor.offset === 0) return open();
  return open({ from: cursor.offset, version: cursor.version });
}
