/** Checks the values of a feed (reference: Feeding attribute values): a single one, and all of some requests. */

import { Buffer } from 'node:buffer';
import type { AttributeChange, ValueKey } from '../attributes/attribute-change.ts';
import { parseAttributeValue, type ScalarType } from '../attributes/attribute-value.ts';
import { CUSTOMER_TYPES, type CustomerType, isSuspiciousId } from '../attributes/customer-id.ts';
import { elementText, sayType, scalarText, textOf } from '../attributes/json-value.ts';
import { type Action, ACTIONS } from '../attributes/set-actions.ts';
import {
  type AttributeRules,
  findAction,
  findAttribute,
  type ImportAttribute,
  refused,
  type RefusedRow,
  type RowOutcome,
  type SetRow,
  sorDeleted,
  type ValueRow,
} from '../attributes/value-row.ts';
import { erasedError } from '../gdpr/erased-error.ts';
import type { ImportErrorType } from '../imports/import-error-type.ts';
import { type ImportError, type ImportStage, refusalError, showJson } from '../imports/import-error.ts';
import { quote } from '../text/text-limits.ts';

/** An element of `customer_attribute_values`, as `parseExactJson` reads it: anything may stand in its members. */
export type FeedValue = Readonly<Record<string, unknown>>;

/** The rules for values; `isTrait`: written for the attribute's earlier type, which may be a String by now. */
export type FeedRules = AttributeRules & { version: 'v2' | 'v3'; sorDeleted: boolean; isTrait?: boolean };

/**
 * Returns what a value does (reference: Feeding attribute values). The first error counts: customer id,
 * customer_id_type, key, unknown key (ignored, all else fails), attribute or SoR disabled, action, value. Null removes.
 * A Set needs an action: ADD and REMOVE take one element as it stands, UPSERT the whole Set between `;`, DEL empties
 * it. For a scalar, v2 ignores the action; in v3 DEL removes it without a look at the value, and the others replace it.
 */
export function checkFeedValue(given: FeedValue, rules: FeedRules): RowOutcome {
  const { customer_id: customerId, attribute_key: key } = given;
  if (rules.sorDeleted) return sorDeleted(textOf(customerId), textOf(key));
  if (typeof customerId !== 'string')
    return refuseValue(given, 'INVALID_CUSTOMER_ID', sayNoText('customer_id', customerId));
  const attribute = typeof key === 'string' ? findAttribute(customerId, key, rules) : noKey(given);
  if ('errorType' in attribute && attribute.errorType === 'INVALID_CUSTOMER_ID') return attribute;
  const customerType = readCustomerType(given.customer_id_type);
  if (customerType === undefined) return unknownType(given);
  if ('errorType' in attribute) return attribute;
  const person = { customerId, customerType };
  return attribute.valueType === 'Set'
    ? checkSet(given, attribute, person)
    : checkScalar(given, { ...attribute, valueType: attribute.valueType }, person, rules);
}

type Person = { customerId: string; customerType: CustomerType };

function refuseValue(given: FeedValue, errorType: ImportErrorType, message: string): RefusedRow {
  return refused(errorType, message, textOf(given.customer_id), textOf(given.attribute_key));
}

function sayNoText(member: string, value: unknown): string {
  return isAbsent(value) ? `${member} is missing` : `${member} must be a string, not ${sayType(value)}`;
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function noKey(given: FeedValue): RefusedRow {
  const key = given.attribute_key;
  return refuseValue(given, isAbsent(key) ? 'EMPTY_KEY' : 'PARSING_FAILED', sayNoText('attribute_key', key));
}

/** Returns undefined for an unknown type; the default is user_id. */
export function readCustomerType(given: unknown): CustomerType | undefined {
  return isAbsent(given) ? 'user_id' : CUSTOMER_TYPES.find((type) => type === given);
}

function unknownType(given: FeedValue): RefusedRow {
  const type = given.customer_id_type;
  const found = typeof type === 'string' ? quote(type) : sayType(type);
  return refuseValue(given, 'UNKNOWN_TYPE', `customer_id_type is ${CUSTOMER_TYPES.join(' or ')}, not ${found}`);
}

/** Returns null for none, an empty text included, and undefined for an unknown one. */
function readAction(given: unknown): Action | null | undefined {
  if (isAbsent(given) || given === '') return null;
  return typeof given === 'string' ? findAction(given) : undefined;
}

function invalidAction(given: FeedValue, isRequired: boolean): RefusedRow {
  const { action_type: action } = given;
  const known = `${ACTIONS.join(', ')}${isRequired ? '' : ' or left out'}`;
  if (readAction(action) === null) return refuseValue(given, 'INVALID_ACTION', `a Set needs an action_type: ${known}`);
  const found = typeof action === 'string' ? quote(action) : sayType(action);
  return refuseValue(given, 'INVALID_ACTION', `${found} is no action: it is ${known}`);
}

function checkSet(given: FeedValue, { id }: ImportAttribute, person: Person): SetRow | RefusedRow {
  const action = readAction(given.action_type);
  const value = given.attribute_value;
  const row = { kind: 'set', attributeId: id, valueType: 'Set', ...person } as const;
  if (action === undefined) return invalidAction(given, true);
  if (action === 'DEL' || value === null) return { ...row, action: 'DEL', elements: [] };
  if (action === null) return invalidAction(given, true);
  if (typeof value !== 'string') return noText(given, 'Set');
  const parsed = action === 'UPSERT' ? parseAttributeValue('Set', value) : oneElement(value);
  return parsed.ok ? { ...row, action, elements: parsed.value } : refuseValue(given, parsed.errorType, parsed.message);
}

function oneElement(text: string) {
  const parsed = parseAttributeValue('String', text);
  return parsed.ok ? { ok: true as const, value: [parsed.value as string] } : parsed;
}

/**
 * Accepts a Number as a JSON number or a string that contains one, a Boolean as true or false or such a string, and
 * every other type as a string.
 */
function checkScalar(
  given: FeedValue,
  { id, valueType }: { id: number; valueType: ScalarType },
  person: Person,
  { version, isTrait }: FeedRules,
): ValueRow | RefusedRow {
  const action = version === 'v2' ? null : readAction(given.action_type);
  const value = given.attribute_value;
  const row = { kind: 'value', attributeId: id, valueType, ...person } as const;
  if (action === undefined) return invalidAction(given, false);
  if (action === 'DEL' || value === null) return { ...row, action: 'remove', value: null };
  const text = isTrait && valueType === 'String' ? elementText(value) : scalarText(valueType, value);
  if (text === undefined) return noText(given, valueType);
  const parsed = parseAttributeValue(valueType, text);
  return parsed.ok
    ? { ...row, action: 'set', value: parsed.value }
    : refuseValue(given, parsed.errorType, parsed.message);
}

const TEXT = 'a string';
const TAKEN: Record<ScalarType | 'Set', string> = {
  String: TEXT,
  Date: TEXT,
  Datetime: TEXT,
  Number: 'a number',
  Boolean: 'true or false',
  Set: 'a string, one element, or with UPSERT all of them between ;',
};

function noText(given: FeedValue, type: ScalarType | 'Set'): RefusedRow {
  const value = given.attribute_value;
  if (value === undefined)
    return refuseValue(given, 'EMPTY_VALUE', 'attribute_value is missing; null removes the value');
  return refuseValue(given, 'INVALID_VALUE', `${sayType(value)} is no value of a ${type}: send ${TAKEN[type]}`);
}

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

/** The values of some requests; a line is a value's ordinal among all. `older`: traits older than one before them. */
export type CheckedFeed = { changes: AttributeChange[]; errors: FeedError[]; older: Set<number>; suspicious: number[] };

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

export function valueError(ordinal: number, value: FeedValue, refusal: RefusedRow, stage?: ImportStage): ImportError {
  return refusalError(ordinal, showJson(value), refusal, stage);
}
