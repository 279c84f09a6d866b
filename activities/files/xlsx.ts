/** Writes .xlsx files row by row. */
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { Cell } from '../../domain/files/cell.ts';
import { refuseManyColumns, refuseManyRows, shownValue, XLSX_LIMITS } from '../../domain/files/sheet-limits.ts';
import {
  columnLetters,
  sheetPath,
  XLSX_SHEET_BEGIN,
  XLSX_SHEET_END,
  xlsxParts,
  xlsxRow,
} from '../../domain/files/xlsx-parts.ts';

const PIECE_CHARACTERS = 64 * 1024;
/** Maximum size of a sheet: a part of 4 GiB needs a ZIP64 entry, which some readers don't know. */
const MAX_SHEET_CHARACTERS = 1024 ** 3;
/** Four times as fast as the usual level. */
const COMPRESSION_LEVEL = 1;

/**
 * Writes an .xlsx file: sheets of at most 1,048,576 rows, each with the columns' names first. Rows are streamed and not
 * kept. Refuses, with the reason, what the format cannot hold.
 */
export async function* writeXlsx(
  columns: readonly string[],
  batches: AsyncIterable<readonly (readonly Cell[])[]>,
): AsyncGenerator<Uint8Array> {
  refuseManyColumns(XLSX_LIMITS, columns.length);
  const rows = new Rows(batches);
  const zip = new ZipFile();
  const bytes = zip.outputStream as Readable;
  let sheet: Readable | undefined;
  const fail = (error: Error) => bytes.destroy(error);
  const addSheet = (number: number): void => {
    sheet = Readable.from(sheetXml(columns, rows), { objectMode: false });
    sheet.on('error', fail);
    sheet.once('end', () => {
      if (rows.hasMore) addSheet(number + 1);
      else addRest(zip, number);
    });
    zip.addReadStream(sheet, sheetPath(number), { compressionLevel: COMPRESSION_LEVEL });
  };
  zip.on('error', fail);
  try {
    addSheet(1);
    yield* bytes as AsyncIterable<Buffer>;
  } finally {
    sheet?.destroy();
    bytes.destroy();
    await rows.close();
  }
}

function addRest(zip: ZipFile, sheets: number): void {
  for (const [path, xml] of xlsxParts(sheets)) zip.addBuffer(Buffer.from(xml), path);
  zip.end();
}

/** Rows of all batches, which continue from sheet to sheet. */
class Rows {
  readonly #batches: AsyncIterator<readonly (readonly Cell[])[]>;
  #batch: readonly (readonly Cell[])[] = [];
  #next = 0;
  taken = 0;

  constructor(batches: AsyncIterable<readonly (readonly Cell[])[]>) {
    this.#batches = batches[Symbol.asyncIterator]();
  }

  /** Valid after `fill`. */
  get hasMore(): boolean {
    return this.#next < this.#batch.length;
  }

  /** Reads until there is a next row, or none is left. */
  async fill(): Promise<void> {
    while (!this.hasMore) {
      const next = await this.#batches.next();
      if (next.done === true) return;
      this.#batch = next.value;
      this.#next = 0;
    }
  }

  take(): readonly Cell[] {
    this.taken += 1;
    this.#next += 1;
    return this.#batch[this.#next - 1]!;
  }

  async close(): Promise<void> {
    await this.#batches.return?.();
  }
}

async function* sheetXml(columns: readonly string[], rows: Rows): AsyncGenerator<string> {
  const letters = columns.map((_, at) => columnLetters(at));
  const values = (row: readonly Cell[]) =>
    row.map((cell, at) => shownValue(cell, { row: rows.taken, column: columns[at]!, ending: XLSX_LIMITS.ending }));
  let piece = XLSX_SHEET_BEGIN + xlsxRow(1, values(columns), letters);
  let characters = 0;
  if (rows.taken >= (XLSX_LIMITS.rowsPerSheet - 1) * XLSX_LIMITS.sheets) refuseManyRows(XLSX_LIMITS);
  for (let row = 2; row <= XLSX_LIMITS.rowsPerSheet && characters < MAX_SHEET_CHARACTERS; row += 1) {
    if (!rows.hasMore) await rows.fill();
    if (!rows.hasMore) break;
    piece += xlsxRow(row, values(rows.take()), letters);
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    characters += piece.length;
    piece = '';
  }
  yield piece + XLSX_SHEET_END;
  await rows.fill();
}
