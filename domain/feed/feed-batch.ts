import { Buffer } from 'node:buffer';
import type { AttributeChange, ValueKey } from '../attributes/attribute-change.ts';
import { isSuspiciousId } from '../attributes/customer-id.ts';
import type { RefusedRow } from '../attributes/value-row.ts';
import { erasedError } from '../gdpr/erased-error.ts';
import { type ImportError, type ImportStage, refusalError, showJson } from '../imports/import-error.ts';
import { checkFeedValue, type FeedRules, type FeedValue } from './feed-value.ts';

/** A value, or what stands for one of a person erased while it waited: the keyed hash in hex. */
export type WaitingValue = FeedValue | string;

/** `traits`: of a request that holds traits of calls, the time of the call of each value, in ms since the epoch. */
export type WaitingRequest = {
  id: number;
  version: 2 | 3;
  receivedAt: Date;
  traits?: { saidAt: readonly number[] } | null;
  values: readonly WaitingValue[];
};

/** An error of one of several requests; its line is the value's ordinal among the request's values, from 0. */
export type FeedError = { requestId: number; error: ImportError };

/**
 * Every value of some requests is a change, an error, or a trait older than one before it of the same key. A change's
 * line is its value's ordinal among all of them; `older` has the lines of such traits, `suspicious` those of values
 * whose customer id hardly is one.
 */
export type CheckedFeed = { changes: AttributeChange[]; errors: FeedError[]; older: Set<number>; suspicious: number[] };

/** Checks the values of some requests into one SoR, in their order; each request by its own version. */
export function checkFeed(
  requests: readonly WaitingRequest[],
  rules: Omit<FeedRules, 'version' | 'isTrait'>,
): CheckedFeed {
  const checked: CheckedFeed = { changes: [], errors: [], older: new Set(), suspicious: [] };
  const latest = new LatestByKey();
  let line = 0;
  for (const { id: requestId, version, receivedAt, traits, values } of requests) {
    const versionRules: FeedRules = { ...rules, version: version === 3 ? 'v3' : 'v2', isTrait: Boolean(traits) };
    for (const [ordinal, value] of values.entries()) {
      if (typeof value === 'string') {
        checked.errors.push({ requestId, error: erasedError(ordinal, Buffer.from(value, 'hex')) });
      } else {
        const outcome = checkFeedValue(value, versionRules);
        if ('errorType' in outcome) checked.errors.push({ requestId, error: valueError(ordinal, value, outcome) });
        else {
          // A clock that is ahead makes nothing newer than its receipt.
          const saidAt = traits ? new Date(Math.min(traits.saidAt[ordinal]!, receivedAt.getTime())) : receivedAt;
          if (isSuspiciousId(outcome.customerId)) checked.suspicious.push(line);
          if (latest.isOlder(outcome, saidAt) && traits) checked.older.add(line);
          else checked.changes.push({ ...outcome, line, saidAt, ...(traits && { isTrait: true }) });
        }
      }
      line += 1;
    }
  }
  return checked;
}

/** The time at which the latest value of each key so far was said. */
class LatestByKey {
  readonly #byKey = new Map<string, Date>();

  /** Returns whether a later value of its key came before, and notes its time otherwise. */
  isOlder({ customerType, customerId, attributeId }: ValueKey, saidAt: Date): boolean {
    const key = `${attributeId}/${customerType}/${customerId}`;
    const latest = this.#byKey.get(key);
    if (latest !== undefined && latest > saidAt) return true;
    this.#byKey.set(key, saidAt);
    return false;
  }
}

/** Which value of which request stands at `line` of all of them. */
export function valueAt(
  requests: readonly WaitingRequest[],
  line: number,
): { request: WaitingRequest; ordinal: number } {
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
