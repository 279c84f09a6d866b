/** People, for their page: found and viewed. Ids come in bodies, since logs have addresses. */

import { z } from 'zod';
import {
  PERSON_MATCHES,
  PERSON_ORIGINS,
  PERSON_PARTS,
  TIMELINE_KINDS,
  type TimelineKind,
} from '../../domain/analytics/person.ts';
import { HOLD_KINDS } from '../../domain/gdpr/gdpr-codes.ts';
import { ATTEMPT_CODES, type AttemptCode } from '../../domain/sends/attempt.ts';
import { bodyInteger, boundedArray, customerId, identifier, isoDateOrDatetime, text } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { MetBlockSchema } from './segment-filters.ts';

export const PEOPLE = { tag: 'People', method: 'POST', idempotencyKey: 'ignored', audits: 'read customer' } as const;

const LeftOut = z
  .object({
    part: z.string(),
    right: z.string().nullable().describe('The right that you lack; null for another reason'),
    reason: z.string(),
  })
  .meta({ id: 'LeftOut' });
export type LeftOut = z.output<typeof LeftOut>;

const leftOut = z.array(LeftOut).describe('What the answer leaves out, and why');

const PersonFoundBy = z
  .object({
    by: z
      .enum(PERSON_MATCHES)
      .describe('similar_id: the user id differs from the text in capitals or composed letters only'),
    sor_id: z.string().nullable().describe('System of Records of the attribute; null for an id'),
    attribute_key: z.string().nullable(),
  })
  .meta({ id: 'PersonFoundBy' });

export const FoundPerson = z
  .object({
    user_id: z.string().nullable(),
    device_id: z.string().nullable(),
    matches: z.array(PersonFoundBy),
  })
  .meta({ id: 'FoundPerson' });
export type FoundPerson = z.output<typeof FoundPerson>;

const MAX_FOUND = 100;

export const findPeople = operation({
  id: 'findPeople',
  ...PEOPLE,
  path: '/api/people/find',
  summary: 'Find people by a user id, a device id, or the value of an attribute',
  description:
    'Needs one of the rights to a part of a person. Ids are found at once. Values of attributes have no index: on a large ' +
    'installation the search may end after 10 seconds, and `left_out` says so. The audit log gets an entry for each person ' +
    'found, without the text.',
  rightsByField: { attribute: PERSON_PARTS.attributes },
  body: z.object({
    text: text().describe('The whole id or value, such as an e-mail; an e-mail is also found in lower case'),
    match: boundedArray(z.enum(PERSON_MATCHES), { min: 1, max: PERSON_MATCHES.length })
      .optional()
      .describe('Find only these ways; by default all'),
    limit: bodyInteger({ min: 1, max: MAX_FOUND }).default(20).describe(`From 1 to ${MAX_FOUND}, default 20`),
  }),
  result: z.object({
    people: z.array(FoundPerson).describe('By id first, then similar ids, then values'),
    more: z.boolean().describe('True: more people match than the limit'),
    left_out: leftOut,
  }),
});

const instant = z.iso.datetime();
const textOrNull = z.string().nullable();
const code = z.enum(Object.keys(ATTEMPT_CODES) as [AttemptCode]);

const ofOne = {
  user_id: customerId.optional().describe('Required unless device_id is given'),
  device_id: customerId.optional().describe('Instead of user_id'),
};

const origin = z
  .enum(PERSON_ORIGINS)
  .describe("vouched: by a user token of the app's server; confirmed: by staff; claimed: by an SDK alone");

const PersonIdentifier = z
  .object({
    user_id: z.string(),
    link: z
      .enum(['earlier', 'later', 'user'])
      .describe('earlier: the id became this person; later: this person became the id; user: used this device'),
    origin,
    app_id: textOrNull,
    since: instant.describe('When the link was first reported; for `user`: when the user was last seen on the device'),
  })
  .meta({ id: 'PersonIdentifier' });

const PersonDevice = z
  .object({
    device_id: z.string(),
    app_id: z.string(),
    origin,
    push: z
      .object({
        reaches: z.boolean().describe('True: a push of a transactional campaign would be sent now'),
        code: code.nullable().describe('Why no push would be sent; null if one would'),
        reason: textOrNull,
      })
      .describe('Push state'),
    current_user_id: textOrNull,
    app_version: textOrNull,
    os_version: textOrNull,
    device_model: textOrNull,
    device_type: textOrNull,
    first_seen_at: instant,
    last_seen_at: instant,
  })
  .meta({ id: 'PersonDevice' });

const CountOfPerson = z
  .object({
    count: z.int().describe('At most 100,000'),
    first_at: instant.nullable().describe('Of the counted ones'),
    last_at: instant.nullable(),
  })
  .meta({ id: 'CountOfPerson' });

const part = <S extends z.ZodType>(schema: S) => schema.nullable();
const partList = <S extends z.ZodType>(schema: S) => part(z.array(schema)).describe('At most 1,000');

export const Person = z
  .object({
    known: z.boolean().describe('False: Millrace knows nothing of this id, or no longer'),
    look: z
      .string()
      .describe('Send it with the other calls for this person: for an hour they write no further audit entry for you'),
    identifiers: partList(PersonIdentifier),
    devices: partList(PersonDevice),
    events: part(CountOfPerson),
    sessions: part(CountOfPerson),
    segments: partList(
      z
        .object({ segment_id: z.string(), name: z.string(), app_id: z.string(), as_of: instant.nullable() })
        .meta({ id: 'SegmentOfPerson' }),
    ),
    attributes: partList(
      z
        .object({ sor_id: z.string(), name: z.string(), values: z.int(), changed_at: instant })
        .meta({ id: 'ValuesOfPerson' }),
    ),
    messages: part(
      CountOfPerson.extend({
        confirmed: z.int().describe('Messages that a device confirmed: received, opened, shown or clicked'),
      }).meta({ id: 'MessageCountOfPerson' }),
    ),
    requests: partList(
      z
        .object({
          request_id: z.string(),
          request_type: z.enum(['access', 'delete']),
          state: z.string().describe('Of the request'),
          person_state: z.string().describe('Of this person in it'),
          received_at: instant,
        })
        .meta({ id: 'RequestOfPerson' }),
    ),
    holds: partList(
      z
        .object({ hold_id: z.string(), kind: z.enum(HOLD_KINDS), reason: z.string(), created_at: instant })
        .meta({ id: 'HoldOfPerson' }),
    ),
    erasure: part(
      z
        .object({ erased_at: instant.nullable().describe('When an erasure of this id began; null if none did') })
        .meta({ id: 'ErasureOfPerson' }),
    ),
    left_out: leftOut,
  })
  .meta({ id: 'Person' });
export type Person = z.output<typeof Person>;

export const viewPerson = operation({
  id: 'viewPerson',
  ...PEOPLE,
  path: '/api/people/view',
  summary: 'View a person: ids, devices, segments, counts, requests and holds',
  description:
    'Each part needs its own right: a part whose right you lack is null, and `left_out` says why. The audit log gets one ' +
    'entry.',
  rightsByField: PERSON_PARTS,
  body: z.object(ofOne),
  result: Person,
});

const MAX_PAGE = 200;

/** A sealed look or cursor holds an id, four bytes a character, in Base64. */
const SEALED_CHARS = 2_000;
export const ofLook = {
  ...ofOne,
  look: text({ max: SEALED_CHARS })
    .optional()
    .describe('From viewPerson, or from the page before: with it this call writes no further audit entry for an hour'),
  per_page: bodyInteger({ min: 1, max: MAX_PAGE }).default(50).describe(`From 1 to ${MAX_PAGE}, default 50`),
  cursor: text({ max: SEALED_CHARS }).optional().describe('From the `next` of the page before'),
};

const pageOfLook = {
  next: z.string().nullable().describe('Send it as cursor to get the next page; null at the end'),
  look: z.string(),
};

const ofEntry = { at: instant };
const ofDevice = { app_id: z.string(), device_id: textOrNull, user_id: textOrNull };

const EventOfPerson = z
  .object({
    ...ofEntry,
    ...ofDevice,
    event_id: z.string(),
    log_type: z.int().describe('1 errors, 2 events, 3 background transitions'),
    name: z.string(),
    detail: z.json(),
  })
  .meta({ id: 'EventOfPerson' });

const nullable = instant.nullable();

export const MessageOfPerson = z
  .object({
    ...ofEntry,
    ...ofDevice,
    message_id: z.string(),
    request_id: textOrNull.describe('Of POST /api/transac; null for a launched campaign'),
    campaign_id: z.string(),
    campaign_name: z.string(),
    campaign_type: z.enum(['classic', 'transactional', 'dynamic']),
    is_test: z.boolean(),
    channel: z.enum(['push', 'inapp', 'both']),
    variant: textOrNull,
    code,
    reason: z.string().describe('Meaning of the code'),
    details: textOrNull,
    due_at: nullable.describe('When a waiting message is due'),
    settled_at: nullable,
    confirmed: z.boolean().describe('True: a device confirmed that it received, opened, showed or clicked the message'),
    delivered_at: nullable,
    opened_at: nullable,
    shown_at: nullable,
    clicked_at: nullable,
  })
  .meta({ id: 'MessageOfPerson' });
export type MessageOfPerson = z.output<typeof MessageOfPerson>;

export const TimelineEntry = z
  .discriminatedUnion('kind', [
    MessageOfPerson.extend({ kind: z.literal('message') }).meta({ id: 'TimelineMessage' }),
    z
      .object({
        kind: z.literal('session'),
        ...ofEntry,
        ...ofDevice,
        session_id: z.string(),
        ended_at: instant,
        duration: z.int().describe('Seconds in the foreground'),
        app_version: textOrNull,
        os_version: textOrNull,
        device_model: textOrNull,
        events: z.array(EventOfPerson).describe('The last 20, newest first'),
        event_count: z.int(),
      })
      .meta({ id: 'TimelineSession' }),
    EventOfPerson.extend({ kind: z.literal('event') }).meta({ id: 'TimelineEvent' }),
    z
      .object({
        kind: z.literal('attribute'),
        ...ofEntry,
        sor_id: z.string(),
        attribute_key: z.string(),
        value_type: z.string(),
        removed: z.boolean(),
        value: textOrNull.describe('As text, with all digits; null for a Set, and if it is removed'),
        elements: z.array(z.string()).nullable().describe('Of a Set, the first 100'),
      })
      .meta({ id: 'TimelineAttribute' }),
    z
      .object({
        kind: z.literal('request'),
        ...ofEntry,
        request_id: z.string(),
        request_type: z.enum(['access', 'delete']),
        state: z.string(),
        person_state: z.string(),
      })
      .meta({ id: 'TimelineRequest' }),
  ])
  .meta({ id: 'TimelineEntry' });
export type TimelineEntry = z.output<typeof TimelineEntry>;

const kinds = Object.keys(TIMELINE_KINDS) as [TimelineKind];
const timelineKinds = boundedArray(z.enum(kinds), { min: 1, max: kinds.length }).optional();

export const viewTimeline = operation({
  id: 'viewTimeline',
  ...PEOPLE,
  path: '/api/people/timeline',
  summary: 'View the timeline of a person, newest first',
  description:
    'Sessions with their events, the last change of each attribute, messages with their code, and privacy requests. An entry ' +
    '`event` is one outside of the listed sessions. Each kind needs its own right: `left_out` names the kinds that you may not ' +
    'see. The audit log gets one entry for a look, and none for its further pages.',
  rightsByField: TIMELINE_KINDS,
  body: z.object({
    ...ofLook,
    kinds: timelineKinds.describe('By default all. Without `session`, `event` lists every event'),
    until: isoDateOrDatetime.optional().describe('Jump to this moment: only entries up to it, included'),
  }),
  result: z.object({ entries: z.array(TimelineEntry), ...pageOfLook, left_out: leftOut }).meta({ id: 'Timeline' }),
});

const MAX_DAYS = 366;

export const countPersonDays = operation({
  id: 'countPersonDays',
  ...PEOPLE,
  path: '/api/people/days',
  summary: 'Count what happened to a person by day and kind',
  description:
    'Days in UTC; a day without entries of a kind is left out. Counts each kind as the timeline lists it alone, of each the ' +
    'newest 100,000. Each kind needs its own right: `left_out` names the kinds that you may not see. The audit log gets one ' +
    'entry, and none with `look`.',
  rightsByField: TIMELINE_KINDS,
  body: z.object({
    ...ofOne,
    look: ofLook.look,
    kinds: timelineKinds.describe('By default all'),
    days: bodyInteger({ min: 1, max: MAX_DAYS }).default(90).describe(`From 1 to ${MAX_DAYS}, default 90`),
    until: z.iso.date().optional().describe('The last day, in UTC; by default today'),
  }),
  result: z
    .object({
      days: z.array(z.object({ day: z.iso.date(), kind: z.enum(kinds), count: z.int() }).meta({ id: 'DayOfPerson' })),
      look: z.string(),
      left_out: leftOut,
    })
    .meta({ id: 'DaysOfPerson' }),
});

export const listPersonMessages = operation({
  id: 'listPersonMessages',
  ...PEOPLE,
  path: '/api/people/messages',
  right: PERSON_PARTS.messages,
  summary: 'List the messages to a person of all campaigns and requests, newest first',
  description:
    'One for each device, with its code and whether the device confirmed it. The audit log gets one entry for a look, and none ' +
    'for its further pages.',
  body: z.object(ofLook),
  result: z.object({ messages: z.array(MessageOfPerson), ...pageOfLook }).meta({ id: 'MessagesOfPerson' }),
});

export const ExplainedSegment = z
  .object({
    segment_id: z.string(),
    name: z.string(),
    app_id: z.string(),
    static: z.boolean().describe('A list of people, without filters'),
    member: z.boolean().describe('The last refresh found the person, or the list has them'),
    as_of: instant.nullable().describe('When the last refresh found its people; null: none has yet'),
    found: z.boolean().nullable().describe('The filters find the person now; null for a list, and with `reason`'),
    counts_as: z
      .object({ user_id: textOrNull, device_id: textOrNull })
      .meta({ id: 'CountedPerson' })
      .nullable()
      .describe(
        'As which person of the app the id counts: a device as its user, with aliases an earlier id as the later',
      ),
    operator: z.enum(['and', 'or']),
    blocks: z.array(MetBlockSchema).nullable().describe('Null as `found`'),
    reason: textOrNull.describe('Why the filters can say nothing of the person'),
    at: instant.describe('The moment of all that is read here'),
    look: z.string(),
  })
  .meta({ id: 'ExplainedSegment' });
export type ExplainedSegment = z.output<typeof ExplainedSegment>;

export const explainSegment = operation({
  id: 'explainSegment',
  ...PEOPLE,
  path: '/api/people/segment',
  right: PERSON_PARTS.segments,
  summary: 'Show why a person is in a segment, or is not',
  description:
    'Each filter of the segment with whether the person meets it, read at one moment as a refresh would. A segment that ' +
    'compares with a sensitive attribute also needs sor_manage. The audit log gets one entry, and none with `look`.',
  body: z.object({ ...ofOne, segment_id: identifier, look: ofLook.look }),
  result: ExplainedSegment,
});
