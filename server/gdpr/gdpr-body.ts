import { z } from 'zod';
import { bodyFlag, commaList, customerId, isoDatetime, text } from '../http/input.ts';
import { pageQuery } from '../http/page.ts';
import type { Malformed } from '../http/route.ts';

/** What is asked in requests of people for their data or its deletion (reference: GDPR). */

const MAX_PEOPLE = 10_000;

/** A text is no list, also in a web form: taken for one id it would erase nobody, and say that it did. */
export const AskedBody = z.object({
  users: z.array(customerId, {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be an array of user ids; in a web form users[], repeated'),
  }).min(1, 'must have at least one user id').max(MAX_PEOPLE, `must have at most ${MAX_PEOPLE} user ids`)
    .transform((users) => [...new Set(users)])
    .describe('User ids; one that comes twice counts once'),
  skip_email: bodyFlag.default(false).describe('Send no e-mail when it is done'),
});

export const wrongUsers: Malformed = { elements: ['users'], status: 'bad_request', message: 'Please provide a valid list of user ids' };

export const StatusQuery = z.object({ request_id: text() });

export const wrongRequestId: Malformed = { elements: ['request_id'], status: 'bad_request', message: 'Please provide a request id' };

export const TYPES = ['access', 'delete'] as const;
export const STATES = ['waiting', 'accepted', 'running', 'treated', 'declined'] as const;

/** A date alone is its beginning in UTC; ISO's short form gets its separators. */
const anyIsoDatetime = z.string()
  .transform((value) => value
    .replace(/^(\d{4})(\d\d)(\d\d)(?=$|[Tt])/, '$1-$2-$3')
    .replace(/(?<=^.{10}[Tt]\d\d)(\d\d)(\d\d)?(?![\d:])/, (_, minute: string, second = '00') => `:${minute}:${second}`)
    .replace(/^\d{4}-\d\d-\d\d$/, '$&T00:00Z'))
  .pipe(isoDatetime);

/** Whoever has a comma in their id is asked for as `users[]`. */
const someUsers = z.union([
  z.string().transform((listed) => listed.split(',').filter((id) => id !== '')), z.array(z.string()),
], { error: 'must be a comma-separated list' }).pipe(z.array(customerId).min(1));

export const LatestQuery = z.object({
  users: someUsers.optional().describe('Of these user ids alone: comma-separated; repeated, or as users[], each is one id, commas and all'),
  request_types: commaList.pipe(z.array(z.enum(TYPES)).min(1)).optional().describe('access, delete; both by default'),
  modified_since: anyIsoDatetime.optional()
    .describe('A date, or a date and time, in ISO 8601; 7 days ago by default, and where it is longer ago'),
});

export const wrongTypes: Malformed = {
  elements: ['request_types'], status: 'bad_request', message: 'Wrong \'request_types\' parameter value.',
};

export const ListQuery = z.object({
  ...pageQuery,
  type: z.enum(TYPES).optional(),
  state: z.enum(STATES).optional(),
  source: z.enum(['api', 'sdk', 'restore']).optional(),
});
