/**
 * Writes .xlsx files row by row (ECMA-376 part 1, SpreadsheetML). Cells contain their texts, so that rows can be
 * streamed.
 */
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { Cell } from '../../domain/files/cell.ts';
import { refuseManyColumns, refuseManyRows, shownValue, XLSX_LIMITS } from '../../domain/files/sheet-limits.ts';

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

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PART_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

const forEachSheet = (sheets: number, xml: (number: number) => string): string =>
  Array.from({ length: sheets }, (_, at) => xml(at + 1)).join('');

const relationship = (id: string, type: string, target: string): string =>
  `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;

const relationships = (content: string): string =>
  `${XML}<Relationships xmlns="${PACKAGE}/relationships">${content}</Relationships>`;

const sheetPath = (number: number): string => `xl/worksheets/sheet${number}.xml`;

function xlsxParts(sheets: number): [path: string, xml: string][] {
  const parts = forEachSheet(
    sheets,
    (number) => `<Override PartName="/${sheetPath(number)}" ContentType="${PART_TYPE}.worksheet+xml"/>`,
  );
  const names = forEachSheet(
    sheets,
    (number) => `<sheet name="Sheet${number}" sheetId="${number}" r:id="rId${number}"/>`,
  );
  const targets = forEachSheet(sheets, (number) =>
    relationship(`rId${number}`, 'worksheet', `worksheets/sheet${number}.xml`),
  );
  return [
    [
      '[Content_Types].xml',
      `${XML}<Types xmlns="${PACKAGE}/content-types">` +
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
        `<Override PartName="/xl/workbook.xml" ContentType="${PART_TYPE}.sheet.main+xml"/>` +
        `<Override PartName="/xl/styles.xml" ContentType="${PART_TYPE}.styles+xml"/>${parts}</Types>`,
    ],
    ['_rels/.rels', relationships(relationship('rId1', 'officeDocument', 'xl/workbook.xml'))],
    ['xl/workbook.xml', `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${names}</sheets></workbook>`],
    ['xl/_rels/workbook.xml.rels', relationships(targets + relationship(`rId${sheets + 1}`, 'styles', 'styles.xml'))],
    [
      'xl/styles.xml',
      `${XML}<styleSheet xmlns="${MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>` +
        '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
        '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
        '<cellXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/></cellXfs>' +
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
    ],
  ];
}

const XLSX_SHEET_BEGIN = `${XML}<worksheet xmlns="${MAIN}"><sheetData>`;
const XLSX_SHEET_END = '</sheetData></worksheet>';

function columnLetters(index: number): string {
  return index < 26
    ? String.fromCharCode(65 + index)
    : columnLetters(Math.floor(index / 26) - 1) + columnLetters(index % 26);
}

/** Returns a row's XML; `row` counts from 1, `letters` has those of each column. */
function xlsxRow(row: number, values: readonly (string | number | null)[], letters: readonly string[]): string {
  let xml = `<row r="${row}">`;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at]!;
    if (value === null) continue;
    const cell = `<c r="${letters[at]!}${row}"`;
    xml +=
      typeof value === 'number'
        ? `${cell}><v>${Object.is(value, -0) ? '-0' : value}</v></c>`
        : `${cell} t="inlineStr"><is><t xml:space="preserve">${xmlText(value)}</t></is></c>`;
  }
  return `${xml}</row>`;
}

/** Characters that XML cannot hold or readers change: controls, CR, halves of a pair, U+FFFE and U+FFFF. */
const UNFIT = String.raw`[\u0000-\u0008\u000b-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]`;
const ANY_SPECIAL = new RegExp(String.raw`[&<>_\u0000-\u0008\u000b-\u001f\ud800-\udfff\ufffe\uffff]`);
const UNFIT_CHARACTER = new RegExp(UNFIT, 'g');
/** An underscore that a reader would take for the beginning of an escape such as `_x0041_` (22.9.2.19). */
const READ_AS_ESCAPE = new RegExp(`_(?=[xX][0-9a-fA-F]{4}(?:_|${UNFIT}))`, 'g');

function xmlText(text: string): string {
  if (!ANY_SPECIAL.test(text)) return text;
  return text
    .replaceAll(READ_AS_ESCAPE, '_x005F_')
    .replaceAll(
      UNFIT_CHARACTER,
      (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
    )
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
