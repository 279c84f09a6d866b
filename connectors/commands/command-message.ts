/** Messages of Singer taps and Airbyte sources: one a line, an object with its type. */
import { isObject, parseExactJson } from '../../domain/json/exact-json.ts';
import { checkNesting, NestingError } from '../../domain/json/parse-json.ts';
import { MAX_OUTSIDE_NESTING, sayDepth } from '../core/json-record.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

export type Line = {
  /** The line without its end; for a line over the limit, its beginning without the word that was cut. */
  text: string;
  /** Size of the whole line. */
  bytes: number;
  isCut: boolean;
  /** False for the text after the last newline. */
  isEnded: boolean;
};

export type Message = { type: string; [member: string]: unknown };

/**
 * Returns the message of a line, or a text that says what is wrong with it. Numbers keep their digits. Refuses a
 * message other than a record that nests too deep: without its state or catalog, the source cannot be read.
 */
export function messageOf({ text, isCut }: Line): Message | string {
  if (isCut) return 'a line is over 4 MiB';
  let parsed: unknown;
  try {
    checkNesting(text, MAX_OUTSIDE_NESTING);
    parsed = parseExactJson(text);
  } catch (error) {
    return error instanceof NestingError ? tooDeep(text) : 'a line is not JSON';
  }
  return isObject(parsed) && typeof parsed['type'] === 'string'
    ? (parsed as Message)
    : 'a line is not a message: it has no type';
}

/** Reads the type with JSON.parse, which needs no stack. */
function tooDeep(text: string): string {
  const type = typeOf(text);
  if (type === undefined || type === 'RECORD') return `a line ${sayDepth(MAX_OUTSIDE_NESTING)}`;
  throw sourceRefusal(
    'source_refused',
    `the source printed a message ${type.slice(0, 100)} that ${sayDepth(MAX_OUTSIDE_NESTING)}`,
  );
}

function typeOf(text: string): string | undefined {
  try {
    const parsed = JSON.parse(text) as unknown;
    return isObject(parsed) && typeof parsed['type'] === 'string' ? parsed['type'] : undefined;
  } catch {
    return undefined;
  }
}
