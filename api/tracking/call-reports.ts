/** Reports on the calls that the SDKs of an app sent (docs/tracking.md). */

import { z } from 'zod';
import { REFUSAL_CODES } from '../../domain/tracking/call.ts';
import { identifier, pageNumber, text } from '../core/input.ts';
import { listCursor, pageOf, pageQuery } from '../core/page.ts';
import { operation } from '../core/operation.ts';

const SHARED = {
  tag: 'SDK data',
  right: 'usage_analytics_view',
  method: 'GET',
  params: z.object({ app_identifier: identifier }),
} as const;
const PATH = '/api/apps/:app_identifier';

export const RefusedCall = z
  .object({
    received_at: z.iso.datetime(),
    index: z.int().describe('Position in the batch, from 0'),
    message_id: z.string().nullable(),
    code: z.enum(REFUSAL_CODES),
    message: z.string(),
    call: z.string().nullable().describe('The call, cut to 4,000 characters; null for an erased person'),
    of_app: z.boolean().describe('False: several apps share the key, and the call names none of them'),
  })
  .meta({ id: 'RefusedCall' });
export type RefusedCall = z.output<typeof RefusedCall>;

export const listRefusedCalls = operation({
  id: 'listRefusedCalls',
  ...SHARED,
  path: `${PATH}/refused_calls`,
  summary: 'List the refused calls of an app, newest first',
  description:
    'Millrace keeps a refused call for 30 days. It lists a call once, even if the SDK sends it again under its messageId.',
  audits: 'read app',
  query: z.object({
    code: z.enum(REFUSAL_CODES).optional(),
    message_id: text().optional(),
    per_page: pageNumber({ min: 1, max: 1_000, otherwise: 100 }),
    cursor: listCursor.optional().describe('From the `next` of the page before'),
  }),
  result: z.object({ refused_calls: z.array(RefusedCall), next: z.string().nullable() }),
});

export const LiveCall = z
  .object({
    id: z.int().describe('Later calls have higher ids'),
    received_at: z.iso.datetime(),
    outcome: z
      .enum(['accepted', 'duplicate', 'refused', 'failed', 'widened'])
      .describe(
        'failed: a trait of an accepted call that could not become a value; `call` is the value. widened: a trait of another type ' +
          'than its key was first seen with; `call` is the key, whose attribute is a String now',
      ),
    code: z.string().nullable().describe('Why the server refused the call, or the error type of the trait; else null'),
    message: z.string().nullable(),
    message_id: z.string().nullable(),
    call: z.string().describe('The call, cut to 2,000 characters'),
    of_app: z.boolean().describe('False: several apps share the key, and the call names none of them'),
  })
  .meta({ id: 'LiveCall' });
export type LiveCall = z.output<typeof LiveCall>;

export const listLiveCalls = operation({
  id: 'listLiveCalls',
  ...SHARED,
  path: `${PATH}/live`,
  summary: 'List the last 100 calls of an app, newest first',
  description:
    'Shows a call within two seconds of its arrival, for an hour. Shows at most 100 calls of a key for each second, and no ' +
    'calls of erased people.',
  audits: 'read app',
  isFollowed: true,
  query: z.object({
    after: pageNumber({ min: 0, max: Number.MAX_SAFE_INTEGER, otherwise: 0 }).describe('Only calls with a higher id'),
  }),
  result: z.object({ calls: z.array(LiveCall) }),
});

export const CallCounts = z
  .object({
    date: z.iso.date(),
    received: z.int().describe('accepted + duplicates + refused'),
    accepted: z.int(),
    duplicates: z.int(),
    refused: z.int(),
    refused_of_no_app: z
      .int()
      .describe(
        'Calls of the whole entity whose key several apps share and which name none of them; not part of `received`',
      ),
  })
  .meta({ id: 'CallCounts' });
export type CallCounts = z.output<typeof CallCounts>;

export const countCalls = operation({
  id: 'countCalls',
  ...SHARED,
  path: `${PATH}/ingestion`,
  summary: 'Count the calls of an app by UTC day, newest first',
  query: z.object({
    days: pageNumber({ min: 1, max: 31, otherwise: 7 }).describe('Number of days up to today: 1 to 31, default 7'),
  }),
  result: z.object({
    days: z.array(CallCounts),
    last_received_at: z.iso
      .datetime()
      .nullable()
      .describe('When the last call of the app came; null if none came in these days'),
  }),
});

export const Crash = z
  .object({
    identifier: z.string(),
    title: z.string(),
    first_seen_at: z.iso.datetime(),
    last_seen_at: z.iso.datetime(),
    occurrences: z.int(),
  })
  .meta({ id: 'Crash' });
export type Crash = z.output<typeof Crash>;

export const listCrashes = operation({
  id: 'listCrashes',
  ...SHARED,
  path: `${PATH}/crashes`,
  summary: 'List the crashes of an app, most recently seen first',
  query: z.object(pageQuery),
  result: pageOf(Crash),
});

export const deleteCrash = operation({
  id: 'deleteCrash',
  tag: SHARED.tag,
  right: 'crashes_manage',
  method: 'DELETE',
  path: `${PATH}/crashes/:crash_identifier`,
  summary: 'Delete a crash',
  description: 'Its errors stay as events, without a crash. If such an error comes again, it makes another crash.',
  audits: 'delete crash',
  params: z.object({ app_identifier: identifier, crash_identifier: identifier }),
  status: 204,
});
