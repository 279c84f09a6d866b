import { z } from 'zod';
import { ALIAS_DECISIONS, LEFT_REASONS, ORIGINS } from '../../domain/gdpr/gdpr-codes.ts';
import { customerId, identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

/** What people of requests are known by, and whose word that rests on. */
const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage' } as const;

export const IDENTIFIERS_PATH = '/api/gdpr/identifiers';

export const ALIASES_PATH = '/api/gdpr/aliases';

const said = {
  app_id: z.string().nullable().describe('The app whose SDK said so first'),
  device_id: z.string().nullable().describe('The device that said so; null: none, or it is no longer known'),
  said_at: z.iso.datetime().nullable(),
};

export const IdentifierLink = z.object({
  person: z.string().nullable().describe('The id that was asked for'),
  kind: z.enum(['user_id', 'device_id', 'push_token', 'whole_device']).describe('whole_device: all that the device has sent'),
  id: z.string(),
  origin: z.enum(ORIGINS).nullable()
    .describe('asked; alias: an SDK said so; confirmed: staff confirmed an alias; device: used by the person'),
  via: z.string().nullable().describe('The id that leads to it'),
  left_alone: z.enum(LEFT_REASONS).nullable()
    .describe('Null: it is the person\'s. unconfirmed: only an SDK says so; shared: others use it, too; too_many: beyond the first 1,000'),
  ...said,
}).meta({ id: 'IdentifierLink' });
export type IdentifierLink = z.output<typeof IdentifierLink>;

const DESCRIPTION = 'What is shown or erased with the person, and what an SDK has linked to them and is left alone. Confirm or refuse '
  + `an alias with PUT ${ALIASES_PATH}.`;

export const previewUserIdentifiers = operation({
  id: 'previewUserIdentifiers',
  ...SHARED,
  method: 'GET',
  path: IDENTIFIERS_PATH,
  summary: 'List the identifiers that a request for a user would cover',
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
  description: `${DESCRIPTION} Of one that waits for approval: what it would gather now. What is theirs is forgotten once they are `
    + 'treated.',
  audits: 'read gdpr_request',
  params: z.object({ request_id: identifier }),
  query: z.object(pageQuery),
  result: pageOf(IdentifierLink),
});

export const Alias = z.object({
  previous_id: z.string(), user_id: z.string(), ...said,
  witnessed: z.boolean()
    .describe('The device that said so was the only one to have used the earlier id: it is followed unless it is refused'),
  decision: z.enum(ALIAS_DECISIONS).nullable(), decided_at: z.iso.datetime().nullable(),
}).meta({ id: 'Alias' });
export type Alias = z.output<typeof Alias>;

export const listAliases = operation({
  id: 'listAliases',
  ...SHARED,
  method: 'GET',
  path: ALIASES_PATH,
  summary: 'List the aliases from and to an id, oldest first',
  audits: 'read customer',
  query: z.object({ ...pageQuery, user_id: customerId.describe('Either id') }),
  result: pageOf(Alias),
});

export const decideAlias = operation({
  id: 'decideAlias',
  ...SHARED,
  method: 'PUT',
  path: ALIASES_PATH,
  summary: 'Confirm or refuse an alias between two ids',
  description: 'A confirmed alias is followed in either direction, a refused one never. It holds for requests that have not begun to '
    + 'erase; for one that is over ask again.',
  audits: 'update customer',
  body: z.object({
    previous_id: customerId, user_id: customerId,
    decision: z.enum([...ALIAS_DECISIONS, 'undecided']).describe('undecided: takes a decision back'),
  }),
  result: Alias,
});
