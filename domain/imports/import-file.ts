/** Format of an import's file: its header, syntax and columns; for a table, which columns make which cells. */
import type { RefusedRow } from '../attributes/value-row.ts';
import { CR, type Delimiter } from '../csv/csv-bytes.ts';
import { recordBytes, resumeAfter, type Bad, type BadReason, type Piece, type Run } from '../csv/csv-pieces.ts';
import { type ParsedRecord, parseRun } from '../csv/csv-records.ts';
import { type DateRule, type Decimal, MAX_COLUMNS } from '../csv/table-format.ts';
import { MAX_CODE_POINTS, quote, shorten } from '../text/text-limits.ts';
import { ERROR_COLUMNS, V2_COLUMNS, V3_COLUMNS } from './import-columns.ts';
import type { ImportErrorType } from './import-error-type.ts';

/** Meaning of a file's lines (reference: Batch CSV import, the older and the newer version). */
export type ImportVersion = 'v2' | 'v3';

const HEADER_LINES = { v2: V2_COLUMNS.join(','), v3: V3_COLUMNS.join(',') } as const;

/** How the lines of a file are read. A v3 file may leave out the action_type column. */
export type ImportFormat = {
  version: ImportVersion;
  /** The import's own columns, without those of an error file. */
  columns: 3 | 4;
  /** A corrected error file, whose rows `rowFields` reads. */
  hasErrorColumns: boolean;
  /** Spreadsheets write a column without a name for each one that was ever touched. */
  unnamedColumns?: number;
  /** A table whose rows have a cell for each attribute; each cell is read as a row of three columns. */
  layout?: TableLayout;
} & RowSyntax;

/** Syntax of fields and numbers; by default commas between fields and decimal points. */
export type RowSyntax = {
  delimiter?: Delimiter;
  decimal?: Decimal;
  /** Default: strict. */
  dates?: DateRule;
  /** A field with exactly this text is empty. */
  nullMarker?: string;
  /** The rows of a sheet, in which each cell has its column. */
  isSheet?: boolean;
};

export function columnNames({ columns, hasErrorColumns }: Pick<ImportFormat, 'columns' | 'hasErrorColumns'>): string[] {
  return [...(columns === 4 ? V3_COLUMNS : V2_COLUMNS), ...(hasErrorColumns ? ERROR_COLUMNS : [])];
}

export function templateRows(version: ImportVersion, keys: readonly string[]): string[][] {
  const header = version === 'v3' ? V3_COLUMNS : V2_COLUMNS;
  return [[...header], ...keys.map((key) => header.map((name) => (name === 'attribute_key' ? key : '')))];
}

export type FileFailure = { errorType: ImportErrorType; message: string };

/** `hint`: advice about the headers that a file may have. */
type WrongHeader = { ok: false; hint: string } & FileFailure;

type Header = { ok: true; format: ImportFormat; offset: number; line: number };

export type HeaderReading = Header | ({ ok: false } & FileFailure);

/**
 * Reads the header of a file's first piece. Names are compared without case and outer spaces, in a fixed order. A
 * header with action_type makes a v2 call's file v3; the columns of an error file may follow. With a mapping it is a
 * table's header, read as v3.
 */
export function parseHeader(
  first: Piece | undefined,
  version: ImportVersion,
  syntax: RowSyntax = {},
  mapping: ColumnMapping | null = null,
): HeaderReading {
  const reading =
    first === undefined
      ? wrongHeader('PARSING_FAILED', 'the file is empty')
      : first.kind === 'bad'
        ? badHeader(first)
        : mapping === null
          ? readHeader(first, version, syntax)
          : readTableHeader(first, mapping, syntax);
  if (reading.ok) return reading;
  const { errorType, message, hint } = reading;
  return { ok: false, errorType, message: `${message}${mapping === null ? CLASSIC_HEADERS : TABLE_HEADER}${hint}` };
}

function readTableHeader(run: Run, mapping: ColumnMapping, syntax: RowSyntax): Header | WrongHeader {
  const fields = parseRun(run, syntax.delimiter)[0]!;
  if (!Array.isArray(fields)) return wrongHeader('PARSING_FAILED', `the first line can't be read: ${fields.message}`);
  const layout = findLayout(fields, mapping, syntax.isSheet);
  if ('message' in layout) return wrongHeader('PARSING_FAILED', layout.message);
  return {
    ok: true,
    format: { ...syntax, version: 'v3', columns: 3, hasErrorColumns: false, layout },
    ...resumeAfter(run, 0),
  };
}

const CLASSIC_HEADERS = `; a file begins with ${HEADER_LINES.v2} or ${HEADER_LINES.v3}`;
const TABLE_HEADER = '; the first line has to have the names that columns maps';

function readHeader(run: Run, version: ImportVersion, syntax: RowSyntax): Header | WrongHeader {
  const fields = parseRun(run, syntax.delimiter)[0]!;
  const all = Array.isArray(fields) ? fields.map((name) => name.trim().toLowerCase()) : [];
  const named = all.slice(0, all.findLastIndex((name) => name !== '') + 1);
  const names = named.join();
  const unnamed = all.length > named.length ? { unnamedColumns: all.length - named.length } : {};
  const start = resumeAfter(run, 0);
  for (const hasErrorColumns of [false, true]) {
    const after = hasErrorColumns ? `,${ERROR_COLUMNS.join()}` : '';
    const format = { ...syntax, ...unnamed, hasErrorColumns };
    if (names === HEADER_LINES.v3 + after)
      return { ok: true, format: { ...format, version: 'v3', columns: 4 }, ...start };
    if (names === HEADER_LINES.v2 + after) return { ok: true, format: { ...format, version, columns: 3 }, ...start };
  }
  const line = recordBytes(run, 0);
  const hint = line.includes(CR) ? ' (lines must end in LF or CRLF, not in CR alone)' : '';
  return wrongHeader('PARSING_FAILED', `the first line is ${quote(line.toString())}${hint}`, tableHint(fields, syntax));
}

function tableHint(fields: ParsedRecord, { isSheet }: RowSyntax): string {
  const names = Array.isArray(fields) ? fields.map((name) => name.trim()).filter((name) => name !== '') : [];
  const sheet = isSheet ? '. If the rows stand in another sheet, set sheet' : '';
  if (names.length < 2) return sheet;
  return (
    `. If it is a table with a column for each attribute, here ${sayNames(names)}, set columns (millrace import with --customer and ` +
    `--map)${sheet}`
  );
}

function badHeader({ reason, sample }: Bad): WrongHeader {
  if (reason === 'not_utf8') return wrongHeader('FILE_ENCODING', `the first line is not UTF-8: ${ENCODING_HINT}`);
  const why = BAD_RECORDS[reason].message;
  return wrongHeader('PARSING_FAILED', `the first line begins ${quote(sample.toString())}: ${why}`);
}

function wrongHeader(errorType: ImportErrorType, message: string, hint = ''): WrongHeader {
  return { ok: false, errorType, message, hint };
}

/** Returns whether an error is that of a record over the limit; only its start is kept. */
export function isOverLimit(message: string): boolean {
  return message === BAD_RECORDS.too_long.message || message === BAD_RECORDS.unclosed_quote.message;
}

export function badRecordFailure(reason: BadReason): FileFailure {
  return BAD_RECORDS[reason];
}

const ENCODING_HINT = 'save the file as UTF-8, or name its encoding with the setting encoding, such as windows-1252';

export const UNCLOSED_QUOTE =
  'a quote opens a field that is not closed within 1 MiB, nor later: no row from here to the end of the file ' +
  'was read';

const BAD_RECORDS: Record<BadReason, FileFailure> = {
  too_long: { errorType: 'PARSING_FAILED', message: 'the record is longer than 1 MiB' },
  unclosed_quote: {
    errorType: 'PARSING_FAILED',
    message: UNCLOSED_QUOTE,
  },
  stray_quote: {
    errorType: 'PARSING_FAILED',
    message: 'a quote opens a field that is not closed: quote the field, and double the quotes in it',
  },
  not_utf8: { errorType: 'FILE_ENCODING', message: `the line is not UTF-8: ${ENCODING_HINT}` },
};

/** Column mapping of an import: the customer's column, and the attribute's key for each other one. */
export type ColumnMapping = { customer: string; attributes: Record<string, string> };

export const MAX_MAPPED_COLUMNS = 1_000;

/** Positions of the mapping's columns in a header; columns count from 1. */
export type TableLayout = {
  named: number;
  /** Maximum columns of a row: those of the header; in a sheet all, because a value there cannot slip to the right. */
  width: number;
  customer: number;
  /** Missing in imports of older versions. */
  customerName?: string;
  cells: TableColumn[];
  /** Number and first names of the columns that the mapping leaves out. */
  ignoredCount: number;
  ignored: string[];
};

type TableColumn = { column: number; name: string; key: string };

/** A cell as a row of three columns: customer, key and value. */
export type TableCell = { column: number; fields: [customerId: string, key: string, value: string] };

const MAX_SHOWN_NAMES = 100;

/** Returns the layout of a table with these names in its header, or why the mapping does not fit it. */
function findLayout(
  header: readonly string[],
  { customer, attributes }: ColumnMapping,
  isSheet = false,
): TableLayout | { message: string } {
  const names = header.map((name) => name.trim());
  if (names.length > MAX_COLUMNS)
    return { message: `the header has ${names.length} columns, and a table at most ${MAX_COLUMNS}` };
  const named = names.findLastIndex((name) => name !== '') + 1;
  const columnsOf = columnFinder(names);
  const wanted = [customer, ...Object.keys(attributes)].map((name) => ({ name, columns: columnsOf(name) }));
  const lacking = wanted.filter(({ columns }) => columns.length === 0);
  if (lacking.length > 0)
    return {
      message: sayLacking(
        lacking.map(({ name }) => name),
        names.slice(0, named),
        isSheet,
      ),
    };
  const ambiguous = wanted.find(({ columns }) => columns.length > 1);
  if (ambiguous)
    return { message: `the header has ${ambiguous.columns.length} columns ${quote(ambiguous.name)}: rename one` };
  const [ofCustomer, ...ofAttributes] = wanted.map(({ columns }) => columns[0]!);
  const cells = Object.entries(attributes).map(([, key], at) => ({
    column: ofAttributes[at]!,
    name: names[ofAttributes[at]! - 1]!,
    key,
  }));
  const twice = cells.find(({ column }, at) => cells.findIndex((other) => other.column === column) !== at);
  if (twice) return { message: `two members of columns.attributes name the column ${quote(twice.name)}` };
  const mapped = new Set([ofCustomer, ...ofAttributes]);
  const others = names
    .slice(0, named)
    .flatMap((name, at) => (mapped.has(at + 1) ? [] : [name === '' ? `column ${at + 1}` : name]));
  return {
    named,
    width: isSheet ? MAX_COLUMNS : names.length,
    customer: ofCustomer!,
    customerName: names[ofCustomer! - 1]!,
    ignoredCount: others.length,
    ignored: others.slice(0, MAX_SHOWN_NAMES).map((name) => shorten(name, MAX_CODE_POINTS)),
    cells: cells.toSorted((one, other) => one.column - other.column),
  };
}

/** Finds the columns with a name; if there is none, those that differ only in case, composition or white space. */
function columnFinder(names: readonly string[]): (wanted: string) => number[] {
  const columns = names.map((name, at) => ({ name, column: at + 1 }));
  const exact = Map.groupBy(columns, ({ name }) => name);
  const similar = Map.groupBy(columns, ({ name }) => folded(name));
  return (wanted) => (exact.get(wanted) ?? similar.get(folded(wanted)) ?? []).map(({ column }) => column);
}

function folded(name: string): string {
  return name.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
}

function sayLacking(lacking: string[], names: string[], isSheet: boolean): string {
  const hint = isSheet
    ? '. If the table stands in another sheet, set sheet'
    : names.length === 1
      ? '. If it has more, set delimiter'
      : '';
  return `the header has no ${lacking.length === 1 ? 'column' : 'columns'} ${sayNames(lacking)}; it has ${sayNames(names)}${hint}`;
}

function sayNames(names: string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length > MAX_SHOWN_NAMES ? `, and ${names.length - MAX_SHOWN_NAMES} more` : '';
  return names.slice(0, MAX_SHOWN_NAMES).map(quote).join(', ') + more;
}

export function wrongColumns(what: string, found: number, names: readonly string[]): RefusedRow {
  const message = `${what} has ${found} ${found === 1 ? 'column' : 'columns'} instead of ${names.length} (${names.join()})`;
  return { kind: 'failed', errorType: 'PARSING_FAILED', message };
}

export function ownColumns({ columns }: Pick<ImportFormat, 'columns'>): string[] {
  return columnNames({ columns, hasErrorColumns: false });
}
