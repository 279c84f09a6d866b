/** Turns JSON values of sources into records, or into malformed ones. */
import { isObject, numberText } from '../../domain/json/exact-json.ts';
import { isKeptByDouble } from '../../domain/text/number-value.ts';
import { withoutCutWord } from '../../domain/text/text-limits.ts';
import type { Json, ReadItem, SourceRecord } from './contract.ts';

/** Maximum depth of a record, itself included: deeper ones could overflow a writer's stack. */
export const MAX_RECORD_NESTING = 100;
/** Maximum depth of other JSON from outside: catalogs, states, answers. */
export const MAX_OUTSIDE_NESTING = 500;

/**
 * Returns a value of `parseExactJson` as a record, made in place: a number that a double would round becomes a text. A
 * string is the fault, as the end of a sentence. Refuses a member named `__proto__` at any depth: many programs would
 * lose such a field.
 */
export function jsonRecord(value: unknown): SourceRecord | string {
  if (!isObject(value)) return 'is not a JSON object';
  const json = toJson(value, 1);
  if (json === TOO_DEEP) return sayDepth(MAX_RECORD_NESTING);
  return json === HAS_PROTO ? 'has a member named __proto__' : (json as SourceRecord);
}

/** Returns the record as an item of a batch; `raw` is shown if it is no record. */
export function recordItem(value: unknown, raw: Buffer | string): ReadItem {
  const record = jsonRecord(value);
  return typeof record === 'string' ? malformed(raw, `a record ${record}`) : { kind: 'record', record };
}

/**
 * Returns an item of a stream whose field `mark` says when the source deleted a record: a deletion where it is set, and
 * otherwise the item. Both are named by `key`, the fields that identify a record.
 */
export function itemOrDeletion(item: ReadItem, mark: string, key: readonly string[]): ReadItem {
  if (item.kind !== 'record') return item;
  const { [mark]: deletedAt = null, ...customer } = item.record;
  const values = key.map((field) => item.record[field] ?? null);
  const name = values.length === 0 || values.includes(null) ? null : JSON.stringify(values);
  if (deletedAt !== null) return { kind: 'deleted', key: name, customer };
  return name === null ? item : { ...item, key: name };
}

/** Returns the fault of JSON that is too deep, as the end of a sentence. */
export const sayDepth = (levels: number) => `has arrays or objects more than ${levels} deep`;

const TOO_DEEP = Symbol('too deep');
const HAS_PROTO = Symbol('has a member named __proto__');

function toJson(value: unknown, depth: number): Json | typeof TOO_DEEP | typeof HAS_PROTO {
  if (typeof value !== 'object' || value === null) return value as Json;
  const text = numberText(value);
  if (text !== undefined) return isKeptByDouble(text) ? Number(text) : text;
  if (depth > MAX_RECORD_NESTING) return TOO_DEEP;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    if (name === '__proto__') return HAS_PROTO;
    const json = toJson(members[name], depth + 1);
    if (typeof json === 'symbol') return json;
    members[name] = json;
  }
  return members as Json;
}

const SHOWN_BYTES = 2 * 1024;

/**
 * Returns a malformed record, cut to 2 KiB of text. Bytes that are not UTF-8 show as U+FFFD; a cut letter is left out,
 * and so is a cut word, which may be an id.
 */
export function malformed(raw: Buffer | string, message: string): ReadItem {
  // No letter has less than a byte, so text that is not shown need not be encoded.
  const bytes = typeof raw === 'string' ? Buffer.from(raw.slice(0, SHOWN_BYTES)) : raw;
  const text = decodeWhole(bytes.subarray(0, SHOWN_BYTES));
  const shown = Buffer.byteLength(text) > SHOWN_BYTES ? decodeWhole(Buffer.from(text).subarray(0, SHOWN_BYTES)) : text;
  const isCut = [raw.length, bytes.length, Buffer.byteLength(text)].some((length) => length > SHOWN_BYTES);
  return { kind: 'malformed', raw: isCut ? withoutCutWord(shown) : shown, message };
}

function decodeWhole(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}
