import { isLongerThan, MAX_CODE_POINTS } from '../core/text-limits.ts';

/** The kinds of customer id (reference: Customer profile). */
export const CUSTOMER_TYPES = ['user_id', 'device_id'] as const;

export type CustomerType = (typeof CUSTOMER_TYPES)[number];

const CONTROL = /\p{Cc}/u; // C0, DEL and C1

/**
 * What is wrong with a customer id, or undefined when it is sound: 1 to 256 Unicode code points,
 * none of them a control character or half a surrogate pair.
 */
export function customerIdError(customerId: string): string | undefined {
  if (customerId === '') return 'the customer id is empty';
  if (isLongerThan(customerId, MAX_CODE_POINTS)) return `the customer id has over ${MAX_CODE_POINTS} characters`;
  if (CONTROL.test(customerId)) return 'the customer id has a control character';
  if (!customerId.isWellFormed()) return 'the customer id has half a surrogate pair';
  return undefined;
}
