import { numberText } from '../domain/exact-json.ts';
import { isKeptByDouble } from '../domain/number-value.ts';
import type { Json, ReadItem, SourceRecord } from './contract.ts';
import { malformed } from './malformed.ts';

/** Deeper ones would overflow the stack of whoever writes them. */
const MAX_DEPTH = 100;

/**
 * The record that a value of `parseExactJson` is, made in place: a number that a double would round becomes its text. A
 * string is why it is none, to be put behind what names it.
 */
export function jsonRecord(value: unknown): SourceRecord | string {
  if (!isObject(value)) return 'is not a JSON object';
  return toJson(value, 1) as SourceRecord | undefined ?? `has arrays or objects more than ${MAX_DEPTH} deep`;
}

/** The same as an item of a batch; `raw` is what is shown of it where it is no record. */
export function recordItem(value: unknown, raw: Buffer | string): ReadItem {
  const record = jsonRecord(value);
  return typeof record === 'string' ? malformed(raw, `a record ${record}`) : { kind: 'record', record };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;
}

/** Undefined when it is too deep. */
function toJson(value: unknown, depth: number): Json | undefined {
  if (typeof value !== 'object' || value === null) return value as Json;
  const text = numberText(value);
  if (text !== undefined) return isKeptByDouble(text) ? Number(text) : text;
  if (depth > MAX_DEPTH) return undefined;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    const json = toJson(members[name], depth + 1);
    if (json === undefined) return undefined;
    members[name] = json;
  }
  return members as Json;
}
