/** Segment's HTTP tracking API (docs/tracking.md). */

import { z } from 'zod';
import type { CallType } from '../../domain/tracking/call.ts';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const MAX_ELEMENTS = 500_000;

const SHARED = {
  tag: 'Tracking',
  auth: 'app_key',
  method: 'POST',
  idempotencyKey: 'ignored',
  bare: true,
  maxElements: MAX_ELEMENTS,
} as const;

export const IngestedCalls = z
  .object({
    success: z.literal(true),
    accepted: z.int(),
    duplicates: z.int(),
    refused: z.array(
      z.object({
        index: z.int().describe('Position in the batch, from 0'),
        message_id: z.string().nullable(),
        code: z.string(),
        message: z.string(),
      }),
    ),
    notes: z
      .array(z.object({ index: z.int(), message_id: z.string().nullable(), message: z.string() }))
      .optional()
      .describe('Accepted calls that the server changed: their time is of another calendar'),
  })
  .meta({ id: 'IngestedCalls' });
export type IngestedCalls = z.output<typeof IngestedCalls>;

/** The server checks each call when it reads the body. */
const anyBody = (description: string) => z.custom<unknown>(() => true).meta({ type: 'object', description });

const batch = (id: string, name: string, more = '') =>
  operation({
    id,
    ...SHARED,
    path: `/v1/${name}`,
    summary: 'Send a batch of calls',
    description: `The server responds once it has committed the calls. ${more}`.trimEnd(),
    body: anyBody(
      '`batch`: at most 2,500 calls. Optional: `sentAt`, `context`; `writeKey`, if it is not the user of Basic authentication',
    ),
    result: IngestedCalls,
  });

export const sendBatch = batch('sendBatch', 'batch');

/** The short path that browser and mobile SDKs use. */
export const otherBatches = [batch('sendBatchShort', 'b')];

/** The path of Segment's imports. */
export const sendImportedBatch = batch(
  'sendImportedBatch',
  'import',
  'Timestamps are used unchanged: `timestamp`, else `originalTimestamp`. `sentAt` does not count.',
);

const single = (id: string, name: string, type: CallType) =>
  operation({
    id,
    ...SHARED,
    path: `/v1/${name}`,
    summary: `Send one call: ${type}`,
    description: 'Same response as /v1/batch. A refused call returns 400.',
    body: anyBody('The call, with `writeKey` if it is not the user of Basic authentication'),
    result: IngestedCalls,
  });

export const sendTrack = single('sendTrack', 'track', 'track');
export const sendIdentify = single('sendIdentify', 'identify', 'identify');
export const sendPage = single('sendPage', 'page', 'page');
export const sendScreen = single('sendScreen', 'screen', 'screen');
export const sendGroup = single('sendGroup', 'group', 'group');
export const sendAlias = single('sendAlias', 'alias', 'alias');

/** Each path also has a short form. */
export const singleCalls = [
  { type: 'track', operations: [sendTrack, single('sendTrackShort', 't', 'track')] },
  { type: 'identify', operations: [sendIdentify, single('sendIdentifyShort', 'i', 'identify')] },
  { type: 'page', operations: [sendPage, single('sendPageShort', 'p', 'page')] },
  { type: 'screen', operations: [sendScreen, single('sendScreenShort', 's', 'screen')] },
  { type: 'group', operations: [sendGroup, single('sendGroupShort', 'g', 'group')] },
  { type: 'alias', operations: [sendAlias, single('sendAliasShort', 'a', 'alias')] },
] as const;

export const viewSdkSettings = operation({
  id: 'viewSdkSettings',
  tag: 'Tracking',
  auth: 'app_key',
  method: 'GET',
  path: '/v1/projects/:write_key/settings',
  summary: 'Get the address to which an SDK sends',
  description: 'Browser and mobile SDKs request this before they send calls.',
  params: z.object({ write_key: identifier }),
  result: z.object({
    integrations: z.object({
      'Segment.io': z.object({
        apiKey: z.string(),
        apiHost: z.string().describe('Host, port and path of the public URL, without its protocol'),
        protocol: z.string().describe('http or https, as in the public URL; without it, browser SDKs use https'),
      }),
    }),
    metrics: z.object({ sampleRate: z.number().describe('0: SDKs send no metrics about themselves') }),
  }),
  bare: true,
});
