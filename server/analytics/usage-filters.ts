/** Filters of the lists of app data, from a request's query, and the subjects for the audit log. */

import { refuse } from '../../domain/core/refusal.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import type { AuditEntry } from '../../store/accounts/audit-log.ts';
import { listSegmentRefs, type SegmentRef } from '../../store/analytics/segment-devices.ts';
import type { UsageFilter } from '../../store/analytics/usage-lists.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import type { Caller } from '../http/caller.ts';
import { listHiddenSegments } from './attributes-of-filters.ts';

/** Entries of a list or file, and its subject for the audit log: people by id, or the whole app or segment. */
export type AskedEntries = {
  filter: UsageFilter;
  isGrouped?: boolean | undefined;
  subject:
    | { app: string }
    | { segment: string }
    | { users?: readonly string[] | undefined; devices?: readonly string[] | undefined };
};

type App = { id: number; identifier: string };
type Texts = string[] | undefined;
type Period = { since_date?: Date | undefined; until_date?: Date | undefined; received_since?: Date | undefined };

/** The refusal of lists of locations and devices (reference: Errors). */
export const NO_APP = "Couldn't find App";

type EventQuery = Period & { group?: boolean | undefined; session_ids?: Texts; names?: Texts; details?: Texts };

export function eventFilter(query: EventQuery) {
  const { group: isGrouped, session_ids: sessions, names, details } = query;
  const { since, until, updatedSince } = periodOf(query);
  return {
    isGrouped,
    filter: {
      since: isGrouped ? groupedSince(since, until, new Date()) : since,
      until,
      updatedSince,
      details,
      oneOf: { session_id: sessions && idsOf(sessions), name: names },
    },
  };
}

export async function eventsOfApp(
  db: Queryable,
  caller: Caller,
  app: App,
  query: EventQuery & { device_ids?: Texts; user_ids?: Texts; segment_ids?: Texts },
): Promise<AskedEntries> {
  const segments =
    query.segment_ids && (await findSegments(db, caller, query.segment_ids, await listHiddenSegments(db, caller)));
  const { isGrouped, filter } = eventFilter(query);
  const oneOf = { ...filter.oneOf, device_id: query.device_ids, user_id: query.user_ids };
  return {
    isGrouped,
    filter: { ...filter, appIds: [app.id], oneOf, segments },
    subject: subjectOf({ app: app.identifier }, query),
  };
}

export function sessionsOfApp(
  app: App,
  query: Period & { device_ids?: Texts; user_ids?: Texts; app_versions?: Texts; countries?: Texts; langs?: Texts },
): AskedEntries {
  const oneOf = {
    device_id: query.device_ids,
    user_id: query.user_ids,
    app_version: query.app_versions,
    country: query.countries,
    lang: query.langs,
  };
  return {
    filter: { appIds: [app.id], ...periodOf(query), oneOf },
    subject: subjectOf({ app: app.identifier }, query),
  };
}

export function locationsOfApp(
  app: App,
  query: Period & {
    session_ids?: Texts;
    device_ids?: Texts;
    latitude?: number | undefined;
    longitude?: number | undefined;
  },
): AskedEntries {
  const one = (value: number | undefined) => (value === undefined ? undefined : [value]);
  const oneOf = {
    session_id: query.session_ids && idsOf(query.session_ids),
    device_id: query.device_ids,
    latitude: one(query.latitude),
    longitude: one(query.longitude),
  };
  return {
    filter: { appIds: [app.id], ...periodOf(query), oneOf },
    subject: subjectOf({ app: app.identifier }, query),
  };
}

function periodOf({ since_date: since, until_date: until, received_since: updatedSince }: Period) {
  return { since, until, updatedSince };
}

type DeviceQuery = { current_user_ids?: Texts; updated_since?: Date | undefined };

export async function devicesOfApp(
  db: Queryable,
  caller: Caller,
  app: App,
  query: DeviceQuery & { device_ids?: Texts; segment_ids?: Texts },
): Promise<AskedEntries> {
  const hiddenSegments = await listHiddenSegments(db, caller);
  const segments = query.segment_ids && (await findSegments(db, caller, query.segment_ids, hiddenSegments));
  const oneOf = { device_id: query.device_ids, current_user_id: query.current_user_ids };
  return {
    filter: { appIds: [app.id], updatedSince: query.updated_since, oneOf, segments, hiddenSegments },
    subject: subjectOf({ app: app.identifier }, { user_ids: query.current_user_ids, device_ids: query.device_ids }),
  };
}

export async function devicesOfSegment(
  db: Queryable,
  caller: Caller,
  segmentIdentifier: string,
  query: DeviceQuery,
): Promise<AskedEntries> {
  const hiddenSegments = await listHiddenSegments(db, caller);
  const { id, identifier, appId } = await requireSegment(db, caller, segmentIdentifier, hiddenSegments);
  const oneOf = { current_user_id: query.current_user_ids };
  return {
    filter: { appIds: [appId], updatedSince: query.updated_since, oneOf, segments: [id], hiddenSegments },
    subject: subjectOf({ segment: identifier }, { user_ids: query.current_user_ids }),
  };
}

async function requireSegment(
  db: Queryable,
  { entityId }: Caller,
  identifier: string,
  hidden: readonly number[],
): Promise<SegmentRef> {
  const [found] = await listSegmentRefs(db, entityId, [identifier]);
  if (!found) return refuseSegment();
  return hidden.includes(found.id) ? refuseHidden(found.name) : requireMembers(found);
}

/** Finds segments, also of other apps: people are the same by their user ids. */
async function findSegments(
  db: Queryable,
  caller: Caller,
  asked: readonly string[],
  hidden: readonly number[],
): Promise<number[]> {
  const found = await listSegmentRefs(db, caller.entityId, asked);
  if (found.length < new Set(asked).size) refuseSegment();
  const hiddenOne = found.find(({ id }) => hidden.includes(id));
  if (hiddenOne) refuseHidden(hiddenOne.name);
  return found.map((segment) => requireMembers(segment).id);
}

/** Refuses a segment whose members are not found yet: a list would be empty, or have the members of older filters. */
function requireMembers(segment: SegmentRef): SegmentRef {
  return segment.hasMembers ? segment : refuseComputing(segment.identifier);
}

export function refuseComputing(segment: string): never {
  return refuse(409, 'computing', `The people of the segment ${segment} are not found yet: try again in a moment`);
}

function refuseSegment(): never {
  return refuse(404, 'not_found', "Couldn't find Segment");
}

/** Reads integer ids. Other texts are ids of nothing. */
function idsOf(given: readonly string[]): number[] {
  return given.filter((id) => /^\d{1,15}$/.test(id)).map(Number);
}

function subjectOf<Whole>(
  whole: Whole,
  { user_ids: users, device_ids: devices }: { user_ids?: Texts; device_ids?: Texts },
) {
  return users || devices ? { users, devices } : whole;
}

type Audited = Pick<AuditEntry, 'subjectKind' | 'subject' | 'customerHash' | 'details'>;

export function auditedEntries(
  secrets: Secrets,
  entityId: number,
  what: string,
  subject: AskedEntries['subject'],
): Audited[] {
  if ('app' in subject) return [{ subjectKind: 'app', subject: subject.app, details: { what } }];
  if ('segment' in subject) return [{ subjectKind: 'segment', subject: subject.segment, details: { what } }];
  const entry =
    (type: 'user_id' | 'device_id') =>
    (id: string): Audited => ({
      subjectKind: 'customer',
      customerHash: secrets.customerHash(entityId, type, id),
      details: { what },
    });
  return [...(subject.users ?? []).map(entry('user_id')), ...(subject.devices ?? []).map(entry('device_id'))];
}

function refuseHidden(name: string): never {
  return refuse(
    403,
    'forbidden',
    `This needs the right sor_manage: the segment ${name} compares with a sensitive attribute`,
  );
}

const GROUPED_DAYS = 60;

/** Returns from when events are grouped: by default 60 days before the end (reference: Events). */
function groupedSince(since: Date | undefined, until: Date | undefined, now: Date): Date {
  const earliest = (until ?? now).getTime() - GROUPED_DAYS * DAY_MS;
  return new Date(Math.max(since?.getTime() ?? earliest, earliest));
}
