/** The attribute values of one customer. */
import { z } from 'zod';
import { CUSTOMER_TYPES } from '../../domain/attributes/customer-id.ts';
import { customerId, identifier, queryFlag } from '../core/input.ts';
import { operation } from '../core/operation.ts';

export const ATTRIBUTE_VALUES = {
  method: 'GET',
  tag: 'Attribute values',
  right: 'sor_manage',
  query: z.object({
    sor_id: identifier,
    customer_id: customerId,
    customer_type: z
      .enum(CUSTOMER_TYPES)
      .describe('A device_id in a System of Records that is not custom stands for the last user of the device'),
    with_validity_dates: queryFlag.default(false).describe('Return each value as { value, since }'),
  }),
} as const;

export const AttributeValues = z.record(z.string(), z.unknown()).meta({
  id: 'AttributeValues',
  description: 'Values by attribute key; with with_validity_dates each is { value, since }',
});
export type AttributeValues = z.output<typeof AttributeValues>;

export const readAttributeValues = operation({
  id: 'readAttributeValues',
  ...ATTRIBUTE_VALUES,
  path: '/api/attribute_values',
  summary: 'Read the attribute values of a customer',
  description: 'For single customers. To read many, use GET /api/customer_profiles.',
  audits: 'read customer',
  result: z.object({
    customer_id: z.string(),
    customer_id_type: z.enum(CUSTOMER_TYPES),
    attribute_values: AttributeValues,
  }),
});

export const readCustomerAttributeValues = operation({
  id: 'readCustomerAttributeValues',
  ...ATTRIBUTE_VALUES,
  path: '/api/customer_attribute_values',
  summary: 'Read the attribute values of a customer, as a flat map',
  description: 'Same as GET `/api/attribute_values`, but the result is the values alone.',
  audits: 'read customer',
  result: AttributeValues,
});
