import { z } from 'zod';
import { REFUSAL_CODES } from '../../domain/tracking/tracked-call.ts';
import { identifier, pageNumber, text } from '../core/input.ts';
import { listCursor } from '../core/list-cursor.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

/** What came from the SDKs of an app, read afterwards (docs/tracking.md). */
const SHARED = { tag: 'SDK data', right: 'usage_analytics_view', method: 'GET', params: z.object({ app_identifier: identifier }) } as const;
const PATH = '/api/apps/:app_identifier';

export const RefusedCall = z.object({
  received_at: z.iso.datetime(),
  index: z.int().describe('Its place in the batch, from 0'),
  message_id: z.string().nullable(),
  code: z.enum(REFUSAL_CODES),
  message: z.string(),
  call: z.string().nullable().describe('What came, shortened; null of an erased person\'s'),
  of_app: z.boolean().describe('false: its key is shared by several apps, and the call named none'),
}).meta({ id: 'RefusedCall' });
export type RefusedCall = z.output<typeof RefusedCall>;

export const listRefusedCalls = operation({
  id: 'listRefusedCalls',
  ...SHARED,
  path: `${PATH}/refused_calls`,
  summary: 'Read the refused calls of an app, newest first, each with its reason',
  description: 'Kept for 30 days. One that was sent again under its messageId stands once. Reading them is written down.',
  audits: 'read app',
  query: z.object({
    code: z.enum(REFUSAL_CODES).optional(),
    message_id: text().optional(),
    per_page: pageNumber({ min: 1, max: 1_000, otherwise: 100 }),
    cursor: listCursor.optional().describe('As `next` has it'),
  }),
  result: z.object({ refused_calls: z.array(RefusedCall), next: z.string().nullable() }),
});

export const CallCounts = z.object({
  date: z.iso.date(),
  received: z.int().describe('accepted + duplicates + refused'),
  accepted: z.int(), duplicates: z.int(), refused: z.int(),
  refused_of_no_app: z.int()
    .describe('Calls with a key that several apps share, which named no app; of the whole entity, and not in `received`'),
}).meta({ id: 'CallCounts' });
export type CallCounts = z.output<typeof CallCounts>;

export const countCalls = operation({
  id: 'countCalls',
  ...SHARED,
  path: `${PATH}/ingestion`,
  summary: 'Count the calls of an app by UTC day, newest first',
  query: z.object({ days: pageNumber({ min: 1, max: 31, otherwise: 7 }).describe('Today and those before it') }),
  result: z.object({ days: z.array(CallCounts) }),
});

export const Crash = z.object({
  identifier: z.string(), title: z.string(), first_seen_at: z.iso.datetime(), last_seen_at: z.iso.datetime(), occurrences: z.int(),
}).meta({ id: 'Crash' });
export type Crash = z.output<typeof Crash>;

export const listCrashes = operation({
  id: 'listCrashes',
  ...SHARED,
  path: `${PATH}/crashes`,
  summary: 'List the crashes of an app, most recently seen first',
  query: z.object(pageQuery),
  result: pageOf(Crash),
});
