/** Values of CRMs that come as texts. */
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import { isKeptByDouble } from '../../domain/text/number-value.ts';
import type { Json } from './contract.ts';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Returns a text as a value of this type: a number that a double keeps, a boolean, or the choices between semicolons.
 * One of another type, or without its form, stays the text that it is.
 */
export function typedText(type: FieldType, text: string): Json {
  switch (type) {
    case 'integer':
    case 'number':
      return NUMBER.test(text) && isKeptByDouble(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : text);
    case 'array':
      return text.split(';').filter((choice) => choice !== '');
    default:
      return text;
  }
}
