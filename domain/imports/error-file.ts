/** Error files of imports: writes failed rows with their errors, and reads corrected ones. */
import type { RefusedRow } from '../attributes/value-row.ts';
import { parseRecord } from '../csv/csv-records.ts';
import { writeRecord } from '../csv/write-record.ts';
import { type ImportError, isOfErased } from './import-error.ts';
import { ERROR_COLUMNS } from './import-columns.ts';
import { columnNames, type ImportFormat, isOverLimit, ownColumns, wrongColumns } from './import-file.ts';

type Columns = Pick<ImportFormat, 'columns' | 'hasErrorColumns' | 'delimiter' | 'layout'>;

const REPLACEMENT = '\uFFFD';

/** Returns the header of an import's error file: the import's own columns, and those of the error. */
export function errorFileHeader({ columns }: Pick<Columns, 'columns'>): string[] {
  return columnNames({ columns, hasErrorColumns: true });
}

/**
 * Returns an error file's row; null for an error of the whole file and for an erased person's row. A record that does
 * not split stands in `original`. One not kept whole is not shown: a corrected part would be imported without its end.
 */
export function errorFileRow(error: ImportError, format: Columns): string[] | null {
  if (error.line === 0 || isOfErased(error)) return null;
  const nothing = ownColumns(format).map(() => '');
  // A row of a table has more columns than a row here.
  const isOfLine = format.layout !== undefined && (error.column ?? 0) === 0;
  if (error.raw === null || !isWhole(error) || isOfLine) {
    const again = isOfLine ? `. ${IMPORT_LINES_AGAIN}` : '';
    const reason = `${error.message}: correct it in the file that was imported, at line ${error.line}${again}`;
    return [...nothing, shownLine(error, null, format), error.errorType, reason, ''];
  }
  const record = readRaw(error.raw, error, format);
  const fields = record && isReadable(error) ? shownFields(record, format) : null;
  const original = fields ? '' : originalText(error.raw, record, format);
  return [...(fields ?? nothing), shownLine(error, record, format), error.errorType, error.message, original];
}

const IMPORT_LINES_AGAIN =
  'Then import the corrected lines below their header as a table, with redrive_of and columns ' +
  '(millrace redrive with --customer and --map)';

/** Returns the line in the first file; a row of an error file without a line has none. */
function shownLine({ line, column = 0 }: ImportError, record: string[] | null, format: Columns): string {
  if (!format.hasErrorColumns) return sayPlace(line, column);
  const original = record && originalLine(record, format);
  return original === null ? '' : sayPlace(original, originalColumn(record!, format));
}

/** Uses words, since a spreadsheet would read 12:3 as a time, and 12.3 as a number. */
function sayPlace(line: number, column: number): string {
  return column === 0 ? String(line) : `${line} column ${column}`;
}

const PLACE = /^([1-9]\d{0,14})(?: column ([1-9]\d{0,4}))?$/;

function isWhole({ errorType, message }: ImportError): boolean {
  return errorType !== 'FILE_TRANSFER_ERROR' && !isOverLimit(message);
}

function isReadable({ errorType }: ImportError): boolean {
  return errorType !== 'PARSING_FAILED' && errorType !== 'FILE_ENCODING';
}

function readRaw(raw: string, error: ImportError, { hasErrorColumns, delimiter }: Columns): string[] | null {
  if (!hasErrorColumns && !isReadable(error)) return null;
  const record = parseRecord(raw, delimiter);
  return Array.isArray(record) ? record : null;
}

/** Returns the fields to show in columns. Empty ones stay out: they would look like a row to fill in. */
function shownFields(record: string[], format: Columns): string[] | null {
  const fields = rowFields(record, format);
  return Array.isArray(fields) && fields.length === format.columns && !isEmpty(fields) ? fields : null;
}

function originalText(raw: string, record: string[] | null, format: Columns): string {
  if (!format.hasErrorColumns || !record || !hasAllColumns(record, format)) return raw;
  const own = record.slice(0, format.columns);
  return isEmpty(own) ? record.at(-1)! : writeRecord(own, format.delimiter ?? ',');
}

/** Returns a row's fields for `checkRow`: its own, or else those in `original`. Refuses text that is still damaged. */
export function rowFields(fields: string[], format: Columns): string[] | RefusedRow {
  if (!format.hasErrorColumns) return fields;
  if (!hasAllColumns(fields, format)) return wrongColumns('the line', fields.length, columnNames(format));
  const own = fields.slice(0, format.columns);
  const original = fields.at(-1)!;
  const isDamaged = fields[format.columns + 1] === 'FILE_ENCODING' && [...own, original].join().includes(REPLACEMENT);
  if (isDamaged) return STILL_DAMAGED;
  if (!isEmpty(own)) return own;
  return original === '' ? NOTHING : originalFields(original, format);
}

function originalFields(original: string, format: Columns): string[] | RefusedRow {
  const record = parseRecord(original, format.delimiter);
  if (!Array.isArray(record)) return { ...record, message: `the column original: ${record.message}` };
  const names = ownColumns(format);
  return record.length === names.length ? record : wrongColumns('the record in original', record.length, names);
}

export function originalLine(fields: readonly string[], format: Columns): number | null {
  if (!format.hasErrorColumns || !hasAllColumns(fields, format)) return null;
  const [, line] = PLACE.exec(fields[format.columns]!) ?? [];
  return line === undefined ? null : Number(line);
}

/** Returns the column of the cell that a row with an original line corrects; 0 for a whole row. */
export function originalColumn(fields: readonly string[], { columns }: Columns): number {
  const [, , column = '0'] = PLACE.exec(fields[columns]!) ?? [];
  return Number(column);
}

function hasAllColumns(fields: readonly string[], { columns }: Columns): boolean {
  return fields.length === columns + ERROR_COLUMNS.length;
}

function isEmpty(fields: readonly string[]): boolean {
  return fields.every((field) => field === '');
}

const NOTHING: RefusedRow = {
  kind: 'failed',
  errorType: 'PARSING_FAILED',
  message: 'nothing to import in this line: fill in the columns, or original',
};
const STILL_DAMAGED: RefusedRow = {
  kind: 'failed',
  errorType: 'FILE_ENCODING',
  message: `the line still has ${REPLACEMENT} where the first file was not UTF-8: write what it should be, or empty error_type`,
};
