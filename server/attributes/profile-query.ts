import { z } from 'zod';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { commaListOf, customerId, identifier, isoDatetime, text } from '../http/input.ts';
import type { Malformed } from '../http/route.ts';

/** What selects of each profile (reference: Customer profiles). */
export const profileFilters = {
  customer_id_type: z.enum(CUSTOMER_TYPES).optional(),
  sor_identifiers: commaListOf(identifier).optional().describe('SoRs to return: identifiers, or `global`'),
  attribute_keys: commaListOf(text()).optional().describe('Only SoRs with a matching key are returned, and of them only these keys'),
};

export const profileListQuery = z.object({
  ...profileFilters,
  customer_ids: commaListOf(customerId).optional(),
  page: wholeNumber(999_999_999).default(1),
  num_per_page: wholeNumber(10_000).default(2000),
  updated_since: isoDatetime.optional().describe('Only profiles with changes since then, and of them only these'),
  cursor: z.string().min(1).max(4096).optional().describe('Comes in `next`: where to go on'),
});

export type ProfileListQuery = z.output<typeof profileListQuery>;

/** From 1 to `max`. */
function wholeNumber(max: number) {
  const message = `must be a whole number from 1 to ${max}`;
  return z.string().regex(/^\d{1,9}$/, { error: message, abort: true }).transform(Number)
    .refine((value) => value >= 1 && value <= max, message)
    .meta({ minimum: 1, maximum: max });
}

/** The reference's words for a wrong parameter. */
export const wrongParam: Malformed = {
  elements: Object.keys(profileListQuery.shape), status: '400', message: (name) => `Param ${name} is not valid`,
};

/** `why` is for the list of messages: `message` has the reference's words. */
export function refuseParam(name: keyof ProfileListQuery, why: string): never {
  const message = `Param ${name} is not valid`;
  return refuse(400, '400', message, {
    messages: [{ element: name, severity: 'error', message: why }], errors: [`${name}: ${why}`],
  });
}
