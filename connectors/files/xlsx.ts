/** Reads the rows of an .xlsx file (ECMA-376, SpreadsheetML), and converts its cells to texts of CSV. */
import { join, posix } from 'node:path';
import type { Entry } from 'yauzl';
import { MAX_COLUMNS } from '../../domain/csv/table-format.ts';
import { readNumber } from '../../domain/text/number-value.ts';
import { quote } from '../../domain/text/text-limits.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { SharedStrings } from './shared-strings.ts';
import { parseXml, refused, type XmlEvents } from './xml-events.ts';
import type { OpenZip } from './zip-file.ts';

/** Excel's own limit for the rows of a sheet. */
const MAX_ROWS = 1_048_576;
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

/**
 * Returns a sheet's name, and its rows as CSV with commas: a line for each, also for empty ones. Returns null if the
 * zip file is not one of Microsoft Office's, as an .xlsx file is.
 */
export async function openSheet(
  zip: OpenZip,
  options: SheetOptions,
): Promise<{ sheet: string; rows: AsyncGenerator<Buffer> } | null> {
  if (!zip.find('[Content_Types].xml')) return null;
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

/** How a cell's format shows a number as a date. */
type DateFormat = { hasDate: boolean; hasTime: boolean };

/** Returns a format that files do not define (ECMA-376 part 1, 18.8.30); 27 to 36 and 50 to 58 are East Asian. */
function builtInFormat(id: number): DateFormat | null {
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36 || (id >= 50 && id <= 58))
    return { hasDate: true, hasTime: false };
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35)) return { hasDate: false, hasTime: true };
  return id === 22 ? { hasDate: true, hasTime: true } : null;
}

/** Texts, colors, conditions and locales in a format, whose letters are no parts of a date; AM/PM is a time. */
const LITERALS = /"[^"]*"|\\.|_.|\*.|\[[^[\]]*\]/gs;

const ELAPSED = /\[(?:h+|m+|s+)\]/i;

/** Returns how a format shows numbers as dates, or null; an elapsed time, [h]:mm, is no date. */
function dateFormatOf(id: number, code: string | null): DateFormat | null {
  if (code === null) return builtInFormat(id);
  if (ELAPSED.test(code)) return null;
  const [first] = code.replaceAll(LITERALS, '').split(';');
  if (/^\s*general/i.test(first!)) return null;
  const hasTime = /[hs]/i.test(first!);
  const hasDate = /[yd]/i.test(first!) || (/m/i.test(first!) && !hasTime);
  return hasDate || hasTime ? { hasDate, hasTime } : null;
}

/** First day of each date system. In the older one the 60th day is 29 February 1900, which never existed. */
const EPOCHS = { 1900: Date.UTC(1899, 11, 30), 1904: Date.UTC(1904, 0, 1) };

const END = Date.UTC(10_000, 0, 1);

/** Returns a number in ISO 8601 as its format shows it; a day keeps its time of day. Undefined outside the calendar. */
function serialDate(text: string, { hasDate, hasTime }: DateFormat, is1904: boolean): string | undefined {
  const days = Number(text);
  if (!(days >= 0) || text.trim() === '') return undefined;
  const isTimeAlone = !hasDate && days < 1;
  if (!is1904 && days >= 60 && days < 61) return undefined;
  if (!is1904 && days < 1 && !isTimeAlone) return undefined;
  const shift = !is1904 && days < 60 ? DAY_MS : 0;
  // A day that a formula computed may be off by a trillionth.
  const sinceEpoch = Math.round(days * DAY_MS);
  const hasFraction = sinceEpoch % DAY_MS !== 0;
  const ms = EPOCHS[is1904 ? 1904 : 1900] + shift + sinceEpoch;
  if (ms >= END) return undefined;
  const iso = new Date(ms).toISOString();
  const time = iso.slice(11, -1).replace('.000', '');
  if (isTimeAlone) return time;
  return hasTime || hasFraction ? `${iso.slice(0, 10)}T${time}` : iso.slice(0, 10);
}

/** Returns a number as Excel stores it, with all digits, and if its zeros fit without an exponent. */
function plainNumber(text: string): string {
  if (!/e/i.test(text)) return text;
  const reading = readNumber(text);
  return reading.ok ? reading.value : withoutExponent(text);
}

/** Writes out the exponent: a number beyond those of attributes may be an id. */
function withoutExponent(text: string): string {
  const [, sign, whole, decimals = '', exponent] = /^(-?)([1-9])(?:\.(\d+))?e\+?([1-4]?\d)$/i.exec(text) ?? [];
  if (whole === undefined || Number(exponent) < decimals.length) return text;
  return `${sign!}${whole}${decimals.padEnd(Number(exponent), '0')}`;
}

/** Returns the ISO 8601 date of a cell; only the day of a midnight if the format has no time. */
function isoDate(text: string, format: DateFormat | null): string {
  if (format === null || format.hasTime) return text;
  return /^(\d{4}-\d{2}-\d{2})T00:00(?::00(?:\.0+)?)?Z?$/.exec(text)?.[1] ?? text;
}

/** Replaces escapes such as _x000D_ for characters that XML cannot hold (ECMA-376 part 1, 22.9.2.19). */
function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replaceAll(/_x([0-9a-f]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Returns the column of a cell reference such as AB12, from 0; undefined for any other text. */
function columnOf(reference: string): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column > MAX_COLUMNS ? undefined : column - 1;
}

function columnName(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? letter : columnName(Math.floor(column / 26) - 1) + letter;
}

/** Limit of a row: csv-splitter.ts refuses a longer record. */
const MAX_ROW_CHARACTERS = 1024 * 1024;

/** Returns a sheet's row as a CSV record of at least `width` fields; only its beginning if it is over the limit. */
function csvRow(cells: readonly string[], width: number): string {
  const fields: string[] = [];
  let characters = 0;
  for (const cell of cells) {
    fields.push(/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    characters += cell.length + 1;
    // Without quotes and line ends, so that the record ends where its line does.
    if (characters > MAX_ROW_CHARACTERS) return `${fields.join().replaceAll(/["\r\n]/g, ' ')}\n`;
  }
  while (fields.length < width) fields.push('');
  return `${fields.join()}\n`;
}
