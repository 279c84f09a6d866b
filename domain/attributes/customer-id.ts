/** Rules for customer ids: which ones are valid, and which ones look like a mistake. */
import { isLongerThan, MAX_CODE_POINTS } from '../text/text-limits.ts';

/** Types of customer ids (reference: Customer profile). */
export const CUSTOMER_TYPES = ['user_id', 'device_id'] as const;

export type CustomerType = (typeof CUSTOMER_TYPES)[number];

const CONTROL = /\p{Cc}/u; // C0, DEL and C1
/** Invisible characters that change none before them: emoji variants, keycaps and the tags of a flag stay allowed. */
const INVISIBLE = new RegExp(
  [
    '(?<=\\p{Extended_Pictographic})[\\ufe0e\\ufe0f]',
    '(?<=[\\d#*])\\ufe0f(?=\\u20e3)',
    '(?<=\\p{Ideographic})[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}]',
    '(?<=\\p{Script=Mongolian})[\\u180b-\\u180d\\u180f]',
    '(?<=\\u{1f3f4}[\\u{e0020}-\\u{e007e}]*)[\\u{e0020}-\\u{e007f}]',
  ].reduce((rest, shown) => `(?!${shown})${rest}`, '[\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb]'),
  'u',
);
/** White space at either end, and the Braille blank. */
const SPACE_AT_END = /^[\s\u2800]|[\s\u2800]$/u;
/** Fast path for nearly all ids. */
const PLAIN = /^[!-~]{1,256}$/;

/** Words that programs write for a missing value: the first set ignores case, the second does not. */
const WORDS_FOR_NOTHING = new Set(['undefined', 'null', '[object object]', 'unknown', 'nan']);
const EXACT_WORDS_FOR_NOTHING = new Set(['None', 'nil', '<nil>', '(null)', '<null>', 'N/A', '\\N']);

export function isWordForNothing(text: string): boolean {
  return (
    text.length <= '[object object]'.length &&
    (WORDS_FOR_NOTHING.has(text.toLowerCase()) || EXACT_WORDS_FOR_NOTHING.has(text))
  );
}

/** A number as a spreadsheet or a data frame writes it: 12345.0, 1.23457E+11. */
const WAS_NUMBER = /^-?\d+(?:\.0+|(?:\.\d+)?[eE]\+\d+)$/;

/** Returns whether a valid id is probably a mistake: a missing value, or a number that a spreadsheet changed. */
export function isSuspiciousId(customerId: string): boolean {
  return isWordForNothing(customerId) || WAS_NUMBER.test(customerId);
}

/**
 * Returns the error of an incoming customer id: it may have no outer white space and no invisible characters. Searches
 * use `customerIdError`, so that ids from before this rule are found.
 */
export function newCustomerIdError(customerId: string): string | undefined {
  if (PLAIN.test(customerId)) return undefined;
  const [invisible] = INVISIBLE.exec(customerId) ?? [];
  if (invisible !== undefined) return `the customer id has an invisible character, ${codeOf(invisible)}`;
  const error = customerIdError(customerId);
  const [space] = (error === undefined ? SPACE_AT_END.exec(customerId) : null) ?? [];
  if (space === undefined) return error;
  return `the customer id ${customerId.startsWith(space) ? 'begins' : 'ends'} with white space, ${codeOf(space)}`;
}

function codeOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Returns the error of a customer id: 1 to 256 code points, no control characters, no halves of surrogates. */
export function customerIdError(customerId: string): string | undefined {
  if (customerId === '') return 'the customer id is empty';
  if (isLongerThan(customerId, MAX_CODE_POINTS)) return `the customer id has over ${MAX_CODE_POINTS} characters`;
  if (CONTROL.test(customerId)) return 'the customer id has a control character';
  if (!customerId.isWellFormed()) return 'the customer id has half a surrogate pair';
  return undefined;
}
