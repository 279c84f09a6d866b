/** A JSON number that a double would not keep digit for digit; JSON.stringify writes the text again. */
type ExactNumber = { readonly rawJSON: string };

/** A number as it was written: one that a double would not keep. */
export function exactNumber(digits: string): ExactNumber {
  return engine.rawJSON(digits);
}

type Reviver = (this: unknown, name: string, value: unknown, context: { source?: string }) => unknown;
/** The library types lack these. */
const engine = JSON as unknown as {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
  parse(text: string, reviver?: Reviver): unknown;
};

/** What may be a number: after a name, in an array, or alone. Within texts it is none, which only costs time. */
const MAYBE_NUMBER = /(?:^|"\s*:|[,[])\s*(-?\d[\d.eE+-]*)/g;
/**
 * Whether some number may not be written as a double's text is: it is long, has an exponent, ends with zeros behind the
 * point, is tiny, or is -0. One look over the whole text costs less than to take out each number.
 */
const MAYBE_INEXACT = /(?:^|"\s*:|[,[])\s*-?(?:\d[\d.]{14}|\d+(?:\.\d*)?[eE]|\d+\.\d*0(?![\d.])|0\.0{5}|(?<=-)0)/;
/**
 * Parses as JSON.parse does, but numbers keep their digits, for `numberText` to tell and JSON.stringify to write. A
 * member named
 * `__proto__` stays one, as any other: code that copies members must define it, not assign it.
 */
export function parseExactJson(text: string): unknown {
  if (!MAYBE_INEXACT.test(text) || keepsItsNumbers(text)) return engine.parse(text);
  return engine.parse(text, (_, value, { source }) =>
    typeof value === 'number' && String(value) !== source ? engine.rawJSON(source!) : value,
  );
}

/** Whether each number comes out of a double as it went in: a reviver takes several times as long. */
function keepsItsNumbers(text: string): boolean {
  for (const [, digits] of text.matchAll(MAYBE_NUMBER)) {
    if (String(Number(digits)) !== digits) return false;
  }
  return true;
}

/** A number of `parseExactJson` as it was written; undefined for all else. */
export function numberText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return engine.isRawJSON(value) ? value.rawJSON : undefined;
}

/** Whether a parsed value is an object of JSON: no array, and no number that keeps its digits. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;
}
