import { isKeptByDouble, type NumberReading, readNumber } from '../text/number-value.ts';

/** `decimal`: what stands before the decimals; the other of the two, and spaces, then may stand between thousands. */
export type NumberConversion = { as: 'number'; decimal?: ',' | '.' };

/** What numbers in files have that JSON's don't: a plus, zeros in front, a point at either end. */
const PLAIN = /^([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** Groups of two digits are those of India; all separators of a number are the same. */
const GROUPED = {
  ',': /^[+-]?\d{1,3}(?:([.\s])(?:\d{2,3}\1)*\d{3})?(?:,\d*)?$/,
  '.': /^[+-]?\d{1,3}(?:([,\s])(?:\d{2,3}\1)*\d{3})?(?:\.\d*)?$/,
};
const SEPARATORS = { ',': /[.\s]/g, '.': /[,\s]/g };

type Reading = { ok: true; value: number | string } | Exclude<NumberReading, { ok: true }>;

/**
 * Reads texts into numbers, or into numeric texts where a double would not keep each digit. The limits are those of a
 * Number. What looks grouped but isn't in thousands is refused: 1.5 is no number where the comma is the decimal one.
 */
export function numberReader({ decimal }: NumberConversion): (text: string) => Reading {
  return (text) => {
    const plain = decimal === undefined ? text : toPlain(text, decimal);
    const match = plain === undefined ? null : PLAIN.exec(plain);
    if (match === null) return { ok: false, message: 'is not a number' };
    const [, sign = '', whole = '', fraction = '', exponent] = match;
    const reading = readNumber(
      [
        sign.replace('+', ''),
        whole.replace(/^0+(?=\d)/, '') || '0',
        fraction && `.${fraction}`,
        exponent && `e${exponent}`,
      ].join(''),
    );
    return reading.ok && isKeptByDouble(reading.value) ? { ok: true, value: Number(reading.value) } : reading;
  };
}

/** With a point before the decimals and without separators; undefined where they stand at wrong places. */
function toPlain(text: string, decimal: ',' | '.'): string | undefined {
  const plain = GROUPED[decimal].test(text) ? text.replaceAll(SEPARATORS[decimal], '') : text;
  if (decimal === '.') return plain;
  return plain.includes('.') ? undefined : plain.replace(',', '.');
}
