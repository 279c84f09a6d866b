/** Numbers as decimal texts of any length: reads them, and checks what a double keeps. */

/** Largest magnitude of a number: 2**63 - 1 (reference: Attribute value types). */
const MAX_MAGNITUDE = '9223372036854775807';
const MAX_SIGNIFICANT_DIGITS = 38;
/** Enough for the smallest double, and far below the limit of Postgres's numeric. */
const MAX_DECIMALS = 400;

const PLAIN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?)(\d+))?$/;

export type NumberReading = { ok: true; value: string } | { ok: false; message: string };

/** Reads JSON's grammar without exponent or rounding. Refuses over 2**63 - 1, 38 significant digits or 400 decimals. */
export function readNumber(text: string): NumberReading {
  if (text.length < MAX_MAGNITUDE.length && PLAIN.test(text)) return { ok: true, value: text };
  const match = NUMBER.exec(text);
  if (match === null) return { ok: false, message: 'is not a number as JSON writes it' };
  const [, sign = '', whole = '', fraction = '', exponentSign, exponentDigits] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = withoutTrailingZeros(digits);
  const exponent = exponentDigits === undefined ? 0 : readExponent(exponentSign === '-', exponentDigits);
  // The number is 0.<significant> times ten to the power of `point`.
  const point = significant === '' ? 0 : digits.length - fraction.length + exponent;
  if (isTooLarge(significant, point)) return { ok: false, message: `has a magnitude over ${MAX_MAGNITUDE}` };
  if (significant.length > MAX_SIGNIFICANT_DIGITS) {
    return { ok: false, message: `has over ${MAX_SIGNIFICANT_DIGITS} significant digits` };
  }
  const decimals = exponentDigits === undefined ? fraction.length : significant.length - point;
  if (decimals > MAX_DECIMALS) return { ok: false, message: `has over ${MAX_DECIMALS} decimals` };
  return { ok: true, value: exponentDigits === undefined ? text : sign + expand(significant, point) };
}

/** Cuts zeros in a loop: a regular expression takes quadratic time on long runs of zeros. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

/** Reads an exponent, limited far beyond any record's length so that it stays exact. */
function readExponent(isNegative: boolean, digits: string): number {
  const exponent = Math.min(Number(digits), 1e9);
  return isNegative ? -exponent : exponent;
}

function isTooLarge(significant: string, point: number): boolean {
  if (point !== MAX_MAGNITUDE.length) return point > MAX_MAGNITUDE.length;
  // As 0.<digits>, numbers compare as their digit strings do.
  return significant > MAX_MAGNITUDE;
}

function expand(significant: string, point: number): string {
  if (significant === '') return '0';
  if (point <= 0) return `0.${'0'.repeat(-point)}${significant}`;
  if (point >= significant.length) return significant.padEnd(point, '0');
  return `${significant.slice(0, point)}.${significant.slice(point)}`;
}

/** Returns whether a double keeps each digit of a number in JSON's grammar: 1.50 and 1e3, but not 9007199254740993. */
export function isKeptByDouble(text: string): boolean {
  const number = Number(text);
  return Number.isFinite(number) && canonical(text) === canonical(String(number));
}

/** Returns one form for all ways of writing a number: its significant digits, and the power of ten. */
function canonical(text: string): string | undefined {
  const match = NUMBER.exec(text.replace('e+', 'e'));
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponentSign, exponentDigits] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  const exponent = exponentDigits === undefined ? 0 : readExponent(exponentSign === '-', exponentDigits);
  return `${sign}${withoutTrailingZeros(digits)}e${digits.length - fraction.length + exponent}`;
}
