import { parseExactJson } from '../../domain/exact-json.ts';
import { isObject } from '../json-record.ts';
import type { Line } from './bounded-lines.ts';

/** A message as Singer's and Airbyte's are: an object that tells its type. */
export type Message = { type: string; [member: string]: unknown };

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
