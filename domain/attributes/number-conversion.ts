/** Numbers as people and files write them: decimal commas, separators of thousands, signs. */
import { isKeptByDouble, type NumberReading, readNumber } from '../text/number-value.ts';

/** `decimal`: the decimal separator. The other one of the two, and spaces, may separate thousands. */
export type NumberConversion = { as: 'number'; decimal?: ',' | '.' };

/** Numbers of files that JSON has no form for: with a plus, leading zeros, or a point at either end. */
const PLAIN = /^([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** Numbers with separators of thousands. Groups of two digits are Indian; all separators of a number are the same. */
const GROUPED = {
  ',': /^[+-]?\d{1,3}(?:([.\s])(?:\d{2,3}\1)*\d{3})?(?:,\d*)?$/,
  '.': /^[+-]?\d{1,3}(?:([,\s])(?:\d{2,3}\1)*\d{3})?(?:\.\d*)?$/,
};
const SEPARATORS = { ',': /[.\s]/g, '.': /[,\s]/g };

type Reading = { ok: true; value: number | string } | Exclude<NumberReading, { ok: true }>;

/** Returns a reader of texts into numbers, or numeric texts where a double loses digits; refuses wrong groups. */
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

/** Returns the number with a decimal point and no other separators; undefined if separators stand wrongly. */
function toPlain(text: string, decimal: ',' | '.'): string | undefined {
  const plain = GROUPED[decimal].test(text) ? text.replaceAll(SEPARATORS[decimal], '') : text;
  if (decimal === '.') return plain;
  return plain.includes('.') ? undefined : plain.replace(',', '.');
}
