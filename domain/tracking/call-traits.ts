import { parseElements, type ValueType } from '../attributes/attribute-value.ts';
import type { CustomerType } from '../attributes/customer-id.ts';
import { elementText } from '../attributes/json-value.ts';
import { isDate } from '../core/date-value.ts';
import { type Json, plainJson } from '../core/plain-json.ts';
import { isLongerThan, MAX_CODE_POINTS, storable } from '../core/text-limits.ts';
import type { FeedValue } from '../feed/feed-value.ts';
import {
  type CallError,
  type Fields,
  fieldsOf,
  invalid,
  isCallError,
  isNoId,
  isObject,
  readId,
} from './call-fields.ts';
import type { CallType, Trait } from './call.ts';

/** Segment's names for what the global System of Records has an attribute for. */
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
/** analytics-android puts the ids of a call among its traits. */
const IDS = new Set(['userId', 'anonymousId']);

/**
 * What a call tells of its person. Of an identify its `traits`; of a group its `groupId` and its `traits`, as those of
 * the person's group; of these and of track, page and screen `context.traits`, where nothing before says it. Objects
 * are flattened one level: what lies deeper stays an object, which the merge refuses as it does all that is no value.
 */
export function readTraits(type: CallType, fields: Fields, contextTraits: unknown): { traits: Trait[] } | CallError {
  if (type === 'alias') return { traits: [] };
  const own = fieldsOf(type === 'identify' || type === 'group' ? fields.traits : undefined);
  if (own === undefined) return invalid('traits', 'must be an object');
  // Of a context nothing has a call refused.
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

/** Each attribute once: the first that is added stays. */
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

/** An empty text counts as missing: forms send one for each field that was left empty. */
function* flatten(traits: Fields): Iterable<[key: string, value: Json]> {
  for (const [name, value] of Object.entries(traits)) {
    if (isObject(value)) {
      for (const [inner, member] of Object.entries(value))
        if (member !== '') yield [storable(`${name}.${inner}`), traitValue(member)];
    } else if (value !== '') yield [storable(name), traitValue(value)];
  }
}

/** An array of texts, numbers and booleans is a Set: its elements are texts. */
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

/** A name alone is split at its last space; beside a first or a last name it is an attribute like others. */
function addFullName(traits: Traits, fullName: string | null): void {
  if (traits.hasGlobal('first_name') || traits.hasGlobal('last_name')) return traits.add('app', 'name', fullName);
  const words = fullName === null ? [] : fullName.trim().split(/\s+/);
  const lastName = words.length > 1 ? words.pop()! : null;
  traits.add('global', 'first_name', fullName === null ? null : words.join(' '));
  if (lastName !== null || fullName === null) traits.add('global', 'last_name', lastName);
}

/** SDKs write a day as the midnight of it. */
function datePart(value: Json): Json {
  const day = typeof value === 'string' && /^[\d-]{10}[T ]/.test(value) ? value.slice(0, 'YYYY-MM-DD'.length) : value;
  return typeof day === 'string' && isDate(day) ? day : value;
}

type Customer = { customerId: string; customerType: CustomerType };

/**
 * A trait as values of a feed (v3). `type` is that of its attribute, null where there is none: the merge tells. An
 * array becomes a whole Set: one UPSERT, or where an element holds the separator a DEL and an ADD for each. A number or
 * a Boolean is the text of it where the attribute is a String. What can't be a value goes as it is, so that the merge
 * tells what is wrong with it. An array that is no whole Set, or meets a scalar, is one value that the merge refuses:
 * its DEL would remove what stands.
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

/** A scalar where the attribute is a Set: its only element. */
function isElement(value: unknown, type: ValueType | null): boolean {
  return type === 'Set' && elementText(value) !== undefined;
}

function asScalar(value: unknown, type: ValueType | null): unknown {
  return type === 'String' ? (elementText(value) ?? value) : value;
}
