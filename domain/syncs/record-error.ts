import { refused, type RefusedRow } from '../attributes/value-row.ts';
import { shorten } from '../text/text-limits.ts';
import { type ImportError, type ImportStage, refusalError, showJson, showRaw } from '../imports/import-error.ts';
import type { SourceRecord } from './record-mapping.ts';

const MAX_TOLD = 5;

/** Returns the one error of a record: the first that failed, else the first that was ignored. */
export function recordError(
  ordinal: number,
  record: SourceRecord | string,
  refusals: readonly RefusedRow[],
  stage?: ImportStage,
): ImportError {
  const main = refusals.find(({ kind }) => kind === 'failed') ?? refusals[0]!;
  const raw = typeof record === 'string' ? showRaw(record) : showJson(record);
  return { ...refusalError(ordinal, raw, main, stage), message: tellAll(main, refusals) };
}

/** Returns the error of a malformed record; `isErased`: it was an erased person's, and is not kept. */
export function malformedError(ordinal: number, raw: string, message: string, isErased = false): ImportError {
  return {
    ...refusalError(ordinal, showRaw(raw), refused('PARSING_FAILED', shorten(message))),
    ...(isErased && { isErased }),
  };
}

function tellAll(main: RefusedRow, refusals: readonly RefusedRow[]): string {
  const further = refusals.filter((refusal) => refusal !== main);
  const told = further
    .slice(0, MAX_TOLD)
    .map(({ key, message }) => `; also: ${key === undefined ? '' : `${key}: `}${message}`);
  const untold = further.length - told.length;
  return `${main.message}${told.join('')}${untold > 0 ? `; and ${untold} more` : ''}`;
}
