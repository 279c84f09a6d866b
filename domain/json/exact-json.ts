/** Parses JSON without losing digits of its numbers. */

/** A JSON number that a double cannot hold exactly; JSON.stringify writes its text again. */
type ExactNumber = { readonly rawJSON: string };

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

/** Possible numbers: after a name, in an array, or alone. A match inside a text only costs time. */
const MAYBE_NUMBER = /(?:^|"\s*:|[,[])\s*(-?\d[\d.eE+-]*)/g;
/** Numbers that a double may write differently. One search over the text costs less than checking each number. */
const MAYBE_INEXACT = /(?:^|"\s*:|[,[])\s*-?(?:\d[\d.]{14}|\d+(?:\.\d*)?[eE]|\d+\.\d*0(?![\d.])|0\.0{5}|(?<=-)0)/;
/** Parses like JSON.parse, and keeps digits. `__proto__` stays a member: code that copies must define, not assign. */
export function parseExactJson(text: string): unknown {
  if (!MAYBE_INEXACT.test(text) || keepsItsNumbers(text)) return engine.parse(text);
  return engine.parse(text, (_, value, { source }) =>
    typeof value === 'number' && String(value) !== source ? engine.rawJSON(source!) : value,
  );
}

/** Returns whether doubles keep all numbers. A reviver takes several times as long. */
function keepsItsNumbers(text: string): boolean {
  for (const [, digits] of text.matchAll(MAYBE_NUMBER)) {
    if (String(Number(digits)) !== digits) return false;
  }
  return true;
}

export function numberText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return engine.isRawJSON(value) ? value.rawJSON : undefined;
}

/** Returns whether a parsed value is a JSON object: no array, and no number that keeps its digits. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;
}
