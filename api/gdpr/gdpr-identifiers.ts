/** Links between ids: which identifiers a privacy request covers, and decisions on aliases. */
import { z } from 'zod';
import { ALIAS_DECISIONS, LEFT_REASONS, ORIGINS } from '../../domain/gdpr/gdpr-codes.ts';
import { customerId, identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage' } as const;

export const IDENTIFIERS_PATH = '/api/gdpr/identifiers';

export const ALIASES_PATH = '/api/gdpr/aliases';

const said = {
  app_id: z.string().nullable().describe('App whose SDK first reported the alias, if known'),
  device_id: z.string().nullable().describe('Device that first reported the alias, if any and still known'),
  said_at: z.iso.datetime().nullable().describe('When an SDK first reported the alias; null for other links'),
};

export const IdentifierLink = z
  .object({
    person: z.string().nullable().describe('The requested user or device id'),
    kind: z
      .enum(['user_id', 'device_id', 'push_token', 'whole_device'])
      .describe('whole_device: all data that the device has sent'),
    id: z.string(),
    origin: z
      .enum(ORIGINS)
      .nullable()
      .describe(
        'asked: the request names it; alias: an SDK reported it; confirmed: a user confirmed the alias; device: the person used it',
      ),
    via: z.string().nullable().describe('The id that leads to this one'),
    left_alone: z
      .enum(LEFT_REASONS)
      .nullable()
      .describe(
        'Why requests leave the id alone; null if it belongs to the person. unconfirmed: only an SDK links it; shared: other people ' +
          'use it; too_many: beyond the first 1,000',
      ),
    previous_id: z
      .string()
      .nullable()
      .describe('The earlier id of the alias that links them, as PUT /api/gdpr/aliases takes it; null for other links'),
    ...said,
  })
  .meta({ id: 'IdentifierLink' });
export type IdentifierLink = z.output<typeof IdentifierLink>;

const DESCRIPTION =
  'Lists the linked ids whose data a request shows or erases, and those that it leaves alone, each with the reason. To ' +
  `confirm or refuse an alias, call PUT ${ALIASES_PATH}.`;

export const previewUserIdentifiers = operation({
  id: 'previewUserIdentifiers',
  ...SHARED,
  method: 'GET',
  path: IDENTIFIERS_PATH,
  summary: 'List the identifiers that a request for a user covers',
  description: DESCRIPTION,
  audits: 'read customer',
  query: z.object({ ...pageQuery, user_id: customerId }),
  result: pageOf(IdentifierLink),
});

export const listGdprIdentifiers = operation({
  id: 'listGdprIdentifiers',
  ...SHARED,
  method: 'GET',
  path: '/api/gdpr/requests/:request_id/identifiers',
  summary: 'List the identifiers of the people of a request',
  description:
    `${DESCRIPTION} For a request that waits for approval, lists what it would cover now. Once a person is treated, the ` +
    'ids that belong to them are no longer listed.',
  audits: 'read gdpr_request',
  params: z.object({ request_id: identifier }),
  query: z.object(pageQuery),
  result: pageOf(IdentifierLink),
});

export const Alias = z
  .object({
    previous_id: z.string().describe('The earlier id'),
    user_id: z.string().describe('The later id'),
    ...said,
    witnessed: z
      .boolean()
      .describe(
        'True: only the reporting device had used the earlier id, so requests can follow the alias without confirmation',
      ),
    decision: z.enum(ALIAS_DECISIONS).nullable().describe('Null if undecided'),
    decided_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Alias' });
export type Alias = z.output<typeof Alias>;

export const listAliases = operation({
  id: 'listAliases',
  ...SHARED,
  method: 'GET',
  path: ALIASES_PATH,
  summary: 'List the aliases from and to an id, oldest first',
  audits: 'read customer',
  query: z.object({ ...pageQuery, user_id: customerId.describe('The earlier or the later id') }),
  result: pageOf(Alias),
});

export const decideAlias = operation({
  id: 'decideAlias',
  ...SHARED,
  method: 'PUT',
  path: ALIASES_PATH,
  summary: 'Confirm or refuse an alias between two ids',
  description:
    'Requests follow a confirmed alias in both directions, and never follow a refused one. The decision applies to requests ' +
    'that have not begun to erase. If a request is already treated, make a new one.',
  audits: 'update customer',
  body: z.object({
    previous_id: customerId,
    user_id: customerId,
    decision: z.enum([...ALIAS_DECISIONS, 'undecided']).describe('undecided: withdraws the decision'),
  }),
  result: Alias,
});
