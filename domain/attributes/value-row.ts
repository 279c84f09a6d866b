import { isLongerThan, MAX_CODE_POINTS, quote, shorten } from '../text/text-limits.ts';
import type { ImportErrorType } from '../imports/import-error-type.ts';
import type { ScalarType, ScalarValue, ValueType } from './attribute-value.ts';
import { type CustomerType, newCustomerIdError } from './customer-id.ts';
import { type Action, ACTIONS } from './set-actions.ts';

/** What a row of an import and a value of a feed have in common: whom and what they concern, and what they do. */

/** An attribute of the SoR that is written to; `id` is the caller's and comes back as it is. */
export type ImportAttribute = { id: number; key: string; valueType: ValueType; disabled: boolean };

export type AttributeRules = { attributes: ReadonlyMap<string, ImportAttribute>; sorDisabled: boolean };

/** `value` is null exactly when the action is `remove`. */
export type ValueRow = {
  kind: 'value';
  attributeId: number;
  valueType: ScalarType;
  customerId: string;
  customerType: CustomerType;
  action: 'set' | 'remove';
  value: ScalarValue | null;
};

/** `elements` is empty exactly when the action is DEL. */
export type SetRow = {
  kind: 'set';
  attributeId: number;
  valueType: 'Set';
  customerId: string;
  customerType: CustomerType;
  action: Action;
  elements: string[];
};

/** A row that changes nothing. What it shows of the row is cut to size and can be stored. */
export type RefusedRow = {
  kind: 'ignored' | 'failed';
  errorType: ImportErrorType;
  message: string;
  customerId?: string;
  key?: string;
};

export type RowOutcome = ValueRow | SetRow | RefusedRow;

/** An unknown key is ignored, all else fails. */
export function refused(errorType: ImportErrorType, message: string, customerId?: string, key?: string): RefusedRow {
  const row: RefusedRow = { kind: errorType === 'UNDEFINED_ATTRIBUTE' ? 'ignored' : 'failed', errorType, message };
  if (customerId !== undefined) row.customerId = shorten(customerId);
  if (key !== undefined) row.key = shorten(key);
  return row;
}

/** The SoR is gone: nothing of it can be written to. */
export function sorDeleted(customerId?: string, key?: string): RefusedRow {
  return refused('EMPTY_SOR', 'the System of Record was deleted after this was accepted', customerId, key);
}

/**
 * The attribute that a row is about. The first error counts, in this order: customer id, key empty or too long,
 * unknown key, attribute or SoR disabled.
 */
export function findAttribute(customerId: string, key: string, rules: AttributeRules): ImportAttribute | RefusedRow {
  const idError = newCustomerIdError(customerId);
  if (idError !== undefined) return refused('INVALID_CUSTOMER_ID', idError, customerId, key);
  return findAttributeOf(customerId, key, rules);
}

/** The same for a customer id that is known to be sound. */
export function findAttributeOf(
  customerId: string,
  key: string,
  { attributes, sorDisabled }: AttributeRules,
): ImportAttribute | RefusedRow {
  const attribute = attributes.get(key);
  if (attribute === undefined) return unknownKey(customerId, key);
  if (attribute.disabled) return refused('DISABLED_ATTRIBUTE', 'the attribute is disabled', customerId, key);
  if (sorDisabled) return refused('DISABLED_ATTRIBUTE', 'the SoR is disabled', customerId, key);
  return attribute;
}

function unknownKey(customerId: string, key: string): RefusedRow {
  if (key === '') return refused('EMPTY_KEY', 'the attribute key is empty', customerId, key);
  if (isLongerThan(key, MAX_CODE_POINTS)) {
    return refused('TOO_LONG_KEY', `the attribute key has over ${MAX_CODE_POINTS} characters`, customerId, key);
  }
  return refused('UNDEFINED_ATTRIBUTE', `the SoR has no attribute with the key ${quote(key)}`, customerId, key);
}

export function findAction(text: string): Action | undefined {
  return ACTIONS.find((action) => action === text);
}
