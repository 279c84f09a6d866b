import { isUtf8 } from 'node:buffer';
import { numberText, parseExactJson } from '../../domain/exact-json.ts';
import { type Line, LineSplitter } from '../../domain/line-splitter.ts';
import { isKeptByDouble } from '../../domain/number-value.ts';
import type { Json, ReadItem, SourceRecord } from '../contract.ts';
import { type FoundItem, type ItemReader, malformed, type Start } from './file-items.ts';

/** Deeper ones would overflow the stack of whoever writes them. */
const MAX_DEPTH = 100;

/** Records of JSON Lines: an object per line. Empty lines are none. */
export function createJsonlItems({ offset, line }: Start): ItemReader {
  const splitter = new LineSplitter({ startOffset: offset, startLine: line });
  function* through(lines: Iterable<Line>): Generator<FoundItem, void, void> {
    for (const found of lines) {
      if (found.bytes.length === 0) continue;
      const after = { offset: found.endOffset, line: found.endLine };
      const bytes = found.isTooLong ? found.bytes.length : after.offset - found.offset;
      yield { item: readItem(found), bytes, after };
    }
  }
  return { push: (chunk) => through(splitter.push(chunk)), end: () => through(splitter.end()), columns: () => null };
}

function readItem({ bytes, isTooLong, line }: Line): ReadItem {
  const record = isTooLong ? 'is over 1 MiB long' : readRecord(bytes);
  if (typeof record !== 'string') return { kind: 'record', record };
  return malformed(bytes, `Line ${line} ${record}`);
}

/** The record, or why there is none. */
function readRecord(bytes: Buffer): SourceRecord | string {
  if (!isUtf8(bytes)) return 'is not UTF-8';
  const value = tryParse(bytes.toString());
  if (value === undefined) return 'is not JSON';
  if (value === null || typeof value !== 'object' || Array.isArray(value) || numberText(value) !== undefined) {
    return 'is not a JSON object';
  }
  return toJson(value, 1) as SourceRecord | undefined ?? `has arrays or objects more than ${MAX_DEPTH} deep`;
}

function tryParse(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

/** In place: a number that a double would round becomes its text. Undefined when it is too deep. */
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
