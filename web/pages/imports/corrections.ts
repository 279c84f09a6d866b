/** Corrected rows of an import: cells of the grid, the file that is sent, and mistakes that rows share. */
import type { ImportError, ImportProgress } from '../../../api/client.ts';
import { writeRecord } from '../../../domain/csv/write-record.ts';
import { ERROR_COLUMNS, V3_COLUMNS } from '../../../domain/imports/import-columns.ts';

/** A refused row, with the texts that stand in the error file. */
export type Refused = {
  id: string;
  line: string;
  type: ImportError['error_type'];
  message: string;
  /** The row's own columns; one text if it could not be cut into them, none if it was not kept whole. */
  was: readonly string[];
  /** All columns of the error file. */
  file: readonly string[];
};

/** Column of the mistake, by the type of error; others are of the row as a whole. */
const WRONG: Partial<Record<NonNullable<ImportError['error_type']>, number>> = {
  INVALID_CUSTOMER_ID: 0,
  EMPTY_KEY: 1,
  TOO_LONG_KEY: 1,
  UNDEFINED_ATTRIBUTE: 1,
  DISABLED_ATTRIBUTE: 1,
  EMPTY_VALUE: 2,
  INVALID_VALUE: 2,
  TOO_LONG_VALUE: 2,
  TOO_LONG_SET_SIZE: 2,
  INVALID_ACTION: 3,
};

export function wrongCell({ type, was }: Refused): number | null {
  if (was.length === 1) return 0;
  return (type === undefined ? undefined : WRONG[type]) ?? null;
}

/** Names of the columns that the rows of an import have of their own. */
export function columnsOf(rows: readonly Refused[]): string[] {
  const width = rows.find(({ was }) => was.length > 1)?.was.length ?? V3_COLUMNS.length;
  return V3_COLUMNS.slice(0, width);
}

/** Returns what the grid shows of an error; null for one that no row of the error file has. */
export function refusedOf({ cells, line, column, error_type: type, message }: ImportError): Refused | null {
  if (cells === undefined || cells === null) return null;
  const own = cells.slice(0, -ERROR_COLUMNS.length);
  const [shownLine, , reason, original] = cells.slice(-ERROR_COLUMNS.length) as [string, string, string, string];
  const isEmpty = own.every((text) => text === '');
  return {
    id: `${line} ${column ?? ''}`,
    line: shownLine === '' ? String(line) : shownLine,
    type,
    message: reason === '' ? message : reason,
    was: isEmpty ? (original === '' ? [] : [original]) : own,
    file: cells,
  };
}

/** Writes rows with their corrected texts as an error file, as `redrive_of` takes it. */
export function correctedFile(
  rows: readonly { row: Refused; cells: readonly string[] }[],
  delimiter: NonNullable<ImportProgress['file']>['delimiter'],
): File {
  const width = rows[0]!.row.file.length - ERROR_COLUMNS.length;
  const records = [
    [...V3_COLUMNS.slice(0, width), ...ERROR_COLUMNS],
    ...rows.map(({ row: { file, was }, cells }) =>
      was.length === 1 ? [...file.slice(0, -1), cells[0]!] : [...cells, ...file.slice(width)],
    ),
  ];
  return new File([records.map((record) => `${writeRecord(record, delimiter)}\r\n`).join('')], 'errors.csv', {
    type: 'text/csv',
  });
}

export type SharedMistake = {
  /** Says what the rows have, after their number. */
  says: string;
  /** A setting with which the whole file could be sent again. */
  setting?: string;
  action: string;
  ids: readonly string[];
  cell: number;
  turn: (text: string) => string;
};

type Mistake = Omit<SharedMistake, 'ids'> & { is: (text: string, row: Refused) => boolean };

const isNumber = ({ message }: Refused): boolean => message.includes('is not a number');
const isDay = ({ message }: Refused): boolean => message.includes('is no day');
const isBoolean = ({ message }: Refused): boolean => message.includes('is none of true');

const DECIMAL_COMMA = /^-?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+$/;
const SPACED_NUMBER = /^-?\d{1,3}(?:[ \u{a0}\u{202f}']\d{3})+(?:\.\d+)?$/u;
const DOTTED_DAY = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/;
const YES = /^(?:yes|y|1|on|true)$/i;
const NO = /^(?:no|n|0|off|false)$/i;
const ACTION = /^(?:upsert|add|remove|del)$/i;

/** Mistakes that a press can turn in all rows that share them. */
const MISTAKES: readonly Mistake[] = [
  {
    says: 'have a decimal comma',
    setting: 'decimal: comma',
    action: 'Turn the commas into points',
    cell: 2,
    is: (text, row) => isNumber(row) && DECIMAL_COMMA.test(text),
    turn: (text) => text.replaceAll('.', '').replace(',', '.'),
  },
  {
    says: 'have spaces or apostrophes between thousands',
    action: 'Take them out',
    cell: 2,
    is: (text, row) => isNumber(row) && SPACED_NUMBER.test(text),
    turn: (text) => text.replaceAll(/[ \u{a0}\u{202f}']/gu, ''),
  },
  {
    says: 'have a day as DD.MM.YYYY',
    action: 'Write them as YYYY-MM-DD',
    cell: 2,
    is: (text, row) => isDay(row) && DOTTED_DAY.test(text),
    turn: (text) =>
      text.replace(
        DOTTED_DAY,
        (_, day: string, month: string, year: string) => `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`,
      ),
  },
  {
    says: 'have another word for true or false',
    action: 'Write true and false',
    cell: 2,
    is: (text, row) => isBoolean(row) && (YES.test(text) || NO.test(text)),
    turn: (text) => (YES.test(text) ? 'true' : 'false'),
  },
  {
    says: 'have a space before or after the value',
    action: 'Take these spaces away',
    cell: 2,
    is: (text, row) => (isNumber(row) || isDay(row) || isBoolean(row)) && text.trim() !== text && text.trim() !== '',
    turn: (text) => text.trim(),
  },
  {
    says: 'have an action that is not in capitals',
    action: 'Write it in capitals',
    cell: 3,
    is: (text, { type }) => type === 'INVALID_ACTION' && ACTION.test(text.trim()),
    turn: (text) => text.trim().toUpperCase(),
  },
];

/** Fewer rows are corrected sooner by hand. */
const LEAST_SHARED = 2;

/** Returns the mistakes that several rows share, the most frequent first. `textOf` returns the text of a cell now. */
export function sharedMistakes(
  rows: readonly Refused[],
  textOf: (row: Refused, cell: number) => string | undefined,
): SharedMistake[] {
  return MISTAKES.flatMap(({ is, ...mistake }) => {
    const ids = rows
      .filter((row) => {
        const text = row.was.length > 1 ? textOf(row, mistake.cell) : undefined;
        return text !== undefined && is(text, row);
      })
      .map(({ id }) => id);
    return ids.length < LEAST_SHARED ? [] : [{ ...mistake, ids }];
  }).toSorted((one, other) => other.ids.length - one.ids.length);
}
