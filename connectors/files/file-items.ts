import { isUtf8 } from 'node:buffer';
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
import type { ReadItem, SourceRecord } from '../core/contract.ts';
import { jsonRecord, MAX_RECORD_NESTING, sayDepth } from '../core/json-record.ts';
import { malformed } from '../core/malformed.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

/** Position of a record: offset in the unzipped file in bytes, and line from 1. */
export type FileOffset = { offset: number; line: number };

export type FoundItem = {
  item: ReadItem;
  /** As it came, with its line end; only the kept part of one that is too long. */
  bytes: number;
  /** Position where reading continues. */
  after: FileOffset;
};

/** Makes records from a file's bytes. */
export type ItemReader = {
  /** Yields the items that this chunk completes; read it to the end before the next call. */
  push(chunk: Buffer): Iterable<FoundItem>;
  end(): Iterable<FoundItem>;
  /** The header's names; null before it is read, and in formats without one. */
  columns(): string[] | null;
};

/** Start of a reader; behind the header it needs the names. */
export type Start = FileOffset & { columns: string[] | null };

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
export function createJsonlItems({ offset, line }: Start): ItemReader {
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
