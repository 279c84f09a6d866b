import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  RecentTexts,
  STRING_TABLE_COUNTS_AT,
  StringTable,
  stringTableCounts,
} from '../../domain/files/biff-strings.ts';
import {
  ROWS_A_BLOCK,
  rowBlock,
  sheetHead,
  sheetTail,
  type SheetValue,
  WORKBOOK_END,
  workbookHead,
  workbookSize,
  type WrittenSheet,
} from '../../domain/files/biff8.ts';
import type { Cell } from '../../domain/files/cell.ts';
import { compoundFileHead, compoundFileSize, compoundFileTail } from '../../domain/files/compound-file.ts';
import {
  refuseLargeFile,
  refuseManyColumns,
  refuseManyRows,
  shownValue,
  XLS_LIMITS,
} from '../../domain/files/sheet-limits.ts';

const PIECE_BYTES = 256 * 1024;

/**
 * Writes a real .xls file (BIFF8): sheets of 65,536 rows at most, each of which begins with the columns' names. A
 * workbook tells its sizes before its content, so cells and texts lie in files of `scratchFolder` until the last row;
 * memory holds a few pieces. Refuses, with the reason, what the format cannot hold.
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
    // An error here must not hide why the writer ended. The process's folder is removed later, with all that is left.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
  }
}

/** Bytes that are written once and then read once, in a file. */
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

/** How many texts of a column were looked for among the recent ones, and how many of them were there. */
type Repeats = { asked: number; found: number };

/**
 * A column whose first texts are hardly ever there, as ids and times are not, is stored as it comes: looking takes
 * long.
 */
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
  /** Of the block that is open. */
  #rows: SheetValue[][] = [];
  /** Blocks and texts that are not in their files yet. */
  #blocks: Buffer[] = [];
  #records: Buffer[] = [];
  /** How many bytes they have. */
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

  /** Returns the file. */
  async *end(): AsyncGenerator<Uint8Array> {
    this.#endBlock();
    this.#records.push(this.#table.take(true));
    await this.flush();
    const size = workbookSize(this.#sheets, this.#texts.size);
    if (compoundFileSize(size) === null) refuseLargeFile(XLS_LIMITS);
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
      if (isFirst) stringTableCounts(this.#uses, this.#table.texts).copy(piece, STRING_TABLE_COUNTS_AT);
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
