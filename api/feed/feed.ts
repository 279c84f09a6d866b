/** The JSON feed: requests that set attribute values of customers (docs/feed.md). */
import { z } from 'zod';
import { isObject } from '../../domain/json/exact-json.ts';
import { sayNesting } from '../../domain/json/json-size.ts';
import { NestingError, parseJsonAtOnce, ProtoError, SAY_PROTO } from '../../domain/json/parse-json.ts';
import type { FeedValue } from '../../domain/feed/feed-value.ts';
import { identifier, MAX_NESTING, pageNumber, queryFlag, text } from '../core/input.ts';
import { listCursor } from '../core/page.ts';
import { operation } from '../core/operation.ts';
import { SUSPICIOUS } from '../core/suspicious-ids.ts';
import { stage } from '../jobs/stage.ts';

/** One transaction merges a request, even if each of its values changes a Set of 1,000 elements. */
const MAX_VALUES = 3_000;

const MEMBERS = {
  attribute_key: { type: 'string' },
  attribute_value: { type: ['string', 'number', 'boolean', 'null'], description: 'null removes the value' },
  customer_id: { type: 'string' },
  customer_id_type: { enum: ['user_id', 'device_id'], default: 'user_id' },
  action_type: { enum: ['ADD', 'REMOVE', 'DEL', 'UPSERT'], description: 'Required for Set attributes' },
} as const;

/** The worker checks the members when it merges the value. */
const feedValue = z
  .custom<FeedValue>(isObject, { error: 'must be an object' })
  .meta({ type: 'object', required: ['attribute_key', 'attribute_value', 'customer_id'], properties: MEMBERS });

/** Read with `exactNumbers`. The values are an array or a single object; in a web form, the JSON of either. */
export const feedBody = z.object({
  sor: identifier.describe('Identifier of the System of Record'),
  api_key: text().describe('API key of that System of Record'),
  customer_attribute_values: z
    .preprocess(toArray, z.array(feedValue, { error: sayArray }))
    .describe(`An array of at most ${MAX_VALUES} values, or a single one`),
});

function sayArray({ input }: { input?: unknown }): string {
  return input === undefined ? 'is required' : 'must be an array of objects, or an object; in a web form its JSON';
}

function toArray(given: unknown, ctx: z.core.$RefinementCtx): unknown {
  const values = typeof given === 'string' ? parsed(given, ctx) : given;
  if (!Array.isArray(values)) return isObject(values) ? [values] : values;
  if (values.length <= MAX_VALUES) return values;
  ctx.issues.push({ code: 'custom', message: `must have at most ${MAX_VALUES} values`, input: given });
  return z.NEVER;
}

/** Returns a text that is not JSON as it is; the schema then refuses it. */
function parsed(json: string, ctx: z.core.$RefinementCtx): unknown {
  try {
    return parseJsonAtOnce(Buffer.from(json), { maxNesting: MAX_NESTING, exactNumbers: true, proto: 'refuse' });
  } catch (error) {
    if (!(error instanceof NestingError) && !(error instanceof ProtoError)) return json;
    ctx.issues.push({
      code: 'custom',
      message: error instanceof ProtoError ? SAY_PROTO : sayNesting(MAX_NESTING),
      input: json,
    });
    return z.NEVER;
  }
}

const TAG = 'Feed';

export const feedAttributeValues = operation({
  id: 'feedAttributeValues',
  method: 'POST',
  path: '/api/attribute_values',
  summary: 'Feed attribute values as JSON',
  description:
    'Returns once the values are stored. A worker merges them soon after, in order. The response also has `errorMessage` ' +
    '(null) and `errorCode` (0); in refusals they hold the message and the HTTP status.',
  audits: 'feed feed_request',
  tag: TAG,
  auth: 'sor_key',
  exactNumbers: true,
  errorCodes: true,
  body: feedBody,
  result: z.object({ requestId: z.string() }),
});

export const FeedRequest = z
  .object({
    request_id: z.string(),
    state: z.enum(['accepted', 'finished']),
    stage,
    sor: z.object({ name: z.string(), identifier: z.string(), type: z.string() }).nullable(),
    version: z.int().describe('Version of the interface: 2 or 3'),
    values: z
      .object({ in: z.int(), ok: z.int(), ignored: z.int(), failed: z.int() })
      .describe('Numbers of values; once finished, in = ok + ignored + failed'),
    suspicious_ids: z.int().describe(`Number of values taken ${SUSPICIOUS}`),
    received_at: z.iso.datetime(),
    done_at: z.iso.datetime().nullable().describe('Null until it is finished'),
  })
  .meta({ id: 'FeedRequest' });
export type FeedRequest = z.output<typeof FeedRequest>;

export const viewFeedRequest = operation({
  id: 'viewFeedRequest',
  method: 'GET',
  path: '/api/attribute_values/feeds/:request_id',
  summary: 'Get the outcome of a feed request',
  tag: TAG,
  right: 'sor_manage',
  params: z.object({ request_id: identifier }),
  result: FeedRequest,
});

export const listFeedRequests = operation({
  id: 'listFeedRequests',
  method: 'GET',
  path: '/api/attribute_values/feeds',
  summary: 'List feed requests with their counts, newest first',
  description: 'Millrace keeps a request for a week after it has finished.',
  tag: TAG,
  right: 'sor_manage',
  query: z.object({
    sor_id: identifier.optional().describe('Identifier of a System of Records'),
    with_errors: queryFlag.default(false).describe('Only requests with ignored or failed values'),
    per_page: pageNumber({ min: 1, max: 1_000, otherwise: 100 }),
    cursor: listCursor.optional().describe('From the `next` of the page before'),
  }),
  result: z.object({
    feed_requests: z.array(FeedRequest),
    next: z.string().nullable().describe('Address of the next page; null at the end'),
  }),
});
