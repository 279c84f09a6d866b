/** Formats of files with rows: CSV, .xlsx and zip files of them. */
import type { Delimiter, Encoding } from './csv-bytes.ts';

/** Settings of how a file of rows is read; missing ones are found in the file. */
export type TableSettings = {
  delimiter?: Delimiter | undefined;
  encoding?: Encoding | undefined;
  sheet?: string | undefined;
};

/** How a file is read. Rows of an .xlsx file become records with commas between the cells. */
export type TableFormat = {
  format: 'csv' | 'xlsx';
  delimiter: Delimiter;
  encoding: Encoding;
  sheet: string | null;
  isZip: boolean;
};

/** How the records of a file are separated. Rows of a sheet count as lines, whatever line ends their cells have. */
export type TableSyntax = Pick<TableFormat, 'format' | 'delimiter'>;

const ZIPS = [
  [0x50, 0x4b, 0x03, 0x04],
  [0x50, 0x4b, 0x05, 0x06],
];
/** Signature of older Excel files, and of newer ones that a password protects (MS-CFB 2.2). */
const COMPOUND_FILE = [0xd0, 0xcf, 0x11, 0xe0];

/** Returns whether a file with these first bytes, at least 4, may be .xlsx or a zip file with a table. */
export function isZip(head: Uint8Array): boolean {
  return ZIPS.some((mark) => begins(head, mark));
}

/** Returns whether a file with these first bytes, at least 4, is an older Excel file, or one with a password. */
export function isCompoundFile(head: Uint8Array): boolean {
  return begins(head, COMPOUND_FILE);
}

function begins(head: Uint8Array, mark: readonly number[]): boolean {
  return mark.every((byte, at) => head[at] === byte);
}

/** Maximum number of columns of an Excel file, and of any table. */
export const MAX_COLUMNS = 16_384;

/** Maximum length of the text that marks cells without a value. */
export const MAX_NULL_MARKER = 64;

export const DECIMALS = ['.', ','] as const;
export type Decimal = (typeof DECIMALS)[number];

/** `lenient`: a midnight is accepted for a Date, and a day for a Datetime. */
export const DATE_RULES = ['strict', 'lenient'] as const;
export type DateRule = (typeof DATE_RULES)[number];
