import { z } from 'zod';
import { HOLD_KINDS } from '../../domain/gdpr/gdpr-codes.ts';
import { identifier, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { ofOne } from './gdpr.ts';

/** A hold as it is shown (docs/gdpr.md). */
export const GdprHold = z.object({
  identifier: z.string(),
  user_id: z.string().nullable(),
  device_id: z.string().nullable(),
  kind: z.enum(HOLD_KINDS),
  reason: z.string(),
  created_by: z.string().nullable().describe('The uid of a user; null once their account is gone'),
  created_at: z.iso.datetime(),
}).meta({ id: 'GdprHold' });
export type GdprHold = z.output<typeof GdprHold>;

/** People who are not deleted for now. */
const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage' } as const;
const PATH = '/api/gdpr/holds';
const MAX_REASON = 500;

export const CreatedGdprHold = GdprHold.extend({ deletion_under_way: z.boolean() }).meta({ id: 'CreatedGdprHold' });
export type CreatedGdprHold = z.output<typeof CreatedGdprHold>;

export const createGdprHold = operation({
  id: 'createGdprHold',
  ...SHARED,
  method: 'POST',
  path: PATH,
  summary: 'Put a person on legal hold: they are not deleted until it is released',
  description: 'A request for their deletion waits meanwhile, and goes on with all others that it names. `deletion_under_way` is true '
    + 'where one has begun that may not stop for it any more.',
  audits: 'create gdpr_hold',
  body: z.object({
    ...ofOne,
    kind: z.enum(HOLD_KINDS).optional().describe('By default hold: a legal one; restriction: of processing (GDPR, article 18)'),
    reason: text({ max: MAX_REASON }).describe('Shown with requests that wait for it'),
  }),
  result: CreatedGdprHold,
});

export const listGdprHolds = operation({
  id: 'listGdprHolds',
  ...SHARED,
  method: 'GET',
  path: PATH,
  summary: 'List legal holds, oldest first',
  audits: 'read customer',
  query: z.object({ ...pageQuery, ...ofOne }),
  result: pageOf(GdprHold),
});

export const releaseGdprHold = operation({
  id: 'releaseGdprHold',
  ...SHARED,
  method: 'DELETE',
  path: `${PATH}/:hold_id`,
  summary: 'Release a hold: requests that wait for it go on',
  description: 'Unless another hold stands for the same person. The answer is the hold that is gone.',
  audits: 'delete gdpr_hold',
  params: z.object({ hold_id: identifier }),
  result: GdprHold,
});
