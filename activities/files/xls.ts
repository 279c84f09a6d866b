/**
 * Writes .xls files ([MS-XLS]; OpenOffice's "Microsoft Excel File Format" says what Excel needs): the workbook, and the
 * records of BIFF8 that it consists of.
 */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RecentTexts, StringTable } from '../../domain/files/biff-strings.ts';
import type { Cell } from '../../domain/files/cell.ts';
import { compoundFileHead, compoundFileSize, compoundFileTail } from '../../domain/files/compound-file.ts';
import {
  refuseManyColumns,
  refuseManyRows,
  refuseSheet,
  shownValue,
  XLS_LIMITS,
} from '../../domain/files/sheet-limits.ts';

const PIECE_BYTES = 256 * 1024;

/**
 * Writes a real .xls file (BIFF8): sheets of at most 65,536 rows, each with the columns' names first. A workbook's
 * sizes precede its content, so cells and texts lie in files of `scratchFolder` until the last row, and memory holds a
 * few pieces. Refuses, with the reason, what the format cannot hold.
 */
export async function* writeXls(
  columns: readonly string[],
  batches: AsyncIterable<readonly (readonly Cell[])[]>,
  scratchFolder: string,
): AsyncGenerator<Uint8Array> {
  refuseManyColumns(XLS_LIMITS, columns.length);
  const folder = await mkdtemp(join(scratchFolder, 'xls-'));
  const spools: Spool[] = [];
  try {
    const cells = await Spool.open(join(folder, 'cells'));
    spools.push(cells);
    const texts = await Spool.open(join(folder, 'texts'));
    spools.push(texts);
    const book = new Workbook(columns, cells, texts);
    for await (const rows of batches) {
      for (const row of rows) book.addRow(row);
      if (book.pending > PIECE_BYTES) await book.flush();
    }
    yield* book.end();
  } finally {
    for (const spool of spools) await spool.close();
    // An error here must not hide the writer's own. The process's folder is removed later, with everything in it.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
  }
}

/** A file that is written once and then read once. */
class Spool {
  readonly #file: FileHandle;
  size = 0;

  static async open(path: string): Promise<Spool> {
    return new Spool(await open(path, 'wx+', 0o600));
  }

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, from, bytes.length - from, this.size);
      from += bytesWritten;
      this.size += bytesWritten;
    }
  }

  async *read(from: number, until: number): AsyncGenerator<Buffer> {
    for (let at = from; at < until;) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(Math.min(PIECE_BYTES, until - at)), {
        position: at,
      });
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Number of a column's texts that were searched among recent ones, and that were found. */
type Repeats = { asked: number; found: number };

/** Texts of a column that are tried first; a column whose texts rarely repeat, such as ids, is not searched further. */
const SAMPLE = 1_000;

type OpenSheet = WrittenSheet & { blockEnds: number[] };

class Workbook {
  readonly #columns: readonly string[];
  readonly #cells: Spool;
  readonly #texts: Spool;
  readonly #table = new StringTable();
  readonly #recent = new RecentTexts();
  readonly #repeats: Repeats[];
  readonly #sheets: OpenSheet[] = [];
  #sheet: OpenSheet;
  #rows: SheetValue[][] = [];
  /** Blocks and texts that are not in their files yet. */
  #blocks: Buffer[] = [];
  #records: Buffer[] = [];
  pending = 0;
  #uses = 0;
  #rowsOfData = 0;

  constructor(columns: readonly string[], cells: Spool, texts: Spool) {
    this.#columns = columns;
    this.#repeats = columns.map(() => ({ asked: 0, found: 0 }));
    this.#cells = cells;
    this.#texts = texts;
    this.#sheet = this.#beginSheet();
  }

  addRow(row: readonly Cell[]): void {
    if (this.#sheet.rows + this.#rows.length === XLS_LIMITS.rowsPerSheet) {
      if (this.#sheets.length === XLS_LIMITS.sheets) refuseManyRows(XLS_LIMITS);
      this.#endBlock();
      this.#sheet = this.#beginSheet();
    }
    this.#rowsOfData += 1;
    this.#addRow(row);
  }

  async flush(): Promise<void> {
    const [blocks, records] = [this.#blocks, this.#records];
    [this.#blocks, this.#records] = [[], []];
    this.pending = 0;
    if (blocks.length > 0) await this.#cells.write(Buffer.concat(blocks));
    if (records.length > 0) await this.#texts.write(Buffer.concat(records));
  }

  async *end(): AsyncGenerator<Uint8Array> {
    this.#endBlock();
    this.#records.push(this.#table.take(true));
    await this.flush();
    const size = workbookSize(this.#sheets, this.#texts.size);
    if (compoundFileSize(size) === null) refuseSheet('The file would be larger than .xls can be (2 GiB)');
    yield compoundFileHead(size);
    yield workbookHead(this.#sheets, this.#texts.size);
    yield* this.#readTexts();
    yield WORKBOOK_END;
    yield* this.#readSheets();
    yield* compoundFileTail('Workbook', size);
  }

  async *#readTexts(): AsyncGenerator<Buffer> {
    let isFirst = true;
    for await (const piece of this.#texts.read(0, this.#texts.size)) {
      if (isFirst) this.#table.writeCounts(piece, this.#uses);
      isFirst = false;
      yield piece;
    }
  }

  async *#readSheets(): AsyncGenerator<Buffer> {
    let position = workbookHead(this.#sheets, this.#texts.size).length + this.#texts.size + WORKBOOK_END.length;
    let cells = 0;
    for (const [at, sheet] of this.#sheets.entries()) {
      const [head, tail] = [sheetHead(sheet, position), sheetTail(at === 0)];
      yield head;
      yield* this.#cells.read(cells, cells + sheet.cells);
      yield tail;
      position += head.length + sheet.cells + tail.length;
      cells += sheet.cells;
    }
  }

  #beginSheet(): OpenSheet {
    const sheet = {
      name: `Sheet${this.#sheets.length + 1}`,
      rows: 0,
      columns: this.#columns.length,
      cells: 0,
      blockEnds: [],
    };
    this.#sheets.push(sheet);
    this.#sheet = sheet;
    this.#addRow(this.#columns);
    return sheet;
  }

  #addRow(row: readonly Cell[]): void {
    this.#rows.push(row.map((cell, at) => this.#valueOf(cell, at)));
    if (this.#rows.length === ROWS_A_BLOCK) this.#endBlock();
  }

  #valueOf(cell: Cell, at: number): SheetValue {
    if (cell === null) return null;
    const value = shownValue(cell, { row: this.#rowsOfData, column: this.#columns[at]!, ending: XLS_LIMITS.ending });
    if (typeof value !== 'string') return value;
    this.#uses += 1;
    return { text: this.#indexOf(value, this.#repeats[at]!) };
  }

  #indexOf(text: string, repeats: Repeats): number {
    if (repeats.asked === SAMPLE && repeats.found < SAMPLE / 10) return this.#addText(text);
    const known = this.#recent.find(text);
    if (repeats.asked < SAMPLE) {
      repeats.asked += 1;
      if (known !== undefined) repeats.found += 1;
    }
    if (known !== undefined) return known;
    const index = this.#addText(text);
    this.#recent.remember(text, index);
    return index;
  }

  #addText(text: string): number {
    const index = this.#table.add(text);
    if (this.#table.size > PIECE_BYTES / 2) {
      const records = this.#table.take();
      this.#records.push(records);
      this.pending += records.length;
    }
    return index;
  }

  #endBlock(): void {
    if (this.#rows.length === 0) return;
    const sheet = this.#sheet;
    const { bytes, end } = rowBlock(sheet.rows, this.#rows, sheet.columns);
    sheet.blockEnds.push(sheet.cells + end);
    sheet.cells += bytes.length;
    sheet.rows += this.#rows.length;
    this.#blocks.push(bytes);
    this.pending += bytes.length;
    this.#rows = [];
  }
}

type SheetValue = number | { text: number } | null;

/** A written sheet: its number of rows with the first one, and the end of each block of rows in `cells`. */
type WrittenSheet = { name: string; rows: number; columns: number; cells: number; blockEnds: readonly number[] };

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
function workbookHead(sheets: readonly WrittenSheet[], stringsSize: number): Buffer {
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

const WORKBOOK_END = END;

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
const sheetTail = (isFirst: boolean): Buffer =>
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

function workbookSize(sheets: readonly WrittenSheet[], stringsSize: number): number {
  return (
    workbookHead(sheets, stringsSize).length +
    stringsSize +
    END.length +
    sheets.reduce((sum, sheet) => sum + sheetSize(sheet), 0)
  );
}

/** Returns what precedes a sheet's cells; `position` is the sheet's start in the stream. */
function sheetHead(sheet: WrittenSheet, position: number): Buffer {
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
const ROWS_A_BLOCK = 32;

const ROW_SIZE = 20;
const MAX_CELL_SIZE = 18;
const CELL_FORMAT = 15;

/** Returns the block's records and the position of DBCELL in them. */
function rowBlock(
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
  let last = recordHead(bytes, end, 0x00d7, 4 + 2 * distances.length);
  last = bytes.writeUInt32LE(end, last);
  for (const distance of distances) last = bytes.writeUInt16LE(distance, last);
  return { bytes: bytes.subarray(0, last), end };
}

function recordHead(bytes: Buffer, at: number, id: number, size: number): number {
  bytes.writeUInt16LE(id, at);
  return bytes.writeUInt16LE(size, at + 2);
}

function writeRow(bytes: Buffer, at: number, row: number, columns: number): void {
  let to = recordHead(bytes, at, 0x0208, 16);
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
  let to = recordHead(bytes, at, id, size);
  to = bytes.writeUInt16LE(row, to);
  to = bytes.writeUInt16LE(column, to);
  return bytes.writeUInt16LE(CELL_FORMAT, to);
}
