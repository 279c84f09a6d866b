/** Rows of an import and values of a feed: their customer, attribute, action and value. */

import { isLongerThan, MAX_CODE_POINTS, quote, shorten } from '../text/text-limits.ts';
import type { ImportErrorType } from '../imports/import-error-type.ts';
import type { ScalarType, ScalarValue, ValueType } from './attribute-value.ts';
import { type CustomerType, newCustomerIdError } from './customer-id.ts';
import { type Action, ACTIONS } from './set-actions.ts';

/** An attribute of the SoR; `id` is the caller's and is returned unchanged. */
export type ImportAttribute = { id: number; key: string; valueType: ValueType; disabled: boolean };

export type AttributeRules = { attributes: ReadonlyMap<string, ImportAttribute>; sorDisabled: boolean };

/** A row for a scalar; `value` is null exactly if the action is `remove`. */
export type ValueRow = {
  kind: 'value';
  attributeId: number;
  valueType: ScalarType;
  customerId: string;
  customerType: CustomerType;
  action: 'set' | 'remove';
  value: ScalarValue | null;
};

/** A row for a Set; `elements` is empty exactly if the action is DEL. */
export type SetRow = {
  kind: 'set';
  attributeId: number;
  valueType: 'Set';
  customerId: string;
  customerType: CustomerType;
  action: Action;
  elements: string[];
};

/** A row that changes nothing. Its texts are cut to size and can be stored. */
export type RefusedRow = {
  kind: 'ignored' | 'failed';
  errorType: ImportErrorType;
  message: string;
  customerId?: string;
  key?: string;
};

export type RowOutcome = ValueRow | SetRow | RefusedRow;

/** Returns a refusal: an unknown key is ignored, any other error fails. */
export function refused(errorType: ImportErrorType, message: string, customerId?: string, key?: string): RefusedRow {
  const row: RefusedRow = { kind: errorType === 'UNDEFINED_ATTRIBUTE' ? 'ignored' : 'failed', errorType, message };
  if (customerId !== undefined) row.customerId = shorten(customerId);
  if (key !== undefined) row.key = shorten(key);
  return row;
}

export function sorDeleted(customerId?: string, key?: string): RefusedRow {
  return refused('EMPTY_SOR', 'the System of Record was deleted after this was accepted', customerId, key);
}

/** Returns the row's attribute, or its first error: customer id, key, unknown, then disabled. */
export function findAttribute(customerId: string, key: string, rules: AttributeRules): ImportAttribute | RefusedRow {
  const idError = newCustomerIdError(customerId);
  if (idError !== undefined) return refused('INVALID_CUSTOMER_ID', idError, customerId, key);
  return findAttributeOf(customerId, key, rules);
}

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
