/** Converts cells of an Excel file (ECMA-376, SpreadsheetML) to texts of CSV. */
import { DAY_MS } from '../time/durations.ts';
import { readNumber } from '../text/number-value.ts';

export type DateFormat = { hasDate: boolean; hasTime: boolean };

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
export function dateFormatOf(id: number, code: string | null): DateFormat | null {
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
export function serialDate(text: string, { hasDate, hasTime }: DateFormat, is1904: boolean): string | undefined {
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
export function plainNumber(text: string): string {
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
export function isoDate(text: string, format: DateFormat | null): string {
  if (format === null || format.hasTime) return text;
  return /^(\d{4}-\d{2}-\d{2})T00:00(?::00(?:\.0+)?)?Z?$/.exec(text)?.[1] ?? text;
}

/** Replaces escapes such as _x000D_ for characters that XML cannot hold (ECMA-376 part 1, 22.9.2.19). */
export function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replaceAll(/_x([0-9a-f]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

export const MAX_COLUMNS = 16_384;
export const MAX_ROWS = 1_048_576;

/** Returns the column of a cell reference such as AB12, from 0; undefined for any other text. */
export function columnOf(reference: string): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column > MAX_COLUMNS ? undefined : column - 1;
}

export function columnName(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? letter : columnName(Math.floor(column / 26) - 1) + letter;
}

/** Limit of a row: csv-splitter.ts refuses a longer record. */
const MAX_ROW_CHARACTERS = 1024 * 1024;

/** Returns a sheet's row as a CSV record of at least `width` fields; only its beginning if it is over the limit. */
export function csvRow(cells: readonly string[], width: number): string {
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
