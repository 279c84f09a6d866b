import { Buffer } from 'node:buffer';
import type { AttributeChange } from '../attributes/attribute-change.ts';
import { type RefusedRow, sorDeleted } from '../attributes/value-row.ts';
import { isCut, recordBytes, type Bad, type Piece, type Run } from '../core/csv-pieces.ts';
import { parseRun } from '../core/csv-records.ts';
import { laneOf } from '../core/lane.ts';
import { withoutCutWord } from '../core/text-limits.ts';
import { originalLine, rowFields } from './error-file.ts';
import type { ImportError } from './import-error.ts';
import { badRecordFailure } from './import-file.ts';
import { checkRow, type RowContext } from './import-row.ts';

/** What the rows are checked against; `sorDeleted` once the SoR is gone. */
export type Rules = RowContext & { sorDeleted: boolean };

/** Every row of some pieces is either a change or an error. */
export type CheckedRows = {
  rowsIn: number;
  changes: AttributeChange[];
  errors: ImportError[];
  /** Of an error file: the line of a change, and the line of the first file that it corrects. */
  corrects: Map<number, number>;
};

/**
 * The lanes that an import's rows are spread over: for each of them the offset in the file before which its
 * rows are done.
 */
export type LaneCursors = readonly number[];

/** What each lane has before the first piece. */
export function nothingChecked(lanes: LaneCursors): CheckedRows[] {
  return lanes.map(() => ({ rowsIn: 0, changes: [], errors: [], corrects: new Map() }));
}

/**
 * Parses some pieces and checks their rows by the rules of the import; adds to each lane's `checked` those of its rows
 * that are still to do. All rows of a customer are one lane's; records without a customer are the first lane's.
 * `cutOffAt` is the size of a file whose source broke off: a record that ends there may lack its own end, and fails.
 */
export function checkPieces(
  pieces: readonly Piece[], rules: Rules, lanes: LaneCursors, cutOffAt?: number, checked = nothingChecked(lanes),
): CheckedRows[] {
  for (const piece of pieces) {
    if (piece.kind === 'run') checkRun(piece, rules, { cursors: lanes, checked }, cutOffAt);
    else if (piece.offset >= lanes[0]!) addError(checked[0]!, badRecordError(piece));
  }
  return checked;
}

type Lanes = { cursors: LaneCursors; checked: CheckedRows[] };

function checkRun(run: Run, rules: Rules, { cursors, checked }: Lanes, cutOffAt?: number): void {
  for (const [index, parsed] of parseRun(run, rules.delimiter).entries()) {
    const record = rules.hasErrorColumns && Array.isArray(parsed) ? rowFields(parsed, rules) : parsed;
    const isParsed = Array.isArray(record);
    const lane = isParsed ? laneOf(record[0]!, cursors.length) : 0;
    if (run.offset + run.starts[index]! < cursors[lane]!) continue;
    const rows = checked[lane]!;
    if (cutOffAt !== undefined && isCutOff(run, index, cutOffAt)) {
      addError(rows, recordError(run, index, CUT_OFF));
      continue;
    }
    const outcome = isParsed ? checkFields(record, rules) : record;
    const corrected = rules.hasErrorColumns && Array.isArray(parsed) ? originalLine(parsed, rules) : null;
    if (outcome.kind === 'value' || outcome.kind === 'set') {
      rows.rowsIn += 1;
      rows.changes.push({ ...outcome, line: run.lines[index]! });
      if (corrected !== null) rows.corrects.set(run.lines[index]!, corrected);
    } else {
      addError(rows, { ...recordError(run, index, outcome), originalLine: corrected });
    }
  }
}

function addError(rows: CheckedRows, error: ImportError): void {
  rows.rowsIn += 1;
  rows.errors.push(error);
}

const CUT_OFF: RefusedRow = { kind: 'failed', errorType: 'FILE_TRANSFER_ERROR', message: 'the file breaks off in this line' };

function checkFields(fields: string[], rules: Rules) {
  return rules.sorDeleted ? sorDeleted(fields[0]!, fields[1] ?? '') : checkRow(fields, rules);
}

/** The last record of a file, where no line end follows it. */
function isCutOff(run: Run, index: number, fileBytes: number): boolean {
  return index === run.records - 1 && run.offset + run.ends[index]! === fileBytes;
}

/** The error of the record that starts on `line` of one of the pieces. */
export function rowError(pieces: readonly Piece[], line: number, refused: RefusedRow): ImportError {
  const runs = pieces.filter((piece) => piece.kind === 'run');
  const run = runs.find((candidate) => line >= candidate.line && line <= candidate.lines.at(-1)!)!;
  return recordError(run, run.lines.indexOf(line), refused);
}

/** The errors of rows whose fields nobody could look at. */
const UNREAD = new Set<string>(['PARSING_FAILED', 'FILE_ENCODING']);

function recordError(run: Run, index: number, refused: RefusedRow): ImportError {
  return {
    line: run.lines[index]!,
    errorType: refused.errorType,
    outcome: refused.kind,
    stage: UNREAD.has(refused.errorType) ? 'parsing' : 'validation',
    message: refused.message,
    customerId: detached(refused.customerId),
    attributeKey: detached(refused.key),
    raw: storable(recordBytes(run, index).toString()),
    originalLine: null,
    customerHash: null,
  };
}

/** A copy: in V8 a part of a text keeps the whole of it, and an error is kept for longer than the run it comes from. */
function detached(text: string | undefined): string | null {
  return text === undefined ? null : Buffer.from(text).toString();
}

function badRecordError({ line, reason, sample }: Bad): ImportError {
  return {
    line, ...badRecordFailure(reason), outcome: 'failed', stage: 'parsing', customerId: null, attributeKey: null,
    raw: storable(isCut(reason) ? withoutCutWord(sample.toString()) : sample.toString()), originalLine: null, customerHash: null,
  };
}

/** Postgres text holds no NUL. */
function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}
