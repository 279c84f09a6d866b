import { isUtf8 } from 'node:buffer';
import { parseExactJson } from '../../domain/json/exact-json.ts';
import { type Line, LineSplitter } from '../../domain/csv/line-splitter.ts';
import { checkNesting, NestingError } from '../../domain/json/parse-json.ts';
import type { ReadItem, SourceRecord } from '../core/contract.ts';
import { jsonRecord, MAX_RECORD_NESTING, sayDepth } from '../core/json-record.ts';
import { malformed } from '../core/malformed.ts';
import type { FoundItem, ItemReader, Start } from './file-items.ts';

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
  const text = bytes.toString();
  try {
    checkNesting(text, MAX_RECORD_NESTING);
    return jsonRecord(parseExactJson(text));
  } catch (error) {
    return error instanceof NestingError ? sayDepth(MAX_RECORD_NESTING) : 'is not JSON';
  }
}
