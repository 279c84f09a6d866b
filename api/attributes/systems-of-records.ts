/** Systems of Records: named sources of customer attributes (reference: System of Record). */
import { z } from 'zod';
import { VALUE_TYPES } from '../../domain/attributes/attribute-value.ts';
import { boundedArray, commaList, email, identifier, name, secretsQuery } from '../core/input.ts';
import { operation } from '../core/operation.ts';

/** A customer attribute as a SoR lists it (reference: System of Record). */
export const SorAttribute = z
  .object({
    identifier: z.string(),
    key: z.string(),
    label: z.string(),
    value_type: z.enum(VALUE_TYPES),
    disabled: z.boolean(),
    is_identifier: z.boolean().describe('Whether its values are ids of people: a deletion removes these from filters'),
    sensitive: z.boolean().describe('Whether filters over it need sor_manage'),
    guessed: z
      .literal(true)
      .optional()
      .describe('Its type was guessed from the first value that an SDK sent, and may become String'),
    sources: z.array(z.string()).optional().describe('v2 only; DEFAULT for attributes that every entity has'),
  })
  .meta({ id: 'SorAttribute' });
export type SorAttribute = z.output<typeof SorAttribute>;

export const SystemOfRecords = z
  .object({
    name: z.string(),
    identifier: z.string(),
    type: z.enum(['app', 'custom', 'global']),
    api_keys: z.array(z.string()),
    attributes_count: z.int(),
    disabled: z.boolean(),
    customer_attributes: z.array(SorAttribute),
    updated_date: z.string().optional().describe('v2 only'),
  })
  .meta({ id: 'SystemOfRecords' });
export type SystemOfRecords = z.output<typeof SystemOfRecords>;

/** A System of Records as it is viewed: its keys only if they are asked for. */
export const ViewedSystemOfRecords = SystemOfRecords.partial({ api_keys: true }).meta({ id: 'ViewedSystemOfRecords' });
export type ViewedSystemOfRecords = z.output<typeof ViewedSystemOfRecords>;

const SHARED = { tag: 'Systems of Records', right: 'sor_manage' } as const;

export const sorParams = z.object({ sor_identifier: identifier });

export const listSystemsOfRecords = operation({
  id: 'listSystemsOfRecords',
  ...SHARED,
  method: 'GET',
  path: '/api/system_of_records',
  summary: 'List Systems of Records',
  audits: 'read system_of_record',
  query: z.object({
    ...secretsQuery('api_keys'),
    type: commaList.optional().describe('app, custom, or global (v2 only); any other type returns an empty list'),
  }),
  result: z.array(ViewedSystemOfRecords),
});

export const viewSystemOfRecord = operation({
  id: 'viewSystemOfRecord',
  ...SHARED,
  method: 'GET',
  path: '/api/system_of_records/:sor_identifier',
  summary: 'View a System of Records with its customer attributes',
  audits: 'read system_of_record',
  params: sorParams,
  query: z.object(secretsQuery('api_keys')),
  result: ViewedSystemOfRecords,
});

export const createSystemOfRecord = operation({
  id: 'createSystemOfRecord',
  ...SHARED,
  method: 'POST',
  path: '/api/system_of_records',
  summary: 'Create a custom System of Records',
  audits: 'create system_of_record',
  body: z.object({ name }),
  result: SystemOfRecords,
});

export const renameSystemOfRecord = operation({
  id: 'renameSystemOfRecord',
  ...SHARED,
  method: 'PUT',
  path: '/api/system_of_records/:sor_identifier',
  summary: 'Rename a custom System of Records',
  audits: ['read system_of_record', 'update system_of_record'],
  params: sorParams,
  body: z.object({ name }),
  result: SystemOfRecords,
});

export const deleteSystemOfRecord = operation({
  id: 'deleteSystemOfRecord',
  ...SHARED,
  method: 'DELETE',
  path: '/api/system_of_records/:sor_identifier',
  summary: 'Delete a System of Records and all its values',
  description:
    'Millrace replaces the System of Records of an app by a new, empty one at once. To keep no values from the SDK, disable it.',
  audits: 'delete system_of_record',
  params: sorParams,
});

export const disableSystemOfRecord = operation({
  id: 'disableSystemOfRecord',
  ...SHARED,
  method: 'PUT',
  path: '/api/system_of_records/:sor_identifier/disable',
  summary: 'Disable a System of Records',
  description: 'All its attributes count as disabled.',
  audits: 'update system_of_record',
  params: sorParams,
});

export const enableSystemOfRecord = operation({
  id: 'enableSystemOfRecord',
  ...SHARED,
  method: 'PUT',
  path: '/api/system_of_records/:sor_identifier/enable',
  summary: 'Enable a System of Records',
  audits: 'update system_of_record',
  params: sorParams,
});

const MAX_ADDRESSES = 20;
const PATH = '/api/system_of_records/:sor_identifier/notify_emails';

export const NotifyEmails = z.object({ notify_emails: z.array(z.email()) }).meta({ id: 'NotifyEmails' });
export type NotifyEmails = z.output<typeof NotifyEmails>;

export const viewNotifyEmails = operation({
  id: 'viewNotifyEmails',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List the mail recipients for imports into a System of Records',
  params: sorParams,
  result: NotifyEmails,
});

export const updateNotifyEmails = operation({
  id: 'updateNotifyEmails',
  ...SHARED,
  method: 'PUT',
  path: PATH,
  summary: 'Set the mail recipients for imports into a System of Records',
  description: 'With an empty list, Millrace mails its creator.',
  audits: 'update system_of_record',
  params: sorParams,
  body: z.object({ notify_emails: boundedArray(email, { max: MAX_ADDRESSES, words: 'addresses' }) }),
  result: NotifyEmails,
});
