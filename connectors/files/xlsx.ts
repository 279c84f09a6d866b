/** Reads the rows of an .xlsx file. */
import { join, posix } from 'node:path';
import type { Entry } from 'yauzl';
import {
  columnName,
  columnOf,
  csvRow,
  type DateFormat,
  dateFormatOf,
  isoDate,
  MAX_COLUMNS,
  MAX_ROWS,
  plainNumber,
  serialDate,
  unescapeText,
} from '../../domain/csv/sheet-values.ts';
import { quote } from '../../domain/text/text-limits.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { SharedStrings } from './shared-strings.ts';
import { parseXml, refused, type XmlEvents } from './xml-events.ts';
import type { OpenZip } from './zip-file.ts';

/** Excel's own limit for the text of a cell. */
const MAX_CELL = 32_767;
/** Excel has about 65,000 cell formats, and a workbook some hundreds of sheets. */
const MAX_LISTED = 100_000;
/** Number of characters after which rows are handed on. */
const CHUNK = 64 * 1024;

export type SheetOptions = {
  /** The sheet's name; by default the first one that is not hidden. */
  sheet: string | undefined;
  /** A folder for texts that do not fit into memory. */
  folder: string;
};

/** Returns whether a zip file is one of Microsoft Office's, as an .xlsx file is. */
export function isOfficeFile({ find }: OpenZip): boolean {
  return find('[Content_Types].xml') !== undefined;
}

/** Returns a sheet's name, and its rows as CSV with commas: a line for each, also for empty ones. */
export async function openSheet(
  zip: OpenZip,
  options: SheetOptions,
): Promise<{ sheet: string; rows: AsyncGenerator<Buffer> }> {
  const workbook = await readWorkbook(zip);
  const sheet = chooseSheet(workbook.sheets, options.sheet);
  await zip.verify(entryOf(zip, sheet.part));
  return { sheet: sheet.name, rows: readSheet(zip, workbook, sheet, options) };
}

type Sheet = { name: string; part: string };
type Workbook = {
  sheets: (Sheet & { isHidden: boolean })[];
  is1904: boolean;
  stylesPart: string | null;
  stringsPart: string | null;
};
type Relation = { id: string; type: string; part: string };

async function readWorkbook(zip: OpenZip): Promise<Workbook> {
  const main = (await readRelations(zip, '')).find(({ type }) => type === 'officeDocument')?.part ?? 'xl/workbook.xml';
  if (!/\.xml$/i.test(main) || !zip.find(main)) {
    throw sourceRefusal('source_refused', 'The file is of Microsoft Office, and no Excel workbook: save it as .xlsx');
  }
  const relations = await readRelations(zip, main);
  const found: { name: string; id: string | undefined; isHidden: boolean }[] = [];
  let is1904 = false;
  let isWorkbook = false;
  await readPart(zip, main, {
    open(name, attributes) {
      if (name === 'workbook') isWorkbook = true;
      if (name === 'workbookPr') is1904 = isTrue(attributes['date1904']);
      if (name !== 'sheet') return;
      bounded(main, found.length);
      const [, id] = Object.entries(attributes).find(([attribute]) => /(?:^|:)id$/.test(attribute)) ?? [];
      found.push({
        name: (attributes['name'] ?? '').slice(0, 255),
        id,
        isHidden: (attributes['state'] ?? 'visible') !== 'visible',
      });
    },
  });
  if (!isWorkbook)
    throw sourceRefusal('source_refused', 'The file is of Microsoft Office, and no Excel workbook: save it as .xlsx');
  const sheets = found.flatMap(({ name, id, isHidden }) => {
    const relation = relations.find((each) => each.id === id && each.type === 'worksheet');
    return relation ? [{ name, part: relation.part, isHidden }] : [];
  });
  const partOf = (type: string) => relations.find((each) => each.type === type)?.part ?? null;
  return { sheets, is1904, stylesPart: partOf('styles'), stringsPart: partOf('sharedStrings') };
}

/** Returns the other parts that a part refers to; '' stands for the file itself. */
async function readRelations(zip: OpenZip, part: string): Promise<Relation[]> {
  const folder = posix.dirname(part);
  const name = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  const relations: Relation[] = [];
  if (!zip.find(name)) return relations;
  await readPart(zip, name, {
    open(element, { Id: id = '', Type: type = '', Target: target = '' }) {
      if (element !== 'Relationship') return;
      bounded(name, relations.length);
      relations.push({
        id,
        type: posix.basename(type),
        part: target.startsWith('/') ? target.slice(1) : posix.join(folder, target),
      });
    },
  });
  return relations;
}

function chooseSheet(sheets: Workbook['sheets'], wanted: string | undefined): Sheet {
  const chosen =
    wanted === undefined
      ? (sheets.find(({ isHidden }) => !isHidden) ?? sheets[0])
      : sheets.find(({ name }) => name === wanted);
  if (chosen) return chosen;
  const names = sheets
    .slice(0, 10)
    .map(({ name }) => quote(name))
    .join(', ');
  const has = sheets.length === 0 ? 'no sheet' : `${names}${sheets.length > 10 ? ', …' : ''}`;
  const lacks = wanted === undefined ? '' : `, and no sheet ${quote(wanted)}: check sheet`;
  throw sourceRefusal('source_refused', `The Excel file has ${has}${lacks}`);
}

async function* readSheet(
  zip: OpenZip,
  workbook: Workbook,
  sheet: Sheet,
  { folder }: SheetOptions,
): AsyncGenerator<Buffer> {
  const entry = entryOf(zip, sheet.part);
  const formats = await readFormats(zip, workbook.stylesPart);
  const strings = new SharedStrings(join(folder, 'strings'));
  try {
    await readStrings(zip, workbook.stringsPart, strings);
    yield* parseXml(
      sheet.part,
      zip.read(entry),
      new SheetRows(sheet.part, { formats, strings, is1904: workbook.is1904 }),
    );
  } finally {
    strings.close();
  }
}

/** Returns for each cell format, by its number, how it shows a number as a date, or null. */
async function readFormats(zip: OpenZip, part: string | null): Promise<(DateFormat | null)[]> {
  const formats: (DateFormat | null)[] = [];
  if (part === null) return formats;
  const codes = new Map<number, string>();
  let isInCells = false;
  await readPart(zip, part, {
    open(name, attributes) {
      if (name === 'cellXfs') isInCells = true;
      if (name === 'numFmt') {
        bounded(part, codes.size);
        codes.set(Number(attributes['numFmtId']), (attributes['formatCode'] ?? '').slice(0, 255));
      }
      if (name !== 'xf' || !isInCells) return;
      bounded(part, formats.length);
      const id = Number(attributes['numFmtId'] ?? 0);
      formats.push(dateFormatOf(id, codes.get(id) ?? null));
    },
    close(name) {
      if (name === 'cellXfs') isInCells = false;
    },
  });
  return formats;
}

async function readStrings(zip: OpenZip, part: string | null, strings: SharedStrings): Promise<void> {
  if (part === null || !zip.find(part)) return;
  const text = new CellText(part);
  const events: XmlEvents = {
    open: (name) => text.open(name),
    close(name) {
      text.close(name);
      if (name === 'si') strings.add(text.take());
    },
    text: (piece) => text.add(piece),
    take(isEnd) {
      strings.flush(isEnd);
      return null;
    },
  };
  await readPart(zip, part, events);
}

/** Collects the text of a cell, which may consist of runs in different styles. Its pronunciation (rPh) is left out. */
class CellText {
  readonly #part: string;
  #text = '';
  #isText = false;
  #isPhonetic = false;

  constructor(part: string) {
    this.#part = part;
  }

  open(name: string): void {
    if (name === 'rPh') this.#isPhonetic = true;
    else if (name === 't' || name === 'v') this.#isText = true;
  }

  close(name: string): void {
    if (name === 'rPh') this.#isPhonetic = false;
    else if (name === 't' || name === 'v') this.#isText = false;
  }

  add(piece: string): void {
    if (!this.#isText || this.#isPhonetic) return;
    this.#text += piece;
    // A character may be written as _x000D_.
    if (this.#text.length > MAX_CELL * 7)
      throw refused(this.#part, `has a cell of over ${MAX_CELL.toLocaleString('en')} characters`);
  }

  take(): string {
    const text = unescapeText(this.#text);
    this.#text = '';
    if (text.length > MAX_CELL)
      throw refused(this.#part, `has a cell of over ${MAX_CELL.toLocaleString('en')} characters`);
    return text;
  }
}

/** Any other text stays: no attribute takes it for a Boolean. */
const BOOLEANS = new Map([
  ['1', 'true'],
  ['true', 'true'],
  ['0', 'false'],
  ['false', 'false'],
]);

type Lookups = { formats: readonly (DateFormat | null)[]; strings: SharedStrings; is1904: boolean };

/** Makes CSV records from a sheet's XML. All have at least as many fields as the first. */
class SheetRows implements XmlEvents<Buffer> {
  readonly #part: string;
  readonly #lookups: Lookups;
  readonly #text: CellText;
  #rows: string[] = [];
  #characters = 0;
  #isInRows = false;
  #row = 0;
  #width = 0;
  #cells: string[] = [];
  #column = -1;
  #type = 'n';
  #style = 0;
  #hasFormula = false;
  #hasResult = false;

  constructor(part: string, lookups: Lookups) {
    this.#part = part;
    this.#lookups = lookups;
    this.#text = new CellText(part);
  }

  take(isEnd: boolean): Buffer | null {
    if (!isEnd && this.#characters < CHUNK) return null;
    const bytes = Buffer.from(this.#rows.join(''));
    this.#rows = [];
    this.#characters = 0;
    return bytes;
  }

  open(name: string, attributes: Record<string, string>): void {
    if (name === 'sheetData') this.#isInRows = true;
    if (!this.#isInRows) return;
    if (name === 'row') this.#beginRow(attributes);
    else if (name === 'c') this.#beginCell(attributes);
    else this.#beginPart(name);
  }

  close(name: string): void {
    if (name === 'sheetData') this.#isInRows = false;
    if (!this.#isInRows) return;
    if (name === 'row') this.#endRow();
    else if (name === 'c') this.#endCell();
    else this.#text.close(name);
  }

  text(piece: string): void {
    if (this.#isInRows) this.#text.add(piece);
  }

  #beginPart(name: string): void {
    if (name === 'f') this.#hasFormula = true;
    if (name === 'v') this.#hasResult = true;
    this.#text.open(name);
  }

  #beginRow({ r }: Record<string, string>): void {
    const row = r === undefined ? this.#row + 1 : Number(r);
    if (!Number.isInteger(row) || row <= this.#row || row > MAX_ROWS)
      throw refused(this.#part, 'has rows out of order');
    this.#add('\n'.repeat(row - this.#row - 1));
    this.#row = row;
    this.#cells = [];
    this.#column = -1;
  }

  #beginCell({ r, t = 'n', s = '0' }: Record<string, string>): void {
    const column = r === undefined ? this.#column + 1 : columnOf(r);
    if (column === undefined || column <= this.#column || column >= MAX_COLUMNS)
      throw refused(this.#part, 'has cells out of order');
    this.#column = column;
    this.#type = t;
    this.#style = Number(s);
    this.#hasFormula = false;
    this.#hasResult = false;
  }

  #endCell(): void {
    const text = this.#valueOf(this.#text.take());
    if (text === '' && this.#hasFormula) this.#requireResult();
    if (text === '') return; // cells after the last value are left out
    while (this.#cells.length < this.#column) this.#cells.push('');
    this.#cells.push(text);
  }

  /** Requires a formula's result, which may be an empty text: a cell that was never computed is not empty. */
  #requireResult(): void {
    if (this.#type === 'str' && this.#hasResult) return;
    const cell = `${columnName(this.#column)}${this.#row}`;
    throw sourceRefusal(
      'source_refused',
      `The formula in the cell ${cell} of the Excel file has no stored result: open the file in Excel, and save it`,
    );
  }

  #valueOf(text: string): string {
    if (text === '') return text;
    const { formats, strings, is1904 } = this.#lookups;
    switch (this.#type) {
      case 's':
        return strings.get(/^\s*\d+\s*$/.test(text) ? Number(text) : -1) ?? this.#refuseString();
      case 'b':
        return BOOLEANS.get(text) ?? text;
      case 'n': {
        const format = formats[this.#style] ?? null;
        return (format && serialDate(text, format, is1904)) ?? plainNumber(text);
      }
      case 'd':
        return isoDate(text, formats[this.#style] ?? null);
      default:
        return text;
    }
  }

  #refuseString(): never {
    throw refused(this.#part, 'names a text that is not there');
  }

  #endRow(): void {
    if (this.#width === 0) this.#width = this.#cells.length;
    this.#add(this.#cells.length === 0 ? '\n' : csvRow(this.#cells, this.#width));
  }

  #add(line: string): void {
    this.#rows.push(line);
    this.#characters += line.length;
  }
}

async function readPart(zip: OpenZip, part: string, events: XmlEvents): Promise<void> {
  await Array.fromAsync(parseXml(part, zip.read(entryOf(zip, part)), events));
}

function entryOf(zip: OpenZip, part: string): Entry {
  return zip.find(part) ?? refuseMissing(part);
}

function refuseMissing(part: string): never {
  throw refused(part, 'is not there');
}

function bounded(part: string, count: number): void {
  if (count >= MAX_LISTED) throw refused(part, 'lists too much');
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text === 'true';
}
