/** Records of a BIFF8 workbook ([MS-XLS]; OpenOffice's "Microsoft Excel File Format" says what Excel needs). */

export type SheetValue = number | { text: number } | null;

/** A written sheet: its number of rows with the first one, and the end of each block of rows in `cells`. */
export type WrittenSheet = { name: string; rows: number; columns: number; cells: number; blockEnds: readonly number[] };

const record = (id: number, content: Buffer): Buffer => {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(id, 0);
  head.writeUInt16LE(content.length, 2);
  return Buffer.concat([head, content]);
};

const fixed = (...records: readonly (readonly [id: number, content: string])[]): Buffer =>
  Buffer.concat(records.map(([id, content]) => record(id, Buffer.from(content.replaceAll(' ', ''), 'hex'))));

const END = fixed([0x000a, '']);

const GLOBALS_BEFORE_TABS = Buffer.concat([
  // BOF of a workbook, INTERFACEHDR, MMS, INTERFACEEND
  fixed([0x0809, '0006 0500 bb0d cc07 00000000 06000000'], [0x00e1, 'b004'], [0x00c1, '0000'], [0x00e2, '']),
  // WRITEACCESS: the writer's name, padded with spaces
  record(0x005c, Buffer.concat([Buffer.from([8, 0, 0]), Buffer.from('Millrace'.padEnd(109))])),
  // CODEPAGE: UTF-16; DSF
  fixed([0x0042, 'b004'], [0x0161, '0000']),
]);

const FONT = [0x0031, 'c800 0000 ff7f 9001 0000 00 00 00 00 05 00 417269616c'] as const;
const styleFormat = (font: string, flags: string) =>
  [0x00e0, `${font} 0000 f5ff 2000 00 ${flags} 00000000 00000000 c020`] as const;

const GLOBALS_AFTER_TABS = Buffer.concat([
  // FNGROUPCOUNT; WINDOWPROTECT, PROTECT, PASSWORD, PROT4REV, PROT4REVPASS: none
  fixed([0x009c, '0e00'], [0x0019, '0000'], [0x0012, '0000'], [0x0013, '0000'], [0x01af, '0000'], [0x01bc, '0000']),
  // BACKUP, HIDEOBJ, WINDOW1, DATEMODE (from 1900), PRECISION (as stored), REFRESHALL, BOOKBOOL
  fixed(
    [0x0040, '0000'],
    [0x008d, '0000'],
    [0x003d, 'e001 5a00 cf3f 4e2a 3800 0000 0000 0100 5802'],
    [0x0022, '0000'],
    [0x000e, '0100'],
  ),
  fixed([0x01b7, '0000'], [0x00da, '0000']),
  // Four fonts, which Excel requires: Arial 10
  fixed(FONT, FONT, FONT, FONT),
  // Fifteen style formats, and number 15 for cells; the style "Normal"
  fixed(styleFormat('0000', '00')),
  ...['0100', '0100', '0200', '0200', ...Array.from({ length: 10 }, () => '0000')].map((font) =>
    fixed(styleFormat(font, 'f4')),
  ),
  fixed([0x00e0, '0000 0000 0100 2000 00 00 00000000 00000000 c020'], [0x0293, '0080 00ff']),
  // USESELFS
  fixed([0x0160, '0000']),
]);

const COUNTRY = fixed([0x008c, '0100 0100']);

/** Returns what precedes the shared strings, given their size and that of each sheet. */
export function workbookHead(sheets: readonly WrittenSheet[], stringsSize: number): Buffer {
  const tabs = Buffer.alloc(2 * sheets.length);
  for (let at = 0; at < sheets.length; at += 1) tabs.writeUInt16LE(at + 1, 2 * at);
  const before = Buffer.concat([GLOBALS_BEFORE_TABS, record(0x013d, tabs), GLOBALS_AFTER_TABS]);
  const boundSheetsSize = sheets.reduce((sum, { name }) => sum + 4 + 8 + name.length, 0);
  let position = before.length + boundSheetsSize + COUNTRY.length + stringsSize + END.length;
  const boundSheets = sheets.map((sheet) => {
    const content = Buffer.alloc(8 + sheet.name.length);
    content.writeUInt32LE(position, 0);
    content[6] = sheet.name.length;
    content.write(sheet.name, 8, 'latin1');
    position += sheetSize(sheet);
    return record(0x0085, content);
  });
  return Buffer.concat([before, ...boundSheets, COUNTRY]);
}

export const WORKBOOK_END = END;

// BOF of a sheet
const SHEET_BEGIN = fixed([0x0809, '0006 1000 bb0d cc07 00000000 06000000']);

const SHEET_SETTINGS = Buffer.concat([
  // CALCMODE, CALCCOUNT, REFMODE (A1), ITERATION, DELTA, SAVERECALC
  fixed(
    [0x000d, '0100'],
    [0x000c, '6400'],
    [0x000f, '0100'],
    [0x0011, '0000'],
    [0x0010, 'fca9f1d24d62503f'],
    [0x005f, '0100'],
  ),
  // PRINTHEADERS, PRINTGRIDLINES, GRIDSET, GUTS, DEFAULTROWHEIGHT, WSBOOL
  fixed(
    [0x002a, '0000'],
    [0x002b, '0000'],
    [0x0082, '0100'],
    [0x0080, '0000000000000000'],
    [0x0225, '0000 ff00'],
    [0x0081, 'c104'],
  ),
  // HEADER, FOOTER, HCENTER, VCENTER, SETUP (without a printer)
  fixed([0x0014, ''], [0x0015, ''], [0x0083, '0000'], [0x0084, '0000']),
  fixed([0x00a1, '0000 6400 0100 0100 0100 0400 0000 0000 000000000000e03f 000000000000e03f 0100']),
]);

const DEFAULT_COLUMN_WIDTH = fixed([0x0055, '0800']);
const DIMENSIONS_SIZE = 4 + 14;

/** Returns the end of a sheet. WINDOW2: grid, headings and zeros shown, first sheet in front. SELECTION: first cell. */
export const sheetTail = (isFirst: boolean): Buffer =>
  Buffer.concat([
    fixed([0x023e, `${isFirst ? 'b606' : 'b600'} 0000 0000 4000 0000 0000 0000 00000000`]),
    fixed([0x001d, '03 0000 0000 0000 0100 0000 0000 00 00']),
    END,
  ]);
const SHEET_END_SIZE = sheetTail(true).length;

const indexSize = ({ blockEnds }: WrittenSheet): number => 4 + 16 + 4 * blockEnds.length;

const headSize = (sheet: WrittenSheet): number =>
  SHEET_BEGIN.length + indexSize(sheet) + SHEET_SETTINGS.length + DEFAULT_COLUMN_WIDTH.length + DIMENSIONS_SIZE;

const sheetSize = (sheet: WrittenSheet): number => headSize(sheet) + sheet.cells + SHEET_END_SIZE;

export function workbookSize(sheets: readonly WrittenSheet[], stringsSize: number): number {
  return (
    workbookHead(sheets, stringsSize).length +
    stringsSize +
    END.length +
    sheets.reduce((sum, sheet) => sum + sheetSize(sheet), 0)
  );
}

/** Returns what precedes a sheet's cells; `position` is the sheet's start in the stream. */
export function sheetHead(sheet: WrittenSheet, position: number): Buffer {
  const settings = position + SHEET_BEGIN.length + indexSize(sheet);
  // INDEX: positions of the column widths and of the end of each block of rows
  const index = Buffer.alloc(16 + 4 * sheet.blockEnds.length);
  index.writeUInt32LE(sheet.rows, 8);
  index.writeUInt32LE(settings + SHEET_SETTINGS.length, 12);
  const cells = position + headSize(sheet);
  for (const [at, end] of sheet.blockEnds.entries()) index.writeUInt32LE(cells + end, 16 + 4 * at);
  const dimensions = Buffer.alloc(14);
  dimensions.writeUInt32LE(sheet.rows, 4);
  dimensions.writeUInt16LE(sheet.columns, 10);
  return Buffer.concat([
    SHEET_BEGIN,
    record(0x020b, index),
    SHEET_SETTINGS,
    DEFAULT_COLUMN_WIDTH,
    record(0x0200, dimensions),
  ]);
}

/** Number of rows in a block: descriptions of rows, then their cells, then the start of each row's cells (DBCELL). */
export const ROWS_A_BLOCK = 32;

const ROW_SIZE = 20;
const MAX_CELL_SIZE = 18;
const CELL_FORMAT = 15;

/** Returns the block's records and the position of DBCELL in them. */
export function rowBlock(
  firstRow: number,
  rows: readonly (readonly SheetValue[])[],
  columns: number,
): { bytes: Buffer; end: number } {
  const bytes = Buffer.allocUnsafe(rows.length * (ROW_SIZE + columns * MAX_CELL_SIZE + 2) + 8);
  for (let at = 0; at < rows.length; at += 1) writeRow(bytes, at * ROW_SIZE, firstRow + at, columns);
  let end = rows.length * ROW_SIZE;
  // The first distance leads from the second row's record to the first row's cells, the others from row to row.
  let from = ROW_SIZE;
  const distances: number[] = [];
  for (const [at, row] of rows.entries()) {
    distances.push(end - from);
    from = end;
    for (let column = 0; column < row.length; column += 1)
      end = writeCell(bytes, end, firstRow + at, column, row[column]!);
  }
  let last = head(bytes, end, 0x00d7, 4 + 2 * distances.length);
  last = bytes.writeUInt32LE(end, last);
  for (const distance of distances) last = bytes.writeUInt16LE(distance, last);
  return { bytes: bytes.subarray(0, last), end };
}

function head(bytes: Buffer, at: number, id: number, size: number): number {
  bytes.writeUInt16LE(id, at);
  return bytes.writeUInt16LE(size, at + 2);
}

function writeRow(bytes: Buffer, at: number, row: number, columns: number): void {
  let to = head(bytes, at, 0x0208, 16);
  to = bytes.writeUInt16LE(row, to);
  to = bytes.writeUInt16LE(0, to);
  to = bytes.writeUInt16LE(columns, to);
  to = bytes.writeUInt16LE(0x00ff, to);
  to = bytes.writeUInt32LE(0, to);
  bytes.writeUInt32LE(0x0100 | (CELL_FORMAT << 16), to);
}

const MIN_SMALL = -(2 ** 29);
const MAX_SMALL = 2 ** 29 - 1;

/** Writes a cell and returns its end. A whole number of 30 bits becomes an RK, any other number a NUMBER. */
function writeCell(bytes: Buffer, at: number, row: number, column: number, value: SheetValue): number {
  if (value === null) return at;
  if (typeof value !== 'number') {
    const to = cellHead(bytes, at, { id: 0x00fd, size: 10, row, column });
    return bytes.writeUInt32LE(value.text, to);
  }
  if (Number.isInteger(value) && value >= MIN_SMALL && value <= MAX_SMALL && !Object.is(value, -0)) {
    const to = cellHead(bytes, at, { id: 0x027e, size: 10, row, column });
    return bytes.writeInt32LE((value << 2) | 2, to);
  }
  const to = cellHead(bytes, at, { id: 0x0203, size: 14, row, column });
  return bytes.writeDoubleLE(value, to);
}

function cellHead(
  bytes: Buffer,
  at: number,
  { id, size, row, column }: { id: number; size: number; row: number; column: number },
): number {
  let to = head(bytes, at, id, size);
  to = bytes.writeUInt16LE(row, to);
  to = bytes.writeUInt16LE(column, to);
  return bytes.writeUInt16LE(CELL_FORMAT, to);
}
