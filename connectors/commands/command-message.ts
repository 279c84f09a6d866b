import { numberText, parseExactJson } from '../../domain/exact-json.ts';
import type { Json, ReadItem, SourceRecord } from '../contract.ts';
import type { Line } from './bounded-lines.ts';

/** A message as Singer's and Airbyte's are: an object that tells its type. */
export type Message = { type: string; [member: string]: unknown };

const RAW_BYTES = 2 * 1024;

/** What a line says; a string is what is wrong with it. Its numbers keep their digits. */
export function messageOf({ text, isCut }: Line): Message | string {
  if (isCut) return 'a line is over 4 MiB';
  let parsed: unknown;
  try {
    parsed = parseExactJson(text);
  } catch {
    return 'a line is not JSON';
  }
  return isObject(parsed) && typeof parsed['type'] === 'string' ? parsed as Message : 'a line is not a message: it has no type';
}

export function malformed({ text }: Line, message: string): ReadItem {
  const bytes = Buffer.from(text.slice(0, RAW_BYTES)).subarray(0, RAW_BYTES);
  // A letter that is cut through.
  return { kind: 'malformed', raw: bytes.toString('utf8').replace(/\uFFFD$/, ''), message };
}

/** The record of a message, where it is one. */
export function recordItem(line: Line, record: unknown): ReadItem {
  if (!isObject(record)) return malformed(line, 'a record is not an object');
  return { kind: 'record', record: plainJson(record) as SourceRecord };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;
}

/** A number that a double would round becomes its text. */
function plainJson(value: unknown): Json {
  if (typeof value !== 'object' || value === null) return value as Json;
  const digits = numberText(value);
  if (digits !== undefined) return isRounded(digits) ? digits : Number(digits);
  if (Array.isArray(value)) return value.map(plainJson);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainJson(member)]));
}

function isRounded(digits: string): boolean {
  return significant(digits) !== significant(String(Number(digits)));
}

/** The same for every way to write a number: `-12.50e3` is `-125e2`. */
function significant(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^(-?)(\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return end === 0 ? '0' : `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
