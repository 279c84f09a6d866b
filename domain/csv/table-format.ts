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

/** Returns whether a file with these first bytes, at least 4, may be .xlsx or an older Excel file, not text. */
export function isBinaryTable(head: Uint8Array): boolean {
  return isZip(head) || isCompoundFile(head);
}

export function isZip(head: Uint8Array): boolean {
  return ZIPS.some((mark) => begins(head, mark));
}

export function isCompoundFile(head: Uint8Array): boolean {
  return begins(head, COMPOUND_FILE);
}

const FOREIGN: [name: string, mark: number[]][] = [
  ['compressed with bzip2', [0x42, 0x5a, 0x68]],
  ['compressed with xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['compressed with LZMA', [0x5d, 0x00, 0x00]],
  ['compressed with zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['an archive of 7-Zip', [0x37, 0x7a, 0xbc, 0xaf]],
  ['an archive of RAR', [0x52, 0x61, 0x72, 0x21]],
  ['of Parquet', [0x50, 0x41, 0x52, 0x31]],
  ['a PDF', [0x25, 0x50, 0x44, 0x46]],
];

export function sayForeign(head: Uint8Array, encoding: Encoding | undefined): string | null {
  const foreign = FOREIGN.find(([, mark]) => begins(head, mark));
  if (foreign) return `The file is ${foreign[0]}: send it as CSV or .xlsx, which may be in a gzip or zip file`;
  if (encoding !== undefined || head.length < 4) return null;
  // In UTF-16 every second byte of Latin letters is 0.
  const zeros = [0, 1, 2, 3].map((at) => head[at] === 0).join();
  const found = zeros === 'false,true,false,true' ? 'utf-16le' : zeros === 'true,false,true,false' ? 'utf-16be' : null;
  return found && `The file is UTF-16 without a byte order mark: set encoding to ${found}`;
}

function begins(head: Uint8Array, mark: readonly number[]): boolean {
  return mark.every((byte, at) => head[at] === byte);
}

/** Maximum length of the text that marks cells without a value. */
export const MAX_NULL_MARKER = 64;

export const DECIMALS = ['.', ','] as const;
export type Decimal = (typeof DECIMALS)[number];

/** `lenient`: a midnight is accepted for a Date, and a day for a Datetime. */
export const DATE_RULES = ['strict', 'lenient'] as const;
export type DateRule = (typeof DATE_RULES)[number];
