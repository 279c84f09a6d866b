/** Limits of spreadsheet files, and the values that their cells show. */
import { refuse } from '../core/refusal.ts';
import type { Cell } from './cell.ts';

/** Limits of a spreadsheet format (Excel's specifications and limits). */
export type SheetLimits = {
  ending: string;
  /** Includes the row of column names at the start of each sheet. */
  rowsPerSheet: number;
  sheets: number;
  columns: number;
};

export const XLS_LIMITS: SheetLimits = { ending: '.xls', rowsPerSheet: 65_536, sheets: 16, columns: 256 };
export const XLSX_LIMITS: SheetLimits = { ending: '.xlsx', rowsPerSheet: 1_048_576, sheets: 16, columns: 16_384 };

/** Maximum length of a text in UTF-16 code units, as Excel counts. */
const MAX_TEXT_LENGTH = 32_767;

const shown = (count: number): string => count.toLocaleString('en-US');

export const refuseSheet = (reason: string): never => refuse(400, 'bad_request', `${reason}: ask for .csv instead`);

export function refuseManyRows({ ending, rowsPerSheet, sheets }: SheetLimits): never {
  return refuseSheet(
    `There are more rows than ${ending} holds (${shown((rowsPerSheet - 1) * sheets)}, on ${sheets} sheets)`,
  );
}

export function refuseManyColumns(limits: SheetLimits, columns: number): void {
  if (columns > limits.columns)
    refuseSheet(`There are ${shown(columns)} columns, and ${limits.ending} holds ${shown(limits.columns)}`);
}

/** Returns a cell's value; null if empty. Booleans become texts: Excel shows them in the reader's language. */
export function shownValue(cell: Cell, at: { row: number; column: string; ending: string }): string | number | null {
  if (cell === null || (typeof cell === 'number' && Number.isFinite(cell))) return cell;
  const text = String(cell);
  return text.length > MAX_TEXT_LENGTH ? refuseLongText(text.length, at) : text;
}

/** Refuses a text that Excel would cut or call damaged. */
function refuseLongText(
  length: number,
  { row, column, ending }: { row: number; column: string; ending: string },
): never {
  return refuseSheet(
    `Row ${shown(row)}, column ${column}: the text has ${shown(length)} characters, and a cell of ${ending} holds ` +
      shown(MAX_TEXT_LENGTH),
  );
}
