/** Privacy requests by staff: access to, or deletion of, people's data (reference: GDPR; docs/gdpr.md). */
import { z } from 'zod';
import {
  bodyFlag,
  boundedArray,
  commaList,
  commaListOf,
  customerId,
  identifier,
  isoDatetime,
  text,
} from '../core/input.ts';
import { DECLINE_REASONS } from '../../domain/gdpr/gdpr-codes.ts';
import { type Malformed, operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { internalError } from '../jobs/internal-error.ts';

const MAX_PEOPLE = 10_000;

/** Refuses a single text: `ada,bob`, read as one id, would erase no one and still end as `treated`. */
export const NewGdprRequest = z
  .object({
    users: boundedArray(customerId, {
      error: 'must be an array of user ids; in a web form, repeat users[]',
      min: 1,
      tooFew: 'must have at least one user id',
      max: MAX_PEOPLE,
      words: 'user ids',
    })
      .overwrite((users) => [...new Set(users)])
      .describe('User ids; duplicates count once'),
    skip_email: bodyFlag.default(false).describe('Send no e-mail when the request is done'),
  })
  .meta({ id: 'NewGdprRequest' });
export type NewGdprRequest = z.output<typeof NewGdprRequest>;

const wrongUsers: Malformed = {
  elements: ['users'],
  status: 'bad_request',
  message: 'Please provide a valid list of user ids',
};

const StatusQuery = z.object({ request_id: text() });
const wrongRequestId: Malformed = {
  elements: ['request_id'],
  status: 'bad_request',
  message: 'Please provide a request id',
};
export const GDPR_TYPES = ['access', 'delete'] as const;
export const GDPR_STATES = ['waiting', 'accepted', 'running', 'treated', 'declined'] as const;

/** A date alone means 00:00 UTC. Adds the separators that the basic format of ISO 8601 leaves out. */
const anyIsoDatetime = z
  .string()
  .transform((value) =>
    value
      .replace(/^(\d{4})(\d\d)(\d\d)(?=$|[Tt])/, '$1-$2-$3')
      .replace(
        /(?<=^.{10}[Tt]\d\d)(\d\d)(\d\d)?(?![\d:])/,
        (_, minute: string, second = '00') => `:${minute}:${second}`,
      )
      .replace(/^\d{4}-\d\d-\d\d$/, '$&T00:00Z'),
  )
  .pipe(isoDatetime);

/** An id with a comma must be sent as `users[]`. */
const LatestQuery = z.object({
  users: commaListOf(customerId)
    .optional()
    .describe('Only these user ids, comma-separated. To send ids with commas, repeat users[] with one id each'),
  request_types: commaList
    .pipe(z.array(z.enum(GDPR_TYPES)).min(1))
    .optional()
    .describe('access, delete, or both (default)'),
  modified_since: anyIsoDatetime
    .optional()
    .describe('Only changes since this ISO 8601 date, or date and time; by default, and at most, 7 days ago'),
});

const wrongTypes: Malformed = {
  elements: ['request_types'],
  status: 'bad_request',
  message: "Wrong 'request_types' parameter value.",
};

const ListQuery = z.object({
  ...pageQuery,
  type: z.enum(GDPR_TYPES).optional(),
  state: z.enum(GDPR_STATES).optional().describe('waiting: for approval'),
  source: z
    .enum(['api', 'sdk', 'restore'])
    .optional()
    .describe('sdk: from a device; restore: after the restore of a backup'),
  request_id: identifier.optional().describe('Only this request'),
});

const instant = z.iso.datetime();
const counts = z.record(z.string(), z.int());
const texts = z.record(z.string(), z.string().nullable());
const stage = z
  .string()
  .nullable()
  .describe(
    'Current step, such as erasing, or waiting for a free place; null before the first step and after the last',
  );
const RequestFault = z
  .object({
    location: z.string().nullable().describe('Location that could not be erased; null if the request as a whole waits'),
    since: instant,
    reason: z.string(),
    what_to_do: z.string(),
  })
  .meta({ id: 'RequestFault' });
const fault = RequestFault.nullable().describe(
  'The oldest fault that delays the request, which Millrace retries; null if there is none',
);

export const MAX_SIMILAR_IDS = 20;

const status = {
  status: z.enum(['received', 'treated']),
  requested_at: instant,
  skip_email: z.boolean(),
  email: z
    .string()
    .nullable()
    .describe(
      "Address of the requester, or of the service token's creator; null for a device, or if they lack gdpr_data_manage",
    ),
  state: ListQuery.shape.state.unwrap().describe('waiting: for approval; accepted: not started yet'),
  progress: z.object({
    stage,
    erased: counts.describe('Number of rows and files erased in the current round, by location'),
    survivors: counts.describe('Number of rows and files that the last scan still found, by location'),
    looked_at: instant.nullable().describe('When that scan ended'),
    fault,
    faults: z.array(RequestFault).describe('Everything that keeps the request now, the oldest first'),
    internal_error: internalError,
  }),
  waiting: z.record(z.string(), z.string()).describe('By user id: the hold that a person waits for'),
  similar_ids: z
    .record(z.string(), z.array(z.string()))
    .describe(
      `By user id: other users of the entity whose id differs only in capitals ` +
        `or in composed letters, and that the request does not name; at most ${MAX_SIMILAR_IDS} in all. They may be the same person`,
    ),
  expires_at: instant.nullable().describe('When Millrace discards the request; null until it is treated or declined'),
};

const downloadUrls = texts.describe(
  'By user id: null while pending, then the link to the archive, or a text if there is no data',
);
const keptValues = z
  .array(
    z
      .object({
        place: z.string(),
        object: z
          .string()
          .describe('Identifier of a segment, campaign, funnel or hold; key of a file in the file store'),
        on: z.string().describe('attributes, devices, details of events, file, or reason (of a hold)'),
        key: z.string().nullable().describe('Attribute, field or member; null if it holds an id itself'),
        values: z.int(),
      })
      .meta({ id: 'KeptValue' }),
  )
  .describe(
    'Values of filters that equal an id of these people and stayed, since they may mean anything; ' +
      'files of the outbox that are no mails and hold no such id as text; holds on others whose reason names one of these people',
  );

const wouldErase = z
  .record(z.string(), z.int().nullable())
  .nullable()
  .describe(
    'Only for a waiting deletion that covers a device: the number of rows and files that an approval erases now, by ' +
      'location; a number is null if there is too much to search. Else null',
  );

const userIds = texts.describe('By user id: null while pending, then the text treated');
export const AccessStatus = z.object({ ...status, download_urls: downloadUrls }).meta({ id: 'AccessStatus' });
export type AccessStatus = z.output<typeof AccessStatus>;

export const DeletionStatus = z
  .object({ ...status, user_ids: userIds, kept_values: keptValues, would_erase: wouldErase })
  .meta({ id: 'DeletionStatus' });
export type DeletionStatus = z.output<typeof DeletionStatus>;

const request = {
  request_id: z.string(),
  type: z.enum(GDPR_TYPES),
  source: ListQuery.shape.source
    .unwrap()
    .describe(
      'sdk: from a device; restore: a restored backup brought erased people back, and Millrace erases them again',
    ),
  app_id: z.string().nullable().describe('App of the device that made the request; else null'),
  treated_at: instant.nullable().describe('When the last of its people was treated'),
};

export const GdprRequest = z
  .object({
    ...request,
    ...status,
    download_urls: downloadUrls.optional(),
    user_ids: userIds.optional(),
    kept_values: keptValues.optional(),
    would_erase: wouldErase.optional(),
  })
  .meta({ id: 'GdprRequest' });
export type GdprRequest = z.output<typeof GdprRequest>;

export const ListedGdprRequest = z
  .object({
    ...request,
    status: status.status,
    state: status.state,
    requested_at: instant,
    expires_at: status.expires_at,
    stage,
    fault,
    internal_error: internalError,
    people: z
      .object({ asked: z.int(), treated: z.int(), held: z.int() })
      .describe('Number of people: in all, treated, on hold'),
  })
  .meta({ id: 'ListedGdprRequest' });
export type ListedGdprRequest = z.output<typeof ListedGdprRequest>;

export const PolledGdprRequest = z
  .object({
    user_id: z.string().nullable().describe('Null if a device requested the data that it sent itself'),
    received_at: instant,
    request_type: z.enum(GDPR_TYPES),
    forwarded_to_emails: z
      .array(z.string())
      .describe('Recipients of the mail that the request is done; empty until it is sent'),
    forwarded_at: instant.nullable().describe('When that mail was sent'),
    treated_by_svc_at: instant.nullable().describe('When this person was treated'),
    download_link: z
      .string()
      .nullable()
      .optional()
      .describe('Only for access: the link to the archive; null while there is none'),
    source: z.enum(['api', 'sdk']),
    app_id: z.string().nullable().optional().describe('Only for a request from a device: its app'),
    request_id: z.string(),
  })
  .meta({ id: 'PolledGdprRequest' });
export type PolledGdprRequest = z.output<typeof PolledGdprRequest>;

export const ofOne = {
  user_id: customerId.optional(),
  device_id: customerId.optional().describe('Instead of user_id'),
};

/** Requests of people for their data, or for its deletion (reference: GDPR). */
const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage' } as const;

const asking = {
  ...SHARED,
  method: 'POST',
  malformed: wrongUsers,
  body: NewGdprRequest,
  result: z.object({ callback_url: z.string() }),
} as const;

export const requestAccess = operation({
  id: 'requestAccess',
  ...asking,
  path: '/api/gdpr/access_user_data',
  summary: 'Request access to all data of users',
  description:
    'Poll callback_url for a download link for each user. The links work for 7 days after all users are treated.',
  audits: 'create gdpr_request',
});

export const requestDeletion = operation({
  id: 'requestDeletion',
  ...asking,
  path: '/api/gdpr/delete_user_data',
  summary: 'Request the deletion of all data of users',
  description: 'Poll callback_url: it shows a user as treated once a last scan of all locations finds no data of them.',
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

/** Maximum number of people that one poll names; a caller with more filters by `users`. */
export const MAX_POLLED = 10_000;

export const listLatestGdprRequests = operation({
  id: 'listLatestGdprRequests',
  ...SHARED,
  method: 'GET',
  path: '/api/gdpr/latest_requests',
  summary: 'List the people of recently changed requests',
  description: `Latest changes first, at most ${MAX_POLLED} people.`,
  audits: ['read customer', 'read gdpr_request'],
  malformedQuery: wrongTypes,
  query: LatestQuery,
  result: z.array(PolledGdprRequest),
});

const READING = { ...SHARED, method: 'GET' } as const;
const PATH = '/api/gdpr/requests';
const ONE = `${PATH}/:request_id`;

const byState = z
  .object({ waiting: z.int(), accepted: z.int(), running: z.int(), treated: z.int(), declined: z.int() })
  .describe('Number of requests in each state, whatever the filter of states says')
  .meta({ id: 'GdprRequestsByState' });

export const listGdprRequests = operation({
  id: 'listGdprRequests',
  ...READING,
  path: PATH,
  summary: 'List access and deletion requests, newest first',
  query: ListQuery,
  result: pageOf(ListedGdprRequest).extend({ by_state: byState }).meta({ id: 'GdprRequestsPage' }),
});

export const viewGdprRequest = operation({
  id: 'viewGdprRequest',
  ...READING,
  path: ONE,
  summary: 'Get the status of an access or deletion request',
  audits: 'read gdpr_request',
  params: z.object({ request_id: identifier }),
  result: GdprRequest,
});

const DECIDING = {
  ...SHARED,
  method: 'POST',
  params: z.object({ request_id: identifier }),
  result: ListedGdprRequest,
} as const;

export const approveGdprRequest = operation({
  id: 'approveGdprRequest',
  ...DECIDING,
  path: `${ONE}/approve`,
  summary: 'Approve a deletion request that waits for approval',
  description:
    'Also starts a request again, of access or of deletion, that Millrace has given up: its `fault` says why.',
  audits: 'approve gdpr_request',
});

export const declineGdprRequest = operation({
  id: 'declineGdprRequest',
  ...DECIDING,
  path: `${ONE}/decline`,
  summary: 'Decline a deletion request that waits for approval',
  description:
    'Millrace discards the request after 7 days. It does not notify the person, so give them the reason yourself.',
  audits: 'decline gdpr_request',
  body: z.object({
    reason: z
      .enum(DECLINE_REASONS)
      .optional()
      .describe(
        'Kept in the audit log. not_identified: the person did not prove who they are (GDPR, articles 11 and 12 (6)); ' +
          'legal_obligation, public_interest, legal_claims: article 17 (3); excessive: article 12 (5)',
      ),
  }),
});
