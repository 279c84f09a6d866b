/** Types of values in requests: texts, numbers, dates, lists, and limits of their size. */
import { z } from 'zod';
import { customerIdError } from '../../domain/attributes/customer-id.ts';
import { isDate, readDatetime } from '../../domain/time/date-value.ts';
import { MAX_ELEMENTS, sayNesting, shapeError, storedBytes } from '../../domain/json/json-size.ts';
import { NestingError, parseJsonAtOnce, ProtoError, SAY_PROTO } from '../../domain/json/parse-json.ts';
import { withRoundedAsText } from '../../domain/json/plain-json.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import { isLongerThan, isStorable, MAX_CODE_POINTS } from '../../domain/text/text-limits.ts';

export const MAX_NESTING = 64;

export const EMAIL_CHARS = 320;
export const PASSWORD_CHARS = 1_024;

export const NOT_STORABLE = 'must not hold NUL or half a surrogate pair';

export function text({ max = MAX_CODE_POINTS } = {}) {
  return z
    .string()
    .refine((value) => value !== '', { error: 'must not be empty', abort: true })
    .refine((value) => !isLongerThan(value, max), { error: `must have at most ${max} characters`, abort: true })
    .refine(isStorable, NOT_STORABLE)
    .meta({ minLength: 1, maxLength: max });
}

export const name = text().refine((value) => value.trim() !== '', 'must not be blank');

export const email = z
  .email({ error: ({ input }) => (input === undefined ? 'is required' : 'must be an e-mail address') })
  .max(254, 'must have at most 254 characters');

export const newPassword = text({ max: PASSWORD_CHARS }).refine(
  (value) => Array.from(value).length >= 8,
  'must have at least 8 characters',
);

/** The token of a mailed link (its last part), or the whole link. */
export const linkToken = text({ max: 1_024 })
  .transform((value) => value.trim().replace(/^.*\//s, ''))
  .meta({ description: 'The mailed link, or its last part' });

/** An identifier in a request. The route refuses unknown ones. */
export const identifier = text();

export const customerId = z
  .string()
  .check((ctx) => {
    const error = customerIdError(ctx.value);
    if (error !== undefined) ctx.issues.push({ code: 'custom', message: `is not valid: ${error}`, input: ctx.value });
  })
  .meta({ minLength: 1, maxLength: MAX_CODE_POINTS });

const YES = ['true', '1', 'True', 'TRUE'] as const;
const NO = ['false', '0', 'False', 'FALSE'] as const;
const isOneOf = (words: readonly unknown[], value: unknown): boolean => words.includes(value);

/** A flag in a query; without a value it is true. */
export const queryFlag = z
  .enum(['', ...YES, ...NO], { error: 'must be true or false' })
  .transform((value) => !isOneOf(NO, value));

/** Query of an operation whose result holds secrets, in these members. */
export function secretsQuery(members: string) {
  const description = `False: leave out ${members}, and write no entry into the audit log; by default true`;
  return { secrets: queryFlag.default(true).describe(description) };
}

/** A flag in a JSON body or a web form, where every value is text. */
export const bodyFlag = z
  .union([z.boolean(), z.enum([...YES, ...NO])], { error: 'must be true or false' })
  .transform((value) => value === true || isOneOf(YES, value));

export function bodyInteger({ min, max }: { min: number; max: number }) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .union(
      [
        z.int(),
        z
          .string()
          .regex(/^\d{1,15}$/)
          .transform(Number),
      ],
      { error: message },
    )
    .refine((value) => value >= min && value <= max, message);
}

export function queryInteger({ min, max }: { min: number; max: number }) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

/** The revision of an object that a change is made to. Routes call `refuseOlderRevision`. */
export const ofRevision = bodyInteger({ min: 0, max: 2 ** 31 - 1 })
  .optional()
  .describe('The `revision` that you changed: if there is a newer one, the server changes nothing and returns 409');

/** An object in a JSON body; in a web form, where every value is text, its JSON. */
export function jsonObject<S extends z.ZodType>(schema: S) {
  return orItsJson('an object', schema);
}

/** An array of `min` to `max` objects in a JSON body; in a web form, its JSON. It is stored in at most `maxBytes`. */
export function jsonArray<S extends z.ZodType>(
  schema: S,
  { max, min = 0, maxBytes }: { max: number; min?: number; maxBytes: number },
) {
  return orItsJson('an array', stored(maxBytes, boundedArray(schema, { max, min })));
}

/** A value that is stored in at most `maxBytes` (`storedBytes`): refuses a larger one before it checks the schema. */
export function stored<S extends z.ZodType>(maxBytes: number, schema: S) {
  return z
    .preprocess(
      (given, ctx) =>
        storedBytes(given, maxBytes) > maxBytes
          ? refuseValue(ctx, `must have at most ${maxBytes / 1024} KiB as JSON`, given)
          : given,
      schema,
    )
    .meta({ maxBytes });
}

function orItsJson<S extends z.ZodType>(what: string, schema: S) {
  return z.preprocess((value, ctx) => {
    if (typeof value !== 'string') return value;
    try {
      const options = { maxNesting: MAX_NESTING, exactNumbers: true, proto: 'refuse' } as const;
      const parsed = withRoundedAsText(parseJsonAtOnce(Buffer.from(value), options));
      const message = shapeError(parsed, { maxElements: MAX_ELEMENTS, maxNesting: MAX_NESTING });
      return message === null ? parsed : refuseValue(ctx, message, value);
    } catch (error) {
      const message =
        error instanceof NestingError
          ? sayNesting(MAX_NESTING)
          : error instanceof ProtoError
            ? SAY_PROTO
            : `must be ${what}, or in a web form its JSON`;
      return refuseValue(ctx, message, value);
    }
  }, schema);
}

type ArrayBounds = { max: number; min?: number; tooFew?: string; error?: string; words?: string };

/** An array. One that is too long is refused as such, without a look at its elements. `words` names these. */
export function boundedArray<S extends z.ZodType>(
  element: S,
  { max, min = 0, tooFew, error, words = 'elements' }: ArrayBounds,
) {
  const tooMany = `must have at most ${max} ${words}`;
  const params = {
    error: ({ code, input }: { code?: string; input?: unknown }) =>
      code === 'invalid_type' && input !== undefined ? error : undefined,
  };
  return z.preprocess(
    (given, ctx) => (Array.isArray(given) && given.length > max ? refuseValue(ctx, tooMany, given) : given),
    z.array(element, params).min(min, tooFew).max(max),
  );
}

/** An object with members of any name. One with too many is refused as such, without a look at them. */
export function boundedRecord<S extends z.ZodType>(value: S, max: number) {
  const count = (given: unknown) => (typeof given === 'object' && given !== null ? Object.keys(given).length : 0);
  return z.preprocess(
    (given, ctx) => (count(given) > max ? refuseValue(ctx, `must have at most ${max} members`, given) : given),
    z.record(z.string(), value),
  );
}

function refuseValue(ctx: z.core.$RefinementCtx, message: string, input: unknown): never {
  ctx.issues.push({ code: 'custom', message, input });
  return z.NEVER;
}

/** An array of texts. In a web form a text counts as one element, and an empty text as none. */
export function textArray<S extends z.ZodType>(element: S, max: number, min = 0) {
  return z.preprocess(
    (value) => (typeof value === 'string' ? [value].filter((only) => only !== '') : value),
    boundedArray(element, { max, min }),
  );
}

/** An object with these members and no others: it refuses a misspelt member instead of ignoring it. */
export function closedObject<S extends z.ZodRawShape>(shape: S) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? sayUnknown(issue.keys[0]!, known) : undefined),
  });
}

/** An array in a JSON body; in a web form it may be a single value. */
export function bodyList<S extends z.ZodType>(element: S, most: number) {
  return z.preprocess(
    (value) => (typeof value === 'string' ? [value] : value),
    boundedArray(element, { max: most, error: 'must be an array' }),
  );
}

/** An array in a query: comma-separated, or repeated (also as `name[]`) with commas kept. Drops empty elements. */
export const commaList = z
  .union([z.string(), z.array(z.string())], { error: 'must be a comma-separated list' })
  .transform((value) => (typeof value === 'string' ? value.split(',') : value).filter((element) => element !== ''))
  .meta({
    description: 'Comma-separated; or the parameter repeated, also as name[], with one element each, commas included',
  });

/** A `commaList` of valid elements. Refuses an empty list, which is probably a mistake. */
export function commaListOf<S extends z.ZodType<string, string>>(element: S) {
  return commaList.pipe(z.array(element).min(1));
}

/** The zone of a date whose + was not written as %2B in the address: it arrives as a space. */
const SPACE_FOR_PLUS = /\d \d\d(:?\d\d)?$/;

/** ISO 8601 without separators, as in 20261123T120008Z. */
const BASIC_DATE = /^(\d{4})(\d\d)(\d\d)/;
const BASIC_TIME = /^T(\d\d)(\d\d)(\d\d)?/i;

function withSeparators(text: string): string {
  const [date] = BASIC_DATE.exec(text) ?? [];
  if (date === undefined) return text;
  const time = text
    .slice(date.length)
    .replace(
      BASIC_TIME,
      (_, hour: string, minute: string, second?: string) =>
        `T${hour}:${minute}${second === undefined ? '' : `:${second}`}`,
    );
  return `${date.replace(BASIC_DATE, '$1-$2-$3')}${time}`;
}

/** A date and time in any ISO 8601 form; UTC without a zone. */
export const isoDatetime = z
  .string()
  .transform((value, ctx) => {
    const instant = readDatetime(withSeparators(value));
    if (instant !== undefined) return new Date(instant);
    const hint = SPACE_FOR_PLUS.test(value) ? ': write + as %2B in an address' : ', such as 2026-01-31T12:30:00Z';
    ctx.issues.push({ code: 'custom', message: `must be a date and time in ISO 8601${hint}`, input: value });
    return z.NEVER;
  })
  .meta({ format: 'date-time' });

/** As `isoDatetime`; a date alone is its midnight in UTC. */
export const isoDateOrDatetime = z.preprocess(
  (value) =>
    typeof value === 'string' && isDate(withSeparators(value)) ? `${withSeparators(value)}T00:00:00Z` : value,
  isoDatetime,
);

/** A whole number in a query. Ignores any other value, and one out of range (reference: Conventions, 6). */
export function pageNumber({ min, max, otherwise }: { min: number; max: number; otherwise: number }) {
  return z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max)
    .catch(otherwise)
    .default(otherwise)
    .meta({ description: `From ${min} to ${max}, default ${otherwise}; the server ignores any other value` });
}
