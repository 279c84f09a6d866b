import { z } from 'zod';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { commaListOf, customerId, identifier, isoDatetime, text } from '../core/input.ts';
import { type Malformed, operation } from '../core/operation.ts';

/** What selects of each profile (reference: Customer profiles). */
const profileFilters = {
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

/** From 1 to `max`. */
function wholeNumber(max: number) {
  const message = `must be a whole number from 1 to ${max}`;

  return z.string().regex(/^\d{1,9}$/, { error: message, abort: true }).transform(Number)
    .refine((value) => value >= 1 && value <= max, message)
    .meta({ minimum: 1, maximum: max });
}

/** The reference's words for a wrong parameter. */
const wrongParam: Malformed = {
  elements: Object.keys(profileListQuery.shape), status: '400', message: (name) => `Param ${name} is not valid`,
};

/** Reference: Customer profile. */
export const CustomerProfile = z.object({
  customer_id: z.string(),
  customer_id_type: z.enum(CUSTOMER_TYPES),
  attributes: z.record(z.string(), z.record(z.string(), z.unknown()))
    .describe('`global`, and one member for each SoR: key to value, or with updated_since to { value, removed }'),
  applications: z.array(z.object({
    app_id: z.string(), sor_id: z.string(), installations: z.array(z.object({ device_id: z.string() })),
  })),
}).meta({ id: 'CustomerProfile' });
export type CustomerProfile = z.output<typeof CustomerProfile>;

const SHARED = { method: 'GET', tag: 'Customer profiles', right: 'sor_manage', malformedQuery: wrongParam } as const;

export const listCustomerProfiles = operation({
  id: 'listCustomerProfiles',
  ...SHARED,
  path: '/api/customer_profiles',
  summary: 'List customer profiles, or with updated_since what changed of them',
  audits: 'read customer',
  query: profileListQuery,
  result: z.object({
    total_pages: z.int().optional().describe('Without updated_since'),
    total_profiles: z.int().optional().describe('Without updated_since'),
    updated_until: z.iso.datetime().optional().describe('With updated_since: what the next scan over changes gives as its own'),
    next: z.string().nullable().describe('The address of the next page; null at the end'),
    profiles: z.array(CustomerProfile),
  }),
});

export const viewCustomerProfile = operation({
  id: 'viewCustomerProfile',
  ...SHARED,
  path: '/api/customer_profiles/:customer_id',
  summary: 'Read the profiles of a customer id',
  description: 'One for each type that the id is known as; none of an unknown one.',
  audits: 'read customer',
  params: z.object({ customer_id: customerId }),
  query: z.object(profileFilters),
  result: z.array(CustomerProfile),
});
