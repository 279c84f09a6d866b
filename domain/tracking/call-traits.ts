/** A call's traits: reads them, and makes them values of the feed. */

import { parseElements, type ValueType } from '../attributes/attribute-value.ts';
import type { CustomerType } from '../attributes/customer-id.ts';
import { elementText } from '../attributes/json-value.ts';
import { isDate } from '../time/date-value.ts';
import { isObject } from '../json/exact-json.ts';
import { type Json, plainJson } from '../json/plain-json.ts';
import { isLongerThan, MAX_CODE_POINTS, storable } from '../text/text-limits.ts';
import type { FeedValue } from '../feed/feed-value.ts';
import { type CallError, type Fields, fieldsOf, invalid, isCallError, isNoId, readId } from './call-fields.ts';
import type { CallType, Trait } from './call.ts';

/** Segment's names of traits for which the global System of Records has an attribute. */
const GLOBAL = new Map([
  ['firstName', 'first_name'],
  ['first_name', 'first_name'],
  ['lastName', 'last_name'],
  ['last_name', 'last_name'],
  ['email', 'email'],
  ['birthday', 'date_of_birth'],
  ['gender', 'gender'],
  ['avatar', 'profile_picture_url'],
  ['address.city', 'city'],
  ['address.country', 'country'],
  ['address.state', 'region'],
]);
/** The analytics-android library puts a call's ids among its traits. */
const IDS = new Set(['userId', 'anonymousId']);

/** Reads `traits`, and `context.traits` for keys not set yet. Flattens one level: the merge refuses deeper objects. */
export function readTraits(type: CallType, fields: Fields, contextTraits: unknown): { traits: Trait[] } | CallError {
  if (type === 'alias') return { traits: [] };
  const own = fieldsOf(type === 'identify' || type === 'group' ? fields.traits : undefined);
  if (own === undefined) return invalid('traits', 'must be an object');
  // A malformed context refuses no call.
  const surrounding = isObject(contextTraits) ? contextTraits : {};
  const traits = new Traits();
  if (type === 'group') {
    const group = isNoId(fields.groupId)
      ? invalid('groupId', 'must stand in a group call')
      : readId('groupId', fields.groupId);
    if (isCallError(group)) return group;
    traits.add('app', 'group_id', group.id);
    for (const [key, value] of flatten(own)) traits.add('app', `group_${key}`, value);
  }
  addPersonal(traits, [...(type === 'identify' ? flatten(own) : []), ...flatten(surrounding)]);
  return { traits: traits.all() };
}

/** Collects traits; the first value of each attribute stays. */
class Traits {
  readonly #found = new Map<string, Trait>();

  add(sor: Trait['sor'], key: string, value: Json): void {
    const name = `${sor} ${key}`;
    if (!this.#found.has(name)) this.#found.set(name, { sor, key, value });
  }

  hasGlobal(key: string): boolean {
    return this.#found.has(`global ${key}`);
  }

  all(): Trait[] {
    return [...this.#found.values()];
  }
}

/** Skips empty texts: forms send one for each field that was left empty. */
function* flatten(traits: Fields): Iterable<[key: string, value: Json]> {
  for (const [name, value] of Object.entries(traits)) {
    if (isObject(value)) {
      for (const [inner, member] of Object.entries(value))
        if (member !== '') yield [storable(`${name}.${inner}`), traitValue(member)];
    } else if (value !== '') yield [storable(name), traitValue(value)];
  }
}

/** Makes the elements of an array texts if it can be a Set. */
function traitValue(value: unknown): Json {
  const json = plainJson(value);
  const isSet = Array.isArray(json) && json.every((element) => element !== null && typeof element !== 'object');
  return isSet ? json.map(String) : json;
}

function addPersonal(traits: Traits, given: Iterable<[key: string, value: Json]>): void {
  let fullName: string | null | undefined;
  for (const [key, value] of given) {
    const global = GLOBAL.get(key);
    if (global !== undefined) traits.add('global', global, global === 'date_of_birth' ? datePart(value) : value);
    else if (key === 'name' && (value === null || typeof value === 'string')) fullName ??= value;
    else if (!IDS.has(key)) traits.add('app', key, value);
  }
  if (fullName !== undefined) addFullName(traits, fullName);
}

/** Splits a full name at its last space, unless there is a first or a last name: then it is an attribute of its own. */
function addFullName(traits: Traits, fullName: string | null): void {
  if (traits.hasGlobal('first_name') || traits.hasGlobal('last_name')) return traits.add('app', 'name', fullName);
  const words = fullName === null ? [] : fullName.trim().split(/\s+/);
  const lastName = words.length > 1 ? words.pop()! : null;
  traits.add('global', 'first_name', fullName === null ? null : words.join(' '));
  if (lastName !== null || fullName === null) traits.add('global', 'last_name', lastName);
}

/** Returns the day of a time: SDKs write a day as its midnight. */
function datePart(value: Json): Json {
  const day = typeof value === 'string' && /^[\d-]{10}[T ]/.test(value) ? value.slice(0, 'YYYY-MM-DD'.length) : value;
  return typeof day === 'string' && isDate(day) ? day : value;
}

type Customer = { customerId: string; customerType: CustomerType };

/**
 * Returns a trait as values of a feed (v3). An array becomes a whole Set; one that is none, or meets a scalar, stays
 * one value that the merge refuses: its DEL would remove the current value. For a `type` of null the merge infers one.
 */
export function traitValues(customer: Customer, key: string, value: unknown, type: ValueType | null): FeedValue[] {
  const one = (given: unknown, action?: string): FeedValue => ({
    customer_id: customer.customerId,
    customer_id_type: customer.customerType,
    attribute_key: key,
    attribute_value: given,
    ...(action !== undefined && { action_type: action }),
  });
  if (!Array.isArray(value))
    return isElement(value, type) ? traitValues(customer, key, [value], type) : [one(asScalar(value, type))];
  const texts = value.map(elementText);
  if (!texts.every((text) => text !== undefined)) return [one(value, 'UPSERT')];
  const isScalar = type !== null && type !== 'Set';
  if (texts.every((text) => text === '')) return [isScalar ? one(value) : one(null)];
  if (!texts.some((text) => text.includes(';'))) return [one(texts.join(';'), 'UPSERT')];
  const tooLong = texts.find((text) => isLongerThan(text, MAX_CODE_POINTS));
  if (tooLong !== undefined) return [one(tooLong, 'ADD')];
  if (isScalar || !parseElements(texts).ok) return [one(value, 'UPSERT')];
  return [one(null, 'DEL'), ...texts.filter((text) => text !== '').map((text) => one(text, 'ADD'))];
}

function isElement(value: unknown, type: ValueType | null): boolean {
  return type === 'Set' && elementText(value) !== undefined;
}

function asScalar(value: unknown, type: ValueType | null): unknown {
  return type === 'String' ? (elementText(value) ?? value) : value;
}
