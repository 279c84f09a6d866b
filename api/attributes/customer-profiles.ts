/** Customer profiles: the attribute values of an entity's customers (reference: Customer profiles). */
import { z } from 'zod';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { commaListOf, customerId, identifier, isoDatetime, text } from '../core/input.ts';
import { type Malformed, operation } from '../core/operation.ts';

/** Parameters that select the values of each profile (reference: Customer profiles). */
const profileFilters = {
  customer_id_type: z.enum(CUSTOMER_TYPES).optional(),
  sor_identifiers: commaListOf(identifier)
    .optional()
    .describe('Systems of Records to return: identifiers, or `global`'),
  attribute_keys: commaListOf(text())
    .optional()
    .describe('Return only these keys, and only Systems of Records that have one of them'),
};

export const profileListQuery = z.object({
  ...profileFilters,
  customer_ids: commaListOf(customerId).optional(),
  page: wholeNumber(999_999_999).default(1),
  num_per_page: wholeNumber(10_000).default(2000),
  updated_since: isoDatetime
    .optional()
    .describe('Return only values that changed since this time, and only profiles with such values'),
  cursor: z.string().min(1).max(4096).optional().describe('From the `next` of the page before'),
});

function wholeNumber(max: number) {
  const message = `must be a whole number from 1 to ${max}`;

  return z
    .string()
    .regex(/^\d{1,9}$/, { error: message, abort: true })
    .transform(Number)
    .refine((value) => value >= 1 && value <= max, message)
    .meta({ minimum: 1, maximum: max });
}

/** The reference's message for a wrong parameter. */
export const wrongParam: Malformed = {
  elements: Object.keys(profileListQuery.shape),
  status: '400',
  message: (name) => `Param ${name} is not valid`,
};

/** A customer's values (reference: Customer profile). */
export const CustomerProfile = z
  .object({
    customer_id: z.string(),
    customer_id_type: z.enum(CUSTOMER_TYPES),
    attributes: z
      .record(z.string(), z.record(z.string(), z.unknown()))
      .describe(
        'Values by key, for `global` and for the identifier of each System of Records; with updated_since { value, removed }',
      ),
    applications: z.array(
      z.object({
        app_id: z.string(),
        sor_id: z.string(),
        installations: z.array(z.object({ device_id: z.string() })),
      }),
    ),
  })
  .meta({ id: 'CustomerProfile' });
export type CustomerProfile = z.output<typeof CustomerProfile>;

const SHARED = { method: 'GET', tag: 'Customer profiles', right: 'sor_manage', malformedQuery: wrongParam } as const;

export const listCustomerProfiles = operation({
  id: 'listCustomerProfiles',
  ...SHARED,
  path: '/api/customer_profiles',
  summary: 'List customer profiles, or with updated_since their changes',
  audits: 'read customer',
  query: profileListQuery,
  result: z.object({
    total_pages: z.int().optional().describe('Only without updated_since'),
    total_profiles: z.int().optional().describe('Only without updated_since'),
    updated_until: z.iso
      .datetime()
      .optional()
      .describe('Only with updated_since: send it as updated_since the next time'),
    next: z.string().nullable().describe('Address of the next page; null at the end'),
    profiles: z.array(CustomerProfile),
  }),
});

export const viewCustomerProfile = operation({
  id: 'viewCustomerProfile',
  ...SHARED,
  path: '/api/customer_profiles/:customer_id',
  summary: 'Read the profiles of a customer id',
  description: 'Returns a profile for each type under which the id is known, and none for an unknown id.',
  audits: 'read customer',
  params: z.object({ customer_id: customerId }),
  query: z.object(profileFilters),
  result: z.array(CustomerProfile),
});
