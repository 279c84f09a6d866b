import { Buffer } from 'node:buffer';
import type { AttributeChange } from '../attributes/attribute-change.ts';
import type { RefusedRow } from '../attributes/value-row.ts';
import { erasedError } from '../gdpr/erased-error.ts';
import { type ImportError, type ImportStage, refusalError, showJson } from '../imports/import-error.ts';
import { checkFeedValue, type FeedRules, type FeedValue } from './feed-value.ts';

/** A value, or what stands for one of a person erased while it waited: the keyed hash in hex. */
export type WaitingValue = FeedValue | string;

export type WaitingRequest = { id: number; version: 2 | 3; receivedAt: Date; values: readonly WaitingValue[] };

/** An error of one of several requests; its line is the value's ordinal among the request's values, from 0. */
export type FeedError = { requestId: number; error: ImportError };

/** Every value of some requests is either a change or an error. A change's line is its value's ordinal among all of them. */
export type CheckedFeed = { changes: AttributeChange[]; errors: FeedError[] };

/** Checks the values of some requests into one SoR, in their order; each request by its own version. */
export function checkFeed(requests: readonly WaitingRequest[], rules: Omit<FeedRules, 'version'>): CheckedFeed {
  const checked: CheckedFeed = { changes: [], errors: [] };
  let line = 0;
  for (const { id: requestId, version, receivedAt, values } of requests) {
    const versionRules: FeedRules = { ...rules, version: version === 3 ? 'v3' : 'v2' };
    for (const [ordinal, value] of values.entries()) {
      if (typeof value === 'string') {
        checked.errors.push({ requestId, error: erasedError(ordinal, Buffer.from(value, 'hex')) });
      } else {
        const outcome = checkFeedValue(value, versionRules);
        if ('errorType' in outcome) checked.errors.push({ requestId, error: valueError(ordinal, value, outcome) });
        else checked.changes.push(outcome.kind === 'value' ? { ...outcome, line, saidAt: receivedAt } : { ...outcome, line });
      }
      line += 1;
    }
  }
  return checked;
}

/** Which value of which request stands at `line` of all of them. */
export function valueAt(requests: readonly WaitingRequest[], line: number): { request: WaitingRequest; ordinal: number } {
  let ordinal = line;
  for (const request of requests) {
    if (ordinal < request.values.length) return { request, ordinal };
    ordinal -= request.values.length;
  }
  throw new RangeError('there are not so many values');
}

export function valueError(ordinal: number, value: FeedValue, refusal: RefusedRow, stage?: ImportStage): ImportError {
  return refusalError(ordinal, showJson(value), refusal, stage);
}
