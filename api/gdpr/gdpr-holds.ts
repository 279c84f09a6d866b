/** Holds: a person on hold is not erased, for instance because of a legal dispute. */
import { z } from 'zod';
import { HOLD_KINDS } from '../../domain/gdpr/gdpr-codes.ts';
import { identifier, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { ofOne } from './gdpr.ts';

export const GdprHold = z
  .object({
    identifier: z.string(),
    user_id: z.string().nullable().describe('Null if the hold names a device'),
    device_id: z.string().nullable().describe('Null if the hold names a user'),
    kind: z.enum(HOLD_KINDS),
    reason: z.string(),
    created_by: z
      .string()
      .nullable()
      .describe('uid of the user who created the hold; null once that account is deleted'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'GdprHold' });
export type GdprHold = z.output<typeof GdprHold>;

const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage' } as const;
const PATH = '/api/gdpr/holds';
const MAX_REASON = 500;

export const CreatedGdprHold = GdprHold.extend({
  deletion_under_way: z.boolean().describe('True: a deletion of this person is running, and may be too far to stop'),
}).meta({ id: 'CreatedGdprHold' });
export type CreatedGdprHold = z.output<typeof CreatedGdprHold>;

export const createGdprHold = operation({
  id: 'createGdprHold',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Put a person on hold, to prevent their deletion',
  description:
    'A deletion request for the person waits until you release the hold. Millrace still deletes the other people of the ' +
    'request.',
  audits: 'create gdpr_hold',
  body: z.object({
    ...ofOne,
    kind: z
      .enum(HOLD_KINDS)
      .optional()
      .describe('hold (default): a legal hold; restriction: restricted processing (GDPR, article 18)'),
    reason: text({ max: MAX_REASON }).describe('Shown with requests that wait for the hold'),
  }),
  result: CreatedGdprHold,
});

export const listGdprHolds = operation({
  id: 'listGdprHolds',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List holds, oldest first',
  audits: 'read customer',
  query: z.object({ ...pageQuery, ...ofOne }),
  result: pageOf(GdprHold),
});

export const releaseGdprHold = operation({
  id: 'releaseGdprHold',
  ...SHARED,
  method: 'DELETE',
  path: `${PATH}/:hold_id`,
  summary: 'Release a hold',
  description:
    'Deletion requests that wait for the hold continue, unless another hold covers the same person. Returns the released hold.',
  audits: 'delete gdpr_hold',
  params: z.object({ hold_id: identifier }),
  result: GdprHold,
});
