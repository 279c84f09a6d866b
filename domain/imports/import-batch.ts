/** Checks the rows of a batch of an import: each becomes a change, an error or an empty cell. */
import { Buffer } from 'node:buffer';
import type { AttributeChange } from '../attributes/attribute-change.ts';
import { isSuspiciousId, newCustomerIdError } from '../attributes/customer-id.ts';
import { refused, type RefusedRow, sorDeleted } from '../attributes/value-row.ts';
import { type Bad, isCut, type Piece, recordBytes, type Run } from '../csv/csv-pieces.ts';
import { parseRun } from '../csv/csv-records.ts';
import { writeRecord } from '../csv/write-record.ts';
import { laneOf } from '../core/hash.ts';
import { quote, withoutCutWord } from '../text/text-limits.ts';
import { originalColumn, originalLine, rowFields } from './error-file.ts';
import type { ImportError } from './import-error.ts';
import { badRecordFailure, type TableCell, type TableLayout } from './import-file.ts';
import { checkRow, type RowContext } from './import-row.ts';

/** Rules for checking rows; `sorDeleted` once the SoR is gone. */
export type Rules = RowContext & {
  sorDeleted: boolean;
  /** Lines of an error file that come too late: they count, and change nothing. */
  overtaken?: ReadonlySet<number>;
};

/** A position in the first file of a chain of re-drives; column 0 is the whole row. */
export type OriginalPlace = { line: number; column: number };

/** Every row of some pieces as a change, an error or an empty cell. */
export type CheckedRows = {
  rowsIn: number;
  cellsEmpty: number;
  /** Filled cells of a table in columns without a name; they are not rows. */
  cellsUnnamed: number;
  suspiciousIds: number;
  changes: AttributeChange[];
  errors: ImportError[];
  /** For an error file: the row or cell of the first file that a change corrects, by the change's line. */
  corrects: Map<number, OriginalPlace>;
};

/** For each lane of an import, the offset in the file before which its rows are done. */
export type LaneCursors = readonly number[];

export function nothingChecked(lanes: LaneCursors): CheckedRows[] {
  return lanes.map(() => ({
    rowsIn: 0,
    cellsEmpty: 0,
    cellsUnnamed: 0,
    suspiciousIds: 0,
    changes: [],
    errors: [],
    corrects: new Map(),
  }));
}

/** Checks rows still to do, a lane a customer. `cutOffAt`: where a source broke off; a record that ends there fails. */
export function checkPieces(
  pieces: readonly Piece[],
  rules: Rules,
  lanes: LaneCursors,
  cutOffAt?: number,
  checked = nothingChecked(lanes),
): CheckedRows[] {
  for (const piece of pieces) {
    if (piece.kind === 'run') checkRun(piece, rules, { cursors: lanes, checked }, cutOffAt);
    else if (piece.offset >= lanes[0]!) addError(checked[0]!, badRecordError(piece));
  }
  return checked;
}

/** Returns whether a row has separators alone, as spreadsheets write emptied rows; it is skipped like an empty line. */
function isBlank(fields: readonly string[]): boolean {
  return fields[0] === '' && fields.every((field) => field === '');
}

/** Empties the fields that are the null marker, since CSV cannot distinguish a missing value from an empty text. */
function withoutMarkers(fields: string[], marker: string | undefined): string[] {
  return marker !== undefined && fields.includes(marker)
    ? fields.map((field) => (field === marker ? '' : field))
    : fields;
}

function withoutUnnamed<T>(fields: string[] | T, { columns, unnamedColumns = 0, layout }: Rules): string[] | T {
  if (unnamedColumns === 0 || layout !== undefined || !Array.isArray(fields)) return fields;
  const rest = fields.slice(columns);
  return rest.length <= unnamedColumns && rest.every((field) => field === '') ? fields.slice(0, columns) : fields;
}

type Lanes = { cursors: LaneCursors; checked: CheckedRows[] };

function checkRun(run: Run, rules: Rules, { cursors, checked }: Lanes, cutOffAt?: number): void {
  const customerAt = rules.layout === undefined ? 0 : rules.layout.customer - 1;
  for (const [index, parsed] of parseRun(run, rules.delimiter).entries()) {
    if (Array.isArray(parsed) && isBlank(parsed)) continue;
    const read =
      rules.hasErrorColumns && Array.isArray(parsed) ? rowFields(parsed, rules) : withoutUnnamed(parsed, rules);
    const record = Array.isArray(read) ? withoutMarkers(read, rules.nullMarker) : read;
    const isParsed = Array.isArray(record);
    const lane = isParsed ? laneOf(record[customerAt] ?? '', cursors.length) : 0;
    if (run.offset + run.starts[index]! < cursors[lane]!) continue;
    const rows = checked[lane]!;
    if (cutOffAt !== undefined && isCutOff(run, index, cutOffAt)) {
      addError(rows, recordError(run, index, CUT_OFF));
      continue;
    }
    if (isParsed && rules.layout !== undefined) {
      checkCells(run, index, record, rules, rows);
      continue;
    }
    const outcome = isParsed ? checkFields(record, rules) : record;
    const corrected = rules.hasErrorColumns && Array.isArray(parsed) ? originalPlace(parsed, rules) : null;
    if (outcome.kind === 'value' || outcome.kind === 'set') {
      rows.rowsIn += 1;
      if (isSuspiciousId(outcome.customerId)) rows.suspiciousIds += 1;
      if (!rules.overtaken?.has(run.lines[index]!)) rows.changes.push({ ...outcome, line: run.lines[index]! });
      if (corrected !== null) rows.corrects.set(run.lines[index]!, corrected);
    } else {
      const original = corrected === null ? {} : { originalLine: corrected.line, originalColumn: corrected.column };
      addError(rows, { ...recordError(run, index, outcome), ...original });
    }
  }
}

function originalPlace(fields: string[], rules: Rules): OriginalPlace | null {
  const line = originalLine(fields, rules);
  return line === null ? null : { line, column: originalColumn(fields, rules) };
}

function checkCells(run: Run, index: number, record: string[], rules: Rules, rows: CheckedRows): void {
  const table = tableCells(record, rules.layout!);
  if ('errorType' in table) return addError(rows, recordError(run, index, table));
  const line = run.lines[index]!;
  const ofCustomer = customerRefusal(table.cells, rules);
  if (ofCustomer !== null) return addError(rows, recordError(run, index, ofCustomer));
  rows.cellsUnnamed += table.unnamed;
  rows.rowsIn += table.empty;
  rows.cellsEmpty += table.empty;
  for (const cell of table.cells) {
    const outcome = checkFields(cell.fields, rules);
    if (outcome.kind === 'value' || outcome.kind === 'set') {
      rows.rowsIn += 1;
      if (isSuspiciousId(outcome.customerId)) rows.suspiciousIds += 1;
      rows.changes.push({ ...outcome, line });
    } else {
      addError(rows, cellError(line, cell, outcome, rules));
    }
  }
}

/** Returns the fault of a line's customer id, as one error for all its cells; null without fault or cell. */
function customerRefusal([cell]: TableCell[], rules: Rules): RefusedRow | null {
  if (cell === undefined || rules.sorDeleted) return null;
  const [customerId] = cell.fields;
  const error = newCustomerIdError(customerId);
  const name = rules.layout?.customerName;
  const message = name === undefined ? error : `in the column ${quote(name)}, ${error}`;
  return error === undefined ? null : refused('INVALID_CUSTOMER_ID', message!, customerId);
}

function addError(rows: CheckedRows, error: ImportError): void {
  rows.rowsIn += 1;
  rows.errors.push(error);
}

const CUT_OFF: RefusedRow = {
  kind: 'failed',
  errorType: 'FILE_TRANSFER_ERROR',
  message: 'the file breaks off in this line',
};

function checkFields(fields: string[], rules: Rules) {
  return rules.sorDeleted ? sorDeleted(fields[0]!, fields[1] ?? '') : checkRow(fields, rules);
}

function isCutOff(run: Run, index: number, fileBytes: number): boolean {
  return index === run.records - 1 && run.offset + run.ends[index]! === fileBytes;
}

/** Returns the error of the record on `line`; in a table that of the cell of the attribute `refused.key`. */
export function rowError(
  pieces: readonly Piece[],
  line: number,
  refused: RefusedRow,
  rules: Pick<Rules, 'layout' | 'delimiter'> = {},
): ImportError {
  const runs = pieces.filter((piece) => piece.kind === 'run');
  const run = runs.find((candidate) => line >= candidate.line && line <= candidate.lines.at(-1)!)!;
  const index = run.lines.indexOf(line);
  if (rules.layout === undefined) return recordError(run, index, refused);
  const table = tableCells(parseRun(run, rules.delimiter)[index] as string[], rules.layout) as { cells: TableCell[] };
  return cellError(
    line,
    table.cells.find(({ fields: [, key] }) => key === refused.key)!,
    refused,
    rules,
  );
}

/** Maximum length of an id that is shown: a longer one is wrong, and would be repeated in each error of its row. */
const MAX_SHOWN_ID = 1_024;

function cellError(
  line: number,
  { column, fields }: TableCell,
  refused: RefusedRow,
  { delimiter = ',' }: Pick<Rules, 'delimiter'>,
): ImportError {
  return {
    line,
    column,
    ...refusalOf(refused),
    originalLine: null,
    customerHash: null,
    raw: fields[0].length > MAX_SHOWN_ID ? null : storable(writeRecord(fields, delimiter)),
  };
}

const UNREAD = new Set<string>(['PARSING_FAILED', 'FILE_ENCODING']);

function recordError(run: Run, index: number, refused: RefusedRow): ImportError {
  return {
    line: run.lines[index]!,
    ...refusalOf(refused),
    raw: storable(recordBytes(run, index).toString()),
    originalLine: null,
    customerHash: null,
  };
}

function refusalOf(refused: RefusedRow) {
  return {
    errorType: refused.errorType,
    outcome: refused.kind,
    stage: UNREAD.has(refused.errorType) ? ('parsing' as const) : ('validation' as const),
    message: refused.message,
    customerId: detached(refused.customerId),
    attributeKey: detached(refused.key),
  };
}

/** Copies a text: in V8 a substring keeps its whole text in memory, and errors live longer than their run. */
function detached(text: string | undefined): string | null {
  return text === undefined ? null : Buffer.from(text).toString();
}

function badRecordError({ line, reason, sample }: Bad): ImportError {
  return {
    line,
    ...badRecordFailure(reason),
    outcome: 'failed',
    stage: 'parsing',
    customerId: null,
    attributeKey: null,
    raw: storable(isCut(reason) ? withoutCutWord(sample.toString()) : sample.toString()),
    originalLine: null,
    customerHash: null,
  };
}

/** Replaces NUL, which Postgres cannot store. */
function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}

/** Cuts a row of a table into mapped cells, counts empty and unnamed ones, or returns why it cannot. */
function tableCells(
  fields: readonly string[],
  layout: TableLayout,
): { cells: TableCell[]; empty: number; unnamed: number } | RefusedRow {
  const { named, width } = layout;
  if (fields.length < named || fields.slice(width).some((field) => field !== '')) {
    const message = `the line has ${fields.length} ${fields.length === 1 ? 'column' : 'columns'}, and the header ${named}`;
    return { kind: 'failed', errorType: 'PARSING_FAILED', message };
  }
  const customerId = fields[layout.customer - 1]!;
  const cells: TableCell[] = [];
  for (const { column, key } of layout.cells) {
    const value = fields[column - 1]!;
    if (value !== '') cells.push({ column, fields: [customerId, key, value] });
  }
  const unnamed = fields.length === named ? 0 : fields.slice(named).filter((field) => field !== '').length;
  return { cells, empty: layout.cells.length - cells.length, unnamed };
}
