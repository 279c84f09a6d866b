/** Customer attributes: definitions of the values that a System of Records keeps (reference: System of Record). */
import { z } from 'zod';
import { VALUE_TYPES } from '../../domain/attributes/attribute-value.ts';
import { bodyFlag, identifier, name, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { SorAttribute } from './systems-of-records.ts';

const SHARED = { tag: 'Customer attributes', right: 'sor_manage' } as const;
const IS_IDENTIFIER = 'Its values are ids of people, such as numbers of members: a deletion removes these from filters';
const SENSITIVE =
  'Segments, previews and campaigns whose filters compare with it need sor_manage, such as for a salary';
const params = z.object({ ca_identifier: identifier });

export const CustomerAttribute = SorAttribute.extend({
  sor_id: z.string(),
  sor: z.object({ name: z.string(), identifier: z.string(), type: z.string() }),
}).meta({ id: 'CustomerAttribute' });
export type CustomerAttribute = z.output<typeof CustomerAttribute>;

export const viewCustomerAttribute = operation({
  id: 'viewCustomerAttribute',
  ...SHARED,
  method: 'GET',
  path: '/api/customer_attributes/:ca_identifier',
  summary: 'View a customer attribute',
  params,
  result: CustomerAttribute,
});

export const createCustomerAttribute = operation({
  id: 'createCustomerAttribute',
  ...SHARED,
  method: 'POST',
  path: '/api/customer_attributes',
  summary: 'Define a customer attribute of a custom System of Records',
  audits: 'create customer_attribute',
  body: z.object({
    sor_id: identifier,
    key: text(),
    label: name.optional().describe('By default the key'),
    value_type: z.enum(VALUE_TYPES),
    is_identifier: bodyFlag.default(false).describe(IS_IDENTIFIER),
    sensitive: bodyFlag.default(false).describe(SENSITIVE),
  }),
  result: CustomerAttribute,
});

export const updateCustomerAttribute = operation({
  id: 'updateCustomerAttribute',
  ...SHARED,
  method: 'PUT',
  path: '/api/customer_attributes/:ca_identifier',
  summary:
    'Change the label of a customer attribute, disable or enable it, or mark it as an identifier or as sensitive',
  description: 'Outside custom Systems of Records only is_identifier, sensitive and a guessed type change.',
  audits: 'update customer_attribute',
  params,
  body: z.object({
    label: name.optional(),
    disabled: bodyFlag.optional(),
    is_identifier: bodyFlag.optional().describe(IS_IDENTIFIER),
    sensitive: bodyFlag.optional().describe(SENSITIVE),
    value_type: z
      .enum(VALUE_TYPES)
      .optional()
      .describe('Defines a guessed type: the type that it has, or String. Otherwise only the type that it has'),
  }),
  result: CustomerAttribute,
});

export const deleteCustomerAttribute = operation({
  id: 'deleteCustomerAttribute',
  ...SHARED,
  method: 'DELETE',
  path: '/api/customer_attributes/:ca_identifier',
  summary: 'Delete a customer attribute and all its values',
  audits: 'delete customer_attribute',
  params,
});
