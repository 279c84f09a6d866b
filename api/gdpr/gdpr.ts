import { z } from 'zod';
import { bodyFlag, commaList, customerId, identifier, isoDatetime, text } from '../core/input.ts';
import { type Malformed, operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

const MAX_PEOPLE = 10_000;

/** A text is no list, also in a web form: taken for one id it would erase nobody, and say that it did. */
export const NewGdprRequest = z.object({
  users: z.array(customerId, {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be an array of user ids; in a web form users[], repeated'),
  }).min(1, 'must have at least one user id').max(MAX_PEOPLE, `must have at most ${MAX_PEOPLE} user ids`)
    .transform((users) => [...new Set(users)])
    .describe('User ids; one that comes twice counts once'),
  skip_email: bodyFlag.default(false).describe('Send no e-mail when it is done'),
}).meta({ id: 'NewGdprRequest' });
export type NewGdprRequest = z.output<typeof NewGdprRequest>;

const wrongUsers: Malformed = { elements: ['users'], status: 'bad_request', message: 'Please provide a valid list of user ids' };

const StatusQuery = z.object({ request_id: text() });
const wrongRequestId: Malformed = { elements: ['request_id'], status: 'bad_request', message: 'Please provide a request id' };
export const GDPR_TYPES = ['access', 'delete'] as const;
export const GDPR_STATES = ['waiting', 'accepted', 'running', 'treated', 'declined'] as const;

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

const LatestQuery = z.object({
  users: someUsers.optional().describe('Of these user ids alone: comma-separated; repeated, or as users[], each is one id, commas and all'),
  request_types: commaList.pipe(z.array(z.enum(GDPR_TYPES)).min(1)).optional().describe('access, delete; both by default'),
  modified_since: anyIsoDatetime.optional()
    .describe('A date, or a date and time, in ISO 8601; 7 days ago by default, and where it is longer ago'),
});

const wrongTypes: Malformed = {
  elements: ['request_types'], status: 'bad_request', message: 'Wrong \'request_types\' parameter value.',
};

const ListQuery = z.object({
  ...pageQuery,
  type: z.enum(GDPR_TYPES).optional(),
  state: z.enum(GDPR_STATES).optional(),
  source: z.enum(['api', 'sdk', 'restore']).optional(),
});

const instant = z.iso.datetime();
const counts = z.record(z.string(), z.int());
const texts = z.record(z.string(), z.string().nullable());

/** What either status tells. */
const status = {
  status: z.enum(['received', 'treated']),
  requested_at: instant,
  skip_email: z.boolean(),
  email: z.string().nullable()
    .describe('Of the requester, or of the creator of the service token; null for a device, and for a user who is removed'),
  state: ListQuery.shape.state.unwrap(),
  progress: z.object({
    stage: z.string().nullable(),
    erased: counts.describe('Rows and files that are gone, by place'),
    survivors: counts.describe('What the last look still found, by place'),
    looked_at: instant.nullable(),
    fault: z.string().nullable().describe('What keeps it for now'),
  }),
  waiting: z.record(z.string(), z.string()).describe('By user id: what a person who is on hold waits for'),
  expires_at: instant.nullable().describe('When it is discarded; null until it is treated or declined'),
};

const downloadUrls = texts.describe('By user id: null while pending, then where the archive is, or a text where there is none');
const userIds = texts.describe('By user id: null while pending, then treated');
export const AccessStatus = z.object({ ...status, download_urls: downloadUrls }).meta({ id: 'AccessStatus' });
export type AccessStatus = z.output<typeof AccessStatus>;

export const DeletionStatus = z.object({ ...status, user_ids: userIds }).meta({ id: 'DeletionStatus' });
export type DeletionStatus = z.output<typeof DeletionStatus>;

const request = {
  request_id: z.string(),
  type: z.enum(GDPR_TYPES),
  source: ListQuery.shape.source.unwrap().describe('restore: people came back with a restored backup, and are erased again'),
  app_id: z.string().nullable().describe('Of one from a device'),
  treated_at: instant.nullable(),
};

export const GdprRequest = z.object({
  ...request, ...status, download_urls: downloadUrls.optional(), user_ids: userIds.optional(),
}).meta({ id: 'GdprRequest' });
export type GdprRequest = z.output<typeof GdprRequest>;

export const ListedGdprRequest = z.object({
  ...request, status: status.status, state: status.state, requested_at: instant, expires_at: status.expires_at,
  stage: z.string().nullable(), fault: z.string().nullable(),
  people: z.object({ asked: z.int(), treated: z.int(), held: z.int() }),
}).meta({ id: 'ListedGdprRequest' });
export type ListedGdprRequest = z.output<typeof ListedGdprRequest>;

export const PolledGdprRequest = z.object({
  user_id: z.string().nullable().describe('Null: asked for from a device, for what it sent itself'),
  received_at: instant,
  request_type: z.enum(GDPR_TYPES),
  forwarded_to_emails: z.array(z.string()),
  forwarded_at: instant.nullable(),
  treated_by_svc_at: instant.nullable(),
  download_link: z.string().nullable().optional().describe('Of an access request'),
  source: z.enum(['api', 'sdk']),
  app_id: z.string().nullable().optional().describe('Of a request from a device'),
  request_id: z.string(),
}).meta({ id: 'PolledGdprRequest' });
export type PolledGdprRequest = z.output<typeof PolledGdprRequest>;

/** Members of a query or body that name one person, by either id. */
export const ofOne = { user_id: customerId.optional(), device_id: customerId.optional() };

/** Requests of people for their data, or for its deletion (reference: GDPR). */
const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage' } as const;

const asking = {
  ...SHARED, method: 'POST', malformed: wrongUsers, body: NewGdprRequest, result: z.object({ callback_url: z.string() }),
} as const;

export const requestAccess = operation({
  id: 'requestAccess',
  ...asking,
  path: '/api/gdpr/access_user_data',
  summary: 'Request access to all data of users',
  description: 'At the callback_url there is an archive for each of them, for a week after the last is done.',
  audits: 'create gdpr_request',
});

export const requestDeletion = operation({
  id: 'requestDeletion',
  ...asking,
  path: '/api/gdpr/delete_user_data',
  summary: 'Request the deletion of all data of users',
  description: 'The callback_url tells when a second look has found nothing of them.',
  audits: 'create gdpr_request',
});

const polling = { ...SHARED, method: 'GET', malformedQuery: wrongRequestId, query: StatusQuery } as const;

export const viewAccessRequest = operation({
  id: 'viewAccessRequest',
  ...polling,
  path: '/api/gdpr_request/export',
  summary: 'Get the status of an access request',
  audits: 'read gdpr_request',
  result: AccessStatus,
});

export const viewDeletionRequest = operation({
  id: 'viewDeletionRequest',
  ...polling,
  path: '/api/gdpr_request/delete',
  summary: 'Get the status of a deletion request',
  audits: 'read gdpr_request',
  result: DeletionStatus,
});

/** Whoever has more asks for some of their users. */
export const MAX_POLLED = 10_000;

export const listLatestGdprRequests = operation({
  id: 'listLatestGdprRequests',
  ...SHARED,
  method: 'GET',
  path: '/api/gdpr/latest_requests',
  summary: 'List the people of recently changed requests',
  description: `Those that changed last first, at most ${MAX_POLLED}.`,
  audits: ['read customer', 'read gdpr_request'],
  malformedQuery: wrongTypes,
  query: LatestQuery,
  result: z.array(PolledGdprRequest),
});

/** Requests of either type, however they came. */
const READING = { tag: 'GDPR', right: 'gdpr_data_manage', method: 'GET' } as const;
const PATH = '/api/gdpr/requests';

export const listGdprRequests = operation({
  id: 'listGdprRequests',
  ...READING,
  path: PATH,
  summary: 'List requests for data and deletion, newest first',
  query: ListQuery,
  result: pageOf(ListedGdprRequest),
});

export const viewGdprRequest = operation({
  id: 'viewGdprRequest',
  ...READING,
  path: `${PATH}/:request_id`,
  summary: 'Get the status of any request, for access or deletion',
  audits: 'read gdpr_request',
  params: z.object({ request_id: identifier }),
  result: GdprRequest,
});

/** What becomes of a deletion that was asked for from a device. */
const DECIDING = {
  tag: 'GDPR', right: 'gdpr_data_manage', method: 'POST', params: z.object({ request_id: identifier }),
  result: ListedGdprRequest,
} as const;

const ONE_REQUEST = '/api/gdpr/requests/:request_id';

export const approveGdprRequest = operation({
  id: 'approveGdprRequest',
  ...DECIDING,
  path: `${ONE_REQUEST}/approve`,
  summary: 'Approve a deletion request that waits for approval',
  audits: 'approve gdpr_request',
});

export const declineGdprRequest = operation({
  id: 'declineGdprRequest',
  ...DECIDING,
  path: `${ONE_REQUEST}/decline`,
  summary: 'Decline a deletion request that waits for approval',
  description: 'It is shown for a week as declined. To tell the person why is up to you.',
  audits: 'decline gdpr_request',
});
