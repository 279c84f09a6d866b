import type { Delimiter, Encoding } from './csv-bytes.ts';

/** What is set of how a file of rows is read; what is not set is found in the file. */
export type TableSettings = { delimiter?: Delimiter | undefined; encoding?: Encoding | undefined; sheet?: string | undefined };

/** How a file is read: the rows of an .xlsx file are those of a sheet, and come with commas between their cells. */
export type TableFormat = {
  format: 'csv' | 'xlsx';
  delimiter: Delimiter;
  encoding: Encoding;
  sheet: string | null;
  /** It came in a zip file. */
  isZip: boolean;
};

/** How the records of a file are separated: the lines of a sheet are its rows, whatever line ends their cells have. */
export type TableSyntax = Pick<TableFormat, 'format' | 'delimiter'>;

/** Of a zip file that holds something, and of one that does not. */
const ZIPS = [[0x50, 0x4b, 0x03, 0x04], [0x50, 0x4b, 0x05, 0x06]];
/** What older versions of Excel write, and the newer ones where a password protects the file (MS-CFB 2.2). */
const COMPOUND_FILE = [0xd0, 0xcf, 0x11, 0xe0];

/** Whether a file that begins with these bytes, at least 4 of it, is none of text: it may be .xlsx, or what Excel wrote before. */
export function isBinaryTable(head: Uint8Array): boolean {
  return isZip(head) || isCompoundFile(head);
}

export function isZip(head: Uint8Array): boolean {
  return ZIPS.some((mark) => begins(head, mark));
}

export function isCompoundFile(head: Uint8Array): boolean {
  return begins(head, COMPOUND_FILE);
}

function begins(head: Uint8Array, mark: readonly number[]): boolean {
  return mark.every((byte, at) => head[at] === byte);
}

/** What stands before the decimals of a number. */
export const DECIMALS = ['.', ','] as const;
export type Decimal = typeof DECIMALS[number];
