/** Reads a file in portions, with cursors to resume. */
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

/** Cursor of one file: its version and position. `isGzip`: positions are not those of the file's own bytes. */
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

/** Items as they came, and the cursor after each. */
export type Portion = { items: { item: ReadItem; bytes: number }[]; cursorAfter(index: number): Cursor; done?: number };

/** Items of some bytes of a file; the last portion, which may be empty, has a cursor that is done. */
export type FilePortion = { items: FoundItem[]; cursorAfter(index: number): FileCursor; done?: number };

/** Reads an open file from `cursor`, or from its start if the version differs. */
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
  // The last portion, which may be empty, is done.
  let rest: FoundItem[] = [];
  for await (const items of inPortions(hasTrailingBytes() ? withTrailing(reader.end(), () => last) : reader.end())) {
    if (rest.length > 0) yield portion(rest, false);
    rest = items;
  }
  yield portion(rest, true);
}

/** Number of items, or bytes, that end a portion. */
const [PORTION_ITEMS, PORTION_BYTES] = [1_000, 64 * 1024];
/** Time after which the event loop gets a turn: a chunk may contain a million items. */
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

/** Adds to the error of a damaged file that earlier records may be wrong, and may be written. */
function namingRecords(error: unknown, { line }: FileOffset): unknown {
  if (!(error instanceof Refusal) || error.status !== 'source_refused' || line === 1) return error;
  return sourceRefusal(
    'source_refused',
    `${error.message}. Records before line ${line} were read, and may be written: have the file written anew, and compare them`,
  );
}

const TRAILING_BYTES = 'Behind the end of the gzip file stand bytes that are no gzip, and were not read';

/** Adds an item for trailing bytes after all records of a complete file. */
function* withTrailing(items: Iterable<FoundItem>, end: () => FileOffset): Generator<FoundItem, void, void> {
  let after: FileOffset | undefined;
  for (const found of items) {
    ({ after } = found);
    yield found;
  }
  yield { item: malformed('', TRAILING_BYTES), bytes: 0, after: after ?? end() };
}

/**
 * Returns the bytes of records: those of an opened part, else the file in canonical form. `isUnpacked`: the whole file
 * arrives before its first record.
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

/** Counts the file's bytes as they arrive, without those before the first items if they are skipped. */
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

/** Opens a file to continue at `cursor`: a part of a gzip or .xlsx file cannot be read. */
export function openBehind(open: OpenFile, cursor: FileCursor | null): Promise<FileBytes> {
  if (cursor === null || cursor.isGzip || cursor.version === null || cursor.offset === 0) return open();
  return open({ from: cursor.offset, version: cursor.version });
}
