import { z } from 'zod';
import { numberText } from '../../domain/core/exact-json.ts';
import { NestingError, parseJsonAtOnce, sayNesting } from '../../domain/core/parse-json.ts';
import type { FeedValue } from '../../domain/feed/feed-value.ts';
import { identifier, MAX_NESTING, text } from '../http/input.ts';

/** One transaction merges a request, also where each of its values changes a Set of 1,000 elements. */
const MAX_VALUES = 3_000;

const MEMBERS = {
  attribute_key: { type: 'string' },
  attribute_value: { type: ['string', 'number', 'boolean', 'null'], description: 'null removes the value' },
  customer_id: { type: 'string' },
  customer_id_type: { enum: ['user_id', 'device_id'], default: 'user_id' },
  action_type: { enum: ['ADD', 'REMOVE', 'DEL', 'UPSERT'], description: 'Required for Set attributes' },
} as const;

/** Its members are judged when it is merged. */
const feedValue = z.custom<FeedValue>(isObject, { error: 'must be an object' })
  .meta({ type: 'object', required: ['attribute_key', 'attribute_value', 'customer_id'], properties: MEMBERS });

/** Read by `exactNumbers`. The values are an array, a single one, or in a web form the JSON of either. */
export const feedBody = z.object({
  sor: identifier.describe('The identifier of the System of Record'),
  api_key: text().describe('The key of that System of Record'),
  customer_attribute_values: z.preprocess(toArray, z.array(feedValue, { error: sayArray }))
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

/** Of what is no JSON the text itself, which is no array. */
function parsed(json: string, ctx: z.core.$RefinementCtx): unknown {
  try {
    return parseJsonAtOnce(Buffer.from(json), { maxNesting: MAX_NESTING, exactNumbers: true });
  } catch (error) {
    if (!(error instanceof NestingError)) return json;
    ctx.issues.push({ code: 'custom', message: sayNesting(MAX_NESTING), input: json });
    return z.NEVER;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;
}
