/** Reads a file in portions, with cursors to resume. */
import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { gunzip, type GzipDefect, MAX_DECOMPRESSED_BYTES } from '../../domain/core/gunzip.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { DELIMITERS } from '../../domain/csv/csv-bytes.ts';
import {
  type Bad,
  type BadReason,
  isCut,
  type Piece,
  recordBytes,
  resumeAfter,
  type Run,
} from '../../domain/csv/csv-pieces.ts';
import { type ParsedRecord, parseRun } from '../../domain/csv/csv-records.ts';
import { createCsvSplitter } from '../../domain/csv/csv-splitter.ts';
import { type Line, LineSplitter } from '../../domain/csv/line-splitter.ts';
import type { TableSyntax } from '../../domain/csv/table-format.ts';
import { parseExactJson } from '../../domain/json/exact-json.ts';
import { checkNesting, NestingError } from '../../domain/json/parse-json.ts';
import { withoutCutWord } from '../../domain/text/text-limits.ts';
import type { Cursor, ReadItem, SourceRecord } from '../core/contract.ts';
import { jsonRecord, malformed, MAX_RECORD_NESTING, sayDepth } from '../core/json-record.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { canonicalFile } from './canonical-file.ts';
import type { FileBytes, OpenFile } from './file-bytes.ts';
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

/** Position of a record: offset in the unzipped file in bytes, and line from 1. */
type FileOffset = { offset: number; line: number };

type FoundItem = {
  item: ReadItem;
  /** As it came, with its line end; only the kept part of one that is too long. */
  bytes: number;
  /** Position where reading continues. */
  after: FileOffset;
};

/** Makes records from a file's bytes. */
type ItemReader = {
  /** Yields the items that this chunk completes; read it to the end before the next call. */
  push(chunk: Buffer): Iterable<FoundItem>;
  end(): Iterable<FoundItem>;
  /** The header's names; null before it is read, and in formats without one. */
  columns(): string[] | null;
};

/** Start of a reader; behind the header it needs the names. */
type Start = FileOffset & { columns: string[] | null };

export const FILE_START: Start = { offset: 0, line: 1, columns: null };

/** Names of columns are part of each cursor. */
const MAX_COLUMNS = 1_000;
const MAX_HEADER_CHARACTERS = 32 * 1024;

const BAD: Record<BadReason, string> = {
  too_long: 'is over 1 MiB long',
  unclosed_quote:
    'opens a quote that is not closed within 1 MiB, nor later: no record from here to the end of the file was read',
  not_utf8: 'is not UTF-8: have the file written in UTF-8, or set encoding, such as windows-1252',
  stray_quote: 'opens a quote that is not closed, or is closed before the end of its field',
};

/**
 * Reads records of CSV (RFC 4180) with a header. All values are texts; an empty field, or one equal to `nullMarker`, is
 * null. Refuses a header without names or with a repeated one.
 */
export function createCsvItems(
  { format, delimiter }: TableSyntax,
  { offset, line, columns: known }: Start,
  nullMarker = '',
): ItemReader {
  const splitter = createCsvSplitter({
    delimiter,
    countsRecords: format === 'xlsx',
    startOffset: offset,
    startLine: line,
  });
  let columns = known;

  function* itemsOf(piece: Piece): Generator<FoundItem, void, void> {
    if (piece.kind === 'bad') {
      if (columns === null) throw wrongHeader(`it ${BAD[piece.reason]}`);
      return yield badItem(piece);
    }
    const records = parseRun(piece, delimiter);
    let first = 0;
    if (columns === null) {
      columns = readHeader(records[0]!);
      first = 1;
    }
    for (let at = first; at < records.length; at += 1) {
      if (!isBlank(records[at]!)) yield itemOf(piece, at, records[at]!, { columns, nullMarker });
    }
  }
  function* through(pieces: Iterable<Piece>): Generator<FoundItem, void, void> {
    for (const piece of pieces) yield* itemsOf(piece);
  }
  return { push: (chunk) => through(splitter.push(chunk)), end: () => through(splitter.end()), columns: () => columns };
}

/** Returns whether a row has separators alone, as spreadsheets write emptied rows. */
function isBlank(fields: ParsedRecord): boolean {
  return Array.isArray(fields) && fields.length > 1 && fields.every((field) => field === '');
}

type Rows = { columns: string[]; nullMarker: string };

function itemOf(run: Run, at: number, fields: ParsedRecord, rows: Rows): FoundItem {
  const after = resumeAfter(run, at);
  const bytes = after.offset - run.offset - run.starts[at]!;
  return { item: readItem(run, at, fields, rows), bytes, after };
}

function readItem(run: Run, at: number, fields: ParsedRecord, { columns, nullMarker }: Rows): ReadItem {
  const line = run.lines[at]!;
  if (!Array.isArray(fields)) return malformed(recordBytes(run, at), `Line ${line}: ${fields.message}`);
  if (fields.length < columns.length || fields.slice(columns.length).some((field) => field !== '')) {
    const message = `Line ${line} has ${fields.length} ${fields.length === 1 ? 'field' : 'fields'}, and the header ${columns.length}`;
    return malformed(recordBytes(run, at), message);
  }
  const record: Record<string, string | null> = {};
  for (let column = 0; column < columns.length; column += 1) {
    const value = fields[column]!;
    record[columns[column]!] = value === '' || value === nullMarker ? null : value;
  }
  return { kind: 'record', record };
}

function badItem({ reason, sample, line, endOffset, endLine }: Bad): FoundItem {
  const item = malformed(isCut(reason) ? withoutCutWord(sample.toString()) : sample, `Line ${line} ${BAD[reason]}`);
  return { item, bytes: sample.length, after: { offset: endOffset, line: endLine } };
}

/** Drops columns without a name at the right: spreadsheets write one for each column that was ever touched. */
function readHeader(fields: ParsedRecord): string[] {
  if (!Array.isArray(fields)) throw wrongHeader(fields.message);
  const names = fields.slice(0, fields.findLastIndex((name) => name.trim() !== '') + 1);
  if (names.length === 0) throw wrongHeader('column 1 has no name');
  if (names.length > MAX_COLUMNS) throw wrongHeader(`it has over ${MAX_COLUMNS.toLocaleString('en')} columns`);
  if (names.join('').length > MAX_HEADER_CHARACTERS) {
    throw wrongHeader(`it has over ${MAX_HEADER_CHARACTERS.toLocaleString('en')} characters`);
  }
  const seen = new Set<string>();
  for (const [index, name] of names.entries()) {
    if (name.trim() === '') throw wrongHeader(`column ${index + 1} has no name`);
    if (name === '__proto__') throw wrongHeader('no column can be called __proto__');
    if (seen.has(name)) throw wrongHeader(`column ${index + 1} has the name of an earlier one: rename one`);
    seen.add(name);
  }
  return names;
}

function wrongHeader(why: string) {
  return sourceRefusal('source_refused', `The file has no header that can be read: ${why}`);
}

/** Reads JSON Lines: one object a line, without empty lines. */
function createJsonlItems({ offset, line }: Start): ItemReader {
  const splitter = new LineSplitter({ startOffset: offset, startLine: line });
  function* through(lines: Iterable<Line>): Generator<FoundItem, void, void> {
    for (const found of lines) {
      if (found.bytes.length === 0) continue;
      const after = { offset: found.endOffset, line: found.endLine };
      const bytes = found.isTooLong ? found.bytes.length : after.offset - found.offset;
      yield { item: readLine(found), bytes, after };
    }
  }
  return { push: (chunk) => through(splitter.push(chunk)), end: () => through(splitter.end()), columns: () => null };
}

function readLine({ bytes, isTooLong, line }: Line): ReadItem {
  const record = isTooLong ? 'is over 1 MiB long' : readRecord(bytes);
  if (typeof record !== 'string') return { kind: 'record', record };
  return malformed(bytes, `Line ${line} ${record}`);
}

/** Returns the record, or why there is none. */
function readRecord(bytes: Buffer): SourceRecord | string {
  if (!isUtf8(bytes)) return 'is not UTF-8';
  const text = bytes.toString();
  try {
    checkNesting(text, MAX_RECORD_NESTING);
    return jsonRecord(parseExactJson(text));
  } catch (error) {
    return error instanceof NestingError ? sayDepth(MAX_RECORD_NESTING) : 'is not JSON';
  }
}

const GZIP = [0x1f, 0x8b];

/**
 * Yields the bytes, unzipped if they are gzip; its first two bytes begin no UTF-8 text. `onTrailingBytes`: the content
 * is complete, but other bytes follow.
 */
async function* unzipped(
  { chunks, context: { signal, maxDecompressedBytes: maxBytes = MAX_DECOMPRESSED_BYTES } }: FileBytes,
  { onGzip, onTrailingBytes }: { onGzip: () => void; onTrailingBytes: () => void },
): AsyncGenerator<Buffer, void, undefined> {
  const all = chunks[Symbol.asyncIterator]();
  try {
    const head: Buffer[] = [];
    for (let length = 0; length < GZIP.length;) {
      const { done, value } = await all.next();
      if (done) break;
      head.push(value);
      length += value.length;
    }
    const first = Buffer.concat(head);
    const rest = restOf(first, all);
    if (!GZIP.every((byte, at) => first[at] === byte)) return yield* rest;
    onGzip();
    const defect = yield* gunzip(rest, { maxBytes, signal });
    if (defect === 'trailing_bytes') onTrailingBytes();
    else if (defect) throw refusalOfDefect(defect, maxBytes);
  } finally {
    await all.return?.();
  }
}

async function* restOf(first: Buffer, all: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  if (first.length > 0) yield first;
  yield* { [Symbol.asyncIterator]: () => all };
}

function refusalOfDefect(defect: Exclude<GzipDefect, 'trailing_bytes'>, maxBytes: number): Refusal {
  if (defect === 'cut_off') return sourceRefusal('transfer_broken', 'The file ends in the middle of its gzip stream');
  if (defect === 'corrupt') {
    return sourceRefusal(
      'source_refused',
      'The file begins as gzip and is none, or is corrupt: its checksum, its length or what it holds is wrong',
    );
  }
  const limit = maxBytes.toLocaleString('en');
  return sourceRefusal('too_large', `The gzip file expands to over ${limit} bytes, the most that is taken: split it`);
}

async function* skipped(chunks: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer, void, undefined> {
  let left = bytes;
  for await (const chunk of chunks) {
    if (chunk.length > left) yield chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}
