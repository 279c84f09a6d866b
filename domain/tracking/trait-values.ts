import { parseElements, type ValueType } from '../attributes/attribute-value.ts';
import type { CustomerType } from '../attributes/customer-id.ts';
import { elementText } from '../attributes/json-value.ts';
import { isLongerThan, MAX_CODE_POINTS } from '../core/text-limits.ts';
import type { FeedValue } from '../feed/feed-value.ts';

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
